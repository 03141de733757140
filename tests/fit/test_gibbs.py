"""Gibbs sampling: every update is a draw from its exact conditional, and together they leave the joint law in place."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from csid._kernels import factor_update, threads
from csid._kernels.factor_update import FactorPrior, NormalEquations
from csid._kernels.sweep import Modes
from csid._kernels.threads import Workers
from csid.data import samples
from csid.data.merging import merge_repeated_cells
from csid.data.problem import Problem, Summary
from csid.data.samples import LocalSamples
from csid.inference import gibbs, starts
from csid.inference.gibbs import SampledModel, Sweeps, run_chain
from csid.inference.numerics import NumericalError
from csid.inference.starts import random_state, state_at
from csid.inference.state import Chain, State
from csid.likelihoods.gaussian import Gaussian
from csid.likelihoods.location_scale import GammaPrior, LocationScale
from csid.likelihoods.student_t import StudentT
from csid.priors.prior import ModePrior, Prior, mode_priors
from csid.tensor.factors import stack_factors, table_rows
from fit.strategies import build_factors, build_problem, problems, seeds, with_cells
from fit.systems import sums_of_mode
from joint_law import draw_tensors, row_products, shows, z_scores
from naive import (
    Model,
    dense_penalty,
    dense_unit,
    dense_units,
    design,
    level_weights,
    model_of,
    products,
    values,
)
from scripted import Scripted

Array = np.ndarray
CLOSE = {"rtol": 1e-8, "atol": 1e-8}
GAUSSIAN = Gaussian()

orders, ranks = st.sampled_from([1, 2]), st.integers(1, 10)
Update = Callable[..., bool]
updates_of_factors = pytest.mark.parametrize("update", [gibbs._draw_fused, gibbs._draw_mode_by_mode])


# --- the conditionals, densely and by their definitions ---------------------------------------------------------------


def _mode_conditional(
    problem: Problem, model: Model, k: int, U: Array, mu: Array, nu: float, alpha: Array, centre: Array
) -> tuple[Array, Array]:
    """Precision (I F, I F) and mean (I F,) of the entries of `A_k` in row order, given everything else."""
    X = design(problem, model, k)
    s = np.outer(problem.weights, alpha).ravel()
    prior = np.kron(U, np.diag(mu)) + nu * np.eye(len(U) * len(mu))
    precision = X.T @ (s[:, None] * X) + prior
    pulled = X.T @ (s * (problem.targets - model.bias).ravel()) + prior @ centre.ravel()
    return precision, np.linalg.solve(precision, pulled)


def _row_conditional(problem: Problem, model: Model, j: int, tau: Array, alpha: Array) -> tuple[Array, Array]:
    """Precision (F, F) and mean (F,) of a row of V, given everything else."""
    q = products(level_weights(problem), model.A, range(problem.n_modes))
    weighted = alpha[j] * problem.weights[:, None] * q
    precision = weighted.T @ q + np.diag(tau)
    return precision, np.linalg.solve(precision, weighted.T @ (problem.targets[:, j] - model.bias[j]))


def _apart(A: Array, U: Array, centre: Array) -> Array:
    return np.einsum("if,ij,jf->f", A - centre, U, A - centre)


def _prior_mean_of(state: State, k: int) -> Array:
    """The prior's mean of a factor."""
    start = int(state.factors.offsets[k])
    return state.prior_mean[start : start + int(state.factors.levels[k])]


def _any_prior_mean(summary: Summary, rank: int, seed: int) -> Array:
    """A mean of the factors that differs from level to level and from component to component."""
    return np.random.default_rng([seed, 4]).uniform(0.3, 1.7, (table_rows(summary.levels), rank))


def _any_state(problem: Problem, rank: int, seed: int) -> State:
    """Factors of either sign, precisions that differ in every component and output, and any mean of the prior."""
    rng = np.random.default_rng([seed, 2])
    mu, tau = rng.uniform(0.1, 5.0, (problem.n_modes, rank)), rng.uniform(0.5, 2.0, rank)
    alpha = rng.uniform(0.2, 3.0, problem.n_outputs)
    return State(build_factors(problem, rank, seed), mu, tau, {"alpha": alpha}, _any_prior_mean(problem, rank, seed))


# --- the prior of a mode ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("levels", [1, 2, 3, 4, 7])
def test_mode_prior_is_the_dense_matrix(levels: int, order: int) -> None:
    """For a category, for a number, and for all between."""
    for ordered in range(levels + 1):
        prior, U = ModePrior.of(levels, ordered, order), dense_unit(levels, ordered, order)
        assert_array_equal(dense_penalty(prior.unit), U)
        assert prior.rank == np.linalg.matrix_rank(U)


def test_mode_prior_of_known_modes() -> None:
    category, number, mixed = ModePrior.of(3, 0, 1), ModePrior.of(3, 3, 1), ModePrior.of(4, 3, 2)
    assert_array_equal(dense_penalty(category.unit), np.eye(3))
    assert_array_equal(dense_penalty(number.unit), [[1, -1, 0], [-1, 2, -1], [0, -1, 1]])
    assert_array_equal(dense_penalty(mixed.unit), [[1, -2, 1, 0], [-2, 4, -2, 0], [1, -2, 1, 0], [0, 0, 0, 1]])
    assert [mode.rank for mode in (category, number, mixed)] == [3, 2, 2]


# --- the kernel of a factor -------------------------------------------------------------------------------------------


class _Draw(NamedTuple):
    status: int
    table: Array
    apart: Array


