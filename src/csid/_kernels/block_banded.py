"""Symmetric positive definite systems in block-banded form: factor, solve, draw, relax, multiply.

A system over `I` levels with `F` unknowns each is kept by block diagonals: `H[d, i]` is the symmetric F x F block that
couples level i with level i + d. Bandwidth 0 is a category, 1 first differences or interpolation, 2 second differences.
Rows without the predictor add `(p p^T) kron G`; G is None where there are none, and what it needs is not compiled.

Shapes, padded with zeros to a multiple of the SIMD width: H (width + 1, I, S, S), G (S, S), vectors (I, S).
"""

from typing import Any

import numpy as np

from csid._kernels.compiled import inner, kernel
from csid._kernels.simd import WIDTH, load, load_splat, mul, mul_add, peek, poke, splat, store, sub_mul, total

FLAT = 1e-14
"""A curvature that is smaller than this, relative to the system's diagonal, is rounding error."""


@inner
def _eliminate(H: Any, i: int, F: int, reach: int, floors: Any) -> bool:
    """H[0, i] as U^T U, in place: U above the diagonal, U^T below, reciprocals of U's diagonal on it.

    The `reach` blocks to its right become U^-T H[d, i]. False when a pivot is not above its floor (F,).
    """
    S = H.shape[3]
    for a in range(F):
        pivot = peek(H, 0, i, a, a)
        if not (pivot > peek(floors, i, a) and np.isfinite(pivot)):
            return False
        reciprocal = 1.0 / np.sqrt(pivot)
        for d in range(reach + 1):
            for g in range(0 if d > 0 else a - a % WIDTH, S, WIDTH):
                row = mul(splat(reciprocal), load(H, d, i, a, g))
                store(H, row, d, i, a, g)
                for b in range(a + 1, F if d > 0 else min(F, g + WIDTH)):
                    store(H, sub_mul(load_splat(H, 0, i, a, b), row, load(H, d, i, b, g)), d, i, b, g)
        poke(H, reciprocal, 0, i, a, a)
    for a in range(F):
        for b in range(a):
            poke(H, peek(H, 0, i, b, a), 0, i, a, b)
    return True


@inner
def _subtract_gram(H: Any, d: int, e: int, i: int, F: int) -> None:
    """H[e - d, i + d] -= H[d, i]^T H[e, i], on and above its diagonal when d = e: 4 x 8 sums stay in registers."""
    S = H.shape[3]
    for a in range(0, F, 4):
        for g in range(a - a % WIDTH if d == e else 0, S, WIDTH):
            s0 = load(H, e - d, i + d, a, g)
            s1 = load(H, e - d, i + d, a + 1, g)
            s2 = load(H, e - d, i + d, a + 2, g)
            s3 = load(H, e - d, i + d, a + 3, g)
            for c in range(F):
                x = load(H, e, i, c, g)
                s0 = sub_mul(load_splat(H, d, i, c, a), x, s0)
                s1 = sub_mul(load_splat(H, d, i, c, a + 1), x, s1)
                s2 = sub_mul(load_splat(H, d, i, c, a + 2), x, s2)
                s3 = sub_mul(load_splat(H, d, i, c, a + 3), x, s3)
            store(H, s0, e - d, i + d, a, g)
            store(H, s1, e - d, i + d, a + 1, g)
            store(H, s2, e - d, i + d, a + 2, g)
            store(H, s3, e - d, i + d, a + 3, g)


@inner
def factor(H: Any, F: int) -> int:
    """Block Cholesky H = U^T U in place. Returns the first level whose block is not positive definite, or -1."""
    width, levels = H.shape[0] - 1, H.shape[1]
    floors = np.zeros((levels, F))
    for i in range(levels):
        for a in range(F):
            poke(floors, FLAT * peek(H, 0, i, a, a), i, a)
    for i in range(levels):
        reach = min(width, levels - 1 - i)
        if not _eliminate(H, i, F, reach, floors):
            return i
        for d in range(1, reach + 1):
            for e in range(d, reach + 1):
                _subtract_gram(H, d, e, i, F)
    return -1


