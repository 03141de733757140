"""Alternating least squares for the smooth, low-rank completion problem, Eq. (7) of the paper.

    min  1/M sum_m s_m loss(y_m, b + f(x_m))  +  sum_n rho_n ||A_n||_F^2  +  sum_n mu_n ||T_n A_n||_F^2

A sweep minimises over one factor after another, then over the output factor (with several outputs), then over how the
scale of each component is divided among its factors, and last over the bias. No step can raise the objective.

Under the Gaussian likelihood the loss is the squared error of the paper. Other likelihoods give working targets and
weights before every sweep, so that squared errors bound the loss from above: expectation maximisation.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid._kernels import factor_update
from csid._kernels.sums import sums_over_rows
from csid.data.problem import Summary
from csid.data.samples import LocalSamples, RowSums, Samples, require_local
from csid.data.statistics import LevelSums, partial_products
from csid.inference.conjugate_gradients import NormalOperator, solve_mode
from csid.inference.numerics import NumericalError
from csid.likelihoods import Likelihood
from csid.missing.completions import Completions
from csid.missing.level_pmf import LevelPMF, expected_values
from csid.tensor.factors import Factors, table_offsets, table_rows
from csid.tensor.penalties import Penalty

Array = NDArray[np.float64]

LEVELS_OF_PAPER = 25
_MANY_ROWS = 100_000
_LEAST_GAIN_OF_SINGLE = 1e-4
_VANISHED = 1e-16  # relative to targets of variance one

Update = Literal["mode", "row", "cg"]
Status = Literal["converged", "early_stopped", "max_iter"]
Sweep = Callable[[RowSums, "ALSOptions", "Penalties", Factors, bool], None]


@dataclass(frozen=True)
class ALSOptions:
    """Options of a fit. See `CSIDRegressor`.

    ridge : rho of a mode with at most 25 levels, as in the paper. With more levels it is lower, so that the penalty of
        a curve does not depend on the grid.
    smoothness : mu_n, one per mode; ignored for modes without ordered levels.
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
        """rho_n of modes with `levels` (N,) levels."""
        return np.asarray(self.ridge * np.minimum(1.0, LEVELS_OF_PAPER / levels))


@dataclass
class ALSResult:
    """The best factors of a run, and its history.

    objective : the objective after each sweep.
    validation : the error on held-out rows after each sweep; empty without held-out rows.
    best_sweep : index of the sweep whose factors are returned.
    """

    factors: Factors
    status: Status
    best_sweep: int = -1
    objective: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)

    @property
    def criterion(self) -> float:
        """The held-out error or else the objective, to compare starts. Lower is better."""
        return (self.validation or self.objective)[self.best_sweep]


@dataclass(frozen=True)
class Penalties:
    """The penalty of the factors, and of the output factor."""

    modes: Penalty
    output: Penalty

    @classmethod
    def of(cls, summary: Summary, options: ALSOptions, outputs: int | None = None) -> "Penalties":
        """The penalties of factors for as many outputs, by default one for each column of the targets."""
        order, K = options.smoothness_order, summary.n_outputs if outputs is None else outputs
        mu, output_mu = np.array(options.smoothness, np.float64), np.array([options.output_smoothness])
        levels, of_outputs = summary.levels, np.array([K])
        rows = table_rows(levels)
        return cls(
            Penalty(levels, summary.ordered, options.ridges(levels), mu, order, table_offsets(levels), rows),
            Penalty(of_outputs, of_outputs, options.ridges(of_outputs), output_mu, order, np.zeros(1, np.intp), K),
        )

    def per_component(self, factors: Factors) -> Array:
        """Penalty of each factor and component, (N, F), and with several outputs (N + 1, F)."""
        costs = self.modes.per_component(factors.table, factors.rank)
        if len(factors.V) == 1:
            return costs
        return np.vstack([costs, self.output.per_component(factors.V, factors.rank)])


class ALSRun(NamedTuple):
    """Optional parts of a run.

    held_out_error : error on held-out rows; with it, the factors of the best sweep are returned.
    on_sweep : called after every sweep with the objective, and the held-out error or None.
    completions : completed rows to fit to, in place of samples with missing cells.
    one_pass : updates the factors in one pass over the rows, in place of `sweep`.
    """

    held_out_error: Callable[[Factors, dict[str, Array]], float] | None = None
    on_sweep: Callable[[float, float | None], None] = lambda objective, held_out: None
    completions: Completions | None = None
    one_pass: Sweep | None = None