def _sample(problem: Problem, state: State, k: int, mode: ModePrior, nu: float, noise: Array) -> _Draw:
    """What `factor_update.sample` fills for one mode, from a table that held something else."""
    F, S = state.factors.rank, state.factors.table.shape[1]
    G = np.zeros((S, S)) if problem.any_missing[k] else None
    A, apart = np.zeros((int(problem.levels[k]) + 1, S)), np.full(F, np.nan)
    A[:, :F] = np.nan
    status = factor_update.sample(
        NormalEquations(sums_of_mode(problem, state.factors, k), state.factors.V, state.alpha, problem.marginals[k], F),
        G,
        FactorPrior(mode.unit.T.copy(), len(mode.unit), _prior_mean_of(state, k), state.mu[k], nu),
        noise,
        A,
        apart,
    )
    return _Draw(status, A, apart)


@given(problems(), ranks, orders, st.data(), seeds)
@settings(deadline=None, max_examples=60)
def test_sample_is_affine_in_its_noise(problem: Problem, rank: int, order: int, data: st.DataObject, seed: int) -> None:
    """Without noise the exact mean; the noise's map T has T T^T = precision^-1, exactly and not only on average."""
    k = data.draw(st.integers(0, problem.n_modes - 1))
    state, mode, U = _any_state(problem, rank, seed), mode_priors(problem, order)[k], dense_units(problem, order)[k]
    rng = np.random.default_rng([seed, 3])
    nu, noise = rng.uniform(0.1, 2.0), rng.standard_normal((len(U) + 1, rank))
    given = (U, state.mu[k], nu, state.alpha, _prior_mean_of(state, k))
    precision, mean = _mode_conditional(problem, model_of(state.factors), k, *given)

    def entries(noise: Array) -> Array:
        drawn = _sample(problem, state, k, mode, nu, noise)
        assert drawn.status == factor_update.DONE
        return drawn.table[:-1, :rank].ravel()

    assert_allclose(entries(np.zeros_like(noise)), mean, **CLOSE)
    T = np.array([entries(unit.reshape(noise.shape)) - mean for unit in np.eye(noise.size)]).T
    assert_allclose(T @ T.T, np.linalg.inv(precision), **CLOSE)
    assert_allclose(entries(noise), mean + T @ noise.ravel(), **CLOSE)


@given(problems(), ranks, orders, seeds)
@settings(deadline=None, max_examples=40)
def test_sample_fills_the_row_of_missing_cells_and_apart(problem: Problem, rank: int, order: int, seed: int) -> None:
    """Beside the levels: `p^T A` in the last row, the distance from the prior's mean, and nothing in the padding."""
    state, rng = _any_state(problem, rank, seed), np.random.default_rng([seed, 3])
    for k, (mode, U) in enumerate(zip(mode_priors(problem, order), dense_units(problem, order), strict=True)):
        drawn = _sample(problem, state, k, mode, 0.3, rng.standard_normal((len(U) + 1, rank)))
        A = drawn.table[:-1, :rank]
        assert_allclose(drawn.table[-1, :rank], problem.marginals[k] @ A, rtol=1e-12, atol=1e-12)
        assert_allclose(drawn.apart, _apart(A, U, _prior_mean_of(state, k)), **CLOSE)
        assert not drawn.table[:, rank:].any()


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_sample_reports_an_overflow_and_changes_nothing(missing: float) -> None:
    problem = build_problem(0, missing=missing)
    state = _any_state(problem, 2, 0)
    state.factors.set_factor(1, np.full((3, 2), 1e200))
    drawn = _sample(problem, state, 0, ModePrior.of(4, 4, 1), 1.0, np.zeros((5, 2)))
    assert drawn.status == factor_update.OVERFLOW
    assert np.isnan(drawn.table[:, :2]).all()
    with pytest.raises(NumericalError, match="overflow"):
        gibbs.draw_factors(LocalSamples(problem), Prior(), _stacked(problem, Prior()), state, np.random.default_rng(0))


# --- the updates, one after another -----------------------------------------------------------------------------------


def _stacked(problem: Problem, prior: Prior) -> Modes:
    return gibbs.stacked_modes(problem, prior, mode_priors(problem, prior.smoothness_order))


def _check_factors(update: Update, problem: Problem, rank: int, prior: Prior, seed: int) -> None:
    """Each factor is the mean given the factors already drawn; each mu is its Gamma by its rate."""
    state, modes = _any_state(problem, rank, seed), _stacked(problem, prior)
    model, mu = model_of(state.factors), state.mu.copy()
    gammas = np.random.default_rng([seed, 3]).uniform(0.5, 2.0, mu.shape)
    noise = np.zeros((len(modes.marginals), rank))
    assert update(LocalSamples(problem), modes, state, state.factors, noise, gammas)
    for k, U in enumerate(dense_units(problem, prior.smoothness_order)):
        centre = _prior_mean_of(state, k)
        _, mean = _mode_conditional(problem, model, k, U, mu[k], prior.nu, state.alpha, centre)
        model.A[k][:] = mean.reshape(-1, rank)
        rate = prior.smoothness[1] / len(U) + _apart(model.A[k], U, centre) / 2
        assert_allclose(state.mu[k], gammas[k] / rate, **CLOSE)
        assert_allclose(state.factors.factor(k), model.A[k], **CLOSE)


@updates_of_factors
@given(problems(), ranks, orders, seeds)
@settings(deadline=None, max_examples=40)
def test_factors_are_drawn_mode_by_mode(update: Update, problem: Problem, rank: int, order: int, seed: int) -> None:
    _check_factors(update, problem, rank, Prior(nu=0.4, smoothness=(1.7, 0.6), smoothness_order=order), seed)


@updates_of_factors
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize(("modes", "rows"), [(15, 80), (100, 20)])
def test_factors_of_many_modes_are_drawn_in_groups(update: Update, missing: float, modes: int, rows: int) -> None:
    """Products that are formed once for a group of modes, or a block of groups, hold while only one mode changes."""
    levels = tuple(2 + n % 3 for n in range(modes))
    problem = build_problem(1, levels=levels, rows=rows, linear=True, missing=missing, weighted=True)
    _check_factors(update, problem, 3, Prior(nu=2.0), 1)