@inner
def solve_lower(H: Any, F: int, x: Any) -> None:
    """x (I, S) <- U^-T x, from the output of `factor`."""
    levels, S = x.shape
    rest = np.empty(S)
    for i in range(levels):
        for g in range(0, S, WIDTH):
            s = load(x, i, g)
            for d in range(1, min(H.shape[0] - 1, i) + 1):
                for c in range(F):
                    s = sub_mul(load_splat(x, i - d, c), load(H, d, i - d, c, g), s)
            store(rest, s, g)
        for a in range(F):
            found = peek(rest, a) * peek(H, 0, i, a, a)
            poke(x, found, i, a)
            for g in range(a - a % WIDTH, S, WIDTH):
                store(rest, sub_mul(splat(found), load(H, 0, i, a, g), load(rest, g)), g)


@inner
def solve_upper(H: Any, F: int, x: Any) -> None:
    """x (I, S) <- U^-1 x."""
    levels, S = x.shape
    rest = np.empty(S)
    for i in range(levels - 1, -1, -1):
        for a in range(F):
            s = splat(0.0)
            for d in range(1, min(H.shape[0] - 1, levels - 1 - i) + 1):
                for g in range(0, S, WIDTH):
                    s = mul_add(load(H, d, i, a, g), load(x, i + d, g), s)
            poke(rest, peek(x, i, a) - total(s), a)
        for a in range(F - 1, -1, -1):
            found = peek(rest, a) * peek(H, 0, i, a, a)
            poke(x, found, i, a)
            for g in range(0, a, WIDTH):
                store(rest, sub_mul(splat(found), load(H, 0, i, a, g), load(rest, g)), g)


@inner
def _root(G: Any, F: int, C: Any) -> None:
    """Fill C (F, S), G = C^T C up to rounding."""
    for a in range(F):
        pivot = peek(G, a, a)
        least = FLAT * pivot
        for c in range(a):
            pivot -= peek(C, c, a) * peek(C, c, a)
        scale = 1.0 / np.sqrt(pivot) if pivot > least else 0.0
        for b in range(a, F):
            s = peek(G, b, a)
            for c in range(a):
                s -= peek(C, c, b) * peek(C, c, a)
            poke(C, s * scale, a, b)


@inner
def solve(H: Any, F: int, rhs: Any, p: Any, G: Any, noise: Any, x: Any) -> int:
    """Fill x, (H + (p p^T) kron G) x = rhs; H (overwritten) by its bands, the second term by Woodbury's identity.

    rhs, x : (I, S); p : (I,) marginals; G : (S, S), Gram matrix of the rows in which the predictor is missing.
    noise : None, or (I + 1, F) standard normal numbers, that make x a draw from the Gaussian with this precision and
    mean: those of the levels enter half-way, and the last row those of the system of the missing rows.
    Returns the first level whose block is not positive definite (I for the system of the missing rows), or -1.
    """
    failed = factor(H, F)
    if failed >= 0:
        return int(failed)
    levels, S = rhs.shape
    for at in range(0, levels * S, WIDTH):
        store(x, load(rhs, at), at)
    solve_lower(H, F, x)
    if noise is not None:
        for i in range(levels):
            for a in range(F):
                poke(x, peek(x, i, a) + peek(noise, i, a), i, a)
    solve_upper(H, F, x)
    if G is not None:
        failed = _add_missing(H, F, p, G, noise, x)
    return int(failed)


