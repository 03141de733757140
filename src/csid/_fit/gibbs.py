"""Gibbs sampling of the posterior over factors, weights, bias and precisions.

    y_mj | ... ~ N(b_j + sum_f V(j, f) prod_n w_n(x_m)^T A_n(:, f),  1 / alpha_j),  each row counted s_m times

    A_n(:, f)  has a Gaussian prior around c_nf with precision mu_nf U_n + nu I: U_n penalises differences of
               neighbouring levels, and the size of levels without neighbours (categories). c_nf is 1, so that a
               predictor without effect becomes a constant, or has a slope in common with other predictors (`alike`).
    V(j, f)  ~ N(0, 1 / tau_f),    tau_f, alpha_j ~ Gamma,    b_j flat

The joint prior of a column a and its mu is the product
Gamma(mu) mu^(rank U / 2) exp(-mu/2 (a - c)^T U (a - c) - nu/2 |a - c|^2): given a, mu is Gamma; its marginal is not.
Student's t noise multiplies alpha_j by a Gamma variable per row.

Every conditional is conjugate. One sweep costs what a sweep of alternating least squares costs: the same sums over rows
and the same block systems, solved with noise. Many components are drawn some at a time, given the others, which makes
the price of a sweep linear in the rank; see docs/decisions/0011-components-in-groups.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from csid._fit import sweeps, updates
from csid._fit.alike import alike_centre
from csid._fit.als import ALSOptions, NumericalTrouble, fit_als
from csid._fit.factors import Factors, random_factors, table_offsets, table_rows
from csid._fit.missing_cells import DrawnCells, LevelPMF
from csid._fit.penalties import penalty_bands
from csid._fit.problem import Known, Problem
from csid._fit.samples import LocalSamples, Samples, at_hand
from csid._fit.statistics import model_values, row_parts, values_of_rows
from csid._fit.sweeps import Modes, Rows

Array = NDArray[np.float64]

COMPONENTS_AT_ONCE = 32
"""More components than this are drawn some at a time, given the others."""


@dataclass(frozen=True)
class Prior:
    """Hyperparameters; a Gamma is given by its shape and its rate.

    nu : precision with which every entry of a factor is drawn to the prior's mean.
    smoothness : the Gamma in the prior of mu_nf; the rate is divided by the number of levels, to mean the same for any.
    smoothness_order : 1 or 2, of the differences.
    degrees_of_freedom : of Student's t, from which the noise comes; infinite for normal noise.
    weight : Gamma of tau_f. noise : Gamma of alpha_j, the rate one for all outputs or (K,).
    """

    nu: float = 0.1
    smoothness: tuple[float, float] = (1.0, 0.3)
    smoothness_order: int = 1
    degrees_of_freedom: float = np.inf
    weight: tuple[float, float] = (2.0, 0.02)
    noise: tuple[float, float | Array] = (1.0, 1e-4)


@dataclass(frozen=True)
class ModePrior:
    """U_n of one mode.

    unit : (w, I) its diagonals; rank : its rank.
    """

    unit: Array
    rank: int

    @classmethod
    def of(cls, levels: int, ordered: int, order: int) -> "ModePrior":
        smooth = ordered if ordered > order else 0
        unit = penalty_bands(levels, smooth, 0.0, 1.0, order)
        unit[0, smooth:] += 1.0
        return cls(unit, levels - (order if smooth else 0))


@dataclass
class State:
    """One point of a chain: the factors, and the precisions mu (N, F), tau (F,), alpha (K,).

    centre : (T, F) the prior's mean of the factors, in the rows of their table. It is never changed.
    """

    factors: Factors
    mu: Array
    tau: Array
    alpha: Array
    centre: Array

    def copy(self) -> "State":
        return State(self.factors.copy(), self.mu.copy(), self.tau.copy(), self.alpha.copy(), self.centre)

    def components(self, chosen: NDArray[np.intp]) -> "State":
        """Some components, copied."""
        some = self.factors.components(chosen), self.mu.take(chosen, axis=1), self.tau[chosen]
        return State(*some, self.alpha, self.centre.take(chosen, axis=1))

    def set_components(self, chosen: NDArray[np.intp], part: "State") -> None:
        """Replace some components by those of another state."""
        self.factors.set_components(chosen, part.factors)
        self.mu[:, chosen], self.tau[chosen] = part.mu, part.tau


@dataclass
class Chain:
    """A run: its draws, thinned, the state to go on from, and its history.

    alpha : noise precisions (K,) after every sweep; residual : mean squared residuals (K,) after every sweep.
    kept : the sweep of each draw. cells : the missing cells as they were drawn last, if they are.
    """

    state: State
    draws: list[State] = field(default_factory=list)
    alpha: list[Array] = field(default_factory=list)
    residual: list[Array] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    cells: DrawnCells | None = None


def random_state(known: Known, rank: int, rng: np.random.Generator) -> State:
    """A chain's start: factors near 1, weights of both signs, and noise as large as the targets' spread."""
    factors = random_factors(known, rank, rng, low_bias=False)
    factors.output_factor[:] = rng.standard_normal((known.n_outputs, rank)) / np.sqrt(rank)
    return state_at(known, factors)


def alike_state(
    samples: Samples, scores: Sequence[Array], rank: int, steepness: float, rng: np.random.Generator
) -> State:
    """A chain's start at factors in which predictors act alike, around which the prior has them; see `alike`."""
    state = random_state(samples.known, rank, rng)
    state.centre = alike_centre(samples, scores, rank, steepness, rng)
    for n, (start, levels) in enumerate(zip(state.factors.offsets, state.factors.levels, strict=True)):
        state.factors.set_factor(n, state.centre[start : start + levels])
    return state


