"""Symmetric positive definite systems in block-banded form: factor, solve, draw, relax, multiply.

A system over `I` levels with `F` unknowns each is kept by block diagonals: `H[d, i]` is the symmetric F x F block that
couples level i with level i + d. Bandwidth 0 is a category, 1 first differences or interpolation, 2 second differences.
Rows without the predictor add `(p p^T) kron G`; G is None where there are none, and what it needs is not compiled.

Shapes, padded with zeros to whole lanes: H (width + 1, I, S, S), G (S, S), vectors (I, S), several right-hand sides
(I, F, m).
"""

from typing import Any

import numpy as np

from csid._fit.compiled import inner, kernel
from csid._fit.lanes import WIDTH, load, load_splat, mul, mul_add, peek, poke, splat, store, sub_mul

FLAT = 1e-14
"""A curvature this far below the system's diagonal is rounding, not information."""


@inner
def _cholesky(H: Any, i: int, F: int, floors: Any) -> bool:
    """H[0, i] as U^T U, in place: U above the diagonal, its reciprocals on it, nothing of use below.

    False when a pivot is not above its floor (F,).
    """
    S = H.shape[3]
    for a in range(F):
        left = a - a % WIDTH
        for g in range(left, S, WIDTH):
            s = load(H, 0, i, a, g)
            for c in range(a):
                s = sub_mul(load_splat(H, 0, i, c, a), load(H, 0, i, c, g), s)
            store(H, s, 0, i, a, g)
        pivot = peek(H, 0, i, a, a)
        if not (pivot > peek(floors, i, a) and np.isfinite(pivot)):
            return False
        reciprocal = 1.0 / np.sqrt(pivot)
        for g in range(left, S, WIDTH):
            store(H, mul(splat(reciprocal), load(H, 0, i, a, g)), 0, i, a, g)
        poke(H, reciprocal, 0, i, a, a)
    return True


@inner
def factor(H: Any, F: int) -> int:
    """Block Cholesky H = U^T U in place. Returns the first level whose block is not positive definite, or -1."""
    width, levels, S = H.shape[0] - 1, H.shape[1], H.shape[3]
    floors = np.zeros((levels, F))
    for i in range(levels):
        for a in range(F):
            poke(floors, FLAT * peek(H, 0, i, a, a), i, a)
    for i in range(levels):
        if not _cholesky(H, i, F, floors):
            return i
        reach = min(width, levels - 1 - i)
        for d in range(1, reach + 1):
            for a in range(F):
                for g in range(0, S, WIDTH):
                    s = load(H, d, i, a, g)
                    for c in range(a):
                        s = sub_mul(load_splat(H, 0, i, c, a), load(H, d, i, c, g), s)
                    store(H, mul(load_splat(H, 0, i, a, a), s), d, i, a, g)
        for d in range(1, reach + 1):
            for e in range(d, reach + 1):
                for a in range(F):
                    for g in range(a - a % WIDTH if d == e else 0, S, WIDTH):
                        s = load(H, e - d, i + d, a, g)
                        for c in range(F):
                            s = sub_mul(load_splat(H, d, i, c, a), load(H, e, i, c, g), s)
                        store(H, s, e - d, i + d, a, g)
    return -1


@inner
def solve_lower(H: Any, F: int, X: Any) -> None:
    """X (I, F, m) <- U^-T X, from the output of `factor`."""
    for i in range(X.shape[0]):
        reach = min(H.shape[0] - 1, i)
        for a in range(F):
            for g in range(0, X.shape[2], WIDTH):
                s = load(X, i, a, g)
                for d in range(1, reach + 1):
                    for c in range(F):
                        s = sub_mul(load_splat(H, d, i - d, c, a), load(X, i - d, c, g), s)
                for c in range(a):
                    s = sub_mul(load_splat(H, 0, i, c, a), load(X, i, c, g), s)
                store(X, mul(load_splat(H, 0, i, a, a), s), i, a, g)


