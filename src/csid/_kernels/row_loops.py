"""The compiled loops over rows: products of factor rows, and the sums that a fit needs of them.

Arguments are described in `arguments`. V is the output factor, (K, S). Rows `part[0]` to `part[1]` are visited. Outputs
are added to, so the caller clears them.
"""

from typing import Any

import numpy as np

from csid._kernels.arguments import RowProduct
from csid._kernels.compiled import inner, kernel
from csid._kernels.gram import add_gram, add_grams_between, add_weighted_rows
from csid._kernels.positions import position
from csid._kernels.simd import WIDTH, load, load_splat, mul, mul_add, peek, poke, splat_like, store, sub, total

_BUFFER_BYTES = 7168  # of rows that are summed together: with a scaled copy they fit in the L1 cache
_TILE_BYTES, _FEWEST_IN_TILE = 1 << 17, 512  # of products sorted by level: they fit in the L2 cache
_ROWS_PER_LEVEL, _LARGEST_TILE_BYTES = 64, 3 << 19  # or in L3: with so many rows on a level, writing its sums is cheap
_MODES = 8


@inner
def _outside_vector(outside: Any, m: int, S: int, g: int) -> Any:
    """Components g..g+7 of `outside[m]`."""
    if outside.shape[0] == 0:
        return splat_like(outside, 1.0)
    if outside.shape[1] == 1:
        return load_splat(outside, m)
    return load(outside, m * S + g)


@inner
def _factor_vector(table: Any, fractions: Any, row: int, cell: int, g: int) -> Any:
    """Components g..g+7 of w_n(x_m)^T A_n, from the row of the table and the flat index of the cell."""
    at = row * table.shape[1] + g
    a = load(table, at)
    if fractions.shape[1] == 0:
        return a
    return mul_add(splat_like(table, position(fractions, cell)), sub(load(table, at + table.shape[1]), a), a)


@inner
def _products(cells: Any, product: Any, start: int, n: int, place: Any, Q: Any) -> None:
    """Q[r] = the product of row m, for n rows m = start + r; Q[place[r]] where places are given.

    Row by row, as the product then stays in registers.
    """
    codes, fractions = cells
    outside, table, bases, modes = product
    M = codes.shape[1]
    S = table.shape[1]
    for r in range(n):
        m = start + r
        to = (r if place is None else np.intp(peek(place, r))) * S
        g = 0
        while g + WIDTH < S:  # two vectors at a time hide the latency of the products
            q0 = _outside_vector(outside, m, S, g)
            q1 = _outside_vector(outside, m, S, g + WIDTH)
            for j in range(len(modes)):
                cell = peek(modes, j) * M + m
                row = peek(bases, j) + np.intp(peek(codes, cell))
                q0 = mul(q0, _factor_vector(table, fractions, row, cell, g))
                q1 = mul(q1, _factor_vector(table, fractions, row, cell, g + WIDTH))
            store(Q, q0, to + g)
            store(Q, q1, to + g + WIDTH)
            g += 2 * WIDTH
        if g < S:
            q = _outside_vector(outside, m, S, g)
            for j in range(len(modes)):
                cell = peek(modes, j) * M + m
                row = peek(bases, j) + np.intp(peek(codes, cell))
                q = mul(q, _factor_vector(table, fractions, row, cell, g))
            store(Q, q, to + g)


@inner
def _places_by_level(codes: Any, k: int, start: int, n: int, place: Any, end: Any) -> None:
    """Counting sort of n rows by their level in mode k: row start + r goes to place[r], level i ends before end[i]."""
    mode = k * codes.shape[1] + start
    for i in range(len(end)):
        poke(end, 0, i)
    for r in range(n):
        level = np.intp(peek(codes, mode + r))
        poke(end, peek(end, level) + 1, level)
    before = 0
    for i in range(len(end)):
        count = peek(end, i)
        poke(end, before, i)
        before += count
    for r in range(n):
        level = np.intp(peek(codes, mode + r))
        to = peek(end, level)
        poke(place, to, r)
        poke(end, to + 1, level)


