"""Missing cells under a joint PMF of the levels: averaged over given the observed cells, completed, or drawn.

With the classes of `latent_classes`, and O the observed predictors of a row,

    E[f | x_O] = sum_r Pr(r | x_O) sum_f V(:, f) prod_{n in O} w_n^T A_n(:, f) prod_{n not in O} B_n(:, r)^T A_n(:, f)

A cell is drawn from its full conditional: the PMF given the class of its row times the likelihood of the row's target.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid._fit.compiled import inner, kernel
from csid._fit.factors import Factors, stack_factors
from csid._fit.lanes import WIDTH, load, mul, mul_add, splat, splat_like, store, sub, total
from csid._fit.latent_classes import LatentClasses, posterior
from csid._fit.positions import as_numbers, position
from csid._fit.problem import Codes, Positions, Problem
from csid._fit.statistics import Workers, row_parts, values_of_rows

Array = NDArray[np.float64]

LEAST_PROBABILITY = 1e-9
"""Classes that a row belongs to with less are left out of its expectation."""

_ROWS_AT_ONCE = 1 << 13
_TRIES = 8


@dataclass(frozen=True)
class LevelPMF:
    """A joint PMF on the levels of an encoding.

    classes : over bins of levels; bins : N arrays (I_n,), the bin of each level, in their order.
    marginals : N arrays p_n (I_n,).
    """

    classes: LatentClasses
    bins: tuple[NDArray[np.intp], ...]
    marginals: tuple[Array, ...]

    @property
    def levels(self) -> NDArray[np.intp]:
        return np.array([len(p) for p in self.marginals], dtype=np.intp)

    @cached_property
    def given_class(self) -> tuple[Array, ...]:
        """N arrays B_n (I_n, R), whose columns sum to one."""
        modes = zip(self.marginals, self.bins, self.classes.lifts, strict=True)
        unscaled = [p[:, None] * lift[bins] for p, bins, lift in modes]
        return tuple(B / B.sum(axis=0) for B in unscaled)

    def is_missing(self, codes: Codes) -> NDArray[np.bool_]:
        return np.asarray(codes == self.levels)

    def scores(self, codes: Codes, fractions: Positions, workers: Workers) -> Array:
        """Scores (M, R) of the classes given the observed cells of each row."""
        binned = np.empty(codes.shape[::-1], np.intp)
        for n, bins in enumerate(self.bins):
            of_codes = np.append(bins, len(self.classes.lifts[n]))
            nearest = codes[:, n] + (as_numbers(fractions[:, n]) > 0.5) if len(fractions) else codes[:, n]
            binned[n] = of_codes[nearest]
        return self.classes.scores(binned, workers)

    def extended(self, factors: Factors) -> Factors:
        """Factors with a level for "missing in a row of class r" behind the others, for every class."""
        own = [factors.factor(n) for n in range(factors.n_modes)]
        longer = tuple(np.vstack([A, B.T @ A]) for A, B in zip(own, self.given_class, strict=True))
        unused = tuple(np.zeros(len(A)) for A in longer)
        return stack_factors(longer, factors.output_factor, factors.bias, unused)

    def expected(self, codes: Codes, fractions: Positions, extended: Factors, workers: Workers) -> Array:
        """Values (M, K) given the observed cells, for rows that lack some; `extended` are the factors with classes."""
        values = np.empty((len(codes), len(extended.V)))
        for start in range(0, len(codes), _ROWS_AT_ONCE):
            here = slice(start, start + _ROWS_AT_ONCE)
            some, between = codes[here], fractions[here] if len(fractions) else fractions
            probabilities = posterior(self.scores(some, between, workers))
            probabilities[probabilities < LEAST_PROBABILITY] = 0.0
            rows, classes = np.nonzero(probabilities)
            each = self._in_classes(some[rows], between[rows] if len(between) else between, classes, extended, workers)
            shares = (probabilities / probabilities.sum(axis=1, keepdims=True))[rows, classes]
            starts = np.searchsorted(rows, np.arange(len(some)))
            values[here] = np.add.reduceat(shares[:, None] * each, starts, axis=0)
        return values

    def _in_classes(
        self,
        codes: Codes,
        fractions: Positions,
        classes: NDArray[np.intp],
        extended: Factors,
        workers: Workers,
    ) -> Array:
        """Values of rows whose classes are known."""
        of_class = self.levels + classes[:, None]
        filled = np.where(self.is_missing(codes), of_class, codes).astype(np.uint16)
        targets, weights = np.zeros((len(codes), len(extended.V))), np.ones(len(codes))
        pairs = Problem(filled, fractions, weights, targets, extended.levels, extended.levels, extended.marginals)
        return values_of_rows(pairs, extended, workers)

    @cached_property
    def _cumulative(self) -> tuple[Array, ...]:
        """N arrays (R I_n,): class after class, the cumulative probabilities of its levels, plus its number."""
        sums = [B.cumsum(axis=0) for B in self.given_class]
        for of_classes in sums:
            of_classes[-1] = 1.0
        return tuple((np.minimum(one, 1.0) + np.arange(one.shape[1])).ravel(order="F") for one in sums)

    def completed(self, codes: Codes, probabilities: Array, u: Array) -> Codes:
        """Codes with the missing cells filled in: a class and levels at quantiles of their PMF.

        u : (N + 1,) for all rows, or (M, N + 1); probabilities : (M, R) of the classes.
        """
        u = np.broadcast_to(u, (len(codes), codes.shape[1] + 1))
        classes = (probabilities.cumsum(axis=1) < u[:, :1]).sum(axis=1)
        classes = np.minimum(classes, self.classes.rank - 1)
        filled, absent = codes.copy(), self.is_missing(codes)
        for n, levels in enumerate(self.levels.tolist()):
            rows = np.flatnonzero(absent[:, n])
            places = np.searchsorted(self._cumulative[n], u[rows, n + 1] + classes[rows], side="right")
            filled[rows, n] = np.clip(places - levels * classes[rows], 0, levels - 1)
        return filled


def expected_values(problem: Problem, factors: Factors, pmf: LevelPMF | None, workers: Workers) -> Array:
    """Values (M, K) of a model given what is observed of each row; without a joint PMF, by the marginals."""
    values = values_of_rows(problem, factors, workers)
    if pmf is not None and len(problem.incomplete):
        lacking = problem.take(problem.incomplete)
        values[problem.incomplete] = pmf.expected(lacking.codes, lacking.fractions, pmf.extended(factors), workers)
    return values


def quantiles_of_draws(n_draws: int, n_modes: int) -> Array:
    """Quantiles (D, N + 1) at which draws fill in the class and the cells of a row: a Latin hypercube, always one."""
    rng = np.random.default_rng(0)
    order = rng.permuted(np.tile(np.arange(n_draws), (n_modes + 1, 1)), axis=1).T
    return np.asarray((order + rng.random(order.shape)) / n_draws)


def completed_values(
    problem: Problem, draws: Sequence[Factors], shares: Array, expected: Array, pmf: LevelPMF | None, workers: Workers
) -> Array:
    """Values (D, M, K) of draws, each with the missing cells at other quantiles of their PMF given the observed ones.

    expected : (M, K), the weighted mean of the draws given what is observed; values of rows that lack predictors are
    moved so that theirs is the same.
    """
    if pmf is None or not len(problem.incomplete):
        return np.array([values_of_rows(problem, factors, workers) for factors in draws])
    rows, lacking = problem.incomplete, problem.take(problem.incomplete)
    probabilities = posterior(pmf.scores(lacking.codes, lacking.fractions, workers))
    quantiles = quantiles_of_draws(len(draws), problem.n_modes)
    values = np.empty((len(draws), problem.n_rows, problem.n_outputs))
    codes = problem.codes.copy(order="F")
    for each, factors, u in zip(values, draws, quantiles, strict=True):
        codes[rows] = pmf.completed(lacking.codes, probabilities, u)
        each[:] = values_of_rows(replace(problem, codes=codes), factors, workers)
    values[:, rows] += expected[rows] - np.tensordot(shares, values[:, rows], 1)
    return values


@dataclass(frozen=True)
class DrawnCells:
    """A problem whose missing cells have drawn values, which change from sweep to sweep.

    problem : its codes are changed in place; given : the codes (N, M) before; rows : (J,) those that lack some.
    scores : (J, R) of the classes given the observed cells, in single precision, as they take the most memory.
    """

    problem: Problem
    given: Codes
    rows: NDArray[np.intp]
    scores: NDArray[np.float32]

    @classmethod
    def of(cls, problem: Problem, pmf: LevelPMF, rng: np.random.Generator, workers: Workers) -> "DrawnCells":
        """The missing cells drawn from the PMF, given the observed ones."""
        rows, lacking = problem.incomplete, problem.take(problem.incomplete)
        scores = pmf.scores(lacking.codes, lacking.fractions, workers)
        codes = problem.codes.copy(order="F")
        probabilities = posterior(scores)
        codes[rows] = pmf.completed(lacking.codes, probabilities, rng.random((len(rows), problem.n_modes + 1)))
        return cls(replace(problem, codes=codes), problem.cells[0], rows, scores.astype(np.float32))

    def draw(self, pmf: LevelPMF, factors: Factors, alpha: Array, weights: Array, seed: int, workers: Workers) -> None:
        """First all missing cells of a row at once; then its class, and each cell given the class and the others."""
        lifts, lift_offsets, of_classes, bins, edges, cumulative, offsets = _tables(pmf)
        codes, fractions = self.problem.cells

        def draw(part: tuple[int, int]) -> None:
            _draw_cells(
                codes,
                fractions,
                self.given,
                self.rows,
                self.scores,
                weights,
                self.problem.targets,
                factors.table,
                factors.offsets,
                factors.levels,
                factors.V,
                factors.bias,
                alpha,
                lifts,
                lift_offsets,
                of_classes,
                bins,
                edges,
                cumulative,
                offsets,
                np.uint64(seed),
                *part,
            )

        workers.map(draw, row_parts(len(self.rows)))


def _tables(pmf: LevelPMF) -> tuple[Any, ...]:
    """What `_draw_cells` reads of a PMF: the tables of the modes under one another, and where each begins."""
    lifts = np.vstack([np.log(lift) for lift in pmf.classes.lifts])
    counts = np.array([len(lift) for lift in pmf.classes.lifts])
    lift_offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
    edges = [np.searchsorted(bins, np.arange(C)) for bins, C in zip(pmf.bins, counts, strict=True)]
    cumulative = [np.append(0.0, p.cumsum()) for p in pmf.marginals]
    offsets = np.concatenate([[0], np.cumsum(pmf.levels + 1)[:-1]]).astype(np.intp)
    modes = zip(pmf.given_class, pmf.bins, counts, strict=True)
    of_bins = [np.array([np.bincount(bins, B_r, C) for B_r in B.T]).cumsum(axis=1) for B, bins, C in modes]
    bins = [np.append(bins, -1) for bins in pmf.bins]
    stacked = (np.concatenate(part) for part in (bins, edges, cumulative))
    return lifts, lift_offsets, np.hstack(of_bins), *stacked, offsets


@inner
def _mixed(z: Any) -> Any:
    """SplitMix64 (Steele, Lea and Flood 2014): random bits from a counter."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inner
