"""Likelihoods of counts: working targets, losses, deviations in gaps, and the joint law of their sampler."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import nbinom

from csid._kernels.counts import draw_deviations
from csid.data.problem import Problem
from csid.data.samples import LocalSamples, RowSums
from csid.inference import gibbs
from csid.inference.als import ALSOptions, fit_als
from csid.inference.gibbs import SampledModel, Sweeps, run_chain
from csid.inference.starts import random_factors
from csid.inference.state import Chain, State
from csid.likelihoods import negative_binomial
from csid.likelihoods.count_likelihood import CountLikelihood, largest_rate_of
from csid.likelihoods.negative_binomial import NegativeBinomial
from csid.likelihoods.poisson import Poisson
from csid.priors.prior import Prior
from csid.tensor.factors import stack_factors
from fit.strategies import build_problem
from joint_law import draw_tensors, row_products, shows, z_scores
from naive import dense_units, level_weights, model_of, products

Array = np.ndarray

LIKELIHOODS = [NegativeBinomial(), Poisson()]
both = pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=["negative binomial", "Poisson"])


def _parameters(r: float) -> dict[str, Array]:
    return {
        "alpha": np.ones(1),
        "dispersion": np.array([r]),
        "full_dispersion": np.array([r]),
        "largest_rate": np.array([100.0]),
        "loss": np.full(1, np.nan),
    }


def _rows(rows: int, seed: int = 0) -> tuple[Array, Array]:
    """Values (M, 1) and targets (M, 2)."""
    rng = np.random.default_rng(seed)
    eta, log_exposure = rng.normal(0.5, 1.0, (rows, 1)), rng.normal(0.0, 0.7, rows)
    counts = rng.poisson(np.exp(eta[:, 0] + log_exposure)).astype(float)
    return eta, np.column_stack([counts, log_exposure])


def _log_probability(likelihood: CountLikelihood, targets: Array, eta: Array, parameters: dict[str, Array]) -> Array:
    """By SciPy's negative binomial distribution."""
    counts, log_exposure = targets.T
    r = likelihood.shapes(log_exposure, parameters)
    return nbinom.logpmf(counts, r, r / (r + np.exp(eta[:, 0] + log_exposure)))


@both
def test_losses_are_minus_twice_the_log_probability(likelihood: CountLikelihood) -> None:
    (eta, targets), parameters = _rows(50), _parameters(2.3)
    exact = -2.0 * _log_probability(likelihood, targets, eta, parameters)
    assert_allclose(likelihood.losses(targets, eta, parameters), exact, rtol=1e-9)


@both
def test_expected_working_targets_have_the_gradient_of_the_loss(likelihood: CountLikelihood) -> None:
    """d log p / d eta = omega (z - eta), which makes expectation maximisation lower the loss."""
    (eta, targets), parameters, step = _rows(50), _parameters(2.3), 1e-5
    z, omega = likelihood.working(targets, np.ones(50), eta, parameters, None)
    up, down = (_log_probability(likelihood, targets, eta + h, parameters) for h in (step, -step))
    assert_allclose(omega * (z - eta)[:, 0], (up - down) / (2.0 * step), atol=1e-6)


@both
def test_drawn_working_targets_give_back_the_likelihood(likelihood: CountLikelihood) -> None:
    """E exp(kappa psi - omega psi^2 / 2) under PG(y + r, 0) is the likelihood, up to a constant factor."""
    parameters, n = _parameters(1.4), 400_000
    targets = np.array([[3.0, 0.4]])
    r = float(likelihood.shapes(targets[:, 1], parameters)[0])
    offset = 0.4 - np.log(r)
    at_zero = np.full((n, 1), -offset)  # psi is zero there
    z, omega = likelihood.working(np.tile(targets, (n, 1)), np.ones(n), at_zero, parameters, np.random.default_rng(0))
    assert_allclose((z[:, 0] + offset) * omega, 0.5 * (3.0 - r))
    etas = np.array([-0.6, 0.1, 0.5, 1.2])
    psi = etas + offset
    found = [np.mean(np.exp(0.5 * (3.0 - r) * each - 0.5 * omega * each**2)) for each in psi]
    exact = np.exp(_log_probability(likelihood, np.tile(targets, (4, 1)), etas[:, None], parameters))
    assert_allclose(np.array(found) / found[0], exact / exact[0], rtol=0.01)


