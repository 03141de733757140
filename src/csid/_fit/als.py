"""Alternating least squares for the smooth, low-rank completion problem, Eq. (7) of the paper.

    min  1/M sum_m s_m |y_m - b - f(x_m)|^2  +  sum_n rho_n ||A_n||_F^2  +  sum_n mu_n ||T_n A_n||_F^2

A sweep minimises over one factor after another, then over the output factor (several outputs), then over the bias, and
last over the scales that components share out among their factors. No step can raise the objective.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from csid._fit import updates
from csid._fit.completions import Completions
from csid._fit.conjugate_gradients import NormalOperator, solve_mode
from csid._fit.factors import Factors, table_offsets, table_rows
from csid._fit.missing_cells import LevelPMF, expected_values
from csid._fit.penalties import Penalty
from csid._fit.problem import Problem
from csid._fit.statistics import LevelSums, Workers, level_sums, output_sums, partial_products, residual_sums

Array = NDArray[np.float64]

LEVELS_OF_PAPER = 25
_MANY_ROWS = 100_000
_LEAST_GAIN_OF_SINGLE = 1e-4

Update = Literal["mode", "row", "cg"]
Status = Literal["converged", "early_stopped", "max_iter"]


class NumericalTrouble(ArithmeticError):
    """A fit met numbers that it cannot go on with."""


@dataclass(frozen=True)
class ALSOptions:
    """What a user may choose of a fit.

    smoothness : mu_n, one per mode; modes without ordered levels ignore theirs.
    ridge : rho of a mode with as many levels as the paper's, 25, or fewer. With more it is lower, so that a finer grid
        of the same curve costs the same.
    """

    ridge: float
    smoothness: tuple[float, ...]
    smoothness_order: int = 1
    output_smoothness: float = 0.0
    update: Update = "mode"
    max_iter: int = 100
    tol: float = 1e-4
    n_iter_no_change: int = 5

    def ridges(self, levels: NDArray[np.intp]) -> Array:
        """rho_n of modes with these levels."""
        return np.asarray(self.ridge * np.minimum(1.0, LEVELS_OF_PAPER / levels))


@dataclass
class ALSResult:
    """The best factors of a run, and how it went.

    objective : the objective after each sweep; validation : mean squared error on held-out rows after each, if any.
    best_sweep : index into those of the factors that were kept.
    """

    factors: Factors
    status: Status
    best_sweep: int = -1
    objective: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)

    @property
    def score(self) -> float:
        """What several starts are compared by: lower is better."""
        return (self.validation or self.objective)[self.best_sweep]


@dataclass(frozen=True)
class Penalties:
    """The penalty of the factors, and of the output factor."""

    modes: Penalty
    output: Penalty

    @classmethod
    def of(cls, problem: Problem, options: ALSOptions) -> "Penalties":
        order, K = options.smoothness_order, problem.n_outputs
        mu, output_mu = np.array(options.smoothness, np.float64), np.array([options.output_smoothness])
        levels, outputs = problem.levels, np.array([K])
        rows = table_rows(levels)
        return cls(
            Penalty(levels, problem.ordered, options.ridges(levels), mu, order, table_offsets(levels), rows),
            Penalty(outputs, outputs, options.ridges(outputs), output_mu, order, np.zeros(1, np.intp), K),
        )

    def per_component(self, factors: Factors) -> Array:
        """Penalty of each factor and component, (N, F), and with several outputs (N + 1, F)."""
        costs = self.modes.per_component(factors.table, factors.rank)
        if len(factors.V) == 1:
            return costs
        return np.vstack([costs, self.output.per_component(factors.V, factors.rank)])


@np.errstate(over="ignore", invalid="ignore")  # an overflow is reported once, as NumericalTrouble
def fit_als(
    problem: Problem,
    options: ALSOptions,
    factors: Factors,
    workers: Workers,
    validation: Problem | None = None,
    on_sweep: Callable[[float, float | None], None] = lambda objective, held_out: None,
    completions: Completions | None = None,
    pmf: LevelPMF | None = None,
) -> ALSResult:
    """Sweep from `factors` (changed in place) until the objective, or the held-out error, stops falling.

    With `validation` rows, the factors of the best sweep are returned.
    pmf : joint PMF that missing cells follow; completions : the rows completed by it, instead of those of the problem.
    """
    penalties = Penalties.of(problem, options)
    result = ALSResult(factors, "max_iter")
    best, unimproved = np.inf, 0
    for sweep_number in range(options.max_iter):
        if completions is not None:
            problem = completions.problem
        sweep(problem, options, penalties, factors, workers, single=_still_far(problem, result.objective))
        value = settle_bias(problem, penalties, factors, workers)
        if completions is not None:
            value = completions.share_out(factors, workers) + float(penalties.per_component(factors).sum())
        result.objective.append(value)
        held_out = None if validation is None else mean_squared_error(validation, factors, pmf, workers)
        if held_out is not None:
            result.validation.append(held_out)
        on_sweep(value, held_out)
        score = value if held_out is None else held_out
        if not np.isfinite(score):
            raise NumericalTrouble(
                f"the objective became {value} in sweep {sweep_number + 1}: the products of factors overflow. "
                "Raise `ridge` or `smoothness`, or lower `rank`."
            )
        unimproved = 0 if score < best * (1.0 - options.tol) else unimproved + 1
        if score < best:
            best, result.best_sweep = score, sweep_number
            if validation is not None:
                result.factors = factors.copy()
        if unimproved >= options.n_iter_no_change:
            result.status = "converged" if validation is None else "early_stopped"
            break
    return result


def _still_far(problem: Problem, objective: list[float]) -> bool:
    """Whether sums in single precision do, which are faster over many rows: while the last sweep gained far more."""
    if problem.n_rows < _MANY_ROWS:
        return False
    return len(objective) < 2 or objective[-1] < (1.0 - _LEAST_GAIN_OF_SINGLE) * objective[-2]


def sweep(
    problem: Problem,
    options: ALSOptions,
    penalties: Penalties,
    factors: Factors,
    workers: Workers,
    single: bool = False,
) -> None:
    """Update every factor once, in place. `single` : products and short sums over rows in single precision."""
    read = factors.rounded() if single and options.update != "cg" else factors
    if not np.isfinite(read.table).all():
        read = factors
    for k, outside, modes in partial_products(problem, read, workers):
        penalty, p = penalties.modes.bands[k], problem.marginals[k]
        if options.update == "cg":
            operator = NormalOperator(problem, factors, k, outside, modes, penalty, workers)
            factors.set_factor(k, solve_mode(operator, factors.factor(k)))
        else:
            sums, by_rows = level_sums(problem, read, k, outside, modes, workers), options.update == "row"
            missing, A = bool(problem.any_missing[k]), factors.padded_factor(k)
            minimise(sums, factors.V, problem.mean_scale, penalty, p, missing, factors.rank, A, by_rows)
            read.padded_factor(k)[:] = A
    if problem.n_outputs > 1:
        update_outputs(problem, penalties, factors, workers)
    balance_scales(penalties, factors)


def minimise(
    sums: LevelSums,
    V: Array,
    scale: Array,
    penalty: Array,
    p: Array,
    missing: bool,
    rank: int,
    A: Array,
    by_rows: bool = False,
) -> None:
    """Move a padded factor to the minimum of its mode's quadratic, or by one pass over its rows: `updates.minimise`."""
    G = np.zeros(sums[0].shape[1:]) if missing else None
    status = updates.minimise(*sums, V, scale, penalty, p, G, rank, by_rows or None, A)
    if status == updates.OVERFLOW:
        raise NumericalTrouble("the products of factors overflow. Raise `ridge` or `smoothness`, or lower `rank`.")