@given(problems(), ranks, orders, st.booleans(), seeds)
@settings(deadline=None, max_examples=40)
def test_both_ways_to_draw_factors_agree(problem: Problem, rank: int, order: int, single: bool, seed: int) -> None:
    """From the same numbers: to rounding, of the precision that the sums are in."""
    prior = Prior(smoothness_order=order)
    modes, start = _stacked(problem, prior), _any_state(problem, rank, seed)
    rng = np.random.default_rng([seed, 3])
    noise, gammas = rng.standard_normal((len(modes.marginals), rank)), rng.uniform(0.5, 2.0, start.mu.shape)
    drawn = []
    for update in (gibbs._draw_fused, gibbs._draw_mode_by_mode):
        state = start.copy()
        read = state.factors.rounded() if single else state.factors
        assert update(LocalSamples(problem), modes, state, read, noise, gammas)
        assert_array_equal(read.table, state.factors.table.astype(read.table.dtype))
        drawn.append(state)
    close = {"rtol": 1e-2, "atol": 1e-2} if single else CLOSE
    assert_allclose(drawn[0].factors.table, drawn[1].factors.table, **close)
    assert_allclose(np.log(drawn[0].mu), np.log(drawn[1].mu), **close)


@updates_of_factors
def test_sums_in_single_precision_give_nearly_the_same_draw(update: Update) -> None:
    problem = build_problem(0, levels=(4, 3, 5), rows=200, linear=True, missing=0.1, weighted=True)
    modes, drawn = _stacked(problem, Prior()), []
    rng = np.random.default_rng(0)
    noise, gammas = rng.standard_normal((len(modes.marginals), 3)), np.ones((3, 3))
    for single in (False, True):
        state = _any_state(problem, 3, 0)
        read = state.factors.rounded() if single else state.factors
        assert update(LocalSamples(problem), modes, state, read, noise, gammas)
        drawn.append(state.factors.table)
    assert_allclose(drawn[1], drawn[0], rtol=1e-4, atol=1e-4)
    assert not np.array_equal(drawn[1], drawn[0])


def test_sums_are_single_only_while_the_prior_hides_their_rounding() -> None:
    problem = build_problem(0, rows=100)
    state = state_at(problem, GAUSSIAN, build_factors(problem, 2, 0))
    for alpha, enough in [(1.0, True), (1e3, True), (1e6, False)]:
        state.parameters = {"alpha": np.array([alpha])}
        assert gibbs.single_is_enough(problem, Prior(nu=0.1), state) == enough
        modes = _stacked(problem, Prior())
        read = gibbs.draw_factors(LocalSamples(problem), Prior(), modes, state, np.random.default_rng(0))
        assert read.table.dtype == (np.float32 if enough else np.float64)


