"""Missing cells under a joint PMF of the levels: averaged over given the observed cells, or imputed.

With the classes of `latent_classes`, and O the observed predictors of a row,

    E[f | x_O] = sum_r Pr(r | x_O) sum_f V(:, f) prod_{n in O} w_n^T A_n(:, f) prod_{n not in O} B_n(:, r)^T A_n(:, f)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid._kernels.positions import as_numbers
from csid._kernels.threads import Workers
from csid.encoding import Encoding
from csid.missing.latent_classes import LatentClasses, class_probabilities
from csid.tensor.cells import Cells, Codes, Positions
from csid.tensor.evaluation import values_of_rows
from csid.tensor.factors import Factors, stack_factors
from csid.tensor.gaps import marginals_of_known

Array = NDArray[np.float64]

LEAST_PROBABILITY = 1e-9
"""Classes with a smaller probability are left out of the expectation of a row."""

_ROWS_AT_ONCE = 1 << 13


@dataclass(frozen=True)
class LevelPMF:
    """A joint PMF on the levels of an encoding.

    classes : over bins of levels; bins : N arrays (I_n,), the bin of each level, not decreasing.
    marginals : N arrays p_n (I_n,), of the levels of observed cells. A larger code is that of a missing cell.
    """

    classes: LatentClasses
    bins: tuple[NDArray[np.intp], ...]
    marginals: tuple[Array, ...]

    @classmethod
    def independent(cls, encoding: Encoding) -> "LevelPMF":
        """The paper's rank-one PMF: a single class, in which predictors have their marginals."""
        marginals = marginals_of_known(encoding.marginals, encoding.known)
        one = LatentClasses(np.ones(1), tuple(np.ones((1, 1)) for _ in marginals))
        return cls(one, tuple(np.zeros(len(p), np.intp) for p in marginals), marginals)

    @property
    def levels(self) -> NDArray[np.intp]:
        return np.array([len(p) for p in self.marginals], dtype=np.intp)

    @cached_property
    def given_class(self) -> tuple[Array, ...]:
        """N arrays B_n (I_n, R): the distribution of the levels in each class."""
        modes = zip(self.marginals, self.bins, self.classes.lifts, strict=True)
        unscaled = [p[:, None] * lift[bins] for p, bins, lift in modes]
        return tuple(B / B.sum(axis=0) for B in unscaled)

    def is_missing(self, codes: Codes) -> NDArray[np.bool_]:
        return np.asarray(codes >= self.levels)

    def class_logits(self, codes: Codes, fractions: Positions, workers: Workers) -> Array:
        """Logits (M, R) of the classes given the observed cells of each row."""
        binned = np.empty(codes.shape[::-1], np.intp)
        for n, bins in enumerate(self.bins):
            of_codes = np.append(bins, len(self.classes.lifts[n]))
            nearest = codes[:, n] + (as_numbers(fractions[:, n]) > 0.5) if len(fractions) else codes[:, n]
            binned[n] = of_codes[np.minimum(nearest, len(bins))]
        return self.classes.logits(binned, workers)

    def extended(self, factors: Factors) -> Factors:
        """Factors with R more levels in each mode: level I_n + r is a missing cell in a row of class r."""
        own = [factors.factor(n) for n in range(factors.n_modes)]
        longer = tuple(np.vstack([A, B.T @ A]) for A, B in zip(own, self.given_class, strict=True))
        unused = tuple(np.zeros(len(A)) for A in longer)
        return stack_factors(longer, factors.output_factor, factors.bias, unused)

    def expected(self, codes: Codes, fractions: Positions, extended: Factors, workers: Workers) -> Array:
        """Expected values (M, K) of incomplete rows given their observed cells. extended : see `extended`."""
        values = np.empty((len(codes), len(extended.V)))
        for start in range(0, len(codes), _ROWS_AT_ONCE):
            here = slice(start, start + _ROWS_AT_ONCE)
            some, between = codes[here], fractions[here] if len(fractions) else fractions
            probabilities = class_probabilities(self.class_logits(some, between, workers))
            probabilities[probabilities < LEAST_PROBABILITY] = 0.0
            rows, classes = np.nonzero(probabilities)
            each = self._in_classes(some[rows], between[rows] if len(between) else between, classes, extended, workers)
            weights = (probabilities / probabilities.sum(axis=1, keepdims=True))[rows, classes]
            starts = np.searchsorted(rows, np.arange(len(some)))
            values[here] = np.add.reduceat(weights[:, None] * each, starts, axis=0)
        return values

    def _in_classes(
        self,
        codes: Codes,
        fractions: Positions,
        classes: NDArray[np.intp],
        extended: Factors,
        workers: Workers,
    ) -> Array:
        """Values (M, K) of rows with given classes."""
        of_class = self.levels + classes[:, None]
        filled = np.where(self.is_missing(codes), of_class, codes).astype(np.uint16)
        return values_of_rows(Cells(filled, fractions, extended.levels, extended.levels), extended, workers)

    @cached_property
    def _cumulative(self) -> tuple[Array, ...]:
        """N arrays (R I_n,): cumulative level probabilities of class r, plus r: one sorted array for all classes."""
        sums = [B.cumsum(axis=0) for B in self.given_class]
        for of_classes in sums:
            of_classes[-1] = 1.0
        return tuple((np.minimum(one, 1.0) + np.arange(one.shape[1])).ravel(order="F") for one in sums)

    def impute(self, codes: Codes, probabilities: Array, u: Array) -> Codes:
        """Codes with missing cells imputed: first a class, then levels given the class, at quantiles of their PMF.

        probabilities : (M, R) of the classes; u : (M, N + 1) quantiles, or (N + 1,) for all rows.
        """
        u = np.broadcast_to(u, (len(codes), codes.shape[1] + 1))
        classes = (probabilities.cumsum(axis=1) < u[:, :1]).sum(axis=1)
        classes = np.minimum(classes, self.classes.rank - 1)
        filled, absent = codes.copy(), self.is_missing(codes)
        for n, levels in enumerate(self.levels.tolist()):
            rows = np.flatnonzero(absent[:, n])
            found = np.searchsorted(self._cumulative[n], u[rows, n + 1] + classes[rows], side="right")
            filled[rows, n] = np.clip(found - levels * classes[rows], 0, levels - 1)
        return filled