@kernel
def accumulate(rows: Any, product: Any, k: int, F: int, part: Any, sums: Any) -> None:
    """The data's part of the normal equations of mode k, Eq. (8) of the paper, summed over rows.

    rows : RowArrays; product : RowProduct q over modes other than k, whose `outside` carries the roots of the weights.
    F : the rank.
    sums : D, O and R. D (I_k + 1, S, S): sum of s w_i^2 q q^T (upper triangles). O, of the same shape, or empty without
        interpolation: sum of s w_i w_{i+1} q q^T. R (I_k + 1, K, S): sum of s w_i q (y_j - b_j). The last level gathers
        the rows in which predictor k is missing.
    With k = -1, for the output factor, there is one level with all rows.
    """
    cells, roots, targets, bias = rows
    codes, fractions = cells
    table = product.table
    D, O, R = sums
    start, stop = part
    S = table.shape[1]
    K = targets.shape[1]
    linear = len(O) > 0
    most_bytes = max(_TILE_BYTES, min(_ROWS_PER_LEVEL * D.shape[0] * table.itemsize * S, _LARGEST_TILE_BYTES))
    tile = min(max(_FEWEST_IN_TILE, most_bytes // (table.itemsize * S), 8 * D.shape[0]), stop - start)
    buffer = 8 + _BUFFER_BYTES // (table.itemsize * S)
    place = np.empty(tile, np.int32)
    end = np.empty(D.shape[0], np.int32)
    Q = np.empty(tile * S, table.dtype)
    Z = np.empty(buffer * S, table.dtype)
    errors = np.empty(K * tile, table.dtype)
    t = np.zeros(tile, table.dtype)
    c = np.empty(3 * buffer, table.dtype)
    one = table.dtype.type(1.0)
    for tile_start in range(start, stop, tile):
        in_tile = min(tile, stop - tile_start)
        if k >= 0:
            _places_by_level(codes, k, tile_start, in_tile, place, end)
        else:
            for r in range(in_tile):
                place[r] = r
            end[0] = in_tile
        _products(cells, product, tile_start, in_tile, place, Q)
        if linear:
            cell = k * codes.shape[1] + tile_start
            for r in range(in_tile):
                poke(t, position(fractions, cell + r), np.intp(peek(place, r)))
        for j in range(K):
            for r in range(in_tile):
                m = tile_start + r
                error = peek(roots, m) * (peek(targets, m * K + j) - peek(bias, j))
                poke(errors, error, j * tile + np.intp(peek(place, r)))
        level_start = np.intp(0)
        for i in range(len(end)):
            level_end = np.intp(peek(end, i))
            for first in range(level_start, level_end, buffer):
                n = min(buffer, level_end - first)
                between = False
                if linear:
                    for r in range(n):
                        up = peek(t, first + r)
                        down = one - up
                        between |= up > 0
                        poke(c, down * down, r)
                        poke(c, down * up, buffer + r)
                        poke(c, up * up, 2 * buffer + r)
                if between:
                    add_grams_between(Q, first, c, n, F, Z, sums, i)
                else:
                    add_gram(Q, first * S, Q, first * S, n, F, D, i * S * S)
                for j in range(K):
                    for r in range(n):
                        up, error = peek(t, first + r), peek(errors, j * tile + first + r)
                        poke(c, (one - up) * error, r)
                        poke(c, up * error, buffer + r)
                    add_weighted_rows(Q, first, c, n, R, (i * K + j) * S, K * S if between else 0)
            level_start = level_end


@kernel
def multiply(cells: Any, product: Any, part: Any, products: Any) -> None:
    """products[m] = the product of row m, into the visited rows of an (M, S) array."""
    outside, table, bases, modes = product
    start, stop = part
    buffer = 8 + _BUFFER_BYTES // (table.itemsize * table.shape[1])
    for first in range(start, stop, buffer):
        n = min(buffer, stop - first)
        Q = products[first:]
        _products(cells, RowProduct(outside, table, bases[:_MODES], modes[:_MODES]), first, n, None, Q)
        for j in range(_MODES, len(modes), _MODES):  # a few at a time, whose factor rows fit in the cache
            few = slice(j, j + _MODES)
            _products(cells, RowProduct(products, table, bases[few], modes[few]), first, n, None, Q)


@kernel
def evaluate(cells: Any, table: Any, bases: Any, modes: Any, V: Any, bias: Any, part: Any, values: Any) -> None:
    """values[m - start, j] = b_j + sum_f V(j, f) prod_n w_n(x_m)^T A_n(:, f): Eq. (1) and its several-output form.

    table, bases, modes : see RowProduct; V is in the precision of the table.
    """
    start, stop = part
    product = RowProduct(np.empty((0, 1), table.dtype), table, bases, modes)
    S = table.shape[1]
    buffer = 8 + _BUFFER_BYTES // (table.itemsize * S)
    Q = np.empty(buffer * S, table.dtype)
    for first in range(start, stop, buffer):
        n = min(buffer, stop - first)
        _products(cells, product, first, n, None, Q)
        for r in range(n):
            for j in range(V.shape[0]):
                s = splat_like(Q, 0.0)
                for g in range(0, S, WIDTH):
                    s = mul_add(load(Q, r * S + g), load(V, j * S + g), s)
                values[first - start + r, j] = bias[j] + total(s)


@kernel
def add_residuals(values: Any, targets: Any, weights: Any, sums: Any) -> None:
    """sums (2, K) += weighted sums over rows of the residuals y_j - values_j and of their squares."""
    for j in range(values.shape[1]):
        first = 0.0
        second = 0.0
        for m in range(len(values)):
            residual = targets[m, j] - values[m, j]
            weighted = weights[m] * residual
            first += weighted
            second += weighted * residual
        sums[0, j] += first
        sums[1, j] += second


@kernel
def project(rows: Any, product: Any, k: int, V: Any, X: Any, from_targets: bool, part: Any, sums: Any) -> None:
    """Products with the normal equations of mode k, without forming them (for conjugate gradients).

    rows, product : see `accumulate`; X : (I_k + 1, S) with the missing row last.
    sums : (2, I_k + 1, S). With z_j = (q * V_j)^T w_k^T X, or z_j = y_j - b_j when `from_targets`, sums[0] gets the sum
        of s w_i z_j (q * V_j), and when `from_targets` sums[1] gets that of s w_i^2 (q * V_j)^2.
    """
    cells, roots, targets, bias = rows
    codes, fractions = cells
    table = product.table
    start, stop = part
    out, diagonal = sums[0], sums[1]
    S = table.shape[1]
    buffer = 8 + _BUFFER_BYTES // (table.itemsize * S)
    Q = np.empty(buffer * S, table.dtype)
    for first in range(start, stop, buffer):
        n = min(buffer, stop - first)
        _products(cells, product, first, n, None, Q)
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
                # a row between two levels contributes to both
                for step in range(1 if t == 0.0 else 2):
                    w = t if step else 1.0 - t
                    for g in range(0, S, WIDTH):
                        here = row + step * S + g
                        q = mul(load(Q, r * S + g), load(V, j * S + g))
                        store(out, mul_add(splat_like(out, w * z), q, load(out, here)), here)
                        if from_targets:
                            store(diagonal, mul_add(splat_like(out, w * w), mul(q, q), load(diagonal, here)), here)
