"""The compiled loops of Shapley values, interactions and effects: products over all predictors but one, or but two.

Arrays are as in `csid._kernels.row_loops`:
cells : codes and fractions; factors : table, bases and V.
outside : (S / 8, B, N, 8) the values b_n of B background rows, eight components together.
rule : nodes and weights of a quadrature rule on [0, 1]: all products are of `b_n + t (a_n - b_n)` at a node t.
Rows `start` to `stop` are visited. Components are processed in lanes of eight; all that belongs to one lane stays in
the first-level cache. A product over all but one is a prefix product times a suffix product, so there is no division.
"""

from typing import Any

import numpy as np

from csid._kernels.compiled import inner, kernel
from csid._kernels.simd import WIDTH, add_to, load, load_splat, mul, mul_add, peek, splat, splat_like, store, sub, total


@inner
def _cells(codes: Any, fractions: Any, m: int, table: Any, bases: Any, g: int, a: Any) -> None:
    """a[n] = lanes g..g+7 of `w_n(x_m)^T A_n`."""
    M = codes.shape[1]
    S = table.shape[1]
    for n in range(len(bases)):
        at = (peek(bases, n) + np.intp(peek(codes, n * M + m))) * S + g
        x = load(table, at)
        if fractions.shape[1] > 0:
            x = mul_add(splat_like(table, peek(fractions, n * M + m)), sub(load(table, at + S), x), x)
        store(a, x, n * WIDTH)


@inner
def _clear(array: Any) -> None:
    for i in range(0, len(array), WIDTH):
        store(array, splat(0.0), i)


@inner
def _integrals(N: int, b: Any, at: int, d: Any, rule: Any, c: Any, before: Any, integral: Any) -> None:
    """integral[n] = sum_t weight_t prod_(j != n) (b_j + t d_j), of eight components; `b` from an index on."""
    nodes, weights = rule
    _clear(integral)
    for q in range(len(nodes)):
        t = splat(nodes[q])
        product = load_splat(weights, q)
        for n in range(0, N * WIDTH, WIDTH):
            store(before, product, n)
            x = mul_add(t, load(d, n), load(b, at + n))
            store(c, x, n)
            product = mul(product, x)
        product = splat(1.0)
        for n in range((N - 1) * WIDTH, -1, -WIDTH):
            store(integral, mul_add(load(before, n), product, load(integral, n)), n)
            product = mul(product, load(c, n))


@kernel
def add_values(cells: Any, factors: Any, outside: Any, rule: Any, start: int, stop: int, values: Any) -> None:
    """values[m, n, k] += sum_f V(k, f) sum_b (a_n - b_n) sum_t weight_t prod_(j != n) (b_j + t (a_j - b_j))."""
    (codes, fractions), (table, bases, V) = cells, factors
    S, N, K, B = table.shape[1], len(bases), V.shape[0], outside.shape[1]
    a, d, c, before = np.empty(N * WIDTH), np.empty(N * WIDTH), np.empty(N * WIDTH), np.empty(N * WIDTH)
    integral, of_lane, sums = np.empty(N * WIDTH), np.empty(N * WIDTH), np.empty(K * N * WIDTH)
    for m in range(start, stop):
        _clear(sums)
        for g in range(0, S, WIDTH):
            _cells(codes, fractions, m, table, bases, g, a)
            _clear(of_lane)
            for b in range(B):
                base = (g * B + b * WIDTH) * N
                for n in range(0, N * WIDTH, WIDTH):
                    store(d, sub(load(a, n), load(outside, base + n)), n)
                _integrals(N, outside, base, d, rule, c, before, integral)
                for n in range(0, N * WIDTH, WIDTH):
                    store(of_lane, mul_add(load(d, n), load(integral, n), load(of_lane, n)), n)
            for k in range(K):
                v = load(V, k * S + g)
                for n in range(0, N * WIDTH, WIDTH):
                    add_to(sums, mul(v, load(of_lane, n)), k * N * WIDTH + n)
        for k in range(K):
            for n in range(N):
                values[m, n, k] += total(load(sums, (k * N + n) * WIDTH))


