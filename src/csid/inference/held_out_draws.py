"""The draws of some chains at held-out rows: as a posterior has them, also with some of the cells hidden."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid._kernels.threads import Workers
from csid.data.table import present
from csid.inference.jobs import Job
from csid.inference.state import Chain
from csid.inference.treatments import EncodedFold
from csid.likelihoods import Likelihood
from csid.likelihoods.mixture import Mixture, as_mixture
from csid.likelihoods.predictive import Predictive
from csid.missing.hidden_cells import with_hidden_cells
from csid.missing.level_pmf import Imputation, LevelPMF, expected_values, imputed_values
from csid.tensor.cells import Cells
from csid.tensor.cpd import CPD

Array = NDArray[np.float64]


class HeldOutDraws(NamedTuple):
    """The draws of some chains at R held-out rows.

    values : (D, R, K) model values; parameters : (D, R, P) each, of the likelihood, by name.
    incomplete : (R,) whether a row lacks a cell.
    hidden : (D, H, K) model values at versions of the rows of each fold in turn, with some of their cells hidden.
    """

    values: Array
    parameters: dict[str, Array]
    incomplete: NDArray[np.bool_]
    hidden: Array

    @classmethod
    def at(cls, fold: EncodedFold, jobs: Sequence[Job], hide: int, seed: int) -> "HeldOutDraws":
        """The draws of some chains at the held-out rows of their fold.

        hide : the number of versions of rows with hidden cells; seed : of imputed cells.
        """
        chains, likelihood = [job.chain for job in jobs], jobs[0].model.likelihood
        rows = present(fold.held_out)
        values = values_at(rows.cells, chains, fold, likelihood, seed)
        units = likelihood.units(np.zeros(rows.n_outputs), np.ones(rows.n_outputs))
        kept = [likelihood.parameters_in_units(draw.parameters, *units) for job in jobs for draw in job.chain.draws]
        stacked = {name: np.array([each[name] for each in kept])[:, None, :] for name in kept[0]}
        own = {name: np.broadcast_to(array, (*values.shape[:2], array.shape[2])) for name, array in stacked.items()}
        versions = rows.cells.take(np.arange(hide) % rows.n_rows)
        hidden = values_at(with_hidden_cells(versions, np.random.default_rng(0)), chains, fold, likelihood, seed)
        return cls(values, own, np.isin(np.arange(rows.n_rows), rows.cells.incomplete), hidden)

    @classmethod
    def join_rows(cls, parts: Sequence["HeldOutDraws"]) -> "HeldOutDraws":
        """Join the held-out rows of parts with the same number of draws."""
        incomplete = np.concatenate([part.incomplete for part in parts])
        return cls(*_concatenated(parts, axis=1), incomplete, np.concatenate([part.hidden for part in parts], axis=1))

    @classmethod
    def join_draws(cls, parts: Sequence["HeldOutDraws"]) -> "HeldOutDraws":
        """Join the draws of parts with the same held-out rows."""
        hidden = np.concatenate([part.hidden for part in parts])
        return cls(*_concatenated(parts, axis=0), parts[0].incomplete, hidden)

    def take(self, rows: NDArray[np.intp]) -> "HeldOutDraws":
        """Some of the held-out rows."""
        parameters = {name: array[:, rows] for name, array in self.parameters.items()}
        return self._replace(values=self.values[:, rows], parameters=parameters, incomplete=self.incomplete[rows])

    @property
    def mean(self) -> Array:
        return np.asarray(self.values.mean(axis=0))

    def predictive(self, likelihood: Likelihood, weights: Array | None = None) -> Predictive:
        """The predictive distribution of these rows. weights : (D,) of the draws, equal by default."""
        D = len(self.values)
        return likelihood.predictive(self.values, self.parameters, np.full(D, 1.0 / D) if weights is None else weights)

    def mixture(self, likelihood: Likelihood, weights: Array | None = None) -> Mixture:
        """The predictive distribution under a likelihood of additive noise."""
        return as_mixture(self.predictive(likelihood, weights))

    def noise_fractions(self, predictive: Mixture) -> Array:
        """For each incomplete row the part of its variance that is noise, (R, K); 1 for complete rows."""
        return np.where(self.incomplete[:, None], predictive.noise_variance / predictive.variance, 1.0)

    def log_density(self, likelihood: Likelihood, truth: Array) -> Array:
        """Log predictive density (R,) of the true targets (R, T), summed over outputs."""
        return self.predictive(likelihood).log_density(truth)


def _concatenated(parts: Sequence[HeldOutDraws], axis: int) -> tuple[Array, dict[str, Array]]:
    values = np.concatenate([part.values for part in parts], axis)
    names = parts[0].parameters
    return values, {name: np.concatenate([part.parameters[name] for part in parts], axis) for name in names}


def values_at(cells: Cells, chains: Sequence[Chain], fold: EncodedFold, likelihood: Likelihood, seed: int) -> Array:
    """Values (D, M, K) of the draws of chains at rows on the same levels, as a posterior has them.

    seed : of imputed cells.
    """
    states = [draw for chain in chains for draw in chain.draws]
    workers, draws = Workers(), [likelihood.in_units(draw.factors, draw.parameters) for draw in states]
    pmf = LevelPMF.independent(fold.encoding) if fold.pmf is None else fold.pmf
    imputation, incomplete = Imputation(pmf, np.ones(1), seed), cells.take(cells.incomplete)
    K = len(draws[0].bias)
    average = CPD.average([CPD.of(factors, np.zeros(K), np.ones(K)) for factors in draws])
    expected = expected_values(incomplete, average.stacked, fold.pmf, workers)
    return imputed_values(cells, draws, np.full(len(draws), 1.0 / len(draws)), expected, imputation, workers)
