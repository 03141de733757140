"""The slow, obvious twins of explanations: all coalitions, all cells, written from the definitions."""

from collections.abc import Callable
from itertools import combinations, product
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.encoding import EncodedRows
from csid.tensor.cpd import CPD
from naive import cell_weights

Array = NDArray[np.float64]
Coalition = frozenset[int]


def random_tensor(rng: np.random.Generator, levels: list[int], rank: int, outputs: int) -> CPD:
    return CPD(
        tuple(rng.normal(size=(I_n, rank)) for I_n in levels),
        rng.normal(size=(outputs, rank)),
        rng.normal(size=outputs),
        tuple(rng.dirichlet(np.ones(I_n)) for I_n in levels),
    )


def random_rows(rng: np.random.Generator, cpd: CPD, n_rows: int, linear: bool, missing: float = 0.2) -> EncodedRows:
    """Cells anywhere on the levels, or between them; some are missing."""
    levels = np.array([len(A) for A in cpd.factors])
    codes = rng.integers(0, levels, (n_rows, len(levels)))
    fractions = rng.random(codes.shape) * (codes < levels - 1) * (rng.random(codes.shape) < 0.8)
    absent = rng.random(codes.shape) < missing
    codes[absent], fractions[absent] = np.broadcast_to(levels, codes.shape)[absent], 0.0
    return EncodedRows(
        np.asfortranarray(codes.astype(np.uint8)),
        np.asfortranarray(fractions.astype(np.float32)) if linear else np.zeros((0, len(levels)), np.float32),
    )


def cell_values(cpd: CPD, rows: EncodedRows) -> Array:
    """(M, N, F): `w_n(x)^T A_n`, with the marginal for a missing cell."""
    cells = cell_weights(rows.codes, rows.fractions, [len(A) for A in cpd.factors])
    modes = zip(cells, cpd.factors, cpd.marginals, strict=True)
    return np.stack([W[:, :-1] @ A + W[:, -1:] * (p @ A) for W, A, p in modes], axis=1)


def background_values(cpd: CPD, background: EncodedRows | None) -> Array:
    """(B, N, F): the same of the background; one row of means for the product of the marginals."""
    if background is None:
        return np.array([[p @ A for p, A in zip(cpd.marginals, cpd.factors, strict=True)]])
    return cell_values(cpd, background)


def coalition_values(cpd: CPD, rows: EncodedRows, background: EncodedRows | None) -> dict[Coalition, Array]:
    """For each set of predictors, (M, K): the mean prediction when they are as in the row, the others as outside."""
    a, outside = cell_values(cpd, rows), background_values(cpd, background)
    values = {}
    for inside in product([False, True], repeat=cpd.n_modes):
        mixed = np.where(np.array(inside)[:, None], a[:, None], outside[None])
        coalition = frozenset(np.flatnonzero(inside).tolist())
        values[coalition] = cpd.bias + (mixed.prod(axis=2) @ cpd.V.T).mean(axis=1)
    return values


def mean_over_coalitions(
    N: int, players: Coalition, worth: Callable[[Coalition], Any], weight: Callable[[int, int], float]
) -> Any:
    """Of the discrete derivative of a game in some players, over coalitions of the others."""
    others = sorted(set(range(N)) - players)
    return sum(
        weight(len(others), size) * (-1) ** (len(players) - joined) * worth(frozenset(before) | frozenset(some))
        for size in range(len(others) + 1)
        for before in combinations(others, size)
        for joined in range(len(players) + 1)
        for some in combinations(sorted(players), joined)
    )


def shapley_weight(others: int, size: int) -> float:
    return factorial(size) * factorial(others - size) / factorial(others + 1)


def banzhaf_weight(others: int, size: int) -> float:
    return 0.5**others


def cells_and_masses(cpd: CPD) -> tuple[NDArray[np.uint8], Array]:
    """All cells of the tensor, and how likely each is when predictors are independent."""
    cells = np.array(list(product(*(range(len(A)) for A in cpd.factors))), dtype=np.uint8)
    return cells, np.prod([p[cells[:, n]] for n, p in enumerate(cpd.marginals)], axis=0)
