"""Stacking: weights of several priors by how well they predict held-out rows together.

No single prior is best on all tables. The pilot runs short chains under each prior, and stacking (Wolpert 1992; Yao et
al. 2018) finds the weights with the best predictions of held-out rows: the weighted mean with the smallest squared
error, or the mixture with the highest log predictive density. See docs/decisions/0007-stacked-priors.md.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

Array = NDArray[np.float64]

_LEAST_WEIGHT = 0.04
_SHRINKAGE_ROWS = 10.0
_EM_STEPS, _TOLERANCE = 500, 1e-9


def stack_means(predictions: Array, targets: Array, row_weights: Array, target: Array | None = None) -> Array:
    """Weights (S,), non-negative with sum one, that minimise the squared error of the mean of predictions (S, M, K).

    Priors with small weights are dropped and the others are weighed again: a small weight gains less than its chains
    cost.

    target : (S,) weights to shrink towards when rows are few. A squared distance of one costs as much as the errors of
        10 rows.
    """
    root = np.sqrt(row_weights)[:, None]
    columns = (root * predictions).reshape(len(predictions), -1).T
    goal = (root * targets).ravel()
    if target is not None:
        smallest_error = float(((columns - goal[:, None]) ** 2).mean(axis=0).min())
        strength = np.sqrt(_SHRINKAGE_ROWS * smallest_error)
        columns, goal = np.vstack([columns, strength * np.eye(len(target))]), np.append(goal, strength * target)
    scale = 1e3 * max(1.0, float(np.sqrt((columns**2).sum())))  # of one more equation: the weights sum to one

    def solve(kept: NDArray[np.intp]) -> Array:
        found, _ = nnls(np.vstack([columns[:, kept], np.full(len(kept), scale)]), np.append(goal, scale))
        return np.asarray(found)

    return _without_small_weights(solve, len(predictions))


def stack_densities(log_densities: Array, row_weights: Array, target: Array | None = None) -> Array:
    """Weights (S,) of the mixture with the highest likelihood of held-out rows, by expectation maximisation.

    log_densities : (S, M) of each row under each prior.
    target : (S,) weights to shrink towards. Small weights are dropped as in `stack_means`.
    """
    pseudo = np.zeros(len(log_densities)) if target is None else _SHRINKAGE_ROWS * target
    density = np.exp(log_densities - log_densities.max(axis=0))

    def solve(kept: NDArray[np.intp]) -> Array:
        weights = np.full(len(kept), 1.0 / len(kept))
        for _ in range(_EM_STEPS):
            joint = weights[:, None] * density[kept]
            expected = (joint / np.maximum(joint.sum(axis=0), 1e-300)) @ row_weights + pseudo[kept]
            new = expected / expected.sum()
            if np.abs(new - weights).max() < _TOLERANCE:
                break
            weights = new
        return weights

    return _without_small_weights(solve, len(log_densities))


def _without_small_weights(solve: Callable[[NDArray[np.intp]], Array], count: int) -> Array:
    """Solve for all weights, drop small ones, and solve again, until none is small."""
    weights, kept = np.zeros(count), np.arange(count)
    while True:
        found = solve(kept)
        large = found >= _LEAST_WEIGHT * found.sum()
        if large.all():
            weights[kept] = found / found.sum()
            return weights
        kept = kept[large]


def largest_weights(weights: Array, n: int) -> Array:
    """The n largest weights, normalised to sum one; the others are zero."""
    kept = np.zeros_like(weights)
    largest = np.argsort(-weights, kind="stable")[:n]
    kept[largest] = weights[largest]
    return np.asarray(kept / kept.sum())


def chains_per_prior(weights: Array, n_chains: int) -> list[int]:
    """Numbers of chains n_i that minimise sum(w_i^2 / n_i), at least one for each prior with a positive weight w_i.

    That sum is proportional to the variance of the stacked mean if chains of all priors have the same variance.
    """
    counts = (weights > 0.0).astype(np.intp)
    while counts.sum() < n_chains:
        counts[np.argmax(weights**2 / np.maximum(counts * (counts + 1), 1))] += 1
    return [int(count) for count in counts]
