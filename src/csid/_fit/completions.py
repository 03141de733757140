"""Rows that lack predictors, for least squares under a joint PMF: each becomes several rows, completed by the PMF.

The completions x_mj of row m share its weight s_m by how well they explain its target: with e_mj the error of one,

    loss of row m = -2 sigma^2 log( 1/J sum_j exp(-e_mj^2 / 2 sigma^2) ),      shares_mj ~ exp(-e_mj^2 / 2 sigma^2)

which is e_m^2 for a complete row, and otherwise, up to a constant, the negative log-likelihood under normal noise of
variance sigma^2. Least squares with the shares fixed, then new shares, is expectation maximisation: neither step can
raise the loss, and neither can a lower sigma^2, which follows the residuals as they fall.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from csid._fit.factors import Factors
from csid._fit.latent_classes import posterior
from csid._fit.missing_cells import LevelPMF
from csid._fit.samples import LocalSamples
from csid._fit.statistics import values_of_rows

Array = NDArray[np.float64]

_MOST_COMPLETIONS, _FEWEST_COMPLETIONS, _COMPLETED_ROWS = 16, 2, 400_000


@dataclass
class Completions:
    """A problem of completed rows.

    samples : its rows; those of one owner come after one another. starts : (M,) the first row of each owner.
    given : (M,) weights of the owners; variance : sigma^2.
    """

    samples: LocalSamples
    starts: NDArray[np.intp]
    given: Array
    variance: float

    @classmethod
    def of(cls, samples: LocalSamples, pmf: LevelPMF, rng: np.random.Generator) -> "Completions":
        """Several completions of every row that lacks predictors, and at first equal shares."""
        problem, workers = samples.problem, samples.workers
        rows = problem.incomplete
        J = min(_MOST_COMPLETIONS, max(_FEWEST_COMPLETIONS, _COMPLETED_ROWS // max(1, len(rows))))
        counts = np.ones(problem.n_rows, np.intp)
        counts[rows] = J
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        owners = np.repeat(np.arange(problem.n_rows), counts)
        each = problem.take(owners)
        codes = each.codes.copy(order="F")
        lacking = problem.take(rows)
        probabilities = posterior(pmf.scores(lacking.codes, lacking.fractions, workers))
        for j in range(J):
            u = rng.random((len(rows), problem.n_modes + 1))
            codes[starts[rows] + j] = pmf.completed(lacking.codes, probabilities, u)
        weights = (problem.weights / counts)[owners]
        variance = float(problem.squares.sum()) / problem.total_weight
        completed = LocalSamples(replace(each, codes=codes, weights=weights), workers)
        return cls(completed, starts, problem.weights, max(variance, 1e-300))

    def share_out(self, factors: Factors) -> float:
        """New shares of the completions, and the mean loss of a row with them."""
        problem, workers = self.samples.problem, self.samples.workers
        squares = ((problem.targets - values_of_rows(problem, factors, workers)) ** 2).sum(axis=1)
        counts = np.diff(np.append(self.starts, problem.n_rows))
        least = np.minimum.reduceat(squares, self.starts)
        likelihood = np.exp(-0.5 * (squares - np.repeat(least, counts)) / self.variance)
        mass = np.add.reduceat(likelihood, self.starts)
        weights = np.repeat(self.given / mass, counts) * likelihood
        self.samples = LocalSamples(problem.with_weights(weights), workers)
        total = self.given.sum()
        loss = (self.given * (least - 2.0 * self.variance * np.log(mass / counts))).sum() / total
        self.variance = max(min(self.variance, float((weights * squares).sum()) / total), 1e-300)
        return float(loss)