def expected_values(cells: Cells, factors: Factors, pmf: LevelPMF | None, workers: Workers) -> Array:
    """Expected values (M, K) given the observed cells of each row; without a joint PMF, under the marginals.

    A missing cell that has a level of its own, which only those without a joint PMF have, is on that level.
    """
    values = values_of_rows(cells, factors, workers)
    if pmf is not None and len(cells.incomplete):
        incomplete = cells.take(cells.incomplete)
        values[cells.incomplete] = pmf.expected(incomplete.codes, incomplete.fractions, pmf.extended(factors), workers)
    return values


def quantiles_of_draws(n_draws: int, n_modes: int, seed: int = 0) -> Array:
    """Quantiles (D, N + 1) at which each draw imputes class and cells: a Latin hypercube, the same in every call."""
    rng = np.random.default_rng(seed)
    order = rng.permuted(np.tile(np.arange(n_draws), (n_modes + 1, 1)), axis=1).T
    return np.asarray((order + rng.random(order.shape)) / n_draws)


class Imputation(NamedTuple):
    """What missing cells are imputed from.

    factor : (K,) or (1,), the calibration factor of the deviations of the draws from their mean, in incomplete rows.
    seed : of the quantiles at which draws impute.
    """

    pmf: LevelPMF
    factor: Array
    seed: int = 0


def imputed_values(
    cells: Cells, draws: Sequence[Factors], weights: Array, expected: Array, imputation: Imputation, workers: Workers
) -> Array:
    """Values (D, M, K) of draws, each with missing cells imputed at other quantiles of their PMF.

    weights : (D,) of the draws.
    expected : (J, K) weighted mean of the draws at the incomplete rows, given their observed cells. The values there
        are shifted so that their weighted mean equals it.
    """
    if not len(cells.incomplete):
        return np.array([values_of_rows(cells, factors, workers) for factors in draws])
    pmf, rows, incomplete = imputation.pmf, cells.incomplete, cells.take(cells.incomplete)
    probabilities = class_probabilities(pmf.class_logits(incomplete.codes, incomplete.fractions, workers))
    quantiles = quantiles_of_draws(len(draws), cells.n_modes, imputation.seed)
    values = np.empty((len(draws), cells.n_rows, len(draws[0].V)))
    codes = cells.codes.copy(order="F")
    for each, factors, u in zip(values, draws, quantiles, strict=True):
        codes[rows] = pmf.impute(incomplete.codes, probabilities, u)
        each[:] = values_of_rows(cells.with_codes(codes), factors, workers)
    deviations = values[:, rows] - np.tensordot(weights, values[:, rows], 1)
    values[:, rows] = expected + imputation.factor * deviations
    return values
