"""The update of one factor from its sums over rows: minimise, update its rows one by one, or draw.

Shapes as in `block_banded`; D, O and R as `row_loops.accumulate` gives them.
"""

from typing import Any, NamedTuple

import numpy as np

from csid._kernels.block_banded import lowers, product, relax, solve
from csid._kernels.compiled import inner, kernel
from csid._kernels.simd import WIDTH, load, load_splat, mul, mul_add, peek, poke, splat, store

DONE, OVERFLOW = 0, 1

_PROXIMAL_STEPS = np.array([0.0, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2])
"""Multiples of a system's largest diagonal entry, tried in turn as a proximal term until the system can be solved."""


class NormalEquations(NamedTuple):
    """The data's part of the quadratic of a mode, as sums over rows.

    sums : D, O and R; V : (K, S) the output factor; p : (I,) marginals; F : the rank.
    scale : (K,) what the sums of each output are multiplied with: 1 / M for the mean of squares, noise precisions for a
        draw.
    """

    sums: Any
    V: Any
    scale: Any
    p: Any
    F: int


class FactorPrior(NamedTuple):
    """The Gaussian prior of a factor: column f has the precision `mu_f unit + nu I` and the mean c_f.

    unit : (I, w), its diagonals, `width` of them; mean : (I, F) with columns c_f; mu : (F,).
    """

    unit: Any
    width: int
    mean: Any
    mu: Any
    nu: float


@inner
def assemble(equations: Any, G: Any, H: Any, rhs: Any) -> None:
    """The data's part of a mode's system, from its normal equations.

    Blocks H are the sums times V^T V, each output with its scale; right-hand sides are contracted with V. The rows in
    which the predictor is missing add to rhs, and give G. All are zero before.
    """
    (D, O, R), V, scale, p, F = equations
    levels, S = len(p), D.shape[1]
    VtV = np.zeros((S, S))
    for j in range(V.shape[0]):
        for a in range(F):
            for g in range(0, S, WIDTH):
                scaled = splat(peek(scale, j) * peek(V, j, a))
                store(VtV, mul_add(scaled, load(V, j, g), load(VtV, a, g)), a, g)
    for i in range(levels):
        _multiply_symmetric(VtV, D, i, F, H, i)
        if len(O) > 0:
            _multiply_symmetric(VtV, O, i, F, H, levels + i)
        for j in range(V.shape[0]):
            for g in range(0, S, WIDTH):
                of_output = mul_add(load_splat(p, i), load(R, levels, j, g), load(R, i, j, g))
                scaled = mul(load_splat(scale, j), load(V, j, g))
                store(rhs, mul_add(scaled, of_output, load(rhs, i, g)), i, g)
    if G is not None:
        _multiply_symmetric(VtV, D, levels, F, G, np.intp(0))


@inner
def _multiply_symmetric(factor: Any, blocks: Any, i: int, F: int, out: Any, at: int) -> None:
    """Block `at` of `out` <- factor * block i, entry by entry, from the upper triangle of a symmetric block."""
    S = factor.shape[1]
    for a in range(F):
        for g in range(a - a % WIDTH, S, WIDTH):
            store(out, mul(load(factor, a, g), load(blocks, i, a, g)), (at * S + a) * S + g)
    for a in range(F):
        for b in range(a):
            poke(out, peek(out, (at * S + b) * S + a), (at * S + a) * S + b)


@inner
def _gradient(H: Any, F: int, rhs: Any, p: Any, G: Any, x: Any, image: Any, size: Any) -> float:
    """rhs <- rhs - (H + (p p^T) kron G) x; fill `size` with the diagonal of that system; return its largest entry.

    NaN stands for a residual that is not finite, and one for a system that is zero.
    """
    product(H, F, p, G, x, image)
    largest = 0.0
    for i in range(rhs.shape[0]):
        for a in range(F):
            residual = peek(rhs, i, a) - peek(image, i, a)
            diagonal = peek(H, 0, i, a, a)
            if G is not None:
                diagonal += peek(p, i) * peek(p, i) * peek(G, a, a)
            largest = max(largest, diagonal)
            if not np.isfinite(residual):
                return float(np.nan)
            poke(rhs, residual, i, a)
            poke(size, diagonal, i, a)
    return largest if largest > 0.0 else 1.0


