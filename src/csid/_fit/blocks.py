"""Symmetric positive definite systems in block-banded form: factor, solve, relax, and the step that a fit takes.

A system over `I` levels with `F` unknowns each is kept by block diagonals: `bands[d, i]` is the symmetric F x F block
that couples level i with level i + d. Bandwidth 0 is a category, 1 first differences or interpolation, 2 second
differences. Rows without the predictor add `(p p^T) kron G`.

Blocks and vectors are padded with zeros to `S` columns, whole lanes, and passed around as flat arrays: the entry (a, b)
of a block stands at `block * S * S + a * S + b`. Columns of right-hand sides are padded to whole lanes as well.
"""

from typing import Any

import numpy as np

from csid._fit.compiled import inner, kernel
from csid._fit.lanes import WIDTH, load, mul, mul_add, peek, splat, store

FLAT = 1e-14
"""A curvature this far below the system's diagonal is rounding, not information."""

DONE, OVERFLOW = 0, 1

_PROXIMAL_STEPS = np.array([0.0, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2])
"""Multiples of its largest diagonal entry that are added to a system, one after another, until it can be solved."""


@inner
def cholesky(U: Any, at: int, F: int, S: int, diagonal: Any, first: int) -> bool:
    """The block at `at` as U^T U, in place: U above the diagonal, reciprocals on it, nothing of use below.

    Pivots are judged by `diagonal[first:]`, that of the block before any elimination; False when one is not positive.
    """
    for a in range(F):
        row = at + a * S
        left = a - a % WIDTH
        for g in range(left, S, WIDTH):
            s = load(U, row + g)
            for c in range(a):
                s = mul_add(splat(-peek(U, at + c * S + a)), load(U, at + c * S + g), s)
            store(U, row + g, s)
        pivot = peek(U, row + a)
        if not pivot > FLAT * peek(diagonal, first + a) or not np.isfinite(pivot):
            return False
        reciprocal = 1.0 / np.sqrt(pivot)
        for g in range(left, S, WIDTH):
            store(U, row + g, mul(splat(reciprocal), load(U, row + g)))
        U[row + a] = reciprocal
    return True


@inner
def factor(H: Any, width: int, levels: int, F: int, S: int) -> int:
    """Block Cholesky H = U^T U in place, of a system with bandwidth `width`.

    Returns the first level whose block is not positive definite, or -1.
    """
    block = S * S
    diagonal = np.empty(levels * F)
    for i in range(levels):
        for a in range(F):
            diagonal[i * F + a] = peek(H, i * block + a * S + a)
    for i in range(levels):
        at = i * block
        if not cholesky(H, at, F, S, diagonal, i * F):
            return i
        reach = min(width, levels - 1 - i)
        for d in range(1, reach + 1):
            eliminate(H, at, F, S, H, (d * levels + i) * block, S)
        for d in range(1, reach + 1):
            left = (d * levels + i) * block
            for e in range(d, reach + 1):
                right = (e * levels + i) * block
                to = ((e - d) * levels + i + d) * block
                for a in range(F):
                    for g in range(a - a % WIDTH if d == e else 0, S, WIDTH):
                        s = load(H, to + a * S + g)
                        for c in range(F):
                            s = mul_add(splat(-peek(H, left + c * S + a)), load(H, right + c * S + g), s)
                        store(H, to + a * S + g, s)
    return -1


@inner
def eliminate(U: Any, at: int, F: int, S: int, B: Any, to: int, m: int) -> None:
    """B <- U^-T B, for F rows of m columns at `to`."""
    for a in range(F):
        scale = splat(peek(U, at + a * S + a))
        for g in range(0, m, WIDTH):
            s = load(B, to + a * m + g)
            for c in range(a):
                s = mul_add(splat(-peek(U, at + c * S + a)), load(B, to + c * m + g), s)
            store(B, to + a * m + g, mul(scale, s))


@inner
def solve_lower(H: Any, width: int, levels: int, F: int, S: int, X: Any, m: int) -> None:
    """X (I, F, m) <- U^-T X, from the output of `factor`."""
    for i in range(levels):
        here = i * F * m
        for d in range(1, min(width, i) + 1):
            there = (i - d) * F * m
            block = (d * levels + i - d) * S * S
            for a in range(F):
                for g in range(0, m, WIDTH):
                    s = load(X, here + a * m + g)
                    for c in range(F):
                        s = mul_add(splat(-peek(H, block + c * S + a)), load(X, there + c * m + g), s)
                    store(X, here + a * m + g, s)
        eliminate(H, i * S * S, F, S, X, here, m)


