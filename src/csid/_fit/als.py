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
from csid._fit.penalties import penalty_bands, quadratic_form
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

_PROXIMAL_STEPS = (1e-10, 1e-8, 1e-6, 1e-4, 1e-2)


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
    """Banded penalty matrices, one per factor and one for the output factor."""

    modes: tuple[Array, ...]
    output: Array

    @classmethod
    def of(cls, problem: Problem, options: ALSOptions) -> "Penalties":
        order = options.smoothness_order
        return cls(
            tuple(
                penalty_bands(int(I), int(ordered), options.ridge, mu, order)
                for I, ordered, mu in zip(problem.levels, problem.ordered, options.smoothness, strict=True)
            ),
            penalty_bands(problem.n_outputs, problem.n_outputs, options.ridge, options.output_smoothness, order),
        )

    def per_component(self, factors: Factors) -> Array:
        """Penalty of each factor and component, (N, F), and with several outputs (N + 1, F)."""
        values = [quadratic_form(bands, factors.factor(n)) for n, bands in enumerate(self.modes)]
        if len(factors.V) > 1:
            values.append(quadratic_form(self.output, factors.output_factor))
        return np.array(values)


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
            operator = NormalOperator(problem, factors, k, outside, modes, penalties.modes[k], workers)
            A = solve_mode(operator, A)
        else:
            equations = normal_equations(problem, factors, k, outside, modes, workers)
            A = minimise_mode(equations, penalties.modes[k], problem.marginals[k], A, options.update)
        factors.set_factor(k, A)
    if problem.n_outputs > 1:
        update_outputs(problem, penalties, factors, workers)
    balance_scales(penalties, factors)


def minimise_mode(equations: NormalEquations, penalty: Array, p: Array, A: Array, update: Update) -> Array:
    """The factor that minimises a mode's quadratic (`"mode"`), or one pass over its rows (`"row"`).

    Where a block is singular, as without ridge at a level with too few rows, a small multiple of |A - A_old|^2 is added:
    the objective still cannot rise.
    """
    damping = 0.0
    scale = float(np.mean([np.trace(block) for block in equations.bands[0]])) + float(np.trace(equations.missing))
    for proximal in (*_PROXIMAL_STEPS, None):
        bands = add_penalty(equations.bands, penalty, damping)
        rhs = equations.rhs + damping * A
        if update == "row":
            new = A.copy()
            failed = blocks.relax(bands, rhs, p, equations.missing, new)
        else:
            new, failed = blocks.solve(bands, rhs, p, equations.missing)
        if failed < 0 and np.isfinite(new).all():
            return new
        if proximal is None:
            break
        damping = proximal * (scale / len(equations.missing) or 1.0)
    raise NumericalTrouble(
        f"the normal equations of a predictor are singular at level {failed}, even damped. "
        "Give a positive `ridge`, or lower `rank`."
    )


def add_penalty(bands: Array, penalty: Array, damping: float = 0.0) -> Array:
    """Block bands of the data plus a banded penalty on every component, as a new array."""
    width = max(len(bands), len(penalty))
    out = np.zeros((width, *bands.shape[1:]))
    out[: len(bands)] = bands
    diagonal = np.einsum("diff->dif", out)
    diagonal[: len(penalty)] += penalty[:, :, None]
    diagonal[0] += damping
    return out


def update_outputs(problem: Problem, penalties: Penalties, factors: Factors, workers: Workers) -> None:
    """Minimise over the output factor V, whose rows share one Gram matrix."""
    gram, rhs = output_equations(problem, factors, workers)
    K, F = rhs.shape
    equations = NormalEquations(np.broadcast_to(gram, (1, K, F, F)), rhs, np.zeros((F, F)))
    factors.output_factor[:] = minimise_mode(
        equations, penalties.output, np.zeros(K), factors.output_factor, "mode"
    )


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
