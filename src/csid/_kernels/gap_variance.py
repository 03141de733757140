"""The compiled loop over incomplete rows: the variance that their missing cells leave open."""

from typing import Any, NamedTuple

import numpy as np

from csid._kernels.compiled import kernel
from csid._kernels.positions import position


class GapMoments(NamedTuple):
    """Moments of the factor rows of missing cells.

    known : (N,) a code from `known[n]` on marks a missing cell.
    first : (N, F) means m_n; second : (N, F, F) second moments G_n.
    """

    known: Any
    first: Any
    second: Any


@kernel
def gap_variances(
    cells: Any, rows: Any, table: Any, offsets: Any, moments: Any, V: Any, part: Any, variances: Any
) -> None:
    """Fill `variances[j]`, (K,), for the incomplete rows j from part[0] to part[1].

    rows : (J,) indices of incomplete rows; neighbours in which the same cells are missing share most of the work.
    table : (T, F) and offsets (N,) : the factors, as in `RowProduct`; V : (K, F).
    """
    codes, fractions = cells
    known, first, second = moments
    N, F, K = len(known), table.shape[1], len(V)
    before, mean, C = np.zeros(N, np.bool_), np.empty(F), np.empty((F, F))
    q, scaled, partial = np.empty(F), np.empty(F), np.empty(F)
    for j in range(part[0], part[1]):
        m = rows[j]
        same = j > part[0]
        for n in range(N):
            if before[n] != (codes[n, m] >= known[n]):
                same = False
        if not same:
            mean[:] = 1.0
            C[:] = 1.0
        q[:] = 1.0
        for n in range(N):
            before[n] = codes[n, m] >= known[n]
            if not before[n]:
                row = offsets[n] + np.intp(codes[n, m])
                t = float(position(fractions, n * codes.shape[1] + m)) if fractions.shape[1] > 0 else 0.0
                if t == 0.0:
                    for f in range(F):
                        q[f] *= table[row, f]
                else:
                    for f in range(F):
                        q[f] *= table[row, f] + t * (table[row + 1, f] - table[row, f])
            elif not same:
                for f in range(F):
                    mean[f] *= first[n, f]
                    for g in range(F):
                        C[f, g] *= second[n, f, g]
        if not same:
            for f in range(F):
                for g in range(F):
                    C[f, g] -= mean[f] * mean[g]
        for k in range(K):
            for f in range(F):
                scaled[f] = V[k, f] * q[f]
                partial[f] = 0.0
            for f in range(F):
                for g in range(F):
                    partial[g] += scaled[f] * C[f, g]
            variance = 0.0
            for g in range(F):
                variance += partial[g] * scaled[g]
            variances[j, k] = max(variance, 0.0)
