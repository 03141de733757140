"""A sweep over all factors in one compiled call, for tables too small for threads.

Chains that run in parallel would otherwise spend much of their time waiting for the GIL.
"""

from typing import Any, NamedTuple

import numpy as np

from csid._kernels.arguments import RowProduct
from csid._kernels.compiled import inner, kernel
from csid._kernels.factor_update import DONE, OVERFLOW, FactorPrior, NormalEquations, sample
from csid._kernels.row_loops import accumulate, multiply
from csid._kernels.simd import WIDTH, splat, store

_MODES_MULTIPLIED_DIRECTLY = 6
_MANY_MODES = 96  # from here on, groups of modes are grouped again: a sweep then costs N^1.5 products, not N^2


class Modes(NamedTuple):
    """The modes and their prior; T rows as in the stacked table of factors.

    levels, offsets : (N,); marginals : (T,)
    unit : (T, w) diagonals of the U_n; widths : (N,) the number of diagonals; ranks : (N,) of the U_n.
    nu : see `factor_update.FactorPrior`; rates : (N,) of the Gamma priors of mu.
    """

    levels: Any
    offsets: Any
    marginals: Any
    unit: Any
    widths: Any
    ranks: Any
    nu: float
    rates: Any


class SweepInputs(NamedTuple):
    """What a sweep reads of a chain's state.

    V : (K, S) the output factor; alpha : (K,) noise precisions; prior_mean : (T, F) the prior's mean of the factors.
    """

    V: Any
    alpha: Any
    prior_mean: Any


class SweepNoise(NamedTuple):
    """The random numbers of a sweep: normal (T, F), standard normal; gamma (N, F), of rate one."""

    normal: Any
    gamma: Any


class SweepState(NamedTuple):
    """What a sweep changes of a chain's state.

    table : (T, S) the factors; read : the same in the precision of the sums, which may be the same array.
    mu : (N, F) smoothness precisions.
    """

    table: Any
    read: Any
    mu: Any


@kernel
def draw_factors(rows: Any, starts: Any, modes: Any, inputs: Any, G: Any, noise: Any, state: Any) -> int:
    """Draw each factor given the others, then its smoothness precisions.

    rows : RowArrays; starts : (M, 1), their roots in the precision of the sums; modes : Modes.
    inputs : SweepInputs; noise : SweepNoise; state : SweepState.
    G : see `factor_update.minimise`. OVERFLOW when some system cannot be factored.
    """
    cells, V, (table, read, mu) = rows.cells, inputs.V, state
    _, fractions = cells
    M, N = len(rows.roots), len(modes.levels)
    (K, S), F = V.shape, mu.shape[1]
    most = 1
    for k in range(N):
        most = max(most, modes.levels[k] + 1)
    D, O = np.empty((most, S, S)), np.empty((most if fractions.shape[1] > 0 else 0, S, S))
    R, squared_differences = np.empty((most, K, S)), np.empty(F)
    grouped = N > _MODES_MULTIPLIED_DIRECTLY
    products = np.empty((M if grouped else 0, S), read.dtype)  # over the modes outside a group
    some, bases = np.empty(N, np.intp), np.empty(N, np.intp)  # modes to be multiplied, and their first rows
    twice = N > _MANY_MODES
    far = np.empty((M if twice else 0, S), read.dtype)  # over the modes outside a block of groups
    block = _MODES_MULTIPLIED_DIRECTLY * int(np.ceil(np.sqrt(N / _MODES_MULTIPLIED_DIRECTLY)))
    block_first, block_last = 0, N
    first, last = 0, N
    for k in range(N):
        if twice and k % block == 0:
            block_first, block_last = k, min(k + block, N)
            count = _all_but(0, N, block_first, block_last, modes.offsets, some, bases)
            multiply(cells, RowProduct(starts, read, bases[:count], some[:count]), (0, M), far)
        if grouped and k % _MODES_MULTIPLIED_DIRECTLY == 0:
            first, last = k, min(k + _MODES_MULTIPLIED_DIRECTLY, N)
            count = _all_but(block_first, block_last, first, last, modes.offsets, some, bases)
            multiply(cells, RowProduct(far if twice else starts, read, bases[:count], some[:count]), (0, M), products)
        count = _all_but(first, last, k, k + 1, modes.offsets, some, bases)
        start, levels = modes.offsets[k], modes.levels[k]
        stop = start + levels
        sums = D[: levels + 1], O[: levels + 1], R[: levels + 1]
        for array in sums:
            for at in range(0, array.size, WIDTH):
                store(array, splat(0.0), at)
        outside = products if grouped else starts
        accumulate(rows, RowProduct(outside, read, bases[:count], some[:count]), k, F, (0, M), sums)
        status = sample(
            NormalEquations(sums, V, inputs.alpha, modes.marginals[start:stop], F),
            G,
            FactorPrior(modes.unit[start:stop], modes.widths[k], inputs.prior_mean[start:stop], mu[k], modes.nu),
            noise.normal[start : stop + 1],
            table[start : stop + 1],
            squared_differences,
        )
        if status == OVERFLOW:
            return OVERFLOW
        for i in range(start, stop + 1):
            for f in range(F):
                read[i, f] = table[i, f]
        for f in range(F):
            mu[k, f] = noise.gamma[k, f] / (modes.rates[k] + 0.5 * squared_differences[f])
    return DONE


@inner
def _all_but(first: int, last: int, leave: int, until: int, offsets: Any, some: Any, bases: Any) -> int:
    """List the modes first..last except leave..until, and their first rows in the table; return their number."""
    count = 0
    for n in range(first, last):
        if not leave <= n < until:
            some[count], bases[count] = n, offsets[n]
            count += 1
    return count