def als_state(problem: Problem, rank: int, rng: np.random.Generator, sweeps: int = 20) -> State:
    """A chain's start at the factors of a short fit by alternating least squares."""
    options = ALSOptions(ridge=1e-4, smoothness=(0.03,) * problem.n_modes, max_iter=sweeps)
    factors = fit_als(LocalSamples(problem), options, random_factors(problem, rank, rng)).factors
    bring_around_one(factors)
    return state_at(problem, factors)


def bring_around_one(factors: Factors) -> None:
    """Scale each column of a factor to average 1 over the data, where it does not average out; V takes the scales."""
    for n in range(factors.n_modes):
        padded = factors.padded_factor(n)[:, : factors.rank]
        size = np.sqrt((padded[:-1] ** 2).mean(axis=0))
        average = padded[-1].copy()
        divisor = np.where(np.abs(average) > 0.1 * size, average, np.where(size > 0.0, size, 1.0))
        padded /= divisor
        factors.output_factor[:] *= divisor


def state_at(known: Known, factors: Factors) -> State:
    """A chain's start at given factors."""
    spread = (known.squares + known.within) / known.total_weight
    mu = np.full((known.n_modes, factors.rank), 10.0)
    centre = np.ones((len(factors.table), factors.rank))
    return State(factors, mu, np.ones(factors.rank), 1.0 / np.maximum(spread, 1e-12), centre)


def run_chain(
    samples: Samples,
    prior: Prior,
    chain: Chain,
    rng: np.random.Generator,
    n_burn: int,
    n_draws: int,
    thin: int,
    go_on: Callable[[Chain], bool] = lambda chain: True,
    pmf: LevelPMF | None = None,
    heed: float = 1.0,
) -> None:
    """Sweep, and after `n_burn` sweeps keep every `thin`-th of `n_draws` states. Stops early when told not to go on.

    pmf : what missing cells are drawn from, along with the likelihood; without it they are averaged over.
    heed : the power of the likelihood in that. Below one, cells explain less of what may be noise, as they should where
        it is not normal.
    """
    if pmf is not None:
        samples = _with_cells_drawn(at_hand(samples, "drawing missing cells"), chain, pmf, rng)
    known, drawn = samples.known, None if pmf is None else chain.cells
    modes = stacked_modes(known, prior, mode_priors(known, prior.smoothness_order))
    heavy = np.isfinite(prior.degrees_of_freedom)
    for sweep in range(n_burn + n_draws):
        scaled = samples
        if heavy:
            rows = at_hand(samples, "Student's t noise")
            scaled = LocalSamples(draw_row_scales(rows.problem, prior, chain.state, rng), rows.workers)
        if pmf is not None and drawn is not None:
            rows, seed = at_hand(scaled, "drawing missing cells"), int(rng.integers(2**63))
            drawn.draw(pmf, chain.state.factors, heed * chain.state.alpha, rows.problem.weights, seed, rows.workers)
        draw_components(scaled, prior, modes, chain.state, rng)
        chain.residual.append(draw_noise(scaled, prior, chain.state, rng, known.total_weight))
        chain.alpha.append(chain.state.alpha.copy())
        if sweep >= n_burn and (sweep - n_burn) % thin == thin - 1:
            chain.draws.append(chain.state.copy())
            chain.kept.append(len(chain.alpha) - 1)
        if not go_on(chain):
            break