@both
def test_a_row_of_weight_three_stands_for_three_rows(likelihood: CountLikelihood) -> None:
    """The sums over rows, omega and omega z, have the same mean and variance."""
    n, parameters = 60_000, _parameters(1.4)
    eta, targets = np.full((3 * n, 1), 0.3), np.tile([2.0, -0.2], (3 * n, 1))
    z, omega = likelihood.working(targets, np.ones(3 * n), eta, parameters, np.random.default_rng(0))
    rows = targets[:n], np.full(n, 3.0), eta[:n], parameters
    one_z, one_omega = likelihood.working(*rows, np.random.default_rng(1))
    threefold = omega.reshape(n, 3).sum(axis=1)
    assert_allclose(one_omega.mean(), threefold.mean(), rtol=0.01)
    assert_allclose(one_omega.var(), threefold.var(), rtol=0.05)
    sums = (omega * z[:, 0]).reshape(n, 3).sum(axis=1)
    offset = sums[0] + threefold[0] * _offset(likelihood, targets[:1], parameters)
    assert_allclose(one_omega * one_z[:, 0] + one_omega * _offset(likelihood, targets[:1], parameters), offset)


def _offset(likelihood: CountLikelihood, targets: Array, parameters: dict[str, Array]) -> float:
    return float((targets[:, 1] - np.log(likelihood.shapes(targets[:, 1], parameters)))[0])


def test_under_poisson_a_row_can_be_split_by_its_exposure() -> None:
    """A count of 5 over exposure 2 has the likelihood of the counts 1 and 4 over 0.5 and 1.5, up to a constant."""
    parameters, etas = _parameters(7.0), np.array([[-1.0], [0.2], [1.7]])

    def losses(count: float, exposure: float) -> Array:
        return Poisson().losses(np.tile([count, np.log(exposure)], (3, 1)), etas, parameters)

    difference = losses(5.0, 2.0) - losses(1.0, 0.5) - losses(4.0, 1.5)
    assert_allclose(difference, difference[0], atol=1e-10)
    counts = np.array([1.0, 4.0, 5.0])
    targets = np.column_stack([counts, np.log([0.5, 1.5, 2.0])])
    _, omega = Poisson().working(targets, np.ones(3), np.full((3, 1), 0.3), parameters, None)
    assert_allclose(omega[0] + omega[1], omega[2])


def test_deviations_in_gaps_follow_their_density() -> None:
    """Means and variances of draws against quadrature, for flat and narrow likelihoods."""
    n, d = 20_000, np.linspace(-30.0, 30.0, 60_001)
    for y, r, psi, variance in [
        (0.0, 1.0, -2.0, 1.0),
        (7.0, 2.0, 0.5, 0.04),
        (300.0, 5.0, 1.0, 4.0),
        (2.0, 50.0, -3.0, 9.0),
    ]:
        logs = y * (psi + d) - (y + r) * np.logaddexp(0.0, psi + d) - 0.5 * d**2 / variance
        density = np.exp(logs - logs.max())
        density /= density.sum()
        mean = density @ d
        sd = np.sqrt(density @ (d - mean) ** 2)
        drawn = np.empty(n)
        draw_deviations(*(np.full(n, each) for each in (y, r, psi, variance)), np.uint64(5), drawn)
        assert abs(drawn.mean() - mean) < 4.0 * sd / np.sqrt(n)
        assert_allclose(drawn.std(), sd, rtol=0.03)


def test_rows_without_variance_do_not_deviate() -> None:
    (eta, targets), parameters = _rows(4), _parameters(1.0)
    found = NegativeBinomial().deviations(targets, eta, np.zeros((4, 1)), parameters, np.random.default_rng(0))
    assert_array_equal(found, np.zeros((4, 1)))


def _problem(rows: int, weighted: bool = False) -> Problem:
    problem = build_problem(0, levels=(3, 2), ordered=[3, 0], rows=rows, weighted=weighted)
    targets = np.column_stack([np.zeros(rows), np.linspace(-0.5, 0.8, rows)])
    return replace(problem, targets=targets, within=np.zeros(1))


def test_no_count_is_above_the_largest_rate() -> None:
    problem = _problem(9)
    problem.targets[:] = 0.0
    problem.targets[4, 0] = 1000.0
    assert largest_rate_of(problem) >= 1000.0
    means = NegativeBinomial().predictive(np.full((2, 1, 1), 50.0), _parameters_of_two_draws(7.0), np.full(2, 0.5)).mean
    assert_allclose(means, 7.0)


