"""Block Cholesky factors of symmetric positive definite block-banded systems, and their triangular solves.

Shapes as in `block_banded`: H (width + 1, I, S, S), vectors (I, S).
"""

from typing import Any

import numpy as np

from csid._kernels.compiled import inner
from csid._kernels.simd import WIDTH, load, load_splat, mul, mul_add, peek, poke, splat, store, sub_mul, total

FLAT = 1e-14
"""A curvature that is smaller than this, relative to the system's diagonal, is rounding error."""


@inner
def eliminate(H: Any, i: int, F: int, reach: int, floors: Any) -> bool:
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
def subtract_gram(H: Any, d: int, e: int, i: int, F: int) -> None:
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
        if not eliminate(H, i, F, reach, floors):
            return i
        for d in range(1, reach + 1):
            for e in range(d, reach + 1):
                subtract_gram(H, d, e, i, F)
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