def _uniform(counter: Any) -> float:
    """A number from [0, 1); the counter (1,) is advanced."""
    counter[0] += np.uint64(0x9E3779B97F4A7C15)
    return float(_mixed(counter[0]) >> np.uint64(11)) * 2.0**-53


@inner
def _pick(scores: Any, u: float) -> int:
    """An index whose probability is proportional to the exponential of its score, at the quantile u; changes scores."""
    largest = scores[0]
    for i in range(1, len(scores)):
        largest = max(largest, scores[i])
    mass = 0.0
    for i in range(len(scores)):
        scores[i] = np.exp(scores[i] - largest)
        mass += scores[i]
    left = u * mass
    chosen = 0
    for i in range(len(scores)):
        if scores[i] > 0.0:
            chosen = i
            left -= scores[i]
            if left < 0.0:
                break
    return chosen


@inner
def _sum_up(scores: Any, sums: Any) -> None:
    """Sums of the exponentials of scores up to each, but for a common factor."""
    largest = scores[0]
    for i in range(1, len(scores)):
        largest = max(largest, scores[i])
    mass = 0.0
    for i in range(len(scores)):
        mass += np.exp(scores[i] - largest)
        sums[i] = mass


@inner
def _level_in(cumulative: Any, first: int, stop: int, base: int, u: float) -> int:
    """A level from first to stop, with the probabilities of the marginal, at the quantile u."""
    low, high = cumulative[base + first], cumulative[base + stop]
    goal = low + u * (high - low)
    i = first
    while i < stop - 1 and cumulative[base + i + 1] <= goal:
        i += 1
    return i