@np.errstate(over="ignore", invalid="ignore")  # an overflow is reported once, as NumericalError
def fit_als(
    samples: Samples,
    options: ALSOptions,
    factors: Factors,
    likelihood: Likelihood,
    run: ALSRun | None = None,
) -> ALSResult:
    """Sweep from `factors` (changed in place) until the objective, or the held-out error, stops falling."""
    run = ALSRun() if run is None else run
    update = sweep if run.one_pass is None else run.one_pass
    penalties, completions = Penalties.of(samples.summary, options, len(factors.V)), run.completions
    parameters = likelihood.start(samples.summary) if likelihood.augmented else {}
    result = ALSResult(factors, "max_iter")
    best, unimproved = np.inf, 0
    for sweep_number in range(options.max_iter):
        if completions is not None:
            samples = completions.samples
        working: RowSums = samples
        if likelihood.augmented:
            working = samples.working(likelihood, factors, parameters, None)
        single = _single_is_enough(samples.summary, result.objective)
        update(working, options, penalties, factors, single)
        value = update_bias(working, penalties, factors, single)
        if single and not _single_is_enough(samples.summary, [*result.objective, value]):
            value = update_bias(working, penalties, factors)  # in double precision, to compare with later sweeps
        if completions is not None:
            value = completions.update_responsibilities(factors) + float(penalties.per_component(factors).sum())
        if likelihood.augmented:
            value, parameters = _update_parameters(samples, working, likelihood, factors, parameters)
            value += float(penalties.per_component(factors).sum())
        result.objective.append(value)
        held_out = None if run.held_out_error is None else run.held_out_error(factors, parameters)
        if held_out is not None:
            result.validation.append(held_out)
        run.on_sweep(value, held_out)
        criterion = value if held_out is None else held_out
        if not np.isfinite(criterion):
            raise NumericalError(
                f"the objective became {value} in sweep {sweep_number + 1}: the products of factors overflow. "
                "Raise `ridge` or `smoothness`, or lower `rank`."
            )
        unimproved = 0 if criterion < best * (1.0 - options.tol) else unimproved + 1
        if criterion < best:
            best, result.best_sweep = criterion, sweep_number
            if held_out is not None:
                result.factors = factors.copy()
        if unimproved >= options.n_iter_no_change:
            result.status = "converged" if held_out is None else "early_stopped"
            break
    return result


def _update_parameters(
    samples: Samples, working: RowSums, likelihood: Likelihood, factors: Factors, parameters: dict[str, Array]
) -> tuple[float, dict[str, Array]]:
    """The mean loss of the rows, and the likelihood's own parameters after an M-step."""
    M = samples.summary.n_observations
    squares = working.residual_sums(factors)[1] + working.summary.within
    return samples.loss(likelihood, factors, parameters) / M, likelihood.maximise(parameters, squares, M)


def _single_is_enough(summary: Summary, objective: list[float]) -> bool:
    """Whether to sum in single precision, which is faster: with many rows, while the objective still falls fast."""
    if summary.n_rows < _MANY_ROWS:
        return False
    return len(objective) < 2 or objective[-1] < (1.0 - _LEAST_GAIN_OF_SINGLE) * objective[-2]


def sweep(samples: RowSums, options: ALSOptions, penalties: Penalties, factors: Factors, single: bool = False) -> None:
    """Update every factor once, in place, and balance their scales. Components that have vanished are skipped."""
    active = _active_components(factors)
    some = factors if len(active) == factors.rank else factors.components(active)
    if len(active):
        update_factors(samples, options, penalties, some, single)
        balance_scales(penalties.per_component(some), some)
    if some is not factors:
        factors.table[:-1] = 0.0
        if len(factors.V) > 1:
            factors.V[:] = 0.0
        factors.set_components(active, some)


def update_factors(
    samples: RowSums, options: ALSOptions, penalties: Penalties, factors: Factors, single: bool = False
) -> None:
    """Minimise over one factor after another. single : products and short sums over rows in single precision.

    A component that the ridge has shrunk below the rounding error of the targets is set to zero. Otherwise it would
    pass through subnormal numbers, which are slow on many processors.
    """
    summary = samples.summary
    if options.update == "cg":
        sweep_by_conjugate_gradients(require_local(samples, "update='cg'"), penalties, factors)
    else:
        read = factors.rounded() if single else factors
        if not np.isfinite(read.table).all():
            read = factors
        scale, by_rows = mean_scale(summary), options.update == "row"
        squares = np.array([_mean_squares(factors.factor(n)) for n in range(summary.n_modes)])
        of_outputs = _mean_squares(factors.output_factor)
        for k, sums in samples.sums_by_mode(read):
            penalty, p, A = penalties.modes.bands[k], summary.marginals[k], factors.padded_factor(k)
            system = ModeSystem(sums, factors.V, scale, penalty, p, bool(summary.any_missing[k]))
            minimise(system, factors.rank, A, by_rows)
            squares[k] = _mean_squares(factors.factor(k))
            A[:, : factors.rank][:, squares.prod(axis=0) * of_outputs < _VANISHED**2] = 0.0
            read.padded_factor(k)[:] = A
    if summary.n_outputs > 1:
        update_outputs(samples, penalties, factors)


