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
from csid._fit.problem import Known, sums_over_rows
from csid._fit.samples import LocalSamples, Samples, at_hand
from csid._fit.statistics import LevelSums, partial_products

Array = NDArray[np.float64]

LEVELS_OF_PAPER = 25
_MANY_ROWS = 100_000
_LEAST_GAIN_OF_SINGLE = 1e-4
_VANISHED = 1e-16  # beside targets of variance one

Update = Literal["mode", "row", "cg"]
Status = Literal["converged", "early_stopped", "max_iter"]
Sweep = Callable[[Samples, "ALSOptions", "Penalties", Factors, bool], None]


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
    def of(cls, known: Known, options: ALSOptions) -> "Penalties":
        order, K = options.smoothness_order, known.n_outputs
        mu, output_mu = np.array(options.smoothness, np.float64), np.array([options.output_smoothness])
        levels, outputs = known.levels, np.array([K])
        rows = table_rows(levels)
        return cls(
            Penalty(levels, known.ordered, options.ridges(levels), mu, order, table_offsets(levels), rows),
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
    samples: Samples,
    options: ALSOptions,
    factors: Factors,
    held_out_error: Callable[[Factors], float] | None = None,
    on_sweep: Callable[[float, float | None], None] = lambda objective, held_out: None,
    completions: Completions | None = None,
    one_pass: Sweep | None = None,
) -> ALSResult:
    """Sweep from `factors` (changed in place) until the objective, or the held-out error, stops falling.

    held_out_error : of rows that the fit does not see; with it, the factors of the best sweep are returned.
    completions : the samples completed by a joint PMF, instead of those that lack cells.
    one_pass : what changes the factors in a pass over the rows, if not `sweep`.
    """
    update = sweep if one_pass is None else one_pass
    penalties = Penalties.of(samples.known, options)
    result = ALSResult(factors, "max_iter")
    best, unimproved = np.inf, 0
    for sweep_number in range(options.max_iter):
        if completions is not None:
            samples = completions.samples
        single = _still_far(samples.known, result.objective)
        update(samples, options, penalties, factors, single)
        value = settle_bias(samples, penalties, factors, single)
        if single and not _still_far(samples.known, [*result.objective, value]):  # now its last digits count
            value = settle_bias(samples, penalties, factors)
        if completions is not None:
            value = completions.share_out(factors) + float(penalties.per_component(factors).sum())
        result.objective.append(value)
        held_out = None if held_out_error is None else held_out_error(factors)
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
            if held_out is not None:
                result.factors = factors.copy()
        if unimproved >= options.n_iter_no_change:
            result.status = "converged" if held_out is None else "early_stopped"
            break
    return result


def _still_far(known: Known, objective: list[float]) -> bool:
    """Whether sums in single precision do, which are faster over many rows: while the last sweep gained far more."""
    if known.n_rows < _MANY_ROWS:
        return False
    return len(objective) < 2 or objective[-1] < (1.0 - _LEAST_GAIN_OF_SINGLE) * objective[-2]


def sweep(samples: Samples, options: ALSOptions, penalties: Penalties, factors: Factors, single: bool = False) -> None:
    """Update every factor once, in place, and share out scales. Components that are gone cost nothing."""
    left = _components_left(factors)
    some = factors if len(left) == factors.rank else factors.components(left)
    if len(left):
        update_factors(samples, options, penalties, some, single)
        balance_scales(penalties.per_component(some), some)
    if some is not factors:
        factors.table[:-1] = 0.0
        if len(factors.V) > 1:
            factors.V[:] = 0.0
        factors.set_components(left, some)