@inner
def _first_above(cumulative: Any, row: int, first: int, stop: int, u: float) -> int:
    """Where, from first to stop, the numbers in a row first exceed u times the last of them; counted from first."""
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
def _draw_cells(
    codes: Any,
    fractions: Any,
    given: Any,
    rows: Any,
    scores: Any,
    weights: Any,
    targets: Any,
    table: Any,
    table_offsets: Any,
    levels: Any,
    V: Any,
    bias: Any,
    alpha: Any,
    lifts: Any,
    lift_offsets: Any,
    of_classes: Any,
    bins: Any,
    edges: Any,
    cumulative: Any,
    offsets: Any,
    seed: Any,
    start: int,
    stop: int,
) -> None:
    """Draw the missing cells of some rows, in place; table, V and codes as in `kernels`.

    A row first chooses among its cells as they are and several completions drawn from the PMF given the observed cells,
    by the likelihood of its target: that lets it change its class and cells together. Then a cell has one candidate in
    every bin: a level drawn by the marginal, but in its own bin the level that it has. To choose among candidates, of
    which the present one is one, leaves the conditional invariant (iterated sampling importance resampling; Andrieu,
    Lee and Vihola 2018).
    """
    N, S, K, R = len(levels), table.shape[1], len(V), scores.shape[1]
    most = 0
    for n in range(N):
        most = max(most, lift_offsets[n + 1] - lift_offsets[n])
    of_class, of_bin, candidate = np.empty(R), np.empty(most), np.empty(most, np.intp)
    after, before, q = np.empty((N + 1) * S), np.empty(S), np.empty(K * S)
    tried, of_try = np.empty((_TRIES + 1, N), np.intp), np.empty(_TRIES + 1)
    summed = np.empty((1, R))
    counter = np.empty(1, np.uint64)
    for j in range(start, stop):
        m = rows[j]
        counter[0] = _mixed(seed + np.uint64(m) * np.uint64(0xD1342543DE82EF95))
        for g in range(0, S, WIDTH):
            store(before, splat(1.0), g)
        for n in range(N):
            tried[0, n] = codes[n, m]
            if given[n, m] != levels[n]:
                _multiply_row(codes, fractions, n, m, table, table_offsets[n], before, 0, before, 0, S)
        _sum_up(scores[j], summed[0])
        for one in range(_TRIES + 1):
            if one > 0:
                r = _first_above(summed, 0, 0, R, _uniform(counter))
                for n in range(N):
                    if given[n, m] == levels[n]:
                        C = lift_offsets[n + 1] - lift_offsets[n]
                        c = _first_above(of_classes, r, lift_offsets[n], lift_offsets[n + 1], _uniform(counter))
                        first = edges[lift_offsets[n] + c]
                        last = edges[lift_offsets[n] + c + 1] if c < C - 1 else levels[n]
                        tried[one, n] = _level_in(cumulative, first, last, offsets[n], _uniform(counter))
            for g in range(0, S, WIDTH):
                store(after, load(before, g), g)
            for n in range(N):
                if given[n, m] == levels[n]:
                    row = (table_offsets[n] + tried[one, n]) * S
                    for g in range(0, S, WIDTH):
                        store(after, mul(load(after, g), load(table, row + g)), g)
            error = 0.0
            for k in range(K):
                s = splat(0.0)
                for g in range(0, S, WIDTH):
                    s = mul_add(load(after, g), load(V, k * S + g), s)
                apart = targets[m, k] - bias[k] - total(s)
                error += alpha[k] * apart * apart
            of_try[one] = -0.5 * weights[m] * error
        one = _pick(of_try, _uniform(counter))
        for n in range(N):
            if given[n, m] == levels[n]:
                codes[n, m] = tried[one, n]
        for r in range(R):
            of_class[r] = scores[j, r]
        for n in range(N):
            if given[n, m] == levels[n]:
                lift = lifts[lift_offsets[n] + bins[offsets[n] + codes[n, m]]]
                for r in range(R):
                    of_class[r] += lift[r]
        r = _pick(of_class, _uniform(counter))
        for g in range(0, S, WIDTH):
            store(after, splat(1.0), N * S + g)
            store(before, splat(1.0), g)
        for n in range(N - 1, 0, -1):
            _multiply_row(codes, fractions, n, m, table, table_offsets[n], after, (n + 1) * S, after, n * S, S)
        for n in range(N):
            if given[n, m] == levels[n]:
                for k in range(K):
                    for g in range(0, S, WIDTH):
                        both = mul(load(before, g), load(after, (n + 1) * S + g))
                        store(q, mul(both, load(V, k * S + g)), k * S + g)
                C = lift_offsets[n + 1] - lift_offsets[n]
                own = bins[offsets[n] + codes[n, m]]
                for c in range(C):
                    first = edges[lift_offsets[n] + c]
                    last = edges[lift_offsets[n] + c + 1] if c < C - 1 else levels[n]
                    u = _uniform(counter)
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
                        apart = targets[m, k] - bias[k] - total(s)
                        error += alpha[k] * apart * apart
                    of_bin[c] = np.log(mass) + lifts[lift_offsets[n] + c, r] - 0.5 * weights[m] * error
                codes[n, m] = candidate[_pick(of_bin[:C], _uniform(counter))]
            _multiply_row(codes, fractions, n, m, table, table_offsets[n], before, 0, before, 0, S)


@inner
def _multiply_row(
    codes: Any,
    fractions: Any,
    n: int,
    m: int,
    table: Any,
    base: int,
    source: Any,
    at: int,
    out: Any,
    to: int,
    S: int,
) -> None:
    """out = source * w_n(x_m)^T A_n."""
    row = (base + np.intp(codes[n, m])) * S
    t = position(fractions, n * codes.shape[1] + m) if fractions.shape[1] > 0 else np.float32(0.0)
    for g in range(0, S, WIDTH):
        a = load(table, row + g)
        if t != 0.0:
            a = mul_add(splat_like(table, t), sub(load(table, row + S + g), a), a)
        store(out, mul(load(source, at + g), a), to + g)