@inner
def solve_upper(H: Any, width: int, levels: int, F: int, S: int, X: Any, m: int) -> None:
    """X (I, F, m) <- U^-1 X."""
    for i in range(levels - 1, -1, -1):
        here = i * F * m
        for a in range(F - 1, -1, -1):
            row = i * S * S + a * S
            for g in range(0, m, WIDTH):
                s = load(X, here + a * m + g)
                for d in range(1, min(width, levels - 1 - i) + 1):
                    there = (i + d) * F * m
                    beside = (d * levels + i) * S * S + a * S
                    for c in range(F):
                        s = mul_add(splat(-peek(H, beside + c)), load(X, there + c * m + g), s)
                for c in range(a + 1, F):
                    s = mul_add(splat(-peek(H, row + c)), load(X, here + c * m + g), s)
                store(X, here + a * m + g, mul(splat(peek(H, row + a)), s))


@inner
def _solve_block(B: Any, F: int, S: int, diagonal: Any, x: Any) -> bool:
    """x <- B^-1 x for one block, whose right-hand side is the first of a column of lanes; False when it cannot be."""
    start, one, columns = np.intp(0), np.intp(1), np.intp(WIDTH)  # not constants, which would be compiled for anew
    if not cholesky(B, start, F, S, diagonal, start):
        return False
    solve_lower(B, start, one, F, S, x, columns)
    solve_upper(B, start, one, F, S, x, columns)
    return True


@inner
def root(G: Any, F: int, S: int, C: Any, m: int) -> int:
    """Fill C (F, m), G = C C^T up to rounding, from its column 1 on; return how many columns that took."""
    size = 0.0
    for a in range(F):
        size += peek(G, a * S + a)
    if not size > 0.0 or not np.isfinite(size):
        return 0
    for a in range(F):
        pivot = peek(G, a * S + a)
        for c in range(a):
            pivot -= C[a * m + 1 + c] ** 2
        flat = not pivot > FLAT * peek(G, a * S + a)
        scale = 0.0 if flat else 1.0 / np.sqrt(pivot)
        for b in range(a, F):
            s = peek(G, b * S + a)
            for c in range(a):
                s -= C[b * m + 1 + c] * C[a * m + 1 + c]
            C[b * m + 1 + a] = s * scale
    return F