def _with_cells_drawn(samples: LocalSamples, chain: Chain, pmf: LevelPMF, rng: np.random.Generator) -> LocalSamples:
    """The samples with what the chain takes for their missing cells."""
    problem, workers = samples.problem, samples.workers
    if not len(problem.incomplete):
        return samples
    if chain.cells is None or not np.array_equal(chain.cells.given, problem.cells[0]):
        chain.cells = DrawnCells.of(problem, pmf, rng, workers)
    return LocalSamples(chain.cells.problem, workers)


def mode_priors(known: Known, order: int) -> list[ModePrior]:
    """The prior of each mode."""
    numbers = zip(known.levels.tolist(), known.ordered.tolist(), strict=True)
    return [ModePrior.of(levels, ordered, order) for levels, ordered in numbers]


def stacked_modes(known: Known, prior: Prior, priors: list[ModePrior]) -> Modes:
    """What is known of the modes, in the rows of a stacked table of factors."""
    offsets, rows = table_offsets(known.levels), table_rows(known.levels)
    widths = np.array([len(one.unit) for one in priors])
    marginals, unit = np.zeros(rows), np.zeros((rows, widths.max()))
    for start, p, one in zip(offsets.tolist(), known.marginals, priors, strict=True):
        here = slice(start, start + len(p))
        marginals[here] = p
        unit[here, : len(one.unit)] = one.unit.T
    ranks, rates = np.array([one.rank for one in priors]), prior.smoothness[1] / known.levels
    return Modes(known.levels, offsets, marginals, unit, widths, ranks, float(prior.nu), rates)


