"""Gibbs sampling of the posterior over factors, weights, bias, precisions and the likelihood's own parameters.

    z_mj | ... ~ N(b_j + sum_f V(j, f) prod_n w_n(x_m)^T A_n(:, f),  1 / (alpha_j omega_m)),  each row counted s_m times

    A_n(:, f)  has a Gaussian prior with mean c_nf and precision mu_nf U_n + nu I: U_n penalises differences of
               neighbouring levels, and the size of levels without neighbours (categories). c_nf is 1, so that the
               factor of an irrelevant predictor is constant, or a slope shared by all predictors (`shared_slope`).
    V(j, f)  ~ N(0, 1 / tau_f),    tau_f ~ Gamma,    b_j flat

z_m and omega_m are the working targets and weights that the likelihood draws for each row before a sweep; alpha is
one of its own parameters. The joint prior of a column a and its mu is
Gamma(mu) mu^(rank U / 2) exp(-mu/2 (a - c)^T U (a - c) - nu/2 |a - c|^2): given a, mu is Gamma; its marginal is not.

Every conditional is conjugate. A sweep costs as much as one of alternating least squares: the same sums over rows and
the same block systems, solved with noise. More than 32 components are drawn in groups, each given the others, so that
the cost of a sweep is linear in the rank. See docs/decisions/0011-components-in-groups.md.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid._kernels import factor_update, sweep
from csid._kernels.factor_update import FactorPrior, NormalEquations
from csid._kernels.sweep import Modes, SweepInputs, SweepNoise, SweepState
from csid._kernels.threads import row_parts
from csid.data.problem import Summary
from csid.data.samples import LocalSamples, RowSums, Samples, require_local
from csid.data.statistics import row_arrays
from csid.inference.numerics import NumericalError
from csid.inference.state import Chain, State
from csid.likelihoods import Likelihood
from csid.missing.drawn_cells import DrawnCells
from csid.missing.level_pmf import LevelPMF
from csid.priors.prior import ModePrior, Prior, mode_priors
from csid.tensor.evaluation import values_of_rows
from csid.tensor.factors import Factors, table_offsets, table_rows

Array = NDArray[np.float64]

COMPONENTS_AT_ONCE = 32
_MOST_PSEUDO_OBSERVATIONS = 10.0
"""More components than this are drawn in groups, each given the others."""


class SampledModel(NamedTuple):
    """The model that is sampled.

    pmf : joint PMF of the predictors, by which missing cells are drawn; None to average over them.
    likelihood_power : the power of the likelihood when cells are drawn (tempering). Below one, drawn cells overfit less
        to noise that is not normal.
    """

    prior: Prior
    likelihood: Likelihood
    pmf: LevelPMF | None = None
    likelihood_power: float = 1.0


class Sweeps(NamedTuple):
    """Sweeps of a chain: `burn` are discarded, and every `thin`-th of the next `draws` is kept."""

    burn: int
    draws: int
    thin: int = 1


def run_chain(
    samples: Samples,
    model: SampledModel,
    chain: Chain,
    rng: np.random.Generator,
    sweeps: Sweeps,
    keep_going: Callable[[Chain], bool] = lambda chain: True,
) -> None:
    """Run the sweeps of a chain and keep its draws. keep_going : called after every sweep; False stops the chain."""
    prior, likelihood, pmf, power = model
    if pmf is not None:
        samples = _with_drawn_cells(require_local(samples, "drawing missing cells"), chain, pmf, rng)
    summary, drawn = samples.summary, None if pmf is None else chain.cells
    modes = stacked_modes(summary, prior, mode_priors(summary, prior.smoothness_order))
    state, averages = chain.state, pmf is None and summary.any_incomplete
    for number in range(sweeps.burn + sweeps.draws):
        working: RowSums = samples
        if likelihood.latent:
            loss = samples.loss_at(likelihood, state.factors)
            state.parameters = likelihood.draw_given_targets(state.parameters, loss, rng)
        if likelihood.augmented or averages:
            working = samples.working(likelihood, state.factors, state.parameters, rng)
        if pmf is not None and drawn is not None:
            rows, seed = require_local(working, "drawing missing cells"), int(rng.integers(2**63))
            drawn.draw(pmf, state.factors, power * state.alpha, rows.problem, seed, rows.workers)
        draw_components(working, prior, modes, state, rng)
        squares, count = draw_bias(working, state, rng), working.summary.n_observations
        if averages:
            squares, count = _noise_among_gaps(working.noise_sums(state.factors), squares, summary.n_observations)
        state.parameters = likelihood.draw(state.parameters, squares, count, rng)
        chain.residual.append(squares / working.summary.total_weight)
        chain.trace.append(likelihood.trace(state.parameters))
        if number >= sweeps.burn and (number - sweeps.burn) % sweeps.thin == sweeps.thin - 1:
            chain.draws.append(state.copy())
            chain.kept.append(len(chain.trace) - 1)
        if not keep_going(chain):
            break


def _noise_among_gaps(noise: tuple[Array, float], squares: Array, n_observations: float) -> tuple[Array, float]:
    """Sums of squares (K,) and the number of observations that the noise is drawn from, with pseudo-observations.

    Where the variance over missing cells is much larger than the noise, residuals do not tell small noise from none. Of
    rows that are all like that the noise would drift to zero. So up to 10 pseudo-observations have the mean square of
    the residuals, in proportion to the observations that missing cells have taken away.

    noise : from `noise_sums`; squares : (K,) of the residuals with their working weights.
    """
    of_noise, count = noise
    pseudo = _MOST_PSEUDO_OBSERVATIONS * max(0.0, 1.0 - count / n_observations)
    return of_noise + pseudo * squares / count, count + pseudo


def _with_drawn_cells(samples: LocalSamples, chain: Chain, pmf: LevelPMF, rng: np.random.Generator) -> LocalSamples:
    """The samples with the missing cells that the chain has drawn."""
    problem, workers = samples.problem, samples.workers
    if not len(problem.cells.incomplete):
        return samples
    if chain.cells is None or not np.array_equal(chain.cells.given, problem.cells.arrays[0]):
        chain.cells = DrawnCells.of(problem, pmf, rng, workers)
    return LocalSamples(chain.cells.problem, workers)


def stacked_modes(summary: Summary, prior: Prior, priors: list[ModePrior]) -> Modes:
    """Hyperparameters of all modes, in the rows of a stacked table of factors."""
    offsets, rows = table_offsets(summary.levels), table_rows(summary.levels)
    widths = np.array([len(one.unit) for one in priors])
    marginals, unit = np.zeros(rows), np.zeros((rows, widths.max()))
    for start, p, one in zip(offsets.tolist(), summary.marginals, priors, strict=True):
        here = slice(start, start + len(p))
        marginals[here] = p
        unit[here, : len(one.unit)] = one.unit.T
    ranks, rates = np.array([one.rank for one in priors]), prior.smoothness[1] / summary.levels
    return Modes(summary.levels, offsets, marginals, unit, widths, ranks, float(prior.nu), rates)


def draw_components(samples: RowSums, prior: Prior, modes: Modes, state: State, rng: np.random.Generator) -> None:
    """Draw factors, weights and their precisions. Many components are drawn in random groups, each given the others."""
    F = state.factors.rank
    if F <= COMPONENTS_AT_ONCE:
        read = draw_factors(samples, prior, modes, state, rng)
        draw_weights(samples, prior, state, read, rng)
        return
    rows = require_local(samples, f"drawing more than {COMPONENTS_AT_ONCE} components")
    problem, workers = rows.problem, rows.workers
    groups = np.array_split(rng.permutation(F), -(-F // COMPONENTS_AT_ONCE))
    residuals = problem.targets - values_of_rows(problem.cells, state.factors, workers)
    for group in groups:
        part = state.components(group)
        partial = problem.with_targets(residuals + values_of_rows(problem.cells, part.factors, workers))
        read = draw_factors(LocalSamples(partial, workers), prior, modes, part, rng)
        draw_weights(LocalSamples(partial, workers), prior, part, read, rng)
        residuals = partial.targets - values_of_rows(problem.cells, part.factors, workers)
        state.set_components(group, part)


def draw_factors(samples: RowSums, prior: Prior, modes: Modes, state: State, rng: np.random.Generator) -> Factors:
    """Draw each factor given the others, then its smoothness precisions. Returns the factors in the precision of sums.

    Sums over rows are in single precision if its rounding error is small relative to the prior, else in double.
    """
    factors = state.factors
    for read in [factors.rounded(), factors] if single_is_enough(samples.summary, prior, state) else [factors]:
        noise = rng.standard_normal((len(modes.marginals), factors.rank))
        gammas = rng.standard_gamma(prior.smoothness[0] + 0.5 * modes.ranks[:, None], state.mu.shape)
        with np.errstate(over="ignore"):
            if isinstance(samples, LocalSamples) and len(row_parts(samples.summary.n_rows)) == 1:
                done = _draw_fused(samples, modes, state, read, noise, gammas)
            else:
                done = _draw_mode_by_mode(samples, modes, state, read, noise, gammas)
        if done:
            return read
    raise NumericalError("the products of factors overflow. Lower `rank`, or use fewer predictors.")


def single_is_enough(summary: Summary, prior: Prior, state: State) -> bool:
    """Whether the rounding error of sums in single precision is small relative to the prior precision."""
    error = np.finfo(np.float32).eps * float(state.alpha.max()) * summary.total_weight
    return bool(error < 10.0 * prior.nu)


def _draw_fused(samples: LocalSamples, modes: Modes, state: State, read: Factors, noise: Array, gammas: Array) -> bool:
    """Draw all factors in one compiled call. False if numbers overflow."""
    problem, factors = samples.problem, state.factors
    status = sweep.draw_factors(
        row_arrays(problem, factors.bias),
        problem.roots[:, None].astype(read.table.dtype),
        modes,
        SweepInputs(factors.V, state.alpha, state.prior_mean),
        _missing_buffer(problem, factors),
        SweepNoise(noise, gammas),
        SweepState(factors.table, read.table, state.mu),
    )
    return bool(status == factor_update.DONE)


def _draw_mode_by_mode(
    samples: RowSums, modes: Modes, state: State, read: Factors, noise: Array, gammas: Array
) -> bool:
    """The same with one compiled call per factor, for sums in threads or on a cluster."""
    factors, squared_differences = state.factors, np.empty(state.factors.rank)
    for k, sums in samples.sums_by_mode(read):
        start = int(modes.offsets[k])
        stop = start + int(modes.levels[k])
        status = factor_update.sample(
            NormalEquations(sums, factors.V, state.alpha, modes.marginals[start:stop], factors.rank),
            _missing_buffer(samples.summary, factors),
            FactorPrior(modes.unit[start:stop], modes.widths[k], state.prior_mean[start:stop], state.mu[k], modes.nu),
            noise[start : stop + 1],
            factors.padded_factor(k),
            squared_differences,
        )
        if status == factor_update.OVERFLOW:
            return False
        read.padded_factor(k)[:] = factors.padded_factor(k)
        state.mu[k] = gammas[k] / (modes.rates[k] + 0.5 * squared_differences)
    return True


def _missing_buffer(summary: Summary, factors: Factors) -> Array | None:
    """The buffer G of `factor_update.sample`, if any predictor is missing in some row."""
    S = factors.table.shape[1]
    return np.zeros((S, S)) if summary.any_missing.any() else None


def draw_weights(samples: RowSums, prior: Prior, state: State, read: Factors, rng: np.random.Generator) -> None:
    """Draw the rows of the output factor V, then the precisions of its columns."""
    F, V = state.factors.rank, state.factors.output_factor
    try:
        rhs, roots = _output_systems(samples, state, read)
    except np.linalg.LinAlgError:  # rounding error of single precision
        rhs, roots = _output_systems(samples, state, state.factors)
    for j, (alpha, root) in enumerate(zip(state.alpha, roots, strict=True)):
        half = np.linalg.solve(root, alpha * rhs[j, :F])
        V[j] = np.linalg.solve(root.T, half + rng.standard_normal(F))
    shape, rate = prior.weight
    state.tau[:] = rng.gamma(shape + 0.5 * len(V), 1.0 / (rate + 0.5 * (V**2).sum(axis=0)))


def _output_systems(samples: RowSums, state: State, read: Factors) -> tuple[Array, Array]:
    """Right-hand sides (K, S) of the rows of V, without alpha, and Cholesky factors (K, F, F) of their precisions."""
    F = state.factors.rank
    gram, rhs = samples.output_sums(read)
    return rhs, np.asarray(np.linalg.cholesky(state.alpha[:, None, None] * gram[:F, :F] + np.diag(state.tau)))


def draw_bias(samples: RowSums, state: State, rng: np.random.Generator) -> Array:
    """Draw the bias. Returns the weighted sums of squared residuals (K,) after it."""
    M = samples.summary.total_weight
    first, second = samples.residual_sums(state.factors)
    shift = first / M + rng.standard_normal(len(first)) / np.sqrt(state.alpha * M)
    state.factors.bias += shift
    return np.asarray(np.maximum(second - 2.0 * shift * first + shift**2 * M, 0.0) + samples.summary.within)
