"""The compiled loop that draws missing cells."""

from typing import Any, NamedTuple

import numpy as np

from csid._kernels.compiled import inner, kernel
from csid._kernels.positions import position
from csid._kernels.random_numbers import start_of_row, uniform
from csid._kernels.simd import WIDTH, load, mul, mul_add, splat, splat_like, store, sub, total

_TRIES = 8


class IncompleteCells(NamedTuple):
    """Rows with missing cells.

    observed : codes (N, M) before any cell was drawn; rows : (J,) indices of the rows with missing cells.
    logits : (J, R) of the classes, given the observed cells.
    """

    observed: Any
    rows: Any
    logits: Any


class TargetLikelihood(NamedTuple):
    """The density of a row's targets: Gaussian around the model's values, with the precisions `weights[m] alpha`.

    weights : (M,); targets : (M, K); bias, alpha : (K,).
    """

    weights: Any
    targets: Any
    bias: Any
    alpha: Any


class FactorTable(NamedTuple):
    """The factors. table : see `RowProduct`; offsets : (N,) first row of each mode; levels : (N,) I_n; V : (K, S)."""

    table: Any
    offsets: Any
    levels: Any
    V: Any


class PMFTables(NamedTuple):
    """The joint PMF of the levels, as the tables of all modes stacked.

    lifts : (B, R) logarithms, over all B bins; lift_offsets : (N + 1,) where each mode begins, and the total.
    of_classes : (R, B) cumulative probabilities of the bins of each mode, given a class.
    edges : (B,) the first level of each bin.
    bins : (T,) the bin of each level, and -1 after each mode.
    cumulative : (T,) marginals, summed from 0 to 1 in each mode.
    offsets : (N,) where each mode begins in bins and cumulative.
    """

    lifts: Any
    lift_offsets: Any
    of_classes: Any
    edges: Any
    bins: Any
    cumulative: Any
    offsets: Any


@inner
def _pick(logits: Any, u: float) -> int:
    """Draw an index with probability proportional to exp(logit), at the quantile u; overwrites logits."""
    largest = logits[0]
    for i in range(1, len(logits)):
        largest = max(largest, logits[i])
    mass = 0.0
    for i in range(len(logits)):
        logits[i] = np.exp(logits[i] - largest)
        mass += logits[i]
    left = u * mass
    chosen = 0
    for i in range(len(logits)):
        if logits[i] > 0.0:
            chosen = i
            left -= logits[i]
            if left < 0.0:
                break
    return chosen


@inner
def _sum_up(logits: Any, sums: Any) -> None:
    """Cumulative sums of exp(logit), up to a common factor."""
    largest = logits[0]
    for i in range(1, len(logits)):
        largest = max(largest, logits[i])
    mass = 0.0
    for i in range(len(logits)):
        mass += np.exp(logits[i] - largest)
        sums[i] = mass


@inner
def _level_in(cumulative: Any, first: int, stop: int, base: int, u: float) -> int:
    """Draw a level from first to stop by the marginal, at the quantile u."""
    low, high = cumulative[base + first], cumulative[base + stop]
    goal = low + u * (high - low)
    i = first
    while i < stop - 1 and cumulative[base + i + 1] <= goal:
        i += 1
    return i


@inner
def _first_above(cumulative: Any, row: int, first: int, stop: int, u: float) -> int:
    """The first entry from first to stop of a row that exceeds u times the last of them, counted from first."""
    goal = u * cumulative[row, stop - 1]
    low, high = first, stop - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[row, middle] <= goal:
            low = middle + 1
        else:
            high = middle
    return low - first