def update_outputs(problem: Problem, penalties: Penalties, factors: Factors, workers: Workers) -> None:
    """Minimise over the output factor V, whose rows share one Gram matrix."""
    gram, rhs = output_sums(problem, factors, workers)
    K, S = rhs.shape
    alike = np.concatenate([np.tile(gram, (K, 1, 1)), np.zeros((1, S, S))])
    sums = alike, np.zeros((0, S, S)), np.vstack([rhs, np.zeros(S)])[:, None]
    V = np.vstack([factors.V, np.zeros(S)])
    minimise(sums, np.ones((1, S)), problem.mean_scale, penalties.output.bands[0], np.zeros(K), False, factors.rank, V)
    factors.V[:] = V[:K]


def balance_scales(penalties: Penalties, factors: Factors) -> None:
    """Share out each component's scale so that every factor pays the same penalty: the least sum at equal products."""
    cost = penalties.per_component(factors)
    logs = np.log(np.where((cost > 0).all(axis=0), cost, 1.0))
    scale = np.exp(0.5 * (logs.mean(axis=0) - logs))
    factors.rescale(scale)
    if len(factors.V) > 1:
        factors.output_factor[:] *= scale[-1]


def settle_bias(problem: Problem, penalties: Penalties, factors: Factors, workers: Workers) -> float:
    """Minimise over the bias, and return the objective at the result."""
    first, second = residual_sums(problem, factors, workers)
    shift = first / problem.total_weight
    factors.bias += shift
    squares = float((second - shift * first + problem.within).sum())
    return squares / problem.total_weight + float(penalties.per_component(factors).sum())


def mean_squared_error(problem: Problem, factors: Factors, pmf: LevelPMF | None, workers: Workers) -> float:
    """Weighted mean of squared residuals, summed over outputs; missing cells are averaged over."""
    if pmf is None:
        return float(residual_sums(problem, factors, workers)[1].sum()) / problem.total_weight
    residuals = problem.targets - expected_values(problem, factors, pmf, workers)
    return float(problem.weights @ (residuals**2).sum(axis=1)) / problem.total_weight