def update_factors(
    samples: Samples, options: ALSOptions, penalties: Penalties, factors: Factors, single: bool = False
) -> None:
    """Minimise over one factor after another. `single` : products and short sums over rows in single precision.

    A component that the ridge has brought below the rounding of the targets becomes zero at once. On its own way there
    it would pass through subnormal numbers, with which many processors are slow.
    """
    known = samples.known
    if options.update == "cg":
        sweep_by_gradients(at_hand(samples, "update='cg'"), penalties, factors)
    else:
        read = factors.rounded() if single else factors
        if not np.isfinite(read.table).all():
            read = factors
        scale, by_rows = mean_scale(known), options.update == "row"
        squares = np.array([_mean_squares(factors.factor(n)) for n in range(known.n_modes)])
        of_outputs = _mean_squares(factors.output_factor)
        for k, sums in samples.sums_by_mode(read):
            penalty, p, A = penalties.modes.bands[k], known.marginals[k], factors.padded_factor(k)
            minimise(sums, factors.V, scale, penalty, p, bool(known.any_missing[k]), factors.rank, A, by_rows)
            squares[k] = _mean_squares(factors.factor(k))
            A[:, : factors.rank][:, squares.prod(axis=0) * of_outputs < _VANISHED**2] = 0.0
            read.padded_factor(k)[:] = A
    if known.n_outputs > 1:
        update_outputs(samples, penalties, factors)


def _components_left(factors: Factors) -> NDArray[np.intp]:
    """All but those that are zero in two factors or more: neither of these has a gradient, so that they stay zero."""
    zero = [~factors.factor(n).any(axis=0) for n in range(factors.n_modes)]
    return np.flatnonzero(np.sum(zero, axis=0) < 2)


def _mean_squares(A: Array) -> Array:
    """(F,) of the columns."""
    return np.asarray(np.einsum("if,if->f", A, A) / len(A))


def sweep_by_gradients(samples: LocalSamples, penalties: Penalties, factors: Factors) -> None:
    """Update every factor once by conjugate gradients, which multiply with the rows."""
    problem, workers = samples.problem, samples.workers
    for k, outside, modes in partial_products(problem, factors, workers):
        operator = NormalOperator(problem, factors, k, outside, modes, penalties.modes.bands[k], workers)
        factors.set_factor(k, solve_mode(operator, factors.factor(k)))


def mean_scale(known: Known) -> Array:
    """1 / M for each output."""
    return np.full(known.n_outputs, 1.0 / known.total_weight)


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


def update_outputs(samples: Samples, penalties: Penalties, factors: Factors) -> None:
    """Minimise over the output factor V, whose rows share one Gram matrix."""
    gram, rhs = samples.output_sums(factors)
    K, S = rhs.shape
    alike = np.concatenate([np.tile(gram, (K, 1, 1)), np.zeros((1, S, S))])
    sums = alike, np.zeros((0, S, S)), np.vstack([rhs, np.zeros(S)])[:, None]
    V = np.vstack([factors.V, np.zeros(S)])
    scale, penalty = mean_scale(samples.known), penalties.output.bands[0]
    minimise(sums, np.ones((1, S)), scale, penalty, np.zeros(K), False, factors.rank, V)
    factors.V[:] = V[:K]


def balance_scales(costs: Array, factors: Factors) -> None:
    """Share out each component's scale so that every factor pays the same penalty: the least sum at equal products.

    costs : (N, F) what each factor and component pays, or (N + 1, F) where the output factor takes part.
    """
    logs = np.log(np.where((costs > 0).all(axis=0), costs, 1.0))
    scale = np.exp(0.5 * (logs.mean(axis=0) - logs))
    factors.rescale(scale[: factors.n_modes])
    if len(scale) > factors.n_modes:
        factors.output_factor[:] *= scale[-1]


def settle_bias(samples: Samples, penalties: Penalties, factors: Factors, single: bool = False) -> float:
    """Minimise over the bias, and return the objective at the result. `single` : products in single precision."""
    M = samples.known.total_weight
    first, second = samples.residual_sums(factors.rounded() if single else factors)
    shift = first / M
    factors.bias += shift
    squares = float((second - shift * first + samples.known.within).sum())
    return squares / M + float(penalties.per_component(factors).sum())


def mean_squared_error(samples: Samples, factors: Factors, pmf: LevelPMF | None = None) -> float:
    """Weighted mean of squared residuals, summed over outputs; missing cells are averaged over.

    pmf : joint PMF that they follow; None for the marginals.
    """
    if pmf is None:
        return float(samples.residual_sums(factors)[1].sum()) / samples.known.total_weight
    rows = at_hand(samples, "a joint PMF of the predictors")
    problem = rows.problem
    residuals = problem.targets - expected_values(problem, factors, pmf, rows.workers)
    return float(sums_over_rows(problem.weights, residuals**2).sum()) / problem.total_weight