def _parameters_of_two_draws(largest: float) -> dict[str, Array]:
    return {"dispersion": np.ones((2, 1)), "largest_rate": np.full((2, 1), largest)}


@both
def test_the_objective_of_least_squares_falls(likelihood: CountLikelihood) -> None:
    problem, rng = _problem(60, weighted=True), np.random.default_rng(3)
    problem.targets[:, 0] = rng.poisson(4.0 * rng.random(60))
    factors = random_factors(problem, 2, rng, likelihood=likelihood)
    found = fit_als(LocalSamples(problem), ALSOptions(1e-3, (0.03, 0.03), max_iter=30), factors, likelihood)
    history = np.array(found.objective)[1:]  # the M-step of Poisson sets its dispersion after the first sweep
    assert (np.diff(history) <= 1e-9).all()
    assert history[-1] < history[0]


def test_the_dispersion_is_drawn_from_its_posterior() -> None:
    """Mean and deviation of log r given counts and values, against quadrature."""
    (eta, targets), likelihood, rng = _rows(60), NegativeBinomial(), np.random.default_rng(0)
    grid = np.linspace(-4.0, 8.0, 600)
    logs = [
        _log_probability(likelihood, targets, eta, _parameters(np.exp(t))).sum() - 0.5 * (t / 2.0) ** 2 for t in grid
    ]
    density = np.exp(np.array(logs) - max(logs))
    density /= density.sum()
    mean = density @ grid
    parameters, kept = _parameters(1.0), []
    for _ in range(6000):
        parameters = likelihood.draw_given_targets(
            parameters, lambda each: float(likelihood.losses(targets, eta, each).sum()), rng
        )
        kept.append(np.log(parameters["dispersion"][0]))
    deviation = np.sqrt(density @ (grid - mean) ** 2)
    assert_allclose(np.mean(kept[100:]), mean, atol=0.15 * deviation)
    assert_allclose(np.std(kept[100:]), deviation, rtol=0.1)
    assert_allclose(parameters["loss"], -_log_probability(likelihood, targets, eta, parameters).sum(), rtol=1e-9)


# --- the joint law ----------------------------------------------------------------------------------------------------

JOINT = Prior(nu=4.0, smoothness=(5.0, 6.0), weight=(20.0, 5.0))  # without values whose counts a chain leaves slowly
BIAS_PRECISION, LOG_R_DEVIATION = 4.0, 0.5


def _draw_bias(samples: RowSums, state: State, rng: np.random.Generator) -> Array:
    """The bias with a normal prior; under the sampler's own, flat prior the joint law is improper."""
    total = samples.summary.total_weight
    first, _ = samples.residual_sums(state.factors)
    precision = total + BIAS_PRECISION
    mean = (first + total * state.factors.bias) / precision
    state.factors.bias[:] = mean + rng.standard_normal(1) / np.sqrt(precision)
    return samples.residual_sums(state.factors)[1]


def _counts(likelihood: CountLikelihood, eta: Array, log_exposure: Array, r: Array, rng: np.random.Generator) -> Array:
    """Counts (n, M) given values (n, M) and dispersions (n,)."""
    shapes = np.array([likelihood.shapes(log_exposure, _parameters(each)) for each in r])
    return rng.poisson(np.exp(eta + log_exposure) * rng.standard_gamma(shapes) / shapes).astype(float)


def _functions(A: list[Array], V: Array, tau: Array, b: Array, log_r: Array, y: Array) -> dict[str, Array]:
    """Numbers of each draw, whose means both simulators must share."""
    value, sizes = np.tanh(V[:, 0] * A[0][:, 0] * A[1][:, -1]), np.log1p(y)
    return {
        "log r": log_r,
        "log r squared": log_r**2,
        "A first": A[0][:, 0].mean(axis=1),
        "A squares": (A[1] ** 2).mean(axis=(1, 2)),
        "V squares": (V**2).mean(axis=(1, 2)),
        "log tau": np.log(tau).mean(axis=1),
        "value": value.mean(axis=1),
        "bias": b[:, 0],
        "bias squares": b[:, 0] ** 2,
        "log counts": sizes.mean(axis=1),
        "zeros": (y == 0.0).mean(axis=1),
        "zeros by r": (y == 0.0).mean(axis=1) * log_r,
        "bias by counts": b[:, 0] * sizes.mean(axis=1),
        "value by counts": value.mean(axis=1) * sizes[:, 0],
    }


