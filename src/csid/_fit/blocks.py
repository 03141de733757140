"""Symmetric positive definite systems in block-banded form: multiply, factor, solve, relax, step.

A system over `I` levels with `F` unknowns each is kept by block diagonals: `bands[d, i]` is the F x F block that
couples level i with level i + d. Bandwidth 0 is a category, 1 first differences or interpolation, 2 second differences.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid._fit.compiled import inner, kernel

Array = NDArray[np.float64]

FLAT = 1e-14
"""A curvature this far below the system's diagonal is rounding, not information."""


@inner
def _cholesky(S: Any, diagonal: Any) -> bool:
    """Lower Cholesky factor of one block, in place; False when it is not positive definite.

    Pivots are judged by `diagonal`, that of the block before any elimination.
    """
    F = S.shape[0]
    for a in range(F):
        pivot = S[a, a]
        for c in range(a):
            pivot -= S[a, c] * S[a, c]
        if not pivot > FLAT * diagonal[a] or not np.isfinite(pivot):
            return False
        pivot = np.sqrt(pivot)
        S[a, a] = pivot
        for b in range(a + 1, F):
            s = S[b, a]
            for c in range(a):
                s -= S[b, c] * S[a, c]
            S[b, a] = s / pivot
    return True


@inner
def _solve_lower(L: Any, B: Any) -> None:
    """B <- L^-1 B, row by row so that the inner loop runs along B's contiguous columns."""
    for a in range(L.shape[0]):
        for c in range(a):
            x = L[a, c]
            for b in range(B.shape[1]):
                B[a, b] -= x * B[c, b]
        x = 1.0 / L[a, a]
        for b in range(B.shape[1]):
            B[a, b] *= x


@inner
def _solve_upper(L: Any, B: Any) -> None:
    """B <- L^-T B."""
    for a in range(L.shape[0] - 1, -1, -1):
        x = 1.0 / L[a, a]
        for b in range(B.shape[1]):
            B[a, b] *= x
        for c in range(a):
            x = L[a, c]
            for b in range(B.shape[1]):
                B[c, b] -= x * B[a, b]


@inner
def _subtract_product(C: Any, A: Any, B: Any, transpose_a: bool) -> None:
    """C <- C - A^T B, or C - A B."""
    for c in range(B.shape[0]):
        for a in range(C.shape[0]):
            x = A[c, a] if transpose_a else A[a, c]
            for b in range(C.shape[1]):
                C[a, b] -= x * B[c, b]


@kernel
def add_penalty(bands: Any, penalty: Any, damping: float) -> Any:
    """Block bands of the data plus, on every component alike, a banded penalty and a multiple of the identity."""
    width = max(bands.shape[0], penalty.shape[0])
    levels, F = bands.shape[1], bands.shape[2]
    out = np.zeros((width, levels, F, F))
    for d in range(width):
        for i in range(levels):
            if d < bands.shape[0]:
                for a in range(F):
                    for b in range(F):
                        out[d, i, a, b] = bands[d, i, a, b]
            if d < penalty.shape[0]:
                for a in range(F):
                    out[d, i, a, a] += penalty[d, i] + (damping if d == 0 else 0.0)
    return out


@kernel
def product(bands: Any, p: Any, G: Any, A: Any) -> Any:
    """(H + (p p^T) kron G) A, for A (I, F)."""
    levels, F = A.shape
    out = np.zeros((levels, F))
    mean = np.zeros(F)
    for i in range(levels):
        for b in range(F):
            mean[b] += p[i] * A[i, b]
    for i in range(levels):
        for a in range(F):
            s = 0.0
            for b in range(F):
                s += bands[0, i, a, b] * A[i, b] + p[i] * G[a, b] * mean[b]
            out[i, a] += s
        for d in range(1, min(bands.shape[0], levels - i)):
            for a in range(F):
                s, x = 0.0, A[i, a]
                for b in range(F):
                    s += bands[d, i, a, b] * A[i + d, b]
                    out[i + d, b] += bands[d, i, a, b] * x
                out[i, a] += s
    return out


@kernel
def factor(bands: Any) -> int:
    """Block Cholesky H = U^T U in place: U's diagonal blocks as lower factors, its blocks beside them in `bands[1:]`.

    Returns the first level whose block is not positive definite, or -1.
    """
    width, levels = bands.shape[0] - 1, bands.shape[1]
    diagonal = np.empty(bands.shape[1:3])
    for i in range(levels):
        for a in range(bands.shape[2]):
            diagonal[i, a] = bands[0, i, a, a]
    for i in range(levels):
        if not _cholesky(bands[0, i], diagonal[i]):
            return i
        reach = min(width, levels - 1 - i)
        for d in range(1, reach + 1):
            _solve_lower(bands[0, i], bands[d, i])
        for d in range(1, reach + 1):
            for e in range(d, reach + 1):
                _subtract_product(bands[e - d, i + d], bands[d, i], bands[e, i], True)
    return -1


@kernel
def solve_factored(bands: Any, rhs: Any) -> None:
    """rhs (I, F, m) <- H^-1 rhs, from the output of `factor`."""
    width, levels = bands.shape[0] - 1, bands.shape[1]
    for i in range(levels):
        for d in range(1, min(width, i) + 1):
            _subtract_product(rhs[i], bands[d, i - d], rhs[i - d], True)
        _solve_lower(bands[0, i], rhs[i])
    for i in range(levels - 1, -1, -1):
        for d in range(1, min(width, levels - 1 - i) + 1):
            _subtract_product(rhs[i], bands[d, i], rhs[i + d], False)
        _solve_upper(bands[0, i], rhs[i])


