"""Symmetric positive definite systems in block-banded form: solve, draw, relax, multiply.

A system over `I` levels with `F` unknowns each is kept by block diagonals: `H[d, i]` is the symmetric F x F block that
couples level i with level i + d. Bandwidth 0 is a category, 1 first differences or interpolation, 2 second differences.
Rows without the predictor add `(p p^T) kron G`; G is None where there are none, and what it needs is not compiled.

Shapes, padded with zeros to a multiple of the SIMD width: H (width + 1, I, S, S), G (S, S), vectors (I, S).
"""

from typing import Any

import numpy as np

from csid._kernels.block_cholesky import FLAT, eliminate, factor, solve_lower, solve_upper, subtract_gram
from csid._kernels.compiled import inner, kernel
from csid._kernels.simd import WIDTH, load, load_splat, mul, mul_add, peek, poke, splat, store, sub_mul, total


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
    C, system, y, floors = np.zeros((F, S)), np.zeros((1, 1, S, S)), np.zeros((1, S)), np.zeros((1, F))
    _root(G, F, C)
    _fill_border(H, F, p, C, system)
    mean = np.zeros((1, S))
    _average(p, x, mean)
    for j in range(F):
        poke(floors, FLAT * peek(system, 0, 0, j, j), 0, j)
        s = splat(0.0)
        for g in range(0, S, WIDTH):
            s = mul_add(load(C, j, g), load(mean, 0, g), s)
        poke(y, total(s), 0, j)
        if noise is not None:
            poke(y, peek(y, 0, j) + peek(noise, levels, j), 0, j)
    zero = np.intp(0)  # a literal 0 has a type of its own, and would be compiled for again
    if not eliminate(system, zero, F, zero, floors):
        return int(levels)
    solve_lower(system, F, y)
    solve_upper(system, F, y)
    correction = np.zeros((levels, S))
    for g in range(0, S, WIDTH):
        combined = splat(0.0)
        for j in range(F):
            combined = mul_add(load_splat(y, 0, j), load(C, j, g), combined)
        for i in range(levels):
            store(correction, mul(load_splat(p, i), combined), i, g)
    solve_lower(H, F, correction)
    solve_upper(H, F, correction)
    for at in range(0, levels * S, WIDTH):
        store(x, sub_mul(splat(1.0), load(correction, at), load(x, at)), at)
    return -1


@inner
def _average(p: Any, x: Any, mean: Any) -> None:
    """Add p^T x to mean (1, S)."""
    for i in range(x.shape[0]):
        for g in range(0, x.shape[1], WIDTH):
            store(mean, mul_add(load_splat(p, i), load(x, i, g), load(mean, g)), g)


@inner
def _fill_border(H: Any, F: int, p: Any, C: Any, system: Any) -> None:
    """Fill system (1, 1, S, S), on and above its diagonal, with I + B^T B, B = U^-T W and W = p kron C^T.

    B is a border of H. Its blocks B_i are eliminated level by level, and only as many are kept as the band reaches.
    """
    (width, levels), S = H.shape[:2], H.shape[3]
    border = np.zeros((width, S, S))
    gram = np.zeros((2, 2, S, S))  # B_i at (1, 0) takes part in the elimination of -(I + B^T B) at (0, 1)
    for a in range(F):
        poke(gram, -1.0, 0, 1, a, a)
    for i in range(levels):
        for a in range(F):
            for j in range(F):
                poke(gram, peek(p, i) * peek(C, j, a), 1, 0, a, j)
            for g in range(0, S, WIDTH):
                row = load(gram, 1, 0, a, g)
                for d in range(1, min(width - 1, i) + 1):
                    for c in range(F):
                        row = sub_mul(load_splat(H, d, i - d, c, a), load(border, (i - d) % width, c, g), row)
                store(gram, row, 1, 0, a, g)
        for g in range(0, S, WIDTH):
            for a in range(F):
                row = load(gram, 1, 0, a, g)
                for c in range(a):
                    row = sub_mul(load_splat(H, 0, i, a, c), load(gram, 1, 0, c, g), row)
                store(gram, mul(load_splat(H, 0, i, a, a), row), 1, 0, a, g)
                store(border, load(gram, 1, 0, a, g), i % width, a, g)
        subtract_gram(gram, 1, 1, 0, F)
    for a in range(F):
        for b in range(a, F):
            poke(system, -peek(gram, 0, 1, a, b), 0, 0, a, b)


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
        if not eliminate(block, zero, F, zero, floors):
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
        _average(p, x, mean)
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