@inner
def solve_upper(H: Any, F: int, X: Any) -> None:
    """X (I, F, m) <- U^-1 X."""
    levels = X.shape[0]
    for i in range(levels - 1, -1, -1):
        reach = min(H.shape[0] - 1, levels - 1 - i)
        for a in range(F - 1, -1, -1):
            for g in range(0, X.shape[2], WIDTH):
                s = load(X, i, a, g)
                for d in range(1, reach + 1):
                    for c in range(F):
                        s = sub_mul(load_splat(H, d, i, a, c), load(X, i + d, c, g), s)
                for c in range(a + 1, F):
                    s = sub_mul(load_splat(H, 0, i, a, c), load(X, i, c, g), s)
                store(X, mul(load_splat(H, 0, i, a, a), s), i, a, g)


@inner
def _root(G: Any, F: int, C: Any) -> None:
    """Fill C (F, m) from its column 1 on, G = C C^T up to rounding."""
    for a in range(F):
        pivot = peek(G, a, a)
        least = FLAT * pivot
        for c in range(1, a + 1):
            pivot -= peek(C, a, c) * peek(C, a, c)
        scale = 1.0 / np.sqrt(pivot) if pivot > least else 0.0
        for b in range(a, F):
            s = peek(G, b, a)
            for c in range(1, a + 1):
                s -= peek(C, b, c) * peek(C, a, c)
            poke(C, s * scale, b, a + 1)