def _scores(
    likelihood: CountLikelihood, rows: int, sweeps: int, deviation_of_fit: float = LOG_R_DEVIATION
) -> dict[str, float]:
    rng = np.random.default_rng(0)
    problem, drawn_r = _problem(rows), likelihood.name == "negative_binomial"
    log_exposure, units = problem.targets[:, 1].copy(), dense_units(problem, 1)
    centre = [rng.uniform(0.5, 1.5, (levels, 2)) for levels in problem.levels.tolist()]

    def prior_draws(n: int) -> tuple[Any, Array, Array, Array]:
        drawn = draw_tensors(units, centre, JOINT, (n, 1), rng)
        b = rng.standard_normal((n, 1)) / np.sqrt(BIAS_PRECISION)
        log_r = LOG_R_DEVIATION * rng.standard_normal(n) if drawn_r else np.full(n, np.log(3.0))
        eta = b + np.einsum("nmf,nf->nm", row_products(problem, drawn.A), drawn.V[:, 0])
        return drawn, b, log_r, _counts(likelihood, eta, log_exposure, np.exp(log_r), rng)

    drawn, b, log_r, y = prior_draws(30_000)
    independent = _functions(drawn.A, drawn.V, drawn.tau, b, log_r, y)
    start, b, log_r, y = prior_draws(1)
    factors = stack_factors(tuple(A[0] for A in start.A), start.V[0], b[0], problem.marginals)
    stacked = stack_factors(tuple(centre), start.V[0], b[0], problem.marginals).table[:, : factors.rank].copy()
    state = State(factors, start.mu[0], start.tau[0], _parameters(float(np.exp(log_r[0]))), stacked)
    problem.targets[:, 0] = y[0]
    weights, kept = level_weights(problem), []

    def renew(chain: Chain) -> bool:
        fitted, r = model_of(state.factors), state.parameters["dispersion"]
        kept.append(
            (*fitted.A, fitted.V, state.tau.copy(), fitted.bias.copy(), np.log(r[0]), problem.targets[:, 0].copy())
        )
        eta = fitted.bias + products(weights, fitted.A, range(2)) @ fitted.V[0]
        problem.targets[:, 0] = _counts(likelihood, eta[None], log_exposure, r, rng)[0]
        return True

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gibbs, "draw_bias", _draw_bias)
        patch.setattr(negative_binomial, "_LOG_DISPERSION_DEVIATION", deviation_of_fit)
        run_chain(LocalSamples(problem), SampledModel(JOINT, likelihood), Chain(state), rng, Sweeps(sweeps, 0), renew)
    first, second, V, tau, b, log_r, y = (np.array(draws) for draws in zip(*kept, strict=True))
    independent = {name: each for name, each in independent.items() if each.std() > 0.0}
    return z_scores(independent, _functions([first, second], V, tau, b, log_r, y))


@both
def test_sweeps_leave_the_joint_law_in_place(likelihood: CountLikelihood) -> None:
    scores = _scores(likelihood, 6, 6000)
    assert {name: z for name, z in scores.items() if not abs(z) < 4.0} == {}


def _heavy(self: CountLikelihood, targets: Array, weights: Array, eta: Array, parameters: Any, rng: Any) -> Any:
    """Weights are twice too large."""
    z, omega = right_working(self, targets, weights, eta, parameters, rng)
    return z, 2.0 * omega


def _forget_exposure(self: CountLikelihood, targets: Array, *others: Any) -> Any:
    return right_working(self, targets * [1.0, 0.0], *others)


right_working = CountLikelihood.working


@pytest.mark.parametrize("wrong", [_heavy, _forget_exposure])
def test_wrong_working_targets_show_in_the_joint_law(
    wrong: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CountLikelihood, "working", wrong)
    assert shows(lambda: _scores(LIKELIHOODS[0], 10, 5000))


def test_a_wrong_prior_of_the_dispersion_shows_in_the_joint_law(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shows(lambda: _scores(LIKELIHOODS[0], 10, 5000, deviation_of_fit=1.5))