def _active_components(factors: Factors) -> NDArray[np.intp]:
    """Components that are zero in at most one factor. The others have no gradient, and stay zero."""
    zero = [~factors.factor(n).any(axis=0) for n in range(factors.n_modes)]
    return np.flatnonzero(np.sum(zero, axis=0) < 2)


def _mean_squares(A: Array) -> Array:
    """(F,) mean squares of the columns."""
    return np.asarray(np.einsum("if,if->f", A, A) / len(A))


def sweep_by_conjugate_gradients(samples: LocalSamples, penalties: Penalties, factors: Factors) -> None:
    """Update every factor once by conjugate gradients, which need products with the rows only."""
    problem, workers = samples.problem, samples.workers
    for k, outside, modes in partial_products(problem, factors, workers):
        operator = NormalOperator(problem, factors, k, outside, modes, penalties.modes.bands[k], workers)
        factors.set_factor(k, solve_mode(operator, factors.factor(k)))


def mean_scale(summary: Summary) -> Array:
    """1 / M for each output."""
    return np.full(summary.n_outputs, 1.0 / summary.n_observations)


class ModeSystem(NamedTuple):
    """The quadratic objective of one factor, given the others.

    sums : D, O and R over rows; V : the output factor; scale : (K,) multiplies the sums; penalty : its diagonals.
    p : the marginal; missing : whether the predictor is missing in some row.
    """

    sums: LevelSums
    V: Array
    scale: Array
    penalty: Array
    p: Array
    missing: bool


def minimise(system: ModeSystem, rank: int, A: Array, by_rows: bool = False) -> None:
    """Move a padded factor to the minimum of its quadratic; with `by_rows`, update its rows once, one by one."""
    sums, V, scale, penalty, p, missing = system
    G = np.zeros(sums[0].shape[1:]) if missing else None
    equations = factor_update.NormalEquations(sums, V, scale, p, rank)
    status = factor_update.minimise(equations, G, penalty, by_rows or None, A)
    if status == factor_update.OVERFLOW:
        raise NumericalError("the products of factors overflow. Raise `ridge` or `smoothness`, or lower `rank`.")


def update_outputs(samples: RowSums, penalties: Penalties, factors: Factors) -> None:
    """Minimise over the output factor V, whose rows share one Gram matrix."""
    gram, rhs = samples.output_sums(factors)
    K, S = rhs.shape
    grams = np.concatenate([np.tile(gram, (K, 1, 1)), np.zeros((1, S, S))])
    sums = grams, np.zeros((0, S, S)), np.vstack([rhs, np.zeros(S)])[:, None]
    V = np.vstack([factors.V, np.zeros(S)])
    scale, penalty = mean_scale(samples.summary), penalties.output.bands[0]
    minimise(ModeSystem(sums, np.ones((1, S)), scale, penalty, np.zeros(K), False), factors.rank, V)
    factors.V[:] = V[:K]


def balance_scales(costs: Array, factors: Factors) -> None:
    """Rescale the factors of each component to equal penalties, which minimises their sum and keeps their product.

    costs : (N, F) penalty of each factor and component; (N + 1, F) to include the output factor.
    """
    logs = np.log(np.where((costs > 0).all(axis=0), costs, 1.0))
    scale = np.exp(0.5 * (logs.mean(axis=0) - logs))
    factors.rescale(scale[: factors.n_modes])
    if len(scale) > factors.n_modes:
        factors.output_factor[:] *= scale[-1]


def update_bias(samples: RowSums, penalties: Penalties, factors: Factors, single: bool = False) -> float:
    """Minimise over the bias, and return the objective. single : products in single precision."""
    summary = samples.summary
    first, second = samples.residual_sums(factors.rounded() if single else factors)
    shift = first / summary.total_weight
    factors.bias += shift
    squares = float((second - shift * first + summary.within).sum())
    return squares / summary.n_observations + float(penalties.per_component(factors).sum())


def mean_squared_error(samples: RowSums, factors: Factors, pmf: LevelPMF | None = None) -> float:
    """Weighted mean of squared residuals, summed over outputs. Missing cells are averaged over.

    pmf : joint PMF of the predictors; None for the marginals.
    """
    if pmf is None:
        return float(samples.residual_sums(factors)[1].sum()) / samples.summary.total_weight
    rows = require_local(samples, "a joint PMF of the predictors")
    problem = rows.problem
    residuals = problem.targets - expected_values(problem.cells, factors, pmf, rows.workers)
    return float(sums_over_rows(problem.weights, residuals**2).sum()) / problem.total_weight
