"""Importance of predictors: the variance that they explain, and how much the columns of their factors vary."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from csid.explain.component_pairs import component_pairs, on_levels
from csid.explain.identifiability import live_components
from csid.explain.variance import effect_shares
from csid.tensor.cpd import CPD

Array = NDArray[np.float64]


def mean_effects(cpd: CPD) -> Array:
    """(N,) Shapley effects, shares that sum to one: the mean over the outputs that vary, equal if none does."""
    unit = np.abs(cpd.V).max(axis=1, initial=0.0)[:, None]  # shares have none, and the squares of V then are floats
    standard = replace(cpd, V=cpd.V / np.where(unit > 0.0, np.exp2(np.frexp(unit)[1]), 1.0))
    shares = effect_shares(component_pairs(standard, [on_levels(p) for p in cpd.marginals]))
    shares = np.maximum(shares, 0.0)  # rounding
    varying = shares[:, shares.any(axis=0)]
    return np.asarray(varying.mean(axis=1)) if varying.size else np.full(cpd.n_modes, 1.0 / cpd.n_modes)


def factor_variation(cpd: CPD, ordered: Sequence[int]) -> Array:
    """The paper's measure of importance, `||T_n A_n||_F^2`, as shares that sum to one.

    A predictor without effect has constant columns. Columns are first scaled to unit length, with the component's
    weight outside, so the measure does not depend on how a component's scale is divided among its factors. Levels with
    neighbours are compared with the next one, all others with the mean over all levels.

    Parameters
    ----------
    cpd : CPD
    ordered : how many levels of each predictor, from the first, have neighbours.
    """
    unit = cpd.normalised()
    weight = (unit.V**2).sum(axis=0) * live_components(unit)
    variation = np.empty(unit.n_modes)
    for n, (A, p, with_neighbours) in enumerate(zip(unit.factors, unit.marginals, ordered, strict=True)):
        steps = np.diff(A[:with_neighbours], axis=0)
        alone = A[with_neighbours:] - p @ A
        variation[n] = ((steps**2).sum(axis=0) + (alone**2).sum(axis=0)) @ weight
    total = variation.sum()
    return variation / total if total > 0 else np.full(unit.n_modes, 1.0 / unit.n_modes)
