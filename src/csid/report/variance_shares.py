"""Variance decomposition of the prediction: predictors, the strongest pairs, and orders of interaction.

The shares are those of `csid.explain.sobol_indices`, at a cost linear in the number of predictors: the sum over all
pairs by a recursion, and single pairs only if they may be among the strongest.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from csid.explain.component_pairs import component_pairs, on_levels
from csid.explain.effects import main_effects
from csid.explain.games import balanced
from csid.explain.products import before, behind
from csid.tensor.cpd import CPD

Array = NDArray[np.float64]

_MOST_TRIED = 300  # pairs, if hundreds of predictors all interact a little
_NOTHING = 1e-24


@dataclass(frozen=True)
class VarianceShares:
    """Shares of the variance of K outputs; all zero for an output that does not vary.

    first, total : (N, K) first-order and total Sobol indices of the predictors.
    main, pairs, higher : (K,) of main effects, pairwise interactions, and interactions of three or more predictors.
    strongest : for each output, pairs of predictors and the share of their interaction, the largest first.
    variance : (K,) of the prediction.
    """

    first: Array
    total: Array
    main: Array
    pairs: Array
    higher: Array
    strongest: list[list[tuple[int, int, float]]]
    variance: Array


def variance_shares(cpd: CPD, most_pairs: int) -> VarianceShares:
    """The shares of a tensor for independent predictors with the tensor's marginals."""
    components = component_pairs(cpd, [on_levels(p) for p in cpd.marginals])
    V, (K, N) = components.V, (cpd.n_outputs, cpd.n_modes)
    all_, main, pairs, total = np.zeros(K), np.zeros(K), np.zeros(K), np.zeros((N, K))
    for block in components.blocks():
        none = np.ones_like(block.C[0])  # products in which no, one or two predictors vary
        one, two = np.zeros_like(none), np.zeros_like(none)
        for C, mm in zip(block.C, block.mm, strict=True):
            none, one, two = none * mm, one * mm + none * C, two * mm + one * C
        G = block.C + block.mm
        sides = behind(G)
        main += block.form(V, one)
        pairs += block.form(V, two)
        all_ += block.form(V, sides[0] * G[0] - none)
        parts = V[:, block.f] @ (before(G) * block.C * sides)
        total += block.times * (parts * V[:, block.g]).sum(axis=-1)
    varies = all_ > _NOTHING * np.abs(V).sum(axis=1) ** 2
    whole = np.where(varies, all_, np.inf)
    effects = zip(main_effects(cpd), cpd.marginals, strict=True)
    first = np.array([p @ (effect - p @ effect) ** 2 for effect, p in effects])
    with threadpool_limits(1, "blas"):  # products too small for several threads to help
        strongest = _strongest(cpd, (total - first) / whole, whole, most_pairs)
    return VarianceShares(
        first / whole,
        total / whole,
        main / whole,
        pairs / whole,
        np.where(varies, 1.0 - (main + pairs) / whole, 0.0),
        strongest,
        np.where(varies, all_, 0.0),
    )


def _strongest(cpd: CPD, interacting: Array, whole: Array, most: int) -> list[list[tuple[int, int, float]]]:
    """For each output, the pairs with the largest shares.

    The share of a pair is at most the total less the first-order index of either predictor. Pairs are tried in the
    order of that bound, until no other can be among the best.
    """
    tensor = balanced(cpd)
    means = np.array([p @ A for p, A in zip(tensor.marginals, tensor.factors, strict=True)])
    found = []
    for k, v in enumerate(tensor.V):
        at_most = np.minimum.outer(interacting[:, k], interacting[:, k])
        firsts, seconds = np.triu_indices(cpd.n_modes, 1)
        promising = np.argsort(-at_most[firsts, seconds], kind="stable")[:_MOST_TRIED]
        best: list[tuple[int, int, float]] = []
        for i, n in zip(firsts[promising].tolist(), seconds[promising].tolist(), strict=True):
            if len(best) == most and at_most[i, n] <= best[-1][2]:
                break
            share = _variance_of_pair(tensor, means, v, (i, n)) / whole[k]
            best = sorted([*best, (i, n, float(share))], key=lambda pair: -pair[2])[:most]
        found.append([pair for pair in best if pair[2] > 0.0])
    return found


def _variance_of_pair(tensor: CPD, means: Array, v: Array, pair: tuple[int, int]) -> float:
    """The variance of the interaction of two predictors, from its values on their levels."""
    others = np.delete(means, pair, axis=0).prod(axis=0)
    (A, p), (B, q) = ((tensor.factors[n] - means[n], tensor.marginals[n]) for n in pair)
    return float(p @ ((A * (v * others)) @ B.T) ** 2 @ q)