def test_a_draw_that_fails_in_single_precision_is_made_in_double(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products beyond the range of single precision, with an alpha too small to tell."""
    problem = build_problem(0, levels=(3, 2), rows=40)
    state = state_at(problem, GAUSSIAN, build_factors(problem, 2, 0))
    state.factors.set_factor(1, np.full((2, 2), 1e25))
    state.parameters = {"alpha": np.array([1e-40])}
    read = gibbs.draw_factors(
        LocalSamples(problem), Prior(), _stacked(problem, Prior()), state, np.random.default_rng(0)
    )
    assert read is state.factors
    assert np.isfinite(read.table).all()


@given(problems(), ranks, seeds)
@settings(deadline=None, max_examples=40)
def test_draw_weights(problem: Problem, rank: int, seed: int) -> None:
    """Rows of V are affine in their noise with the exact mean and covariance; tau then has its Gamma."""
    start, prior = _any_state(problem, rank, seed), Prior(weight=(2.5, 0.7))
    model, K = model_of(start.factors), problem.n_outputs
    noise = np.random.default_rng([seed, 3]).standard_normal((K, rank))

    def rows(noise: Array) -> Array:
        state, rng = start.copy(), Scripted(noise)
        gibbs.draw_weights(LocalSamples(problem), prior, state, state.factors, rng)
        V = state.factors.output_factor
        ((shape, scale),) = rng.gammas
        assert shape == pytest.approx(2.5 + K / 2)
        assert_allclose(1.0 / scale, 0.7 + (V**2).sum(axis=0) / 2, rtol=1e-12)
        assert_allclose(state.tau, shape * scale, rtol=1e-15)
        assert not state.factors.V[:, rank:].any()
        return V

    mean, drawn = rows(np.zeros((K, rank))), rows(noise)
    units = np.array([rows(np.tile(unit, (K, 1))) - mean for unit in np.eye(rank)])
    for j in range(K):
        precision, expected = _row_conditional(problem, model, j, start.tau, start.alpha)
        T = units[:, j].T
        assert_allclose(mean[j], expected, **CLOSE)
        assert_allclose(T @ T.T, np.linalg.inv(precision), **CLOSE)
        assert_allclose(drawn[j], mean[j] + T @ noise[j], **CLOSE)


def test_weights_whose_sums_fail_in_single_precision_are_drawn_in_double(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = build_problem(0, outputs=2)
    right, drawn = samples.output_sums, []

    def rounded_away(problem: Problem, factors: Any, workers: Workers) -> tuple[Array, Array]:
        gram, rhs = right(problem, factors, workers)
        return (-gram if factors.table.dtype == np.float32 else gram), rhs

    monkeypatch.setattr(samples, "output_sums", rounded_away)
    for single in (False, True):
        state = _any_state(problem, 3, 0)
        read = state.factors.rounded() if single else state.factors
        gibbs.draw_weights(LocalSamples(problem), Prior(), state, read, np.random.default_rng(0))
        drawn.append(state.factors.V)
    assert_array_equal(*drawn)


@given(problems(), ranks, st.booleans(), seeds)
@settings(deadline=None, max_examples=40)
def test_draw_bias_and_noise(problem: Problem, rank: int, merged: bool, seed: int) -> None:
    """The bias around the mean residual, and alpha given that bias; squares inside merged cells count."""
    apart = np.random.default_rng([seed, 3])
    problem = replace(problem, within=apart.random(problem.n_outputs) if merged else np.zeros(problem.n_outputs))
    state, rng = _any_state(problem, rank, seed), Scripted([0.7, -1.1, 0.4])
    model, alpha, s = model_of(state.factors), state.alpha.copy(), problem.weights
    M, rest = s.sum(), problem.targets - values(problem, model._replace(bias=np.zeros(problem.n_outputs)))
    found = gibbs.draw_bias(LocalSamples(problem), state, rng)
    parameters = Gaussian(GammaPrior(1.5, 0.2)).draw({}, found, problem.n_observations, rng)
    noise = np.array([0.7, -1.1, 0.4])[: problem.n_outputs]
    bias = s @ rest / M + noise / np.sqrt(alpha * M)
    squares = s @ (rest - bias) ** 2 + problem.within
    ((shape, scale),) = rng.gammas
    assert_allclose(state.factors.bias, bias, **CLOSE)
    assert shape == pytest.approx(1.5 + M / 2)
    assert_allclose(1.0 / scale, 0.2 + squares / 2, **CLOSE)
    assert_allclose(parameters["alpha"], shape * scale, rtol=1e-15)
    assert_allclose(found, squares, **CLOSE)


# --- the joint law of parameters and data, after Geweke (2004) --------------------------------------------------------

# The bias has a flat prior, so the joint law of parameters and targets is improper, but only along a shift of bias and
# targets together. Targets minus bias, with all parameters but the bias, have a proper law: prior times
# p(y - b | sum of products, alpha). The sweep uses the targets only as y - b, and its step of the bias moves y - b
# by a number that depends on these alone. So on them it is a Markov chain, which must keep that proper law. We run the
# sweep as it is, let the bias wander, and look only at what a shift leaves alone.

JOINT = Prior(nu=2.0, smoothness=(5.0, 6.0), weight=(6.0, 5.0))
PRECISIONS = GammaPrior(5.0, 5.0)
NORMAL, HEAVY_TAILS = Gaussian(PRECISIONS), StudentT(PRECISIONS, degrees_of_freedom=8.0)  # squares have a variance


class _Joint(NamedTuple):
    """Draws: A, for each mode (n, I, F); V (n, K, F); mu (n, N, F); tau (n, F); alpha (n, K); y - b (n, M, K)."""

    A: list[Array]
    V: Array
    mu: Array
    tau: Array
    alpha: Array
    centred: Array


def _noise(likelihood: LocationScale, alpha: Array, rows: int, rng: np.random.Generator) -> Array:
    """(n, M, K) for n draws of alpha; outputs of a row share the scale of heavy tails."""
    noise = rng.standard_normal((len(alpha), rows, alpha.shape[1])) / np.sqrt(alpha)[:, None, :]
    if isinstance(likelihood, StudentT):
        df = likelihood.degrees_of_freedom
        noise /= np.sqrt(rng.gamma(0.5 * df, 2.0 / df, (len(alpha), rows, 1)))
    return noise


def _from_the_prior(
    problem: Problem, centre: Sequence[Array], model: SampledModel, n: int, rng: np.random.Generator
) -> _Joint:
    """Independent draws of the parameters, and then of y - b."""
    (prior, likelihood, *_), K = model, problem.n_outputs
    A, V, mu, tau = draw_tensors(dense_units(problem, prior.smoothness_order), centre, prior, (n, K), rng)
    alpha = rng.gamma(PRECISIONS.shape, 1.0 / PRECISIONS.rate, (n, K))
    noise = _noise(likelihood, alpha, problem.n_rows, rng)
    centred = np.einsum("nmf,njf->nmj", row_products(problem, A), V) + noise
    return _Joint(A, V, mu, tau, alpha, centred)


def _by_sweeps(
    problem: Problem, centre: Sequence[Array], model: SampledModel, sweeps: int, rng: np.random.Generator
) -> _Joint:
    """A chain whose targets, after every sweep is recorded, are drawn anew given the parameters."""
    start = _from_the_prior(problem, centre, model, 1, rng)
    factors = stack_factors(tuple(A[0] for A in start.A), start.V[0], np.zeros(problem.n_outputs), problem.marginals)
    stacked = stack_factors(tuple(centre), start.V[0], factors.bias, problem.marginals).table[:, : factors.rank].copy()
    state = State(factors, start.mu[0], start.tau[0], {"alpha": start.alpha[0]}, stacked)
    problem = replace(problem, targets=start.centred[0].copy())
    weights, kept = level_weights(problem), []

    def renew_targets(chain: Chain) -> bool:
        fitted = model_of(state.factors)
        precisions = (state.mu.copy(), state.tau.copy(), state.alpha.copy())
        kept.append((*fitted.A, fitted.V, *precisions, problem.targets - fitted.bias))
        noise = _noise(model.likelihood, state.alpha[None], problem.n_rows, rng)[0]
        problem.targets[:] = fitted.bias + products(weights, fitted.A, range(problem.n_modes)) @ fitted.V.T + noise
        return True

    run_chain(LocalSamples(problem), model, Chain(state), rng, Sweeps(sweeps, 0), renew_targets)
    *A, V, mu, tau, alpha, centred = (np.array(draws) for draws in zip(*kept, strict=True))
    return _Joint(A, V, mu, tau, alpha, centred)


def _test_functions(problem: Problem, centre: Sequence[Array], prior: Prior, joint: _Joint) -> dict[str, Array]:
    """Numbers of each draw (n,), whose means both simulators must share; components are averaged.

    None of them changes when bias and targets are shifted together.
    """
    found = {}
    units = dense_units(problem, prior.smoothness_order)
    for k, (A, U, mean) in enumerate(zip(joint.A, units, centre, strict=True)):
        mu, apart = joint.mu[:, k], np.einsum("nif,ij,njf->nf", A - mean, U, A - mean)
        found[f"mu {k}"], found[f"log mu {k}"] = mu.mean(axis=1), np.log(mu).mean(axis=1)
        found[f"A {k} first"], found[f"A {k} last"] = A[:, 0].mean(axis=1), A[:, -1].mean(axis=1)
        found[f"A {k} squares"] = (A**2).mean(axis=(1, 2))
        found[f"A {k} first by last"] = (A[:, 0] * A[:, -1]).mean(axis=1)
        found[f"A {k} apart"], found[f"A {k} apart by mu"] = apart.mean(axis=1), (mu * apart).mean(axis=1)
    q = row_products(problem, joint.A)
    residuals = joint.centred - np.einsum("nmf,njf->nmj", q, joint.V)
    M = problem.n_rows
    found["tau"], found["log tau"] = joint.tau.mean(axis=1), np.log(joint.tau).mean(axis=1)
    found["V"], found["V squares"] = joint.V.mean(axis=(1, 2)), (joint.V**2).mean(axis=(1, 2))
    found["V squares by tau"] = (joint.V**2 * joint.tau[:, None, :]).mean(axis=(1, 2))
    found["V by A"] = (joint.V.mean(axis=1) * joint.A[0][:, 0] * joint.A[1][:, -1]).mean(axis=1)
    found["|V by A|"] = np.abs(joint.V[:, 0] * joint.A[0][:, 0] * joint.A[1][:, -1]).mean(axis=1)
    found["alpha"], found["log alpha"] = joint.alpha.mean(axis=1), np.log(joint.alpha).mean(axis=1)
    found["mean residual"] = residuals.mean(axis=(1, 2))
    found["mean residual squared by alpha"] = (residuals.mean(axis=1) ** 2 * joint.alpha * M).mean(axis=1)
    found["residuals squared by alpha"] = ((residuals**2).mean(axis=1) * joint.alpha).mean(axis=1)
    found["residuals by products"] = (residuals.mean(axis=2)[:, :, None] * q).mean(axis=(1, 2))
    found["log |y - b|"] = np.log(np.abs(joint.centred)).mean(axis=(1, 2))
    return found


def _joint_problem(order: int) -> Problem:
    """Seven rows of a number with a level apart from it, and a category; cells between levels, and missing ones.

    With order 2 there are two outputs, and the category has neighbours, too few for second differences.
    """
    codes = [[0, 0], [1, 1], [2, 0], [3, 1], [0, 0], [4, 1], [1, 2]]
    fractions = np.zeros((7, 2), np.float32)
    fractions[[0, 1, 6], 0] = 0.25, 0.5, 0.75
    ordered, outputs = ([3, 0], 1) if order == 1 else ([3, 2], 2)
    problem = build_problem(0, levels=(4, 2), ordered=ordered, rows=7, outputs=outputs)
    return with_cells(problem, codes=np.array(codes, np.uint8), fractions=fractions)


def _same(right: Any) -> Any:
    return right


def _geweke(
    order: int,
    sweeps: int,
    spoil: Callable[[ModePrior], ModePrior] = _same,
    spoil_mean: Callable[[Array], Array] = _same,
    likelihood: LocationScale = NORMAL,
) -> dict[str, float]:
    """z-scores of all test functions, with the library's priors of modes or spoiled ones."""
    problem, prior = _joint_problem(order), replace(JOINT, smoothness_order=order)
    model, rng = SampledModel(prior, likelihood), np.random.default_rng(order)
    centre = [rng.uniform(0.5, 1.5, (levels, 2)) for levels in problem.levels.tolist()]
    spoiled = [spoil_mean(mean) for mean in centre]
    independent = _test_functions(problem, centre, prior, _from_the_prior(problem, centre, model, 40_000, rng))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gibbs, "mode_priors", lambda *given: [spoil(mode) for mode in mode_priors(*given)])
        patch.setattr(Problem, "any_incomplete", False)  # targets are drawn as if the average were the value of a row
        chain = _test_functions(problem, centre, prior, _by_sweeps(problem, spoiled, model, sweeps, rng))
    return z_scores(independent, chain)


