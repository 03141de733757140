"""A sweep over all factors in one compiled call, for tables small enough to need no threads.

Chains that run side by side would otherwise spend much of their time handing Python to each other.
"""

from typing import Any, NamedTuple

import numpy as np

from csid._fit.compiled import inner, kernel
from csid._fit.kernels import accumulate, multiply
from csid._fit.lanes import WIDTH, splat, store
from csid._fit.updates import DONE, OVERFLOW, sample

_MODES_MULTIPLIED_ANEW = 6


class Rows(NamedTuple):
    """What is read of the samples, see `kernels`. starts : the roots again, (M, 1), in the precision of the sums."""

    codes: Any
    fractions: Any
    roots: Any
    starts: Any
    targets: Any


class Modes(NamedTuple):
    """What is known of the modes and their prior; T rows as in the stacked table of factors.

    levels, offsets : (N,); marginals : (T,)
    unit : (T, w) diagonals of the U_n; widths : (N,) how many of them each has; ranks : (N,) of the U_n.
    nu : see `updates.sample`; rates : (N,) of the Gammas of mu.
    """

    levels: Any
    offsets: Any
    marginals: Any
    unit: Any
    widths: Any
    ranks: Any
    nu: float
    rates: Any


@kernel
def draw_factors(
    rows: Any,
    modes: Any,
    bias: Any,
    V: Any,
    alpha: Any,
    G: Any,
    centre: Any,
    noise: Any,
    gammas: Any,
    table: Any,
    read: Any,
    mu: Any,
) -> int:
    """Draw each factor given the others, then its smoothness precisions mu (N, F).

    table : the factors; read : the same in the precision of the sums, which may be the same array.
    centre : (T, F) the prior's mean of the factors.
    noise : (T, F) standard normal numbers; gammas : (N, F), Gammas of rate one.
    G : see `updates.minimise`. OVERFLOW when some system cannot be factored.
    """
    M, N = len(rows.roots), len(modes.levels)
    (K, S), F = V.shape, mu.shape[1]
    most = 1
    for k in range(N):
        most = max(most, modes.levels[k] + 1)
    D, O = np.empty((most, S, S)), np.empty((most if rows.fractions.shape[1] > 0 else 0, S, S))
    R, apart = np.empty((most, K, S)), np.empty(F)
    grouped = N > _MODES_MULTIPLIED_ANEW
    products = np.empty((M if grouped else 0, S), read.dtype)  # over the modes outside of a group
    some, bases = np.empty(N, np.intp), np.empty(N, np.intp)  # modes to be multiplied, and their first rows
    first, last = 0, N
    for k in range(N):
        if grouped and k % _MODES_MULTIPLIED_ANEW == 0:
            first, last = k, min(k + _MODES_MULTIPLIED_ANEW, N)
            count = _all_but(0, N, first, last, modes.offsets, some, bases)
            multiply(rows.codes, rows.fractions, rows.starts, read, bases[:count], some[:count], 0, M, products)
        count = _all_but(first, last, k, k + 1, modes.offsets, some, bases)
        start, levels = modes.offsets[k], modes.levels[k]
        stop = start + levels
        sums = D[: levels + 1], O[: levels + 1], R[: levels + 1]
        for array in sums:
            for at in range(0, array.size, WIDTH):
                store(array, splat(0.0), at)
        accumulate(
            rows.codes,
            rows.fractions,
            rows.roots,
            rows.targets,
            bias,
            products if grouped else rows.starts,
            read,
            bases[:count],
            some[:count],
            k,
            F,
            0,
            M,
            *sums,
        )
        status = sample(
            *sums,
            V,
            alpha,
            modes.marginals[start:stop],
            G,
            modes.unit[start:stop],
            modes.widths[k],
            centre[start:stop],
            mu[k],
            modes.nu,
            noise[start : stop + 1],
            F,
            table[start : stop + 1],
            apart,
        )
        if status == OVERFLOW:
            return OVERFLOW
        for i in range(start, stop + 1):
            for f in range(F):
                read[i, f] = table[i, f]
        for f in range(F):
            mu[k, f] = gammas[k, f] / (modes.rates[k] + 0.5 * apart[f])
    return DONE


@inner
def _all_but(first: int, last: int, leave: int, until: int, offsets: Any, some: Any, bases: Any) -> int:
    """Modes first..last but leave..until, and their first rows in the table; returns how many."""
    count = 0
    for n in range(first, last):
        if not leave <= n < until:
            some[count], bases[count] = n, offsets[n]
            count += 1
    return count
