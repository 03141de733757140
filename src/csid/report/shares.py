"""Shares of the variance of the prediction: of each predictor, of the strongest pairs, and of how many act together.

They are those of `csid.explain.sobol_indices`, found in a way whose price is linear in the number of predictors: all
pairs together by a recursion, and single ones only between the predictors that interact most.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from csid.cpd import CPD
from csid.explain.component_pairs import component_pairs, on_levels
from csid.explain.effects import main_effects
from csid.explain.games import balanced

Array = NDArray[np.float64]

_INTERACTING = 12
_NOTHING = 1e-24


@dataclass(frozen=True)
class Shares:
    """Shares of the variance, for K outputs; all zero for an output that does not vary.

    first, total : (N, K) of what predictors explain alone, and of all that they have a part in.
    main, pairs, higher : (K,) of single predictors, of pairs beyond them, and of three or more.
    strongest : for each output, pairs of predictors and their share, falling.
    variance : (K,) of the prediction.
    """

    first: Array
    total: Array
    main: Array
    pairs: Array
    higher: Array
    strongest: list[list[tuple[int, int, float]]]
    variance: Array


def shares(cpd: CPD, most_pairs: int) -> Shares:
    """The shares of a tensor whose predictors are independent, with the marginals that it has."""
    components = component_pairs(cpd, [on_levels(p) for p in cpd.marginals])
    V, (K, N) = components.V, (cpd.n_outputs, cpd.n_modes)
    all_, main, pairs, total = np.zeros(K), np.zeros(K), np.zeros(K), np.zeros((N, K))
    for block in components.blocks():
        none = np.ones_like(block.C[0])  # products in which no, one or two predictors vary
        one, two, before = np.zeros_like(none), np.zeros_like(none), [none]
        for C, mm in zip(block.C, block.mm, strict=True):
            none, one, two = none * mm, one * mm + none * C, two * mm + one * C
            before.append(before[-1] * (C + mm))
        main += block.form(V, one)
        pairs += block.form(V, two)
        all_ += block.form(V, before[-1] - none)
        behind = np.ones_like(none)
        for n in reversed(range(N)):
            total[n] += block.form(V, before[n] * block.C[n] * behind)
            behind = behind * (block.C[n] + block.mm[n])
    varies = all_ > _NOTHING * np.abs(V).sum(axis=1) ** 2
    whole = np.where(varies, all_, np.inf)
    effects = zip(main_effects(cpd), cpd.marginals, strict=True)
    first = np.array([p @ (effect - p @ effect) ** 2 for effect, p in effects])
    return Shares(
        first / whole,
        total / whole,
        main / whole,
        pairs / whole,
        np.where(varies, 1.0 - (main + pairs) / whole, 0.0),
        _strongest(cpd, (total - first) / whole, whole, most_pairs),
        np.where(varies, all_, 0.0),
    )


def _strongest(cpd: CPD, interacting: Array, whole: Array, most: int) -> list[list[tuple[int, int, float]]]:
    """For each output, the pairs with the largest shares among the predictors that interact most."""
    tensor = balanced(cpd)
    means = np.array([p @ A for p, A in zip(tensor.marginals, tensor.factors, strict=True)])
    found = []
    for k, v in enumerate(tensor.V):
        some = np.sort(np.argsort(-interacting[:, k], kind="stable")[:_INTERACTING]).tolist()
        variances = {pair: _variance_of_pair(tensor, means, v, pair) / whole[k] for pair in combinations(some, 2)}
        order = sorted(variances, key=lambda pair: -variances[pair])
        found.append([(*pair, float(variances[pair])) for pair in order[:most] if variances[pair] > 0.0])
    return found


def _variance_of_pair(tensor: CPD, means: Array, v: Array, pair: tuple[int, int]) -> float:
    """The variance of what two predictors do together beyond what each does, from its values on their levels."""
    others = np.delete(means, pair, axis=0).prod(axis=0)
    (A, p), (B, q) = ((tensor.factors[n] - means[n], tensor.marginals[n]) for n in pair)
    return float(p @ ((A * (v * others)) @ B.T) ** 2 @ q)
