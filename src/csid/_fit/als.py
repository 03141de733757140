"""Alternating least squares for the smooth, low-rank completion problem, Eq. (7) of the paper.

    min  1/M sum_m s_m |y_m - b - f(x_m)|^2  +  sum_n rho ||A_n||_F^2  +  sum_n mu_n ||T_n A_n||_F^2

A sweep minimises over one factor after another, then over the output factor (several outputs), then over the bias, and
last over the scales that components share out among their factors. No step can raise the objective.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from csid._fit import blocks
from csid._fit.conjugate_gradients import NormalOperator, solve_mode
from csid._fit.factors import Factors
from csid._fit.penalties import Penalty
from csid._fit.problem import Problem
from csid._fit.statistics import (
    NormalEquations,
    Workers,
    normal_equations,
    output_equations,
    partial_products,
    residual_sums,
)

Array = NDArray[np.float64]

Update = Literal["mode", "row", "cg"]
Status = Literal["converged", "early_stopped", "max_iter"]


_PROXIMAL_STEPS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2)
"""Multiples of its largest diagonal entry that are added to a system, one after another, until it can be solved."""


class NumericalTrouble(ArithmeticError):
    """A fit met numbers that it cannot go on with."""


@dataclass(frozen=True)
class ALSOptions:
    """What a user may choose of a fit.

    smoothness : mu_n, one per mode; modes without ordered levels ignore theirs.
    """

    ridge: float
    smoothness: tuple[float, ...]
    smoothness_order: int = 1
    output_smoothness: float = 0.0
    update: Update = "mode"
    max_iter: int = 100
    tol: float = 1e-4
    n_iter_no_change: int = 5


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
    """The penalty of each factor, and of the output factor."""

    modes: tuple[Penalty, ...]
    output: Penalty

    @classmethod
    def of(cls, problem: Problem, options: ALSOptions) -> "Penalties":
        rho, order, K = options.ridge, options.smoothness_order, problem.n_outputs
        return cls(
            tuple(
                Penalty(int(I_n), int(ordered), rho, mu, order)
                for I_n, ordered, mu in zip(problem.levels, problem.ordered, options.smoothness, strict=True)
            ),
            Penalty(K, K, rho, options.output_smoothness, order),
        )

    def per_component(self, factors: Factors) -> Array:
        """Penalty of each factor and component, (N, F), and with several outputs (N + 1, F)."""
        values = [penalty.per_component(factors.factor(n)) for n, penalty in enumerate(self.modes)]
        if len(factors.V) > 1:
            values.append(self.output.per_component(factors.output_factor))
        return np.array(values)


@np.errstate(over="ignore", invalid="ignore")  # an overflow is reported once, as NumericalTrouble
def fit_als(
    problem: Problem,
    options: ALSOptions,
    factors: Factors,
    workers: Workers,
    validation: Problem | None = None,
    on_sweep: Callable[[float, float | None], None] = lambda objective, held_out: None,
) -> ALSResult:
    """Sweep from `factors` (changed in place) until the objective, or the held-out error, stops falling.

    With `validation` rows, the factors of the best sweep are returned.
    """
    penalties = Penalties.of(problem, options)
    result = ALSResult(factors, "max_iter")
    best, unimproved = np.inf, 0
    for sweep_number in range(options.max_iter):
        sweep(problem, options, penalties, factors, workers)
        value = settle_bias(problem, penalties, factors, workers)
        result.objective.append(value)
        held_out = None if validation is None else mean_squared_error(validation, factors, workers)
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


def sweep(problem: Problem, options: ALSOptions, penalties: Penalties, factors: Factors, workers: Workers) -> None:
    """Update every factor once, in place."""
    for k, outside, modes in partial_products(problem, factors, workers):
        A = factors.factor(k)
        if options.update == "cg":
            operator = NormalOperator(problem, factors, k, outside, modes, penalties.modes[k].bands, workers)
            A = solve_mode(operator, A)
        else:
            equations = normal_equations(problem, factors, k, outside, modes, workers)
            A = minimise_mode(equations, penalties.modes[k].bands, problem.marginals[k], A, options.update)
        factors.set_factor(k, A)
    if problem.n_outputs > 1:
        update_outputs(problem, penalties, factors, workers)
    balance_scales(penalties, factors)


def minimise_mode(equations: NormalEquations, penalty: Array, p: Array, A: Array, update: Update) -> Array:
    """The factor that minimises a mode's quadratic (`"mode"`), or one pass over its rows (`"row"`).

    The system is solved for the step from A, so that its rounding errors shrink as the fit converges. Where it is
    singular, as without ridge at a level with too few rows, a small multiple of |A - A_old|^2 is added. Only a step
    that gains more than rounding is taken, so the objective cannot rise.
    """
    A, G = A.copy(), equations.missing
    residual, size, step = np.empty_like(A), np.empty_like(A), np.zeros_like(A)
    system = blocks.add_penalty(equations.bands, penalty, 0.0)
    largest = blocks.gradient(system, equations.rhs, p, G, A, residual, size)
    if np.isnan(largest):
        raise NumericalTrouble("the products of factors overflow. Raise `ridge` or `smoothness`, or lower `rank`.")
    C = blocks.root(G)
    for proximal in _PROXIMAL_STEPS:
        bands = blocks.add_penalty(equations.bands, penalty, proximal * largest)
        if update == "row":
            step[:] = 0.0
            failed = blocks.relax(bands, residual, p, G, step)
        else:
            failed = blocks.solve(bands, residual, p, C, step)
        if failed < 0 and blocks.take_step(step, system, p, G, residual, size, A):
            break
    return A


def update_outputs(problem: Problem, penalties: Penalties, factors: Factors, workers: Workers) -> None:
    """Minimise over the output factor V, whose rows share one Gram matrix."""
    gram, rhs = output_equations(problem, factors, workers)
    K, F = rhs.shape
    equations = NormalEquations(np.broadcast_to(gram, (1, K, F, F)), rhs, np.zeros((F, F)))
    V = minimise_mode(equations, penalties.output.bands, np.zeros(K), factors.output_factor, "mode")
    factors.output_factor[:] = V


def balance_scales(penalties: Penalties, factors: Factors) -> None:
    """Share out each component's scale so that every factor pays the same penalty: the least sum at equal products."""
    cost = penalties.per_component(factors)
    paying = (cost > 0).all(axis=0)
    logs = np.log(np.where(paying, cost, 1.0))
    scale = np.exp(0.5 * (logs.mean(axis=0) - logs))
    for n in range(factors.n_modes):
        factors.set_factor(n, factors.factor(n) * scale[n])
    if len(factors.V) > 1:
        factors.output_factor[:] *= scale[-1]


def settle_bias(problem: Problem, penalties: Penalties, factors: Factors, workers: Workers) -> float:
    """Minimise over the bias, and return the objective at the result."""
    first, second = residual_sums(problem, factors, workers)
    shift = first / problem.total_weight
    factors.bias += shift
    squares = float((second - shift * first).sum()) + problem.within
    return squares / problem.total_weight + float(penalties.per_component(factors).sum())


def mean_squared_error(problem: Problem, factors: Factors, workers: Workers) -> float:
    """Weighted mean of squared residuals, summed over outputs."""
    return float(residual_sums(problem, factors, workers)[1].sum()) / problem.total_weight