@inner
def solve(H: Any, F: int, rhs: Any, p: Any, G: Any, noise: Any, x: Any) -> int:
    """Fill x, (H + (p p^T) kron G) x = rhs; H (overwritten) by its bands, the second term by Woodbury's identity.

    rhs, x : (I, S); p : (I,) marginals; G : (S, S), Gram matrix of the rows in which the predictor is missing.
    noise : None, or (I + 1, F) standard normal numbers, that make x a draw from the Gaussian with this precision and
    mean: those of the levels enter half-way, and the last row those of the system of the missing rows.
    Returns the first level whose block is not positive definite (I for the system of the missing rows), or -1.
    """
    levels = rhs.shape[0]
    failed = factor(H, F)
    if failed >= 0:
        return int(failed)
    m = WIDTH if G is None else (F // WIDTH + 1) * WIDTH
    X = np.zeros((levels, F, m))  # in column 0 H^-1 rhs, beside it H^-1 U for U = p kron C, G = C C^T
    C = np.zeros((F, m))
    if G is not None:
        _root(G, F, C)
    for i in range(levels):
        for a in range(F):
            if G is not None:
                for g in range(0, m, WIDTH):
                    store(X, mul(load_splat(p, i), load(C, a, g)), i, a, g)
            poke(X, peek(rhs, i, a), i, a, 0)
    solve_lower(H, F, X)
    if noise is not None:
        for i in range(levels):
            for a in range(F):
                poke(X, peek(X, i, a, 0) + peek(noise, i, a), i, a, 0)
    solve_upper(H, F, X)
    if G is not None:
        failed = _add_missing(C, p, noise, X)
    for i in range(levels):
        for a in range(F):
            poke(x, peek(X, i, a, 0), i, a)
    return int(failed)


@inner
def _add_missing(C: Any, p: Any, noise: Any, X: Any) -> int:
    """X(:, 0) <- X(:, 0) - H^-1 U (I + U^T H^-1 U)^-1 U^T X(:, 0), where X(:, 1:) is H^-1 U."""
    levels, F, m = X.shape
    mean = np.zeros((F, m))
    for i in range(levels):
        for a in range(F):
            for g in range(0, m, WIDTH):
                store(mean, mul_add(load_splat(p, i), load(X, i, a, g), load(mean, a, g)), a, g)
    both, system = np.zeros((F, m)), np.zeros((1, 1, F, m))  # U^T of X; without its first column, plus one: the system
    for a in range(F):
        for j in range(a + 1):
            for g in range(0, m, WIDTH):
                store(both, mul_add(load_splat(C, a, j + 1), load(mean, a, g), load(both, j, g)), j, g)
    y, floors = np.zeros((1, F, WIDTH)), np.zeros((1, F))
    for j in range(F):
        for e in range(F):
            poke(system, peek(both, j, e + 1) + (1.0 if e == j else 0.0), 0, 0, j, e)
        poke(floors, FLAT * peek(system, 0, 0, j, j), 0, j)
        poke(y, peek(both, j, 0), 0, j, 0)
        if noise is not None:
            poke(y, peek(both, j, 0) + peek(noise, levels, j), 0, j, 0)
    if not _cholesky(system, np.intp(0), F, floors):  # a plain 0 is a type of its own, and compiled for anew
        return int(levels)
    solve_lower(system, F, y)
    solve_upper(system, F, y)
    for i in range(levels):
        for a in range(F):
            s = peek(X, i, a, 0)
            for j in range(F):
                s -= peek(X, i, a, j + 1) * peek(y, 0, j, 0)
            poke(X, s, i, a, 0)
    return -1


@inner
def relax(H: Any, F: int, rhs: Any, p: Any, G: Any, x: Any) -> int:
    """One pass over the levels, each solved exactly with the others held: the paper's closed form, Eq. (11).

    The system is H + (p p^T) kron G; x (I, S) is updated in place. From the objective, the neighbours enter with a plus
    sign, and the data's part carries the 1 / M that Eq. (10) has and Eq. (11) drops. Returns a level whose block is not
    positive definite, or -1.
    """
    levels, S = x.shape
    block, s = np.zeros((1, 1, S, S)), np.zeros((1, F, WIDTH))
    floors, mean = np.zeros((1, F)), np.zeros(S)
    for i in range(levels):
        for a in range(F):
            mean[a] += p[i] * x[i, a]
    for i in range(levels):
        for a in range(F):
            mean[a] -= p[i] * x[i, a]
        for a in range(F):
            s[0, a, 0] = rhs[i, a]
            for b in range(F):
                block[0, 0, a, b] = H[0, i, a, b]
                if G is not None:
                    block[0, 0, a, b] += p[i] * p[i] * G[a, b]
                    s[0, a, 0] -= p[i] * G[a, b] * mean[b]
                for d in range(1, H.shape[0]):
                    if i + d < levels:
                        s[0, a, 0] -= H[d, i, a, b] * x[i + d, b]
                    if i - d >= 0:
                        s[0, a, 0] -= H[d, i - d, b, a] * x[i - d, b]
            floors[0, a] = FLAT * block[0, 0, a, a]
        if not _cholesky(block, np.intp(0), F, floors):
            return i
        solve_lower(block, F, s)
        solve_upper(block, F, s)
        for a in range(F):
            x[i, a] = s[0, a, 0]
            mean[a] += p[i] * x[i, a]
    return -1


@inner
def product(H: Any, F: int, p: Any, G: Any, x: Any, out: Any) -> None:
    """Fill out = (H + (p p^T) kron G) x, both (I, S)."""
    levels, S = x.shape
    mean = np.zeros((1, S))
    if G is not None:
        for i in range(levels):
            for g in range(0, S, WIDTH):
                store(mean, mul_add(load_splat(p, i), load(x, i, g), load(mean, g)), g)
    for g in range(0, S, WIDTH):
        of_missing = splat(0.0)
        if G is not None:
            for a in range(F):
                of_missing = mul_add(load_splat(mean, a), load(G, a, g), of_missing)
        for i in range(levels):
            s = mul(load_splat(p, i), of_missing)
            for d in range(min(H.shape[0], levels)):
                for a in range(F):
                    if i + d < levels:
                        s = mul_add(load_splat(x, i + d, a), load(H, d, i, a, g), s)
                    if i >= d > 0:
                        s = mul_add(load_splat(x, i - d, a), load(H, d, i - d, a, g), s)
            store(out, s, i, g)


@kernel
def lowers(step: Any, A: Any, residual: Any, image: Any, size: Any) -> bool:
    """Whether a step from A lowers the quadratic by more than the rounding in its gain.

    residual : rhs - H A, image : H step and size : the diagonal of H, all of the shape of the step.
    """
    gain, rounding = 0.0, 0.0
    for i in range(step.shape[0]):
        for a in range(step.shape[1]):
            x = peek(step, i, a)
            gain += x * (peek(residual, i, a) - 0.5 * peek(image, i, a))
            rounding += peek(size, i, a) * abs(x) * (abs(x) + abs(peek(A, i, a)))
    return bool(gain >= FLAT * rounding)