@kernel
def relax(bands: Any, rhs: Any, p: Any, G: Any, A: Any) -> int:
    """One pass over the levels, each solved exactly with the others held: the paper's closed form, Eq. (11).

    The system is H + (p p^T) kron G; A (I, F) is updated in place. From the objective, the neighbours enter with a plus
    sign, and the data's part carries the 1 / M that Eq. (10) has and Eq. (11) drops. Returns a level whose block is not
    positive definite, or -1.
    """
    width, levels = bands.shape[0] - 1, bands.shape[1]
    F = A.shape[1]
    S = np.empty((F, F))
    s = np.empty((F, 1))
    diagonal = np.empty(F)
    mean = np.zeros(F)
    for i in range(levels):
        for a in range(F):
            mean[a] += p[i] * A[i, a]
    for i in range(levels):
        for a in range(F):
            mean[a] -= p[i] * A[i, a]
        for a in range(F):
            s[a, 0] = rhs[i, a]
            for b in range(F):
                S[a, b] = bands[0, i, a, b] + p[i] * p[i] * G[a, b]
                s[a, 0] -= p[i] * G[a, b] * mean[b]
        for d in range(1, width + 1):
            for a in range(F):
                for b in range(F):
                    if i + d < levels:
                        s[a, 0] -= bands[d, i, a, b] * A[i + d, b]
                    if i - d >= 0:
                        s[a, 0] -= bands[d, i - d, b, a] * A[i - d, b]
        for a in range(F):
            diagonal[a] = S[a, a]
        if not _cholesky(S, diagonal):
            return i
        _solve_lower(S, s)
        _solve_upper(S, s)
        for a in range(F):
            A[i, a] = s[a, 0]
            mean[a] += p[i] * A[i, a]
    return -1


def root(G: Array) -> Array:
    """C (F, c) with G = C C^T; no columns when G is zero, or not finite and of no use."""
    if not G.any() or not np.isfinite(G).all():
        return np.zeros((len(G), 0))
    values, vectors = np.linalg.eigh(G)
    return np.ascontiguousarray(vectors * np.sqrt(np.maximum(values, 0.0)))


@kernel
def solve(bands: Any, rhs: Any, p: Any, C: Any, A: Any) -> int:
    """Fill A, (H + (p p^T) kron C C^T) A = rhs; H by its bands (overwritten), the second term by Woodbury's identity.

    Parameters
    ----------
    bands : (width + 1, I, F, F)
    rhs, A : (I, F)
    p : (I,) marginals; C : (F, c), root of the Gram matrix of the rows in which the predictor is missing.

    Returns
    -------
    The first level whose block is not positive definite (I for the system of the missing rows), or -1.
    """
    levels, F = rhs.shape
    c = C.shape[1]
    failed = factor(bands)
    if failed >= 0:
        return int(failed)
    X = np.empty((levels, F, 1 + c))
    for i in range(levels):
        for a in range(F):
            X[i, a, 0] = rhs[i, a]
            for j in range(c):
                X[i, a, 1 + j] = p[i] * C[a, j]
    solve_factored(bands, X)
    mean = np.zeros((F, 1 + c))
    for i in range(levels):
        for a in range(F):
            for j in range(1 + c):
                mean[a, j] += p[i] * X[i, a, j]
    small, diagonal, y = np.zeros((c, c)), np.ones(c), np.zeros((c, 1))  # I + U^T H^-1 U and U^T H^-1 rhs, U = p kron C
    for j in range(c):
        for a in range(F):
            y[j, 0] += C[a, j] * mean[a, 0]
            for e in range(c):
                small[j, e] += C[a, j] * mean[a, 1 + e]
        small[j, j] += 1.0
        diagonal[j] = small[j, j]
    if not _cholesky(small, diagonal):
        return int(levels)
    _solve_lower(small, y)
    _solve_upper(small, y)
    for i in range(levels):
        for a in range(F):
            s = X[i, a, 0]
            for j in range(c):
                s -= X[i, a, 1 + j] * y[j, 0]
            A[i, a] = s
    return -1


@kernel
def gradient(bands: Any, rhs: Any, p: Any, G: Any, A: Any, residual: Any, size: Any) -> float:
    """Fill residual = rhs - (H + (p p^T) kron G) A and the diagonal `size` of that system; return its largest entry.

    NaN stands for a residual that is not finite, and one for a system that is zero.
    """
    image = product(bands, p, G, A)
    largest = 0.0
    for i in range(A.shape[0]):
        for a in range(A.shape[1]):
            residual[i, a] = rhs[i, a] - image[i, a]
            size[i, a] = bands[0, i, a, a] + p[i] * p[i] * G[a, a]
            largest = max(largest, size[i, a])
            if not np.isfinite(residual[i, a]):
                return float(np.nan)
    return float(largest) if largest > 0.0 else 1.0


@kernel
def lowers(step: Any, A: Any, residual: Any, image: Any, size: Any) -> bool:
    """Whether a step from A lowers the quadratic by more than the rounding in its gain.

    residual : rhs - H A, image : H step and size : the diagonal of H, all of the shape of A.
    """
    gain, rounding = 0.0, 0.0
    for i in range(A.shape[0]):
        for a in range(A.shape[1]):
            gain += step[i, a] * (residual[i, a] - 0.5 * image[i, a])
            rounding += size[i, a] * abs(step[i, a]) * (abs(step[i, a]) + abs(A[i, a]))
    return bool(gain >= FLAT * rounding)


@kernel
def take_step(step: Any, bands: Any, p: Any, G: Any, residual: Any, size: Any, A: Any) -> bool:
    """Add a step to A if it lowers the quadratic; say whether it did."""
    if not lowers(step, A, residual, product(bands, p, G, step), size):
        return False
    for i in range(A.shape[0]):
        for a in range(A.shape[1]):
            A[i, a] += step[i, a]
    return True
