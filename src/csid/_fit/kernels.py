"""The compiled loops over rows: products of factor rows, and the sums that a fit needs of them.

Shared conventions
------------------
codes : (N, M) uint8 or uint16, mode by mode the level of each cell; level `I_n` stands for "missing".
fractions : (N, M) how far the cell lies towards the next level, float32, or uint16 in steps of 2^-16 (`positions`);
    `(N, 0)` when every cell is on a level.
roots : (M,), square roots of the sample weights `s_m`.
table : (sum of I_n + 1, plus 1; S) float64 or float32, the factors stacked mode under mode. Behind the `I_n` rows of a
    mode comes the row of a missing cell, `p_n^T A_n`; one spare row closes the table. `S` is the rank padded with zeros
    to whole lanes. Products and short sums of them are in its precision; long sums are float64.
modes : (J,), the modes whose factor rows are multiplied; bases : (J,), the first row of each of them in the table.
outside : what that product starts from: (M, S) a row each, (M, 1) a number each, or (0, 1) for one.
V : (K, S), the output factor.

Rows `start` to `stop` are visited. Outputs are added to, so the caller clears them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from csid._fit.compiled import inner, kernel
from csid._fit.lanes import WIDTH, add_to, load, load_splat, mul, mul_add, peek, splat_like, store, sub, total
from csid._fit.positions import position

_BUFFER_BYTES = 7168  # of rows that are added up together: with a scaled copy they stay in the first-level cache
_TILE_BYTES, _FEWEST_IN_TILE = 1 << 17, 512  # of products in the order of their levels: they stay in the second
_ROWS_PER_LEVEL, _LARGEST_TILE_BYTES = 32, 3 << 18  # that many rows of a level make up for the writing of its sums
_MODES = 8


@inner
def _first_lanes(outside: Any, m: int, S: int, g: int) -> Any:
    """Lanes g..g+7 of what the product of row m starts from."""
    if outside.shape[0] == 0:
        return splat_like(outside, 1.0)
    if outside.shape[1] == 1:
        return load_splat(outside, m)
    return load(outside, m * S + g)


@inner
def _products(
    codes: Any, fractions: Any, start: int, n: int, outside: Any, table: Any, bases: Any, modes: Any, Q: Any
) -> None:
    """Q[r] = outside[m] * prod over modes of w_n(x_m)^T A_n, for n rows m = start + r that stay in the cache."""
    M = codes.shape[1]
    S = table.shape[1]
    J = len(modes)
    if fractions.shape[1] > 0:  # mode by mode, as neighbouring rows then read on in the codes and positions
        for r in range(n):
            for g in range(0, S, WIDTH):
                store(Q, _first_lanes(outside, start + r, S, g), r * S + g)
        for j in range(J):
            first = peek(modes, j) * M + start
            for r in range(n):
                at = (peek(bases, j) + np.intp(peek(codes, first + r))) * S
                t = splat_like(table, position(fractions, first + r))
                for g in range(0, S, WIDTH):
                    a = load(table, at + g)
                    a = mul_add(t, sub(load(table, at + S + g), a), a)
                    store(Q, mul(load(Q, r * S + g), a), r * S + g)
        return
    for r in range(n):  # row by row, as the product then stays in registers
        m = start + r
        g = 0
        while g + WIDTH < S:  # two groups of lanes at a time hide the latency of the products
            q0 = _first_lanes(outside, m, S, g)
            q1 = _first_lanes(outside, m, S, g + WIDTH)
            for j in range(J):
                at = (peek(bases, j) + np.intp(peek(codes, peek(modes, j) * M + m))) * S + g
                q0 = mul(q0, load(table, at))
                q1 = mul(q1, load(table, at + WIDTH))
            store(Q, q0, r * S + g)
            store(Q, q1, r * S + g + WIDTH)
            g += 2 * WIDTH
        if g < S:
            q = _first_lanes(outside, m, S, g)
            for j in range(J):
                at = (peek(bases, j) + np.intp(peek(codes, peek(modes, j) * M + m))) * S + g
                q = mul(q, load(table, at))
            store(Q, q, r * S + g)


@inner
def _scale_rows(Q: Any, first: int, c: Any, n: int, S: int, Z: Any) -> None:
    """Z[r] = c_r Q[first + r]."""
    for r in range(n):
        scale = splat_like(Z, c[r])
        for g in range(0, S, WIDTH):
            store(Z, mul(scale, load(Q, (first + r) * S + g)), r * S + g)


def _add_gram(Q: Any, q: Any, Z: Any, z: Any, n: Any, F: Any, S: Any, G: Any, base: Any) -> None:
    """G += Q^T Z over n rows from entries q and z on, its upper triangle: a block of sums stays in registers."""
    raise NotImplementedError("called from compiled code only")


@overload(_add_gram, jit_options={"nogil": True, "error_model": "numpy"})
def _add_gram_in_its_precision(
    Q: Any, q: Any, Z: Any, z: Any, n: Any, F: Any, S: Any, G: Any, base: Any
) -> Callable[..., None]:
    """As many sums as eight AVX2 registers hold."""
    return _add_gram_by_fours if Q.dtype == types.float64 else _add_gram_by_eights


def _add_gram_by_fours(Q: Any, q: Any, Z: Any, z: Any, n: Any, F: Any, S: Any, G: Any, base: Any) -> None:
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


def _add_gram_by_eights(Q: Any, q: Any, Z: Any, z: Any, n: Any, F: Any, S: Any, G: Any, base: Any) -> None:
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


@inner
def _add_weighted_rows(Q: Any, first: int, c: Any, n: int, S: int, R: Any, base: int) -> None:
    """R += sum_r c_r Q[first + r]."""
    for g in range(0, S, WIDTH):
        s = splat_like(Q, 0.0)
        for r in range(n):
            s = mul_add(splat_like(Q, c[r]), load(Q, (first + r) * S + g), s)
        add_to(R, s, base + g)


@inner
def _places_by_level(codes: Any, k: int, start: int, n: int, place: Any, end: Any) -> None:
    """Counting sort of n rows by their level in mode k: row start + r goes to place[r], level i ends before end[i]."""
    mode = k * codes.shape[1] + start
    for i in range(len(end)):
        end[i] = 0
    for r in range(n):
        end[np.intp(peek(codes, mode + r))] += 1
    before = 0
    for i in range(len(end)):
        count = end[i]
        end[i] = before
        before += count
    for r in range(n):
        level = np.intp(peek(codes, mode + r))
        place[r] = end[level]
        end[level] += 1


@kernel
def accumulate(
    codes: Any,
    fractions: Any,
    roots: Any,
    targets: Any,
    bias: Any,
    outside: Any,
    table: Any,
    bases: Any,
    modes: Any,
    k: int,
    F: int,
    start: int,
    stop: int,
    D: Any,
    O: Any,
    R: Any,
) -> None:
    """The data's part of the normal equations of mode k, Eq. (8) of the paper, summed over rows.

    `outside` carries the roots of the weights. D (I_k + 1, S, S): sum of s w_i^2 q q^T (upper triangles). O, of the
    same shape, or empty without interpolation: sum of s w_i w_{i+1} q q^T. R (I_k + 1, K, S): sum of
    s w_i q (y_j - b_j). The last level gathers the rows in which predictor k is missing.
    With k = -1, for the output factor, there is one level with all rows.
    """
    S = table.shape[1]
    K = targets.shape[1]
    linear = len(O) > 0
    most_bytes = max(_TILE_BYTES, min(_ROWS_PER_LEVEL * D.shape[0] * table.itemsize * S, _LARGEST_TILE_BYTES))
    tile = min(max(_FEWEST_IN_TILE, most_bytes // (table.itemsize * S), 8 * D.shape[0]), stop - start)
    buffer = 8 + _BUFFER_BYTES // (table.itemsize * S)
    place = np.empty(tile, np.intp)
    end = np.empty(D.shape[0], np.intp)
    Q = np.empty(tile * S, table.dtype)
    Z = np.empty(buffer * S, table.dtype)
    errors = np.empty(K * tile)
    t = np.zeros(tile)
    c = np.empty(buffer)
    for tile_start in range(start, stop, tile):
        in_tile = min(tile, stop - tile_start)
        if k >= 0:
            _places_by_level(codes, k, tile_start, in_tile, place, end)
        else:
            for r in range(in_tile):
                place[r] = r
            end[0] = in_tile
        for first in range(0, in_tile, buffer):
            n = min(buffer, in_tile - first)
            _products(codes, fractions, tile_start + first, n, outside, table, bases, modes, Z)
            for r in range(n):
                for g in range(0, S, WIDTH):
                    store(Q, load(Z, r * S + g), peek(place, first + r) * S + g)
        for r in range(in_tile):
            m = tile_start + r
            to = peek(place, r)
            if linear:
                t[to] = position(fractions, k * codes.shape[1] + m)
            for j in range(K):
                errors[j * tile + to] = peek(roots, m) * (peek(targets, m * K + j) - bias[j])
        level_start = 0
        for i in range(len(end)):
            for first in range(level_start, end[i], buffer):
                n = min(buffer, end[i] - first)
                between = False
                if linear:
                    for r in range(n):
                        between |= t[first + r] != 0.0
                # step 0 adds to level i; a row between two levels adds to the next one (2) and beside the diagonal (1)
                for step in range(3 if between else 1):
                    level = i + step // 2
                    G = O if step == 1 else D
                    if between:
                        for r in range(n):
                            up = t[first + r]
                            c[r] = (1.0 - up if step < 2 else up) * (1.0 - up if step == 0 else up)
                        _scale_rows(Q, first, c, n, S, Z)
                        _add_gram(Q, first * S, Z, np.intp(0), n, F, S, G, level * S * S)
                    else:
                        _add_gram(Q, first * S, Q, first * S, n, F, S, G, level * S * S)
                    if step != 1:
                        for j in range(K):
                            for r in range(n):
                                up = t[first + r]
                                c[r] = (up if step == 2 else 1.0 - up) * errors[j * tile + first + r]
                            _add_weighted_rows(Q, first, c, n, S, R, (level * K + j) * S)
            level_start = end[i]


@kernel
def multiply(
    codes: Any,
    fractions: Any,
    outside: Any,
    table: Any,
    bases: Any,
    modes: Any,
    start: int,
    stop: int,
    products: Any,
) -> None:
    """products[m] = outside[m] * prod over modes of w_n(x_m)^T A_n, into rows start..stop of an (M, S) array."""
    buffer = 8 + _BUFFER_BYTES // (table.itemsize * table.shape[1])
    for first in range(start, stop, buffer):
        n = min(buffer, stop - first)
        Q = products[first:]
        _products(codes, fractions, first, n, outside, table, bases[:_MODES], modes[:_MODES], Q)
        for j in range(_MODES, len(modes), _MODES):  # few at a time, whose factor rows stay in the cache
            few = slice(j, j + _MODES)
            _products(codes, fractions, first, n, products, table, bases[few], modes[few], Q)


@kernel
def evaluate(
    codes: Any,
    fractions: Any,
    table: Any,
    bases: Any,
    modes: Any,
    V: Any,
    bias: Any,
    start: int,
    stop: int,
    values: Any,
) -> None:
    """values[m - start, j] = b_j + sum_f V(j, f) prod_n w_n(x_m)^T A_n(:, f): Eq. (1) and its several-output form."""
    S = table.shape[1]
    buffer = 8 + _BUFFER_BYTES // (table.itemsize * S)
    Q = np.empty(buffer * S, table.dtype)
    one = np.empty((0, 1), table.dtype)
    for first in range(start, stop, buffer):
        n = min(buffer, stop - first)
        _products(codes, fractions, first, n, one, table, bases, modes, Q)
        for r in range(n):
            for j in range(V.shape[0]):
                s = splat_like(Q, 0.0)
                for g in range(0, S, WIDTH):
                    s = mul_add(load(Q, r * S + g), load(V, j * S + g), s)
                values[first - start + r, j] = bias[j] + total(s)


@kernel
def project(
    codes: Any,
    fractions: Any,
    roots: Any,
    targets: Any,
    bias: Any,
    outside: Any,
    table: Any,
    bases: Any,
    modes: Any,
    k: int,
    V: Any,
    X: Any,
    from_targets: bool,
    start: int,
    stop: int,
    out: Any,
    diagonal: Any,
) -> None:
    """Products with the normal equations of mode k, without forming them (for conjugate gradients).

    With z_j = (q * V_j)^T w_k^T X, or z_j = y_j - b_j when `from_targets`, adds to out (I_k + 1, S) the sum of
    s w_i z_j (q * V_j), and when `from_targets` to `diagonal` that of s w_i^2 (q * V_j)^2. X has the missing row last;
    `outside` carries the roots of the weights.
    """
    S = table.shape[1]
    buffer = 8 + _BUFFER_BYTES // (table.itemsize * S)
    Q = np.empty(buffer * S, table.dtype)
    for first in range(start, stop, buffer):
        n = min(buffer, stop - first)
        _products(codes, fractions, first, n, outside, table, bases, modes, Q)
        for r in range(n):
            m = first + r
            row = np.intp(codes[k, m]) * S
            t = position(fractions, k * codes.shape[1] + m) if fractions.shape[1] > 0 else 0.0
            for j in range(V.shape[0]):
                z = 0.0
                if from_targets:
                    z = roots[m] * (targets[m, j] - bias[j])
                else:
                    s = splat_like(Q, 0.0)
                    for g in range(0, S, WIDTH):
                        x = load(X, row + g)
                        if t != 0.0:
                            x = mul_add(splat_like(X, t), sub(load(X, row + S + g), x), x)
                        s = mul_add(mul(load(Q, r * S + g), load(V, j * S + g)), x, s)
                    z = total(s)
                # a row between two levels takes part in both
                for step in range(1 if t == 0.0 else 2):
                    w = t if step else 1.0 - t
                    for g in range(0, S, WIDTH):
                        here = row + step * S + g
                        q = mul(load(Q, r * S + g), load(V, j * S + g))
                        store(out, mul_add(splat_like(out, w * z), q, load(out, here)), here)
                        if from_targets:
                            store(diagonal, mul_add(splat_like(out, w * w), mul(q, q), load(diagonal, here)), here)