@inner
def solve(H: Any, width: int, levels: int, F: int, S: int, rhs: Any, p: Any, G: Any, noise: Any, x: Any) -> int:
    """Fill x, (H + (p p^T) kron G) x = rhs; H (overwritten) by its bands, the second term by Woodbury's identity.

    rhs, x : (I, S); p : (I,) marginals; G : (S, S), Gram matrix of the rows in which the predictor is missing.
    noise : empty, or (I + 1, F) standard normal numbers, that make x a draw from the Gaussian with this precision and
    mean: those of the levels enter half-way, and the last row those of the system of the missing rows.
    Returns the first level whose block is not positive definite (I for the system of the missing rows), or -1.
    """
    failed = factor(H, width, levels, F, S)
    if failed >= 0:
        return int(failed)
    most = (F // WIDTH + 1) * WIDTH
    C = np.zeros(F * most)
    c = root(G, F, S, C, most)
    m = most if c > 0 else WIDTH
    X = np.zeros(levels * F * m)
    for i in range(levels):
        for a in range(F):
            for j in range(c):
                X[(i * F + a) * m + 1 + j] = p[i] * C[a * m + 1 + j]
            X[(i * F + a) * m] = peek(rhs, i * S + a)
    solve_lower(H, width, levels, F, S, X, m)
    if len(noise) > 0:
        for r in range(levels * F):
            X[r * m] += peek(noise, r)
    solve_upper(H, width, levels, F, S, X, m)
    y = np.zeros(c * WIDTH)
    if c > 0:
        mean = np.zeros(F * m)
        for i in range(levels):
            for r in range(0, F * m, WIDTH):
                store(mean, r, mul_add(splat(p[i]), load(X, i * F * m + r), load(mean, r)))
        small, diagonal = np.zeros(c * m), np.ones(c)  # I + U^T H^-1 U, beside y = U^T x, for U = p kron C
        for j in range(c):
            for e in range(c):
                for a in range(j, F):
                    small[j * m + e] += C[a * m + 1 + j] * mean[a * m + 1 + e]
            for a in range(j, F):
                y[j * WIDTH] += C[a * m + 1 + j] * mean[a * m]
            if len(noise) > 0:
                y[j * WIDTH] += peek(noise, levels * F + j)
            small[j * m + j] += 1.0
            diagonal[j] = small[j * m + j]
        if not _solve_block(small, c, m, diagonal, y):
            return int(levels)
    for i in range(levels):
        for a in range(F):
            s = X[(i * F + a) * m]
            for j in range(c):
                s -= X[(i * F + a) * m + 1 + j] * y[j * WIDTH]
            x[i * S + a] = s
    return -1


@inner
def relax(H: Any, width: int, levels: int, F: int, S: int, rhs: Any, p: Any, G: Any, x: Any) -> int:
    """One pass over the levels, each solved exactly with the others held: the paper's closed form, Eq. (11).

    The system is H + (p p^T) kron G; x (I, S) is updated in place. From the objective, the neighbours enter with a plus
    sign, and the data's part carries the 1 / M that Eq. (10) has and Eq. (11) drops. Returns a level whose block is not
    positive definite, or -1.
    """
    block, s, diagonal, mean = np.zeros(S * S), np.zeros(F * WIDTH), np.empty(F), np.zeros(S)
    for i in range(levels):
        for a in range(F):
            mean[a] += p[i] * x[i * S + a]
    for i in range(levels):
        for a in range(F):
            mean[a] -= p[i] * x[i * S + a]
        for a in range(F):
            s[a * WIDTH] = peek(rhs, i * S + a)
            for b in range(F):
                block[a * S + b] = peek(H, (i * S + a) * S + b) + p[i] * p[i] * peek(G, a * S + b)
                s[a * WIDTH] -= p[i] * peek(G, a * S + b) * mean[b]
                for d in range(1, width + 1):
                    if i + d < levels:
                        s[a * WIDTH] -= peek(H, ((d * levels + i) * S + a) * S + b) * x[(i + d) * S + b]
                    if i - d >= 0:
                        s[a * WIDTH] -= peek(H, ((d * levels + i - d) * S + b) * S + a) * x[(i - d) * S + b]
            diagonal[a] = block[a * S + a]
        if not _solve_block(block, F, S, diagonal, s):
            return i
        for a in range(F):
            x[i * S + a] = s[a * WIDTH]
            mean[a] += p[i] * x[i * S + a]
    return -1


@inner
def product(H: Any, width: int, levels: int, F: int, S: int, p: Any, G: Any, x: Any, out: Any) -> None:
    """Fill out = (H + (p p^T) kron G) x, both (I, S)."""
    mean = np.zeros(S)
    for g in range(0, S, WIDTH):
        for i in range(levels):
            store(mean, g, mul_add(splat(p[i]), load(x, i * S + g), load(mean, g)))
    for g in range(0, S, WIDTH):
        of_missing = splat(0.0)
        for a in range(F):
            of_missing = mul_add(splat(mean[a]), load(G, a * S + g), of_missing)
        for i in range(levels):
            s = mul(splat(p[i]), of_missing)
            for a in range(F):
                s = mul_add(splat(peek(x, i * S + a)), load(H, (i * S + a) * S + g), s)
            for d in range(1, width + 1):
                for a in range(F):
                    if i >= d:
                        beside = ((d * levels + i - d) * S + a) * S
                        s = mul_add(splat(peek(x, (i - d) * S + a)), load(H, beside + g), s)
                    if i + d < levels:
                        beside = ((d * levels + i) * S + a) * S
                        s = mul_add(splat(peek(x, (i + d) * S + a)), load(H, beside + g), s)
            store(out, i * S + g, s)


@kernel
def lowers(step: Any, A: Any, residual: Any, image: Any, size: Any) -> bool:
    """Whether a step from A lowers the quadratic by more than the rounding in its gain.

    residual : rhs - H A, image : H step and size : the diagonal of H, all flat like A.
    """
    gain, rounding = 0.0, 0.0
    for at in range(len(step)):
        gain += step[at] * (residual[at] - 0.5 * image[at])
        rounding += size[at] * abs(step[at]) * (abs(step[at]) + abs(A[at]))
    return bool(gain >= FLAT * rounding)


@inner
def assemble(
    D: Any,
    O: Any,  # noqa: E741 - the design's name of the blocks beside the diagonal
    R: Any,
    V: Any,
    scale: Any,
    penalty: Any,
    p: Any,
    F: int,
    H: Any,
    rhs: Any,
    G: Any,
) -> None:
    """A mode's system from the sums over rows, as `kernels.accumulate` gives them, and the penalty's diagonals (w, I).

    Blocks H are the sums times V^T V, each output with its scale, and the penalty on every component alike; right-hand
    sides are contracted with V. The rows in which the predictor is missing add to rhs, and give G. All are zero before.
    """
    levels, S, K = len(p), D.shape[1], V.shape[0]
    VtV = np.empty((F, F))
    for a in range(F):
        for b in range(a + 1):
            VtV[a, b] = 0.0
            for j in range(K):
                VtV[a, b] += scale[j] * V[j, a] * V[j, b]
            G[a * S + b] = G[b * S + a] = VtV[a, b] * D[levels, a, b]
    for i in range(levels):
        for a in range(F):
            for b in range(a + 1):
                H[(i * S + a) * S + b] = H[(i * S + b) * S + a] = VtV[a, b] * D[i, a, b]
    for i in range(levels if len(O) > 0 else 0):
        for a in range(F):
            for b in range(a + 1):
                value = VtV[a, b] * O[i, a, b]
                H[((levels + i) * S + a) * S + b] = H[((levels + i) * S + b) * S + a] = value
    for d in range(penalty.shape[0]):
        for i in range(levels):
            for a in range(F):
                H[((d * levels + i) * S + a) * S + a] += penalty[d, i]
    for j in range(K):
        for i in range(levels):
            for a in range(F):
                rhs[i * S + a] += scale[j] * V[j, a] * (R[i, j, a] + p[i] * R[levels, j, a])


@inner
def _gradient(H: Any, width: int, levels: int, F: int, S: int, rhs: Any, p: Any, G: Any, x: Any, size: Any) -> float:
    """rhs <- rhs - (H + (p p^T) kron G) x; fill `size` with the diagonal of that system; return its largest entry.

    NaN stands for a residual that is not finite, and one for a system that is zero.
    """
    image = np.empty(levels * S)
    product(H, width, levels, F, S, p, G, x, image)
    largest = 0.0
    for i in range(levels):
        for a in range(F):
            at = i * S + a
            rhs[at] -= image[at]
            size[at] = H[at * S + a] + p[i] * p[i] * G[a * S + a]
            largest = max(largest, size[at])
            if not np.isfinite(rhs[at]):
                return float(np.nan)
    return largest if largest > 0.0 else 1.0


@inner
def _damped(system: Any, levels: int, F: int, S: int, damping: float, H: Any) -> None:
    """Fill H with a system plus a multiple of the identity."""
    for at in range(0, len(H), WIDTH):
        store(H, at, load(system, at))
    for i in range(levels):
        for a in range(F):
            H[(i * S + a) * S + a] += damping


@kernel
def minimise(
    D: Any,
    O: Any,  # noqa: E741
    R: Any,
    V: Any,
    scale: Any,
    penalty: Any,
    p: Any,
    F: int,
    by_rows: Any,
    A: Any,
) -> int:
    """Move A, (I + 1, S) with `p^T A` last, to the minimum of a mode's quadratic, or by one pass over its rows.

    D, O, R, V, scale, penalty : see `assemble`.
    by_rows : None for the minimum, True for the pass. None is a type of its own: only what is used is compiled.

    The system is solved for the step from A, so that its rounding errors shrink as the fit converges. Where it is
    singular, as without ridge at a level with too few rows, a small multiple of |A - A_old|^2 is added. Only a step
    that gains more than rounding is taken, so the objective cannot rise. OVERFLOW when the numbers are not finite.
    """
    levels, S = len(p), D.shape[1]
    width = max(2 if len(O) > 0 else 1, penalty.shape[0]) - 1
    system, H = np.zeros((width + 1) * levels * S * S), np.empty((width + 1) * levels * S * S)
    residual, G, size, step = np.zeros(levels * S), np.zeros(S * S), np.zeros(levels * S), np.zeros(levels * S)
    image, x = np.empty(levels * S), A.reshape(-1)
    assemble(D, O, R, V, scale, penalty, p, F, system, residual, G)
    largest = _gradient(system, width, levels, F, S, residual, p, G, x, size)
    if np.isnan(largest):
        return OVERFLOW
    for proximal in _PROXIMAL_STEPS:
        _damped(system, levels, F, S, proximal * largest, H)
        if by_rows is None:
            failed = solve(H, width, levels, F, S, residual, p, G, np.empty(0), step)
        else:
            step[:] = 0.0
            failed = relax(H, width, levels, F, S, residual, p, G, step)
        if failed >= 0:
            continue
        product(system, width, levels, F, S, p, G, step, image)
        if lowers(step, x, residual, image, size):
            for at in range(levels * S):
                x[at] += step[at]
            break
    for a in range(F):
        x[levels * S + a] = 0.0
        for i in range(levels):
            x[levels * S + a] += p[i] * x[i * S + a]
    return DONE