def draw_components(samples: Samples, prior: Prior, modes: Modes, state: State, rng: np.random.Generator) -> None:
    """Factors, weights and their precisions; of many components, groups chosen at random, each given the others."""
    F = state.factors.rank
    if F <= COMPONENTS_AT_ONCE:
        read = draw_factors(samples, prior, modes, state, rng)
        draw_weights(samples, prior, state, read, rng)
        return
    rows = at_hand(samples, f"drawing more than {COMPONENTS_AT_ONCE} components")
    problem, workers = rows.problem, rows.workers
    groups = np.array_split(rng.permutation(F), -(-F // COMPONENTS_AT_ONCE))
    rest = problem.targets - values_of_rows(problem, state.factors, workers)  # what no component explains
    for group in groups:
        part = state.components(group)
        aim = problem.with_targets(rest + values_of_rows(problem, part.factors, workers))
        read = draw_factors(LocalSamples(aim, workers), prior, modes, part, rng)
        draw_weights(LocalSamples(aim, workers), prior, part, read, rng)
        rest = aim.targets - values_of_rows(problem, part.factors, workers)
        state.set_components(group, part)


def draw_factors(samples: Samples, prior: Prior, modes: Modes, state: State, rng: np.random.Generator) -> Factors:
    """Each factor given the others, then its smoothness precisions. Returns the factors as sums over rows read them.

    Sums are in single precision as long as its rounding is small beside the prior, and in double precision otherwise.
    """
    factors = state.factors
    for read in [factors.rounded(), factors] if single_is_enough(samples.known, prior, state) else [factors]:
        noise = rng.standard_normal((len(modes.marginals), factors.rank))
        gammas = rng.standard_gamma(prior.smoothness[0] + 0.5 * modes.ranks[:, None], state.mu.shape)
        with np.errstate(over="ignore"):
            if isinstance(samples, LocalSamples) and len(row_parts(samples.known.n_rows)) == 1:
                done = _draw_at_once(samples, modes, state, read, noise, gammas)
            else:
                done = _draw_in_turn(samples, modes, state, read, noise, gammas)
        if done:
            return read
    raise NumericalTrouble("the products of factors overflow. Lower `rank`, or use fewer predictors.")


def single_is_enough(known: Known, prior: Prior, state: State) -> bool:
    """Whether what sums over rows lose in single precision is small beside the prior."""
    lost = np.finfo(np.float32).eps * float(state.alpha.max()) * known.total_weight
    return bool(lost < 10.0 * prior.nu)


def _draw_at_once(
    samples: LocalSamples, modes: Modes, state: State, read: Factors, noise: Array, gammas: Array
) -> bool:
    """All factors in one compiled call; false when numbers overflow."""
    problem, factors = samples.problem, state.factors
    starts = problem.roots[:, None].astype(read.table.dtype)
    rows = Rows(*problem.cells, problem.roots, starts, problem.targets)
    G = _room_for_missing(problem, factors)
    V, alpha, mu = factors.V, state.alpha, state.mu
    status = sweeps.draw_factors(
        rows, modes, factors.bias, V, alpha, G, state.centre, noise, gammas, factors.table, read.table, mu
    )
    return bool(status == updates.DONE)


def _draw_in_turn(samples: Samples, modes: Modes, state: State, read: Factors, noise: Array, gammas: Array) -> bool:
    """The same, one factor after another."""
    factors, apart = state.factors, np.empty(state.factors.rank)
    for k, sums in samples.sums_by_mode(read):
        start = int(modes.offsets[k])
        stop = start + int(modes.levels[k])
        status = updates.sample(
            *sums,
            factors.V,
            state.alpha,
            modes.marginals[start:stop],
            _room_for_missing(samples.known, factors),
            modes.unit[start:stop],
            modes.widths[k],
            state.centre[start:stop],
            state.mu[k],
            modes.nu,
            noise[start : stop + 1],
            factors.rank,
            factors.padded_factor(k),
            apart,
        )
        if status == updates.OVERFLOW:
            return False
        read.padded_factor(k)[:] = factors.padded_factor(k)
        state.mu[k] = gammas[k] / (modes.rates[k] + 0.5 * apart)
    return True


def _room_for_missing(known: Known, factors: Factors) -> Array | None:
    """G of `updates.sample`, if any predictor is missing in some row."""
    S = factors.table.shape[1]
    return np.zeros((S, S)) if known.any_missing.any() else None


def draw_weights(samples: Samples, prior: Prior, state: State, read: Factors, rng: np.random.Generator) -> None:
    """The output factor V, one row after another, then the precisions of its columns."""
    F, V = state.factors.rank, state.factors.output_factor
    try:
        rhs, roots = _output_systems(samples, state, read)
    except np.linalg.LinAlgError:  # rounding of single precision
        rhs, roots = _output_systems(samples, state, state.factors)
    for j, (alpha, root) in enumerate(zip(state.alpha, roots, strict=True)):
        half = np.linalg.solve(root, alpha * rhs[j, :F])
        V[j] = np.linalg.solve(root.T, half + rng.standard_normal(F))
    shape, rate = prior.weight
    state.tau[:] = rng.gamma(shape + 0.5 * len(V), 1.0 / (rate + 0.5 * (V**2).sum(axis=0)))


def _output_systems(samples: Samples, state: State, read: Factors) -> tuple[Array, Array]:
    """Right-hand sides (K, S) of the rows of V, before the noise counts, and roots (K, F, F) of their precisions."""
    F = state.factors.rank
    gram, rhs = samples.output_sums(read)
    return rhs, np.asarray(np.linalg.cholesky(state.alpha[:, None, None] * gram[:F, :F] + np.diag(state.tau)))


def draw_noise(
    samples: Samples, prior: Prior, state: State, rng: np.random.Generator, count: float | None = None
) -> Array:
    """The bias, then the noise precisions. Returns the mean squared residuals (K,) at the new state.

    count : how many rows there are, where the weights say more than how often a row counts.
    """
    M = samples.known.total_weight
    first, second = samples.residual_sums(state.factors)
    shift = first / M + rng.standard_normal(len(first)) / np.sqrt(state.alpha * M)
    state.factors.bias += shift
    squares = np.maximum(second - 2.0 * shift * first + shift**2 * M, 0.0) + samples.known.within
    shape, rate = prior.noise
    state.alpha[:] = rng.gamma(shape + 0.5 * (M if count is None else count), 1.0 / (rate + 0.5 * squares))
    return np.asarray(squares / M)


def draw_row_scales(problem: Problem, prior: Prior, state: State, rng: np.random.Generator) -> Problem:
    """The problem with its weights multiplied by what the precision of the noise is multiplied by in each row.

    Student's t is a normal whose precision alpha is multiplied by lambda_m ~ Gamma(df / 2, df / 2), which is Gamma
    again given the residuals. Outputs of a row share it.
    """
    df = prior.degrees_of_freedom
    squares = (problem.targets - model_values(problem, state.factors)) ** 2 @ state.alpha
    scales = rng.gamma(0.5 * (df + problem.n_outputs), 2.0 / (df + squares))
    return problem.with_weights(problem.weights * scales)