@kernel
def add_interactions(cells: Any, factors: Any, outside: Any, rule: Any, start: int, stop: int, values: Any) -> None:
    """The same over pairs i < n: values[m, i N + n, k] has both differences outside, and all but these two inside."""
    (codes, fractions), (table, bases, V), (nodes, weights) = cells, factors, rule
    S, N, K, B = table.shape[1], len(bases), V.shape[0], outside.shape[1]
    P = N * (N - 1) // 2
    a, d, c, behind = np.empty(N * WIDTH), np.empty(N * WIDTH), np.empty(N * WIDTH), np.empty(N * WIDTH)
    integral, of_lane, sums = np.empty(P * WIDTH), np.empty(P * WIDTH), np.empty(K * P * WIDTH)
    for m in range(start, stop):
        _clear(sums)
        for g in range(0, S, WIDTH):
            _cells(codes, fractions, m, table, bases, g, a)
            _clear(of_lane)
            for b in range(B):
                base = (g * B + b * WIDTH) * N
                for n in range(0, N * WIDTH, WIDTH):
                    store(d, sub(load(a, n), load(outside, base + n)), n)
                _clear(integral)
                for q in range(len(nodes)):
                    t = splat(nodes[q])
                    product = splat(1.0)
                    for n in range((N - 1) * WIDTH, -1, -WIDTH):
                        store(behind, product, n)
                        x = mul_add(t, load(d, n), load(outside, base + n))
                        store(c, x, n)
                        product = mul(product, x)
                    before = load_splat(weights, q)
                    pair = 0
                    for i in range(0, N * WIDTH, WIDTH):
                        product = before
                        for n in range(i + WIDTH, N * WIDTH, WIDTH):
                            store(integral, mul_add(product, load(behind, n), load(integral, pair)), pair)
                            product = mul(product, load(c, n))
                            pair += WIDTH
                        before = mul(before, load(c, i))
                pair = 0
                for i in range(0, N * WIDTH, WIDTH):
                    for n in range(i + WIDTH, N * WIDTH, WIDTH):
                        both = mul(load(d, i), load(d, n))
                        store(of_lane, mul_add(both, load(integral, pair), load(of_lane, pair)), pair)
                        pair += WIDTH
            for k in range(K):
                v = load(V, k * S + g)
                for pair in range(0, P * WIDTH, WIDTH):
                    add_to(sums, mul(v, load(of_lane, pair)), k * P * WIDTH + pair)
        for k in range(K):
            pair = k * P * WIDTH
            for i in range(N):
                for n in range(i + 1, N):
                    values[m, i * N + n, k] += total(load(sums, pair))
                    pair += WIDTH


@kernel
def add_effects(C: Any, mm: Any, VV: Any, rule: Any, effects: Any) -> None:
    """effects[n, k] += sum_p VV(k, p) C_n(p) sum_t weight_t prod_(j != n) (mm_j(p) + t C_j(p)) over pairs p.

    C, mm : (P / 8, N, 8) and VV : (K, P), pairs of components, eight together.
    """
    N, K, P = C.shape[1], VV.shape[0], VV.shape[1]
    d, c, before, integral = np.empty(N * WIDTH), np.empty(N * WIDTH), np.empty(N * WIDTH), np.empty(N * WIDTH)
    sums = np.empty(K * N * WIDTH)
    _clear(sums)
    for p in range(0, P, WIDTH):
        for n in range(0, N * WIDTH, WIDTH):
            store(d, load(C, p * N + n), n)
        _integrals(N, mm, p * N, d, rule, c, before, integral)
        for k in range(K):
            v = load(VV, k * P + p)
            for n in range(0, N * WIDTH, WIDTH):
                add_to(sums, mul(v, mul(load(d, n), load(integral, n))), k * N * WIDTH + n)
    for k in range(K):
        for n in range(N):
            effects[n, k] += total(load(sums, (k * N + n) * WIDTH))
