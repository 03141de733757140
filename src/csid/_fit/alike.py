"""Predictors that act alike: a mean of the factors, a priori, in which all of them rise or fall together.

    c_n(i, f) = 1 + s_f d_n(i)

d_n is the standardised value of a level of predictor n, turned such that the targets rise with it; s_f is a slope that
component f has for all predictors. A product over predictors of such factors is nearly a function of the sum of the
d_n: a weighing of all predictors alike, which few rows determine (Dawes 1979).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from csid._fit.factors import stack_factors, table_offsets, table_rows
from csid._fit.samples import Samples

Array = NDArray[np.float64]

_ROUNDS, _LEAST = 20, 0.02
_FEW_ROWS = 2  # times the square of the predictors


def rows_are_few(n_rows: int, n_predictors: int) -> bool:
    """Whether a table is too short to know its predictors one by one."""
    return n_rows < _FEW_ROWS * n_predictors**2


def alike_centre(
    samples: Samples, scores: Sequence[Array], rank: int, steepness: float, rng: np.random.Generator
) -> Array:
    """The mean (T, F), in the rows of a table of factors.

    scores : N arrays (I_n,), standardised values of the levels; zero where they have none.

    Slopes are drawn, normal, of a scale between those at which the sum varies by `steepness` over rows when the
    predictors are independent, and when they are all the same.
    """
    levels = samples.known.levels
    some = [n for n, score in enumerate(scores) if score.any()]
    slopes = steepness * rng.standard_normal(rank) * max(1, len(some)) ** rng.uniform(-1.0, -0.5, rank)
    centre, starts = np.ones((table_rows(levels), rank)), table_offsets(levels)
    if not some:
        return centre
    r, counts = _correlations(samples, scores)
    for n, turn in zip(some, _turns(r[some], counts[some]), strict=True):
        centre[starts[n] : starts[n] + levels[n]] += turn * scores[n][:, None] * slopes
    return centre


def _correlations(samples: Samples, scores: Sequence[Array]) -> tuple[Array, Array]:
    """(N,) of the scores with the targets, and over how many rows. Of several outputs, with what they have most of."""
    known = samples.known
    ones = tuple(np.ones((len(p), 1)) for p in known.marginals)
    constant = stack_factors(ones, np.ones((known.n_outputs, 1)), known.mean, known.marginals)
    spread = np.sqrt(np.maximum((known.squares + known.within) / known.total_weight, 1e-12))
    sums, counts = np.zeros((known.n_modes, known.n_outputs)), np.zeros(known.n_modes)
    for n, (D, O, R) in samples.sums_by_mode(constant):
        levels = len(scores[n])
        sums[n] = scores[n] @ (R[:levels, :, 0] / spread)
        counts[n] = D[:levels, 0, 0].sum() + 2.0 * O[:levels, 0, 0].sum()
    counts = np.maximum(counts, 1.0)
    main = np.linalg.svd(sums)[2][0]
    return sums @ main / counts, counts


def _turns(r: Array, counts: Array) -> Array:
    """(N,), from -1 to 1: which way predictors are turned, as far as correlations r over so many rows tell.

    Each is taken to be k or -k plus what chance makes of its rows, and a share of them to be positive; k and the share
    are found by expectation maximisation. Where most predictors agree, one of few rows is turned like them.
    """
    k, share = np.sqrt(max(float(np.mean(r**2 - 1.0 / counts)), _LEAST**2)), 0.5
    turns = np.zeros_like(r)
    for _ in range(_ROUNDS):
        turns = np.tanh(k * r * counts + 0.5 * np.log(share / (1.0 - share)))
        k = max(float((counts * turns) @ r / counts.sum()), _LEAST)
        share = float(np.clip(0.5 + 0.5 * turns.mean(), _LEAST, 1.0 - _LEAST))
    return turns
