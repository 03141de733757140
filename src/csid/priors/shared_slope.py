"""Shared slopes: a prior mean of the factors in which every predictor has the same slope.

    c_n(i, f) = 1 + s_f d_n(i)

d_n(i) is the standardised value of level i of predictor n, times the sign of its correlation with the targets; s_f is
the slope that all predictors share in component f. A product of such factors is nearly a function of the sum of the
d_n: a linear model with equal weights, which needs few rows (Dawes 1979).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from csid.data.samples import RowSums
from csid.tensor.factors import stack_factors, table_offsets, table_rows

Array = NDArray[np.float64]

_EM_STEPS, _LEAST = 20, 0.02


def shared_slope_mean(
    samples: RowSums, values: Sequence[Array], rank: int, steepness: float, rng: np.random.Generator
) -> Array:
    """The prior mean (T, F), in the rows of a table of factors.

    values : N arrays (I_n,), standardised values of the levels; zero for levels without a numeric value.
    steepness : standard deviation of the sum of all predictors over rows. Slopes are normal, with a random scale
        between those that give this deviation for independent and for identical predictors.
    """
    levels = samples.summary.levels
    numeric = [n for n, value in enumerate(values) if value.any()]
    slopes = steepness * rng.standard_normal(rank) * max(1, len(numeric)) ** rng.uniform(-1.0, -0.5, rank)
    mean, starts = np.ones((table_rows(levels), rank)), table_offsets(levels)
    if not numeric:
        return mean
    r, counts = _correlations(samples, values)
    for n, sign in zip(numeric, _soft_signs(r[numeric], counts[numeric]), strict=True):
        mean[starts[n] : starts[n] + levels[n]] += sign * values[n][:, None] * slopes
    return mean


def _correlations(samples: RowSums, values: Sequence[Array]) -> tuple[Array, Array]:
    """Correlations (N,) of the level values with the targets, and the number of rows (N,) that each is over.

    With several outputs, correlations with the linear combination of the outputs that has the largest ones.
    """
    summary = samples.summary
    ones = tuple(np.ones((len(p), 1)) for p in summary.marginals)
    constant = stack_factors(ones, np.ones((summary.n_outputs, 1)), summary.mean, summary.marginals)
    deviation = np.sqrt(np.maximum((summary.squares + summary.within) / summary.total_weight, 1e-12))
    sums, counts = np.zeros((summary.n_modes, summary.n_outputs)), np.zeros(summary.n_modes)
    for n, (D, O, R) in samples.sums_by_mode(constant):
        levels = len(values[n])
        sums[n] = values[n] @ (R[:levels, :, 0] / deviation)
        counts[n] = D[:levels, 0, 0].sum() + 2.0 * O[:levels, 0, 0].sum()
    counts = np.maximum(counts, 1.0)
    main = np.linalg.svd(sums)[2][0]
    return sums @ main / counts, counts


def _soft_signs(r: Array, counts: Array) -> Array:
    """Expected signs (N,), from -1 to 1, of the effects of predictors with correlations r over `counts` rows.

    The model is r = k or r = -k plus sampling noise, where a fraction of the predictors has +k. Expectation
    maximisation finds k and the fraction. A predictor with few rows takes the sign of the majority.
    """
    k, positive = np.sqrt(max(float(np.mean(r**2 - 1.0 / counts)), _LEAST**2)), 0.5
    signs = np.zeros_like(r)
    for _ in range(_EM_STEPS):
        signs = np.tanh(k * r * counts + 0.5 * np.log(positive / (1.0 - positive)))
        k = max(float((counts * signs) @ r / counts.sum()), _LEAST)
        positive = float(np.clip(0.5 + 0.5 * signs.mean(), _LEAST, 1.0 - _LEAST))
    return signs