@kernel
def draw_cells(cells: Any, incomplete: Any, likelihood: Any, factors: Any, pmf: Any, seed: Any, part: Any) -> None:
    """Draw the missing cells of some rows, in place.

    cells : codes and fractions; incomplete : IncompleteCells, of which part[0] to part[1] are visited.
    likelihood : TargetLikelihood; factors : FactorTable; pmf : PMFTables.

    A row first chooses, by the likelihood of its target, among its present cells and several completions drawn from the
    PMF given the observed cells. So it can change its class and cells together. Then each missing cell chooses among
    one candidate per bin: a level drawn by the marginal, except that its own bin keeps its present level. Both choices
    include the present state, and leave the conditional distribution invariant (iterated sampling importance
    resampling; Andrieu, Lee and Vihola 2018).
    """
    codes, _ = cells
    observed, rows, logits = incomplete
    weights, targets, bias, alpha = likelihood
    table, table_offsets, levels, V = factors
    lifts, lift_offsets, of_classes, edges, bins, cumulative, offsets = pmf
    N, S, K, R = len(levels), table.shape[1], len(V), logits.shape[1]
    most = 0
    for n in range(N):
        most = max(most, lift_offsets[n + 1] - lift_offsets[n])
    of_class, of_bin, candidate = np.empty(R), np.empty(most), np.empty(most, np.intp)
    after, before, q = np.empty((N + 1) * S), np.empty(S), np.empty(K * S)
    tried, of_try = np.empty((_TRIES + 1, N), np.intp), np.empty(_TRIES + 1)
    summed = np.empty((1, R))
    counter = np.empty(1, np.uint64)
    for j in range(part[0], part[1]):
        m = rows[j]
        counter[0] = start_of_row(seed, m)
        for g in range(0, S, WIDTH):
            store(before, splat(1.0), g)
        for n in range(N):
            tried[0, n] = codes[n, m]
            if observed[n, m] != levels[n]:
                _multiply_row(cells, factors, n, m, before, 0, before, 0)
        _sum_up(logits[j], summed[0])
        for one in range(_TRIES + 1):
            if one > 0:
                r = _first_above(summed, 0, 0, R, uniform(counter))
                for n in range(N):
                    if observed[n, m] == levels[n]:
                        C = lift_offsets[n + 1] - lift_offsets[n]
                        c = _first_above(of_classes, r, lift_offsets[n], lift_offsets[n + 1], uniform(counter))
                        first = edges[lift_offsets[n] + c]
                        last = edges[lift_offsets[n] + c + 1] if c < C - 1 else levels[n]
                        tried[one, n] = _level_in(cumulative, first, last, offsets[n], uniform(counter))
            for g in range(0, S, WIDTH):
                store(after, load(before, g), g)
            for n in range(N):
                if observed[n, m] == levels[n]:
                    row = (table_offsets[n] + tried[one, n]) * S
                    for g in range(0, S, WIDTH):
                        store(after, mul(load(after, g), load(table, row + g)), g)
            error = 0.0
            for k in range(K):
                s = splat(0.0)
                for g in range(0, S, WIDTH):
                    s = mul_add(load(after, g), load(V, k * S + g), s)
                residual = targets[m, k] - bias[k] - total(s)
                error += alpha[k] * residual * residual
            of_try[one] = -0.5 * weights[m] * error
        one = _pick(of_try, uniform(counter))
        for n in range(N):
            if observed[n, m] == levels[n]:
                codes[n, m] = tried[one, n]
        for r in range(R):
            of_class[r] = logits[j, r]
        for n in range(N):
            if observed[n, m] == levels[n]:
                lift = lifts[lift_offsets[n] + bins[offsets[n] + codes[n, m]]]
                for r in range(R):
                    of_class[r] += lift[r]
        r = _pick(of_class, uniform(counter))
        for g in range(0, S, WIDTH):
            store(after, splat(1.0), N * S + g)
            store(before, splat(1.0), g)
        for n in range(N - 1, 0, -1):
            _multiply_row(cells, factors, n, m, after, (n + 1) * S, after, n * S)
        for n in range(N):
            if observed[n, m] == levels[n]:
                for k in range(K):
                    for g in range(0, S, WIDTH):
                        both = mul(load(before, g), load(after, (n + 1) * S + g))
                        store(q, mul(both, load(V, k * S + g)), k * S + g)
                C = lift_offsets[n + 1] - lift_offsets[n]
                own = bins[offsets[n] + codes[n, m]]
                for c in range(C):
                    first = edges[lift_offsets[n] + c]
                    last = edges[lift_offsets[n] + c + 1] if c < C - 1 else levels[n]
                    u = uniform(counter)
                    mass = cumulative[offsets[n] + last] - cumulative[offsets[n] + first]
                    if last <= first or mass <= 0.0:
                        of_bin[c] = -np.inf
                        continue
                    i = np.intp(codes[n, m]) if c == own else _level_in(cumulative, first, last, offsets[n], u)
                    candidate[c] = i
                    error = 0.0
                    for k in range(K):
                        s = splat(0.0)
                        for g in range(0, S, WIDTH):
                            s = mul_add(load(q, k * S + g), load(table, (table_offsets[n] + i) * S + g), s)
                        residual = targets[m, k] - bias[k] - total(s)
                        error += alpha[k] * residual * residual
                    of_bin[c] = np.log(mass) + lifts[lift_offsets[n] + c, r] - 0.5 * weights[m] * error
                codes[n, m] = candidate[_pick(of_bin[:C], uniform(counter))]
            _multiply_row(cells, factors, n, m, before, 0, before, 0)


@inner
def _multiply_row(cells: Any, factors: Any, n: int, m: int, source: Any, at: int, out: Any, to: int) -> None:
    """out = source * w_n(x_m)^T A_n, from and to an index."""
    codes, fractions = cells
    table = factors.table
    S = table.shape[1]
    row = (factors.offsets[n] + np.intp(codes[n, m])) * S
    t = position(fractions, n * codes.shape[1] + m) if fractions.shape[1] > 0 else np.float32(0.0)
    for g in range(0, S, WIDTH):
        a = load(table, row + g)
        if t != 0.0:
            a = mul_add(splat_like(table, t), sub(load(table, row + S + g), a), a)
        store(out, mul(load(source, at + g), a), to + g)