@kernel
def minimise(equations: Any, G: Any, penalty: Any, by_rows: Any, A: Any) -> int:
    """Move A, (I + 1, S) with `p^T A` last, to the minimum of its quadratic, or update its rows once, one by one.

    equations : NormalEquations; penalty : (w, I), its diagonals, the same for every component.
    G : zeros (S, S) to work in when some rows lack the predictor, else None.
    by_rows : None for the minimum, True to update row by row. None has a type of its own, so only one is compiled.

    The system is solved for the step from A, so that its rounding errors shrink as the fit converges. Where it is
    singular, as without ridge at a level with too few rows, a small multiple of |A - A_old|^2 is added. Only a step
    that gains more than rounding is taken, so the objective cannot rise. OVERFLOW when the numbers are not finite.
    """
    (D, O, _), _, _, p, F = equations
    levels, S = len(p), D.shape[1]
    width = max(2 if len(O) > 0 else 1, penalty.shape[0])
    system, residual = np.zeros((width, levels, S, S)), np.zeros((levels, S))
    assemble(equations, G, system, residual)
    for d in range(penalty.shape[0]):
        for i in range(levels):
            for a in range(F):
                poke(system, peek(system, d, i, a, a) + peek(penalty, d, i), d, i, a, a)
    step, image, size = np.zeros((levels, S)), np.zeros((levels, S)), np.zeros((levels, S))
    x = A[:levels]
    largest = _gradient(system, F, residual, p, G, x, image, size)
    if np.isnan(largest):
        return OVERFLOW
    for proximal in _PROXIMAL_STEPS:
        H = np.zeros((width, levels, S, S))
        for at in range(0, H.size, WIDTH):
            store(H, load(system, at), at)
        for i in range(levels):
            for a in range(F):
                poke(H, peek(H, 0, i, a, a) + proximal * largest, 0, i, a, a)
        if by_rows is None:
            failed = solve(H, F, residual, p, G, None, step)
        else:
            step[:] = 0.0
            failed = relax(H, F, residual, p, G, step)
        if failed >= 0:
            continue
        product(system, F, p, G, step, image)
        if lowers(step, x, residual, image, size):
            for i in range(levels):
                for a in range(F):
                    poke(A, peek(A, i, a) + peek(step, i, a), i, a)
            break
    _average_levels(A, p, F)
    return DONE


@inner
def _average_levels(A: Any, p: Any, F: int) -> None:
    """Set the row of A (I + 1, S) for a missing cell, `p^T A`."""
    for a in range(F):
        mean = 0.0
        for i in range(len(p)):
            mean += peek(p, i) * peek(A, i, a)
        poke(A, mean, len(p), a)


@kernel
def sample(equations: Any, G: Any, prior: Any, noise: Any, A: Any, squared_differences: Any) -> int:
    """Draw A, (I + 1, S) with `p^T A` last, from its Gaussian given everything else.

    equations, G : the data's part, see `minimise`; prior : FactorPrior; noise : (I + 1, F) standard normal numbers.
    squared_differences : (F,), filled with what an update of mu needs, (a - c)^T unit (a - c).
    OVERFLOW when the system cannot be factored.
    """
    (D, O, _), _, _, p, F = equations
    unit, width, prior_mean, mu, nu = prior
    levels, S = len(p), D.shape[1]
    H = np.zeros((max(2 if len(O) > 0 else 1, width), levels, S, S))
    rhs, x = np.zeros((levels, S)), np.zeros((levels, S))
    assemble(equations, G, H, rhs)
    for i in range(levels):
        for a in range(F):
            for d in range(width):
                poke(H, peek(H, d, i, a, a) + peek(mu, a) * peek(unit, i, d), d, i, a, a)
            poke(H, peek(H, 0, i, a, a) + nu, 0, i, a, a)
            pulled = peek(unit, i, 0) * peek(prior_mean, i, a)
            for d in range(1, width):
                if i + d < levels:
                    pulled += peek(unit, i, d) * peek(prior_mean, i + d, a)
                if i >= d:
                    pulled += peek(unit, i - d, d) * peek(prior_mean, i - d, a)
            poke(rhs, peek(rhs, i, a) + nu * peek(prior_mean, i, a) + peek(mu, a) * pulled, i, a)
    if solve(H, F, rhs, p, G, noise, x) >= 0:
        return OVERFLOW
    for a in range(F):
        quadratic = 0.0
        for i in range(levels):
            here = peek(x, i, a) - peek(prior_mean, i, a)
            poke(A, peek(x, i, a), i, a)
            quadratic += peek(unit, i, 0) * here * here
            for d in range(1, min(width, levels - i)):
                quadratic += 2.0 * peek(unit, i, d) * here * (peek(x, i + d, a) - peek(prior_mean, i + d, a))
        poke(squared_differences, max(quadratic, 0.0), a)
    _average_levels(A, p, F)
    return DONE