@inner
def _add_missing(H: Any, F: int, p: Any, G: Any, noise: Any, x: Any) -> int:
    """x <- x - H^-1 W (I + W^T H^-1 W)^-1 W^T x, for W = p kron C^T and G = C^T C."""
    levels, S = x.shape
    if peek(G, 0, 0) == 0.0:  # no row lacks the predictor
        return -1
    C, solved = np.zeros((F, S)), np.zeros((F, levels, S))  # solved : H^-1 W, column by column
    _root(G, F, C)
    system, y, floors = np.zeros((1, 1, S, S)), np.zeros((1, S)), np.zeros((1, F))
    for j in range(F):
        column = solved[j]
        for i in range(levels):
            for g in range(0, S, WIDTH):
                store(column, mul(load_splat(p, i), load(C, j, g)), i, g)
        solve_lower(H, F, column)
        solve_upper(H, F, column)
        for e in range(F):
            poke(system, _along(p, C, e, column) + (1.0 if e == j else 0.0), 0, 0, j, e)
        poke(floors, FLAT * peek(system, 0, 0, j, j), 0, j)
        poke(y, _along(p, C, j, x), 0, j)
        if noise is not None:
            poke(y, peek(y, 0, j) + peek(noise, levels, j), 0, j)
    zero = np.intp(0)  # a literal 0 has a type of its own, and would be compiled for again
    if not _eliminate(system, zero, F, zero, floors):
        return int(levels)
    solve_lower(system, F, y)
    solve_upper(system, F, y)
    for j in range(F):
        for at in range(0, levels * S, WIDTH):
            store(x, sub_mul(load_splat(y, 0, j), load(solved, j * levels * S + at), load(x, at)), at)
    return -1


@inner
def _along(p: Any, C: Any, j: int, x: Any) -> float:
    """Entry j of W^T x, for W = p kron C^T."""
    s = splat(0.0)
    for i in range(x.shape[0]):
        for g in range(0, x.shape[1], WIDTH):
            s = mul_add(mul(load_splat(p, i), load(C, j, g)), load(x, i, g), s)
    return float(total(s))


@inner
def relax(H: Any, F: int, rhs: Any, p: Any, G: Any, x: Any) -> int:
    """One pass over the levels, each solved exactly with the others held: the paper's closed form, Eq. (11).

    The system is H + (p p^T) kron G; x (I, S) is updated in place. From the objective, the neighbours enter with a plus
    sign, and the data's part carries the 1 / M that Eq. (10) has and Eq. (11) drops. Returns a level whose block is not
    positive definite, or -1.
    """
    levels, S = x.shape
    zero, block, s = np.intp(0), np.zeros((1, 1, S, S)), np.zeros((1, S))
    floors, mean = np.zeros((1, F)), np.zeros(S)
    for i in range(levels):
        for a in range(F):
            mean[a] += p[i] * x[i, a]
    for i in range(levels):
        for a in range(F):
            mean[a] -= p[i] * x[i, a]
        for a in range(F):
            s[0, a] = rhs[i, a]
            for b in range(F):
                block[0, 0, a, b] = H[0, i, a, b]
                if G is not None:
                    block[0, 0, a, b] += p[i] * p[i] * G[a, b]
                    s[0, a] -= p[i] * G[a, b] * mean[b]
                for d in range(1, H.shape[0]):
                    if i + d < levels:
                        s[0, a] -= H[d, i, a, b] * x[i + d, b]
                    if i - d >= 0:
                        s[0, a] -= H[d, i - d, b, a] * x[i - d, b]
            floors[0, a] = FLAT * block[0, 0, a, a]
        if not _eliminate(block, zero, F, zero, floors):
            return i
        solve_lower(block, F, s)
        solve_upper(block, F, s)
        for a in range(F):
            x[i, a] = s[0, a]
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
    """Whether a step from A lowers the quadratic by more than rounding error.

    residual : rhs - H A, image : H step and size : the diagonal of H, all of the shape of the step.
    """
    gain, rounding = 0.0, 0.0
    for i in range(step.shape[0]):
        for a in range(step.shape[1]):
            x = peek(step, i, a)
            gain += x * (peek(residual, i, a) - 0.5 * peek(image, i, a))
            rounding += peek(size, i, a) * abs(x) * (abs(x) + abs(peek(A, i, a)))
    return bool(gain >= FLAT * rounding)
