"""Weighted posterior draws of the tensor and of the likelihood's own parameters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid._kernels.threads import Workers
from csid.encoding import Encoding, Mode, interpolate_factor
from csid.likelihoods.likelihood import Likelihood
from csid.likelihoods.predictive import Predictive
from csid.missing.conditional import ConditionalCPD
from csid.missing.level_pmf import Imputation, LevelPMF, imputed_values
from csid.small_tables import SmallTable, Tabular
from csid.tensor.cells import Cells
from csid.tensor.cpd import CPD

Array = NDArray[np.float64]

LARGEST_IN_SINGLE = 4_000_000
"""Draws of more numbers than this are stored in half precision."""

_LARGEST_HALF = 1e4

_CACHED = {"draws", "mean", "expectation", "imputation"}


@dataclass(frozen=True, repr=False)
class Draws:
    """D draws on the same levels, with their components side by side. R is the sum of their ranks.

    modes : levels of the N predictors.
    factors : N arrays (I_n, R), whose rounding error is small relative to the posterior deviation: float32, or float16
        deviations from one, to which the priors shrink. See `factor`.
    V : (K, R) and bias : (D, K), in the units of y; ranks : (D,).
    parameters : (D, P) each, of the likelihood, by name, such as the noise scale. See `Likelihood.draw_sizes`.
    weights : (D,); those of all draws of a posterior sum to one.
    """

    modes: tuple[Mode, ...]
    factors: tuple[NDArray[np.float32 | np.float16], ...]
    V: Array
    bias: Array
    ranks: NDArray[np.int64]
    parameters: dict[str, Array]
    weights: Array

    @classmethod
    def of(
        cls,
        modes: tuple[Mode, ...],
        draws: Sequence[CPD],
        parameters: Sequence[Mapping[str, Array]],
        weights: Array,
        half: bool = False,
    ) -> "Draws":
        """Stack draws that are tensors on these levels. half : in half precision, if no number is too large for it."""
        factors = [np.hstack(parts) for parts in zip(*(draw.factors for draw in draws), strict=True)]
        half = half and max(np.abs(A).max() for A in factors) < _LARGEST_HALF
        return cls(
            modes,
            tuple((A - 1.0).astype(np.float16) if half else A.astype(np.float32) for A in factors),
            np.hstack([draw.V for draw in draws]),
            np.array([draw.bias for draw in draws]),
            np.array([draw.rank for draw in draws]),
            {name: np.array([each[name] for each in parameters]) for name in parameters[0]},
            weights,
        )

    def factor(self, n: int) -> Array:
        """The factor (I_n, R) of a predictor."""
        A = self.factors[n]
        return A.astype(np.float64) + (1.0 if A.dtype == np.float16 else 0.0)

    def on(self, encoding: Encoding) -> list[CPD]:
        """Each draw as a tensor on the levels of an encoding, which must include the levels of the draws."""
        modes = enumerate(zip(self.modes, encoding.modes, strict=True))
        interpolated = [interpolate_factor(self.factor(n), old, new) for n, (old, new) in modes]
        ends = np.cumsum(self.ranks)
        parts = [slice(end - rank, end) for end, rank in zip(ends, self.ranks, strict=True)]
        return [
            CPD(tuple(A[:, part] for A in interpolated), self.V[:, part], bias, encoding.marginals)
            for part, bias in zip(parts, self.bias, strict=True)
        ]


@dataclass(frozen=True, repr=False)
class Posterior(Tabular):
    """Weighted posterior draws.

    groups : the draws, grouped by their levels; encoding : the union of their levels.
    likelihood : under which they were drawn.
    pmf : joint PMF of the predictors; None for the product of the marginals.
    imputation_factor : (K,) calibration factor of the deviations of the draws from their mean, in incomplete rows.
    """

    groups: tuple[Draws, ...]
    encoding: Encoding
    likelihood: Likelihood
    pmf: LevelPMF | None = None
    imputation_factor: Array = field(default_factory=lambda: np.ones(1))

    def table(self) -> SmallTable:
        """The draws, grouped by their levels."""
        rows = []
        for group in self.groups:
            levels = sum(mode.n_levels for mode in group.modes)
            rows.append([len(group.ranks), int(group.ranks.sum()), levels, float(group.weights.sum())])
        return SmallTable("Posterior", ["draws", "sum of ranks", "levels of all predictors", "weight"], rows)

    @cached_property
    def draws(self) -> tuple[CPD, ...]:
        """All draws on the common levels, in the units of y."""
        return tuple(draw for group in self.groups for draw in group.on(self.encoding))

    @property
    def weights(self) -> Array:
        """Weights (D,) of the draws, which sum to one."""
        return np.concatenate([group.weights for group in self.groups])

    @property
    def parameters(self) -> dict[str, Array]:
        """Parameters of the likelihood by name, (D, P) each."""
        names = self.groups[0].parameters
        return {name: np.concatenate([group.parameters[name] for group in self.groups]) for name in names}

    @property
    def noise(self) -> Array:
        """Noise scales (D, K); for Gaussian noise, standard deviations."""
        return self.parameters["noise"]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in _CACHED}

    @cached_property
    def mean(self) -> CPD:
        """The posterior mean, as one tensor."""
        return CPD.average(self.draws, self.weights)

    @cached_property
    def expectation(self) -> CPD | ConditionalCPD:
        """The posterior mean, which averages over missing cells given the observed cells of a row."""
        return self.mean if self.pmf is None else ConditionalCPD(self.mean, self.pmf)

    @cached_property
    def imputation(self) -> Imputation:
        """What missing and unseen cells are imputed from."""
        pmf = LevelPMF.independent(self.encoding) if self.pmf is None else self.pmf
        return Imputation(pmf, self.imputation_factor)

    def values(self, codes: NDArray[Any], fractions: NDArray[Any], n_threads: int = 1) -> Array:
        """Values (D, M, K) of every draw at encoded rows.

        Each draw imputes missing cells at other quantiles of their PMF, so the variance between the draws includes that
        of the system over the missing cells. The weighted mean of the draws equals the expectation.
        """
        rows = Cells(codes, np.asarray(fractions, np.float32), self.encoding.levels, self.encoding.known)
        incomplete = rows.take(rows.incomplete)
        expected = self.expectation.evaluate(incomplete.codes, incomplete.fractions, n_threads)
        with Workers(n_threads) as workers:
            stacked = [draw.stacked for draw in self.draws]
            return imputed_values(rows, stacked, self.weights, expected, self.imputation, workers)

    def expected_values(self, codes: NDArray[Any], fractions: NDArray[Any]) -> Array:
        """Values (D, M, K) of every draw at encoded rows, averaged over missing cells under the marginals."""
        return np.array([draw.evaluate(codes, fractions) for draw in self.draws])

    def predictive(self, values: Array) -> Predictive:
        """The predictive distribution at rows where the draws have these values (D, M, K)."""
        return self.likelihood.predictive(values, self.parameters, self.weights)
