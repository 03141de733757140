"""Main effects of all predictors at once: the mean prediction as each varies and the others follow their marginals."""

import numpy as np
from numpy.typing import NDArray

from csid.explain.dependence import values_on_levels
from csid.explain.games import balanced
from csid.explain.products import before, behind
from csid.tensor.cpd import CPD

Array = NDArray[np.float64]


def main_effects(cpd: CPD) -> list[Array]:
    """For each predictor n, values (I_n, K) at its levels: `b + sum_f V(:, f) A_n(i, f) prod_(m != n) p_m^T A_m(:, f)`.

    They equal `partial_dependence` for each predictor.

    >>> half = np.array([0.5, 0.5])
    >>> cpd = CPD((np.array([[1.0], [3.0]]), np.array([[0.0], [4.0]])), np.ones((1, 1)), np.ones(1), (half, half))
    >>> [effect.ravel().tolist() for effect in main_effects(cpd)]
    [[3.0, 7.0], [1.0, 9.0]]
    """
    tensor = balanced(cpd)
    means = np.array([p @ A for p, A in zip(tensor.marginals, tensor.factors, strict=True)])
    return [values_on_levels(tensor, (n,), others) for n, others in enumerate(before(means) * behind(means))]


def effect_deviations(cpd: CPD) -> Array:
    """(N, K) standard deviations of the main effects, each over the marginal of its predictor."""
    pairs = zip(main_effects(cpd), cpd.marginals, strict=True)
    return np.array([np.sqrt(np.maximum(p @ (effect - p @ effect) ** 2, 0.0)) for effect, p in pairs])