@pytest.fixture
def one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each component is drawn given the others."""
    monkeypatch.setattr(gibbs, "COMPONENTS_AT_ONCE", 1)


@pytest.mark.parametrize("likelihood", [NORMAL, HEAVY_TAILS], ids=lambda likelihood: likelihood.name)
@pytest.mark.parametrize("order", [1, 2])
def test_sweeps_leave_the_joint_law_in_place(order: int, likelihood: LocationScale) -> None:
    scores = _geweke(order, 4000, likelihood=likelihood)
    assert {name: z for name, z in scores.items() if not abs(z) < 4.0} == {}


@pytest.mark.usefixtures("one_at_a_time")
def test_components_in_groups_leave_the_joint_law_in_place() -> None:
    scores = _geweke(2, 8000)  # one at a time, components move less in a sweep
    assert {name: z for name, z in scores.items() if not abs(z) < 4.0} == {}


# The test above must be able to fail. Each of these updates is wrong by what is easily overlooked.


def test_a_wrong_shape_of_mu_shows_in_the_joint_law() -> None:
    scores = _geweke(1, 1500, lambda mode: replace(mode, rank=mode.rank + 1))
    assert max(map(abs, scores.values())) > 6.0


@pytest.mark.parametrize("wrong", [np.ones_like, lambda mean: mean[::-1], lambda mean: mean[:, ::-1]])
def test_a_wrong_mean_of_the_prior_shows_in_the_joint_law(wrong: Callable[[Array], Array]) -> None:
    assert max(map(abs, _geweke(1, 1500, spoil_mean=wrong).values())) > 6.0


def _forget_mean(first: Array, second: Array) -> tuple[Array, Array]:
    """The bias is drawn around its old value."""
    return 0.0 * first, second


def _lose_a_degree_of_freedom(first: Array, second: Array) -> tuple[Array, Array]:
    """The noise is drawn from squares about the mean residual, though the bias was drawn elsewhere."""
    return first, second - first**2 / 7.0


def _shrink(gram: Array, rhs: Array) -> tuple[Array, Array]:
    return gram, 0.8 * rhs


@pytest.mark.parametrize(
    ("name", "spoil"),
    [("residual_sums", _forget_mean), ("residual_sums", _lose_a_degree_of_freedom), ("output_sums", _shrink)],
)
def test_wrong_sums_show_in_the_joint_law(
    name: str, spoil: Callable[[Array, Array], tuple[Array, Array]], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = getattr(samples, name)
    monkeypatch.setattr(samples, name, lambda *arguments: spoil(*right(*arguments)))
    assert max(map(abs, _geweke(2, 1500).values())) > 6.0


def _forget_scales(self: StudentT, targets: Array, weights: Array, *rest: Any) -> tuple[Array, Array]:
    """Rows keep their weights."""
    return targets, weights


def _forget_residuals(
    self: StudentT, targets: Array, weights: Array, eta: Array, *rest: Any, right: Any = StudentT.working
) -> tuple[Array, Array]:
    """The scale of a row is drawn as if its targets were met."""
    return right(self, targets, weights, targets, *rest)


@pytest.mark.parametrize("wrong", [_forget_scales, _forget_residuals])
def test_wrong_working_weights_show_in_the_joint_law(
    wrong: Callable[..., tuple[Array, Array]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StudentT, "working", wrong)
    assert max(map(abs, _geweke(2, 1500, likelihood=HEAVY_TAILS).values())) > 6.0


@pytest.mark.usefixtures("one_at_a_time")
def test_wrong_targets_of_a_group_show_in_the_joint_law(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Problem.with_targets
    monkeypatch.setattr(Problem, "with_targets", lambda problem, targets: right(problem, 0.9 * targets))
    assert shows(lambda: _geweke(2, 4000))


# --- components -------------------------------------------------------------------------------------------------------


@given(problems(), st.integers(2, 10), seeds)
@settings(deadline=None, max_examples=30)
def test_components_are_copied_out_and_put_back(problem: Problem, rank: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    state = _any_state(problem, rank, seed)
    before = state.copy()
    chosen, others = np.split(rng.permutation(rank), [1 + seed % (rank - 1)])
    parts = [state.components(some) for some in (chosen, others)]
    together = sum(values(problem, model_of(part.factors)) for part in parts) - state.factors.bias
    assert_allclose(together, values(problem, model_of(state.factors)), **CLOSE)
    assert_array_equal(parts[0].prior_mean, state.prior_mean[:, chosen])
    for numbers in (parts[0].factors.table, parts[0].factors.V, parts[0].mu, parts[0].tau):
        numbers += 1.0
    for now, then in zip(_numbers(state), _numbers(before), strict=True):
        assert_array_equal(now, then)
    state.set_components(chosen, parts[0])
    assert_array_equal(state.factors.table[:, chosen], before.factors.table[:, chosen] + 1.0)
    assert_array_equal(state.factors.output_factor[:, chosen], before.factors.output_factor[:, chosen] + 1.0)
    assert_array_equal(state.mu[:, chosen], before.mu[:, chosen] + 1.0)
    assert_array_equal(state.tau[chosen], before.tau[chosen] + 1.0)
    for now, then in zip(_numbers(state.components(others)), _numbers(before.components(others)), strict=True):
        assert_array_equal(now, then)


# --- a chain ----------------------------------------------------------------------------------------------------------


def _run(
    problem: Problem,
    sweeps: Sweeps,
    *,
    rank: int = 3,
    seed: int = 0,
    workers: Workers | None = None,
    likelihood: LocationScale = GAUSSIAN,
    **options: Any,
) -> Chain:
    """A chain from a random start, the same for problems that share levels."""
    chain = Chain(state_at(problem, likelihood, build_factors(problem, rank, seed)))
    rows, model = LocalSamples(problem, workers or Workers()), SampledModel(Prior(), likelihood)
    run_chain(rows, model, chain, np.random.default_rng(seed), sweeps, **options)
    return chain


def _numbers(state: State) -> list[Array]:
    factors = state.factors
    return [factors.table, factors.V, factors.bias, state.mu, state.tau, state.alpha]


def _assert_same_chain(chain: Chain, other: Chain, **close: float) -> None:
    """All draws and the whole history, to the bit when nothing else is said."""
    same = (lambda a, b: assert_allclose(a, b, **close)) if close else assert_array_equal
    assert chain.kept == other.kept
    for a, b in zip([chain.state, *chain.draws], [other.state, *other.draws], strict=True):
        for numbers, others in zip(_numbers(a), _numbers(b), strict=True):
            same(numbers, others)
    same(np.array(chain.trace), np.array(other.trace))
    same(np.array(chain.residual), np.array(other.residual))


@given(st.integers(0, 4), st.integers(0, 12), st.integers(1, 5))
@settings(deadline=None, max_examples=30)
def test_a_chain_keeps_every_thinth_state_after_burn_in(n_burn: int, n_draws: int, thin: int) -> None:
    problem = build_problem(0, outputs=2)
    chain = _run(problem, Sweeps(n_burn, n_draws, thin))
    assert chain.kept == list(range(n_burn + thin - 1, n_burn + n_draws, thin))
    assert len(chain.draws) == n_draws // thin
    assert len(chain.trace) == len(chain.residual) == n_burn + n_draws
    for sweep, draw in zip(chain.kept, chain.draws, strict=True):
        assert_array_equal(1.0 / np.sqrt(draw.alpha), chain.trace[sweep])
        errors = (problem.targets - values(problem, model_of(draw.factors))) ** 2
        assert_allclose(chain.residual[sweep], errors.mean(axis=0), rtol=1e-10)


@pytest.mark.parametrize("likelihood", [GAUSSIAN, StudentT()], ids=lambda likelihood: likelihood.name)
def test_draws_are_copies(likelihood: LocationScale) -> None:
    """No two of them share memory, nor with the state that goes on, which leaves them as they are."""
    problem = build_problem(0)
    chain = _run(problem, Sweeps(0, 4), likelihood=likelihood)
    for *numbers, alpha in map(_numbers, chain.draws):
        assert not any(np.shares_memory(one, now) for one, now in zip(numbers, _numbers(chain.state), strict=False))
        assert sum(np.shares_memory(alpha, other.alpha) for other in chain.draws) == 1
    for numbers in zip(*map(_numbers, chain.draws), strict=True):
        for i, one in enumerate(numbers):
            assert not any(np.shares_memory(one, other) for other in numbers[:i])
    for a, b in zip(_numbers(chain.state), _numbers(chain.draws[-1]), strict=True):
        assert_array_equal(a, b)
    assert not np.array_equal(chain.draws[0].factors.table, chain.draws[1].factors.table)
    before = [[one.copy() for one in _numbers(draw)] for draw in chain.draws]
    model = SampledModel(Prior(), likelihood)
    run_chain(LocalSamples(problem), model, chain, np.random.default_rng(1), Sweeps(3, 0))
    for draw, numbers in zip(chain.draws, before, strict=True):
        for now, then in zip(_numbers(draw), numbers, strict=True):
            assert_array_equal(now, then)


@pytest.mark.parametrize(("stop", "kept"), [(1, []), (4, [3]), (6, [3, 5])])
def test_a_chain_stops_when_told_to(stop: int, kept: list[int]) -> None:
    """It is asked after every sweep, once the draw is kept, and stops with the same numbers as a shorter run."""
    problem, asked = build_problem(0), []

    def keep_going(chain: Chain) -> bool:
        asked.append(len(chain.trace))
        return len(chain.trace) < stop

    chain = _run(problem, Sweeps(2, 10, 2), keep_going=keep_going)
    assert asked == list(range(1, stop + 1))
    assert chain.kept == kept
    _assert_same_chain(chain, _run(problem, Sweeps(min(stop, 2), max(stop - 2, 0), 2)))


@pytest.mark.parametrize("likelihood", [GAUSSIAN, StudentT()], ids=lambda likelihood: likelihood.name)
def test_going_on_continues_the_chain(likelihood: LocationScale) -> None:
    """From its state with the same generator: the bits of one longer run."""
    problem = build_problem(2, outputs=2, linear=True, missing=0.2)
    whole = _run(problem, Sweeps(3, 8, 2), likelihood=likelihood)
    chain, rng = Chain(state_at(problem, likelihood, build_factors(problem, 3, 0))), np.random.default_rng(0)
    for n_burn, n_draws in [(3, 2), (0, 0), (0, 6)]:
        run_chain(LocalSamples(problem), SampledModel(Prior(), likelihood), chain, rng, Sweeps(n_burn, n_draws, 2))
    _assert_same_chain(chain, whole)


@pytest.mark.parametrize("likelihood", [GAUSSIAN, StudentT()], ids=lambda likelihood: likelihood.name)
@pytest.mark.parametrize(("n_modes", "at_once"), [(2, 32), (2, 2), (15, 32)])
def test_the_number_of_threads_changes_nothing(
    n_modes: int, at_once: int, likelihood: LocationScale, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the bit, with rows cut into many parts, and modes and components into groups."""
    monkeypatch.setattr(threads, "_ROWS_PER_PART", 7)
    monkeypatch.setattr(gibbs, "COMPONENTS_AT_ONCE", at_once)
    levels = tuple(2 + n % 3 for n in range(n_modes))
    problem = build_problem(0, levels=levels, rows=90, outputs=2, linear=True, missing=0.1, weighted=True)
    with Workers(2) as workers:
        threaded = _run(problem, Sweeps(2, 4), likelihood=likelihood, workers=workers)
        _assert_same_chain(threaded, _run(problem, Sweeps(2, 4), likelihood=likelihood))


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums over rows in double precision, for laws that hold to rounding."""
    monkeypatch.setattr(gibbs, "single_is_enough", lambda *_: False)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("linear", [False, True])
def test_whole_weights_are_repeated_rows(linear: bool) -> None:
    problem = build_problem(3, rows=30, outputs=2, linear=linear, missing=0.2)
    counts = np.random.default_rng(0).integers(1, 5, 30)
    weighted = replace(problem, weights=counts.astype(float))
    repeated = problem.take(np.repeat(np.arange(30), counts))
    _assert_same_chain(_run(weighted, Sweeps(0, 1)), _run(repeated, Sweeps(0, 1)), rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("double")
def test_merged_cells_give_the_same_draws() -> None:
    """The start is that of the rows: only from there on are the two the same."""
    problem = build_problem(5, rows=60, outputs=2, weighted=True)
    merged = merge_repeated_cells(problem)
    assert merged.n_rows < 30
    chains = []
    for same in (problem, merged):
        chain = Chain(state_at(problem, GAUSSIAN, build_factors(problem, 3, 0)))
        model, rng = SampledModel(Prior(), GAUSSIAN), np.random.default_rng(0)
        run_chain(LocalSamples(same), model, chain, rng, Sweeps(1, 4))
        chains.append(chain)
    _assert_same_chain(*chains, rtol=1e-8, atol=1e-8)


# --- its start --------------------------------------------------------------------------------------------------------


@given(problems(), st.integers(1, 5), seeds)
@settings(deadline=None, max_examples=30)
def test_a_random_start(problem: Problem, rank: int, seed: int) -> None:
    """Noise as large as the targets scatter, bias at their mean, and factors whose rows of missing cells are right."""
    state = random_state(problem, GAUSSIAN, rank, np.random.default_rng(seed))
    mean = np.average(problem.targets, axis=0, weights=problem.weights)
    variance = np.average((problem.targets - mean) ** 2, axis=0, weights=problem.weights)
    assert_allclose(state.alpha, 1.0 / np.maximum(variance, 1e-12), rtol=1e-8)
    assert_allclose(state.factors.bias, mean, rtol=1e-10, atol=1e-12)
    assert state.mu.shape == (problem.n_modes, rank)
    assert state.tau.shape == (rank,)
    for k, p in enumerate(problem.marginals):
        A = state.factors.padded_factor(k)[:, :rank]
        assert (np.abs(A[:-1] - 1.0) <= 0.5).all()
        assert_allclose(A[-1], p @ A[:-1], rtol=1e-12)


@pytest.mark.parametrize("likelihood", [GAUSSIAN, StudentT()], ids=lambda likelihood: likelihood.name)
def test_constant_targets_leave_finite_numbers(likelihood: LocationScale) -> None:
    problem = build_problem(0)
    problem.targets[:] = 3.0
    chain = _run(problem, Sweeps(0, 20), likelihood=likelihood)
    assert all(np.isfinite(numbers).all() for draw in chain.draws for numbers in _numbers(draw))


# --- what it learns ---------------------------------------------------------------------------------------------------


def _smooth_system(rows: int, sigma: float, seed: int) -> tuple[Problem, Array]:
    """Rows of a product of smooth functions with noise, and their targets without it."""
    rng = np.random.default_rng(seed)
    grid = np.linspace(0.0, 1.0, 8)
    A = [1.0 + 0.8 * np.sin(4.0 * grid), 0.5 + grid**2, 1.5 - grid]
    truth = stack_factors(
        tuple(a[:, None] for a in A), np.full((1, 1), 2.0), np.array([-1.0]), (np.full(8, 0.125),) * 3
    )
    problem = build_problem(seed, levels=(8, 8, 8), rows=rows)
    exact = values(problem, model_of(truth))
    return replace(problem, targets=exact + sigma * rng.standard_normal(exact.shape)), exact


def test_the_posterior_concentrates_on_a_smooth_system() -> None:
    """The mean prediction at fresh points, and the level of the noise."""
    sigma = 0.1
    (problem, _), (fresh, exact) = _smooth_system(250, sigma, 0), _smooth_system(500, sigma, 1)
    rng = np.random.default_rng(0)
    chain = Chain(random_state(problem, GAUSSIAN, 3, rng))
    run_chain(LocalSamples(problem), SampledModel(Prior(), GAUSSIAN), chain, rng, Sweeps(150, 150, 3))
    prediction = np.mean([values(fresh, model_of(draw.factors)) for draw in chain.draws], axis=0)
    assert 1.0 - np.mean((prediction - exact) ** 2) / exact.var() > 0.95
    noise = np.mean([1.0 / np.sqrt(draw.alpha[0]) for draw in chain.draws])
    assert noise == pytest.approx(sigma, rel=0.3)


def test_the_count_of_rows_enters_the_noise_and_not_the_sum_of_their_working_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = build_problem(0, levels=(3, 2), rows=9, weighted=True)
    draw, counts = StudentT.draw, []

    def watched(self: StudentT, parameters: Any, squares: Array, n_observations: float, rng: Any) -> dict[str, Array]:
        counts.append(n_observations)
        return draw(self, parameters, squares, n_observations, rng)

    monkeypatch.setattr(StudentT, "draw", watched)
    _run(problem, Sweeps(0, 3), likelihood=StudentT())
    assert counts == [problem.weights.sum()] * 3


def test_the_scale_of_heavy_tails_is_found() -> None:
    rng = np.random.default_rng(0)
    problem = build_problem(0, levels=(3, 3), rows=3000)
    problem = replace(problem, targets=0.5 * rng.standard_t(4.0, (3000, 1)))
    chain = Chain(random_state(problem, StudentT(), 1, rng))
    run_chain(LocalSamples(problem), SampledModel(Prior(), StudentT()), chain, rng, Sweeps(30, 60, 2))
    assert abs(np.mean([1.0 / np.sqrt(draw.alpha[0]) for draw in chain.draws]) - 0.5) < 0.03


@given(problems(), ranks, seeds)
@settings(deadline=None, max_examples=40)
def test_bringing_factors_around_one_changes_no_value(problem: Problem, rank: int, seed: int) -> None:
    factors = build_factors(problem, rank, seed)
    before = values(problem, model_of(factors))
    starts.normalise_to_one(factors)
    assert_allclose(values(problem, model_of(factors)), before, rtol=1e-9, atol=1e-9)
    for n in range(problem.n_modes):
        averages = factors.padded_factor(n)[-1, :rank]
        assert ((np.abs(averages - 1.0) < 1e-9) | (np.abs(averages) <= 0.1 + 1e-9)).all()
