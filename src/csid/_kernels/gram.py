"""Sums over a buffer of rows: their Gram matrices, and the rows weighted.

A buffer Q (n, S) holds products of factor rows, in single or double precision; S is the rank F padded to whole vectors.
Sums are added to D (diagonal blocks), O (blocks beside the diagonal) and R (right-hand side), as in
`row_loops.accumulate`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from csid._kernels.compiled import inner
from csid._kernels.simd import WIDTH, add_to, load, load_splat, mul, mul_add, splat_like, store


def add_gram(Q: Any, q: Any, Z: Any, z: Any, n: Any, F: Any, G: Any, base: Any) -> None:
    """Upper triangle of G += Q^T Z, over n rows from entries q and z on. A block of sums stays in registers."""
    raise NotImplementedError("called from compiled code only")


@overload(add_gram, jit_options={"nogil": True, "error_model": "numpy"})
def _add_gram_in_its_precision(
    Q: Any, q: Any, Z: Any, z: Any, n: Any, F: Any, G: Any, base: Any
) -> Callable[..., None]:
    """As many sums as eight AVX2 registers hold."""
    return _add_gram_by_fours if Q.dtype == types.float64 else _add_gram_by_eights


def _add_gram_by_fours(Q: Any, q: Any, Z: Any, z: Any, n: Any, F: Any, G: Any, base: Any) -> None:
    S = G.shape[2]
    for a in range(0, F, 4):
        for b in range(a - a % WIDTH, S, WIDTH):
            g0 = splat_like(Q, 0.0)
            g1 = g0
            g2 = g0
            g3 = g0
            row = 0
            for _ in range(n):
                x = load(Z, z + row + b)
                g0 = mul_add(load_splat(Q, q + row + a), x, g0)
                g1 = mul_add(load_splat(Q, q + row + a + 1), x, g1)
                g2 = mul_add(load_splat(Q, q + row + a + 2), x, g2)
                g3 = mul_add(load_splat(Q, q + row + a + 3), x, g3)
                row += S
            at = base + a * S + b
            add_to(G, g0, at)
            add_to(G, g1, at + S)
            add_to(G, g2, at + 2 * S)
            add_to(G, g3, at + 3 * S)


def _add_gram_by_eights(Q: Any, q: Any, Z: Any, z: Any, n: Any, F: Any, G: Any, base: Any) -> None:
    S = G.shape[2]
    for a in range(0, F, 8):
        for b in range(a - a % WIDTH, S, WIDTH):
            g0 = splat_like(Q, 0.0)
            g1 = g0
            g2 = g0
            g3 = g0
            g4 = g0
            g5 = g0
            g6 = g0
            g7 = g0
            row = 0
            for _ in range(n):
                x = load(Z, z + row + b)
                g0 = mul_add(load_splat(Q, q + row + a), x, g0)
                g1 = mul_add(load_splat(Q, q + row + a + 1), x, g1)
                g2 = mul_add(load_splat(Q, q + row + a + 2), x, g2)
                g3 = mul_add(load_splat(Q, q + row + a + 3), x, g3)
                g4 = mul_add(load_splat(Q, q + row + a + 4), x, g4)
                g5 = mul_add(load_splat(Q, q + row + a + 5), x, g5)
                g6 = mul_add(load_splat(Q, q + row + a + 6), x, g6)
                g7 = mul_add(load_splat(Q, q + row + a + 7), x, g7)
                row += S
            at = base + a * S + b
            add_to(G, g0, at)
            add_to(G, g1, at + S)
            add_to(G, g2, at + 2 * S)
            add_to(G, g3, at + 3 * S)
            add_to(G, g4, at + 4 * S)
            add_to(G, g5, at + 5 * S)
            add_to(G, g6, at + 6 * S)
            add_to(G, g7, at + 7 * S)


def add_grams_between(Q: Any, first: Any, c: Any, n: Any, F: Any, Z: Any, sums: Any, i: Any) -> None:
    """Add to D and O the Gram matrices of n rows of Q, from the first on, between level i and the next.

    c : (3 * most,), what each row weighs at its own level, beside the diagonal, and at the next level.
    """
    raise NotImplementedError("called from compiled code only")


@overload(add_grams_between, jit_options={"nogil": True, "error_model": "numpy"})
def _add_grams_between_in_its_precision(
    Q: Any, first: Any, c: Any, n: Any, F: Any, Z: Any, sums: Any, i: Any
) -> Callable[..., None]:
    """The sums of all three for four columns are twelve AVX2 registers of floats, and too many of doubles."""
    return _add_grams_in_turn if Q.dtype == types.float64 else _add_grams_at_once


def _add_grams_in_turn(Q: Any, first: Any, c: Any, n: Any, F: Any, Z: Any, sums: Any, i: Any) -> None:
    D, O, _ = sums
    S = D.shape[2]
    most, q, base = len(c) // 3, first * S, i * S * S
    for step in range(3):
        for r in range(n):
            scale = load_splat(c, step * most + r)
            for g in range(0, S, WIDTH):
                store(Z, mul(scale, load(Q, q + r * S + g)), r * S + g)
        add_gram(Q, q, Z, np.intp(0), n, F, O if step == 1 else D, base + step // 2 * S * S)


def _add_grams_at_once(Q: Any, first: Any, c: Any, n: Any, F: Any, Z: Any, sums: Any, i: Any) -> None:
    D, O, _ = sums
    S = D.shape[2]
    most, q, base = len(c) // 3, first * S, i * S * S
    for a in range(0, F, 4):
        for b in range(a - a % WIDTH, S, WIDTH):
            here0 = splat_like(Q, 0.0)
            here1 = here0
            here2 = here0
            here3 = here0
            beside0 = here0
            beside1 = here0
            beside2 = here0
            beside3 = here0
            next0 = here0
            next1 = here0
            next2 = here0
            next3 = here0
            row = q
            for r in range(n):
                x = load(Q, row + b)
                here = mul(load_splat(c, r), x)
                beside = mul(load_splat(c, most + r), x)
                next_ = mul(load_splat(c, 2 * most + r), x)
                y = load_splat(Q, row + a)
                here0 = mul_add(y, here, here0)
                beside0 = mul_add(y, beside, beside0)
                next0 = mul_add(y, next_, next0)
                y = load_splat(Q, row + a + 1)
                here1 = mul_add(y, here, here1)
                beside1 = mul_add(y, beside, beside1)
                next1 = mul_add(y, next_, next1)
                y = load_splat(Q, row + a + 2)
                here2 = mul_add(y, here, here2)
                beside2 = mul_add(y, beside, beside2)
                next2 = mul_add(y, next_, next2)
                y = load_splat(Q, row + a + 3)
                here3 = mul_add(y, here, here3)
                beside3 = mul_add(y, beside, beside3)
                next3 = mul_add(y, next_, next3)
                row += S
            at = base + a * S + b
            add_to(D, here0, at)
            add_to(D, here1, at + S)
            add_to(D, here2, at + 2 * S)
            add_to(D, here3, at + 3 * S)
            add_to(O, beside0, at)
            add_to(O, beside1, at + S)
            add_to(O, beside2, at + 2 * S)
            add_to(O, beside3, at + 3 * S)
            at += S * S
            add_to(D, next0, at)
            add_to(D, next1, at + S)
            add_to(D, next2, at + 2 * S)
            add_to(D, next3, at + 3 * S)


@inner
def add_weighted_rows(Q: Any, first: int, c: Any, n: int, R: Any, base: int, beyond: int) -> None:
    """R[base] += sum_r c[r] Q[first + r]; where beyond > 0, R[base + beyond] += sum_r c[most + r] Q[first + r]."""
    S, most = R.shape[2], len(c) // 3
    for g in range(0, S, 2 * WIDTH):  # four sums hide the latency of their additions
        h = min(g + WIDTH, S - WIDTH)  # the last vector once more where it has no pair
        here0 = splat_like(Q, 0.0)
        here1 = here0
        next0 = here0
        next1 = here0
        for r in range(n):
            row = (first + r) * S
            x0, x1 = load(Q, row + g), load(Q, row + h)
            here, next_ = load_splat(c, r), load_splat(c, most + r)
            here0 = mul_add(here, x0, here0)
            here1 = mul_add(here, x1, here1)
            next0 = mul_add(next_, x0, next0)
            next1 = mul_add(next_, x1, next1)
        add_to(R, here0, base + g)
        if h > g:
            add_to(R, here1, base + h)
        if beyond > 0:
            add_to(R, next0, base + beyond + g)
            if h > g:
                add_to(R, next1, base + beyond + h)
