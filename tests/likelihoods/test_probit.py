"""Probit likelihoods: latent values, probabilities, and the joint law of the sampler."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import norm

from csid._kernels.latent_draws import log_probabilities
from csid.data.problem import Problem
from csid.data.samples import LocalSamples, RowSums
from csid.inference import gibbs
from csid.inference.gibbs import SampledModel, Sweeps, run_chain
from csid.inference.state import Chain, State
from csid.likelihoods import latent_normal
from csid.likelihoods.binary_probit import BinaryProbit
from csid.likelihoods.class_likelihood import ClassLikelihood
from csid.likelihoods.latent_normal import LatentNormal
from csid.likelihoods.multinomial_probit import MultinomialProbit
from csid.priors.prior import Prior
from csid.tensor.factors import stack_factors
from fit.strategies import build_problem
from joint_law import draw_tensors, row_products, shows, z_scores
from naive import dense_units, level_weights, model_of, products

Array = np.ndarray

THREE = MultinomialProbit((0.5, 0.3, 0.2))
BINARY = BinaryProbit((0.6, 0.4))
both = pytest.mark.parametrize("likelihood", [BINARY, THREE], ids=lambda likelihood: likelihood.name)


def _eta(likelihood: ClassLikelihood, rows: int, size: float = 1.0, seed: int = 0) -> tuple[Array, Array]:
    """Means of latent values, and classes."""
    rng = np.random.default_rng(seed)
    eta = size * rng.standard_normal((rows, likelihood.n_outputs(1)))
    return eta, rng.integers(likelihood.n_classes, size=(rows, 1)).astype(float)


def _probability(eta: Array, k: int) -> float:
    """The probability of a class by adaptive quadrature over its utility."""

    def density(z: float) -> float:
        return float(norm.pdf(z - eta[k]) * np.prod([norm.cdf(z - eta[j]) for j in range(len(eta)) if j != k]))

    middle = float(eta.max())
    parts = [quad(density, middle + low, middle + low + 4.0, epsabs=1e-14)[0] for low in (-12.0, -8.0, -4.0, 0.0, 4.0)]
    return float(np.sum(parts))


# --- probabilities ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0.3, 2.0, 6.0])
@pytest.mark.parametrize("classes", [3, 7])
def test_class_probabilities_are_integrals_over_utilities(classes: int, size: float) -> None:
    likelihood = MultinomialProbit((1.0 / classes,) * classes)
    eta, _ = _eta(likelihood, 4, size, seed=classes)
    exact = np.array([[_probability(row, k) for k in range(classes)] for row in eta])
    assert_allclose(likelihood.class_probabilities(eta[None], {})[0], exact, atol=1e-10)
    nodes, weights = np.polynomial.hermite.hermgauss(40)
    for k in range(classes):
        sure = exact[:, k] > 1e-9  # below, the exact integral is inaccurate
        found, fine = likelihood.log_probabilities(np.full((4, 1), float(k)), eta, {}), np.empty(4)
        log_probabilities(eta, np.full(4, k), nodes, np.log(weights) + nodes**2, fine)
        assert_allclose(fine[sure], np.log(exact[sure, k]), atol=1e-8)
        assert_allclose(found[sure], np.log(exact[sure, k]), atol=3e-4)  # few nodes, for speed


def test_two_utilities_are_one_latent_value() -> None:
    """The difference of two utilities has variance two: both likelihoods agree once that is taken into account."""
    eta = np.linspace(-6.0, 6.0, 25)[:, None]
    two = MultinomialProbit((0.5, 0.5)).class_probabilities(np.hstack([0.0 * eta, np.sqrt(2.0) * eta])[None], {})
    assert_allclose(two, BINARY.class_probabilities(eta[None], {}), atol=1e-12)


@both
def test_probabilities_sum_to_one_also_far_out(likelihood: ClassLikelihood) -> None:
    eta, _ = _eta(likelihood, 50, 60.0)
    p = likelihood.class_probabilities(eta[None], {})
    assert_allclose(p.sum(axis=-1), 1.0, atol=1e-12)
    assert np.isfinite(likelihood.log_probabilities(np.zeros((50, 1)), eta, {})).all()


@both
def test_losses_are_minus_twice_the_log_probability(likelihood: ClassLikelihood) -> None:
    eta, classes = _eta(likelihood, 30)
    parameters = {"alpha": np.full(eta.shape[1], 4.0)}
    p = likelihood.class_probabilities(2.0 * eta[None], {})[0]
    expected = -2.0 * np.log(p[np.arange(30), classes[:, 0].astype(int)])
    assert_allclose(likelihood.losses(classes, eta, parameters), expected, atol=1e-4)


# --- latent values ----------------------------------------------------------------------------------------------------


@both
def test_drawn_latent_values_agree_with_rejection_sampling(likelihood: ClassLikelihood) -> None:
    """Noise is added to the means until the class is the one seen."""
    K, n = likelihood.n_outputs(1), 40_000
    mean = np.array([0.4, -0.8, 0.1])[:K]
    rng = np.random.default_rng(0)
    tried = mean + rng.standard_normal((600_000, K))
    seen = tried.argmax(axis=1) if K > 1 else (tried[:, 0] > 0.0).astype(int)
    exact = tried[seen == 1]
    drawn = likelihood.latent_values(np.ones((n, 1)), np.tile(mean, (n, 1)), {}, rng)
    drawn = drawn - drawn.mean() + exact.mean() if K > 1 else drawn  # the common mean of utilities is left out
    error = exact.std(axis=0) * np.sqrt(1.0 / n + 1.0 / len(exact))
    assert (np.abs(drawn.mean(axis=0) - exact.mean(axis=0)) < 4.0 * error).all()
    assert_allclose(np.cov(drawn.T), np.cov(exact.T), atol=0.03)


@both
@pytest.mark.parametrize("size", [0.5, 30.0])
def test_the_class_seen_has_the_largest_utility(likelihood: ClassLikelihood, size: float) -> None:
    eta, classes = _eta(likelihood, 200, size)
    z = likelihood.latent_values(classes, eta, {}, np.random.default_rng(1))
    seen = z.argmax(axis=1) if z.shape[1] > 1 else z[:, 0] > 0.0
    assert_array_equal(seen, classes[:, 0])
    assert np.isfinite(z).all()


@both
def test_expected_latent_values_are_the_gradient_of_the_log_probability(likelihood: ClassLikelihood) -> None:
    """d log p / d eta = E[z] - eta: what makes expectation maximisation lower the loss."""
    eta, classes = _eta(likelihood, 40)
    step = 1e-4
    expected = likelihood.latent_values(classes, eta, {}, None) - eta
    for k in range(eta.shape[1]):
        up, down = eta.copy(), eta.copy()
        up[:, k] += step
        down[:, k] -= step
        slope = (likelihood.log_probabilities(classes, up, {}) - likelihood.log_probabilities(classes, down, {})) / (
            2.0 * step
        )
        assert_allclose(expected[:, k], slope, atol=2e-4)


@both
@given(seed=st.integers(0, 100))
@settings(deadline=None, max_examples=20)
def test_draws_depend_on_the_row_and_the_seed_alone(likelihood: ClassLikelihood, seed: int) -> None:
    eta, classes = _eta(likelihood, 30, seed=seed)
    first, again = (likelihood.latent_values(classes, eta, {}, np.random.default_rng(seed)) for _ in range(2))
    assert_array_equal(first, again)


def test_a_row_of_weight_four_has_the_mean_of_four_latent_values() -> None:
    n = 20_000
    eta, classes, weights = np.full((n, 1), 0.7), np.ones((n, 1)), np.full(n, 4.0)
    parameters = {"alpha": np.ones(1)}
    z, kept = BINARY.working(classes, weights, eta, parameters, np.random.default_rng(0))
    single = BINARY.working(classes, np.ones(n), eta, parameters, np.random.default_rng(0))[0]
    assert kept is weights
    assert abs(z.mean() - single.mean()) < 0.02
    assert_allclose(z.std(), single.std() / 2.0, rtol=0.05)


# --- the joint law ----------------------------------------------------------------------------------------------------

JOINT = Prior(nu=2.0, smoothness=(5.0, 6.0), weight=(6.0, 5.0))
BIAS_PRECISION = 2.0


def _draw_bias(samples: RowSums, state: State, rng: np.random.Generator) -> Array:
    """The bias with a normal prior on its deviations from its mean over outputs; the sampler's own prior is flat.

    With one output, on the bias itself. Under a flat prior the joint law of classes and parameters is improper.
    """
    K, M, alpha = len(state.alpha), samples.summary.total_weight, state.alpha[0]
    first, _ = samples.residual_sums(state.factors)
    P = BIAS_PRECISION * (np.eye(K) - (np.ones((K, K)) / K if K > 1 else 0.0))
    precision = alpha * M * np.eye(K) + P
    mean = np.linalg.solve(precision, alpha * (first + M * state.factors.bias))
    state.factors.bias[:] = mean + np.linalg.solve(np.linalg.cholesky(precision).T, rng.standard_normal(K))
    return samples.residual_sums(state.factors)[1]


def _classes(likelihood: ClassLikelihood, eta: Array, rng: np.random.Generator) -> Array:
    """Classes (n, M) given the means of latent values (n, M, K)."""
    z = eta + rng.standard_normal(eta.shape)
    return z.argmax(axis=-1) if eta.shape[-1] > 1 else (z[..., 0] > 0.0).astype(int)


def _functions(A: list[Array], V: Array, tau: Array, b: Array, log_s: Array, y: Array) -> dict[str, Array]:
    """Numbers of each draw, whose means both simulators must share."""
    b = b - b.mean(axis=1, keepdims=True) if b.shape[1] > 1 else b
    value = V[:, 0] * A[0][:, 0] * A[1][:, -1]
    return {
        "log s": log_s,
        "log s squared": log_s**2,
        "A first": A[0][:, 0].mean(axis=1),
        "A squares": (A[1] ** 2).mean(axis=(1, 2)),
        "V squares": (V**2).mean(axis=(1, 2)),
        "log tau": np.log(tau).mean(axis=1),
        "|V by A|": np.abs(value).mean(axis=1),
        "bias squares": (b**2).mean(axis=1),
        "last class": (y == y.max()).mean(axis=1),
        "first row by scale": (y[:, 0] == 1) * log_s,
        "bias by class": b[:, -1] * (y == y.max()).mean(axis=1),
        "value by class": value.mean(axis=1) * (y[:, 0] == 0),
    }


def _joint_problem(rows: int) -> Problem:
    problem = build_problem(0, levels=(3, 2), ordered=[3, 0], rows=rows)
    return replace(problem, targets=np.zeros((rows, 1)), within=np.zeros(1))


def _scores(likelihood: ClassLikelihood, rows: int, sweeps: int) -> dict[str, float]:
    K, rng = likelihood.n_outputs(1), np.random.default_rng(0)
    problem = _joint_problem(rows)
    units = dense_units(problem, 1)
    centre = [rng.uniform(0.5, 1.5, (levels, 2)) for levels in problem.levels.tolist()]

    def prior_draws(n: int) -> tuple[Any, Array, Array, Array]:
        drawn = draw_tensors(units, centre, JOINT, (n, K), rng)
        b = rng.standard_normal((n, K)) / np.sqrt(BIAS_PRECISION)
        log_s = 1.5 * rng.standard_normal(n)
        eta = b[:, None, :] + np.einsum("nmf,njf->nmj", row_products(problem, drawn.A), drawn.V)
        return drawn, b, log_s, _classes(likelihood, np.exp(log_s)[:, None, None] * eta, rng)

    drawn, b, log_s, y = prior_draws(40_000)
    independent = _functions(drawn.A, drawn.V, drawn.tau, b, log_s, y)
    start, b, log_s, y = prior_draws(1)
    factors = stack_factors(tuple(A[0] for A in start.A), start.V[0], b[0], problem.marginals)
    stacked = stack_factors(tuple(centre), start.V[0], b[0], problem.marginals).table[:, : factors.rank].copy()
    state = State(factors, start.mu[0], start.tau[0], {"alpha": np.full(K, np.exp(2.0 * log_s[0]))}, stacked)
    problem.targets[:, 0] = y[0]
    weights, kept = level_weights(problem), []

    def renew(chain: Chain) -> bool:
        fitted, s = model_of(state.factors), np.sqrt(state.alpha[0])
        kept.append(
            (*fitted.A, fitted.V, state.tau.copy(), fitted.bias.copy(), np.log(s), problem.targets[:, 0].copy())
        )
        eta = s * (fitted.bias + products(weights, fitted.A, range(2)) @ fitted.V.T)
        problem.targets[:, 0] = _classes(likelihood, eta[None], rng)[0]
        return True

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gibbs, "draw_bias", _draw_bias)
        run_chain(LocalSamples(problem), SampledModel(JOINT, likelihood), Chain(state), rng, Sweeps(sweeps, 0), renew)
    first, second, V, tau, b, log_s, y = (np.array(draws) for draws in zip(*kept, strict=True))
    return z_scores(independent, _functions([first, second], V, tau, b, log_s, y))


@both
def test_sweeps_leave_the_joint_law_in_place(likelihood: ClassLikelihood) -> None:
    scores = _scores(likelihood, 6, 10_000)
    assert {name: z for name, z in scores.items() if not abs(z) < 4.0} == {}


def _expected(self: LatentNormal, targets: Array, weights: Array, eta: Array, parameters: Any, rng: Any) -> Any:
    """Latent values are their expectations, without their variance."""
    return right_working(self, targets, weights, eta, parameters, None)


def _forget_units(self: LatentNormal, targets: Array, weights: Array, eta: Array, parameters: Any, rng: Any) -> Any:
    """Latent values are not divided by s."""
    z, weights = right_working(self, targets, weights, eta, parameters, rng)
    return z * np.sqrt(parameters["alpha"]), weights


right_working = LatentNormal.working


@both
@pytest.mark.parametrize("wrong", [_expected, _forget_units])
def test_wrong_latent_values_show_in_the_joint_law(
    wrong: Callable[..., Any], likelihood: ClassLikelihood, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LatentNormal, "working", wrong)
    assert shows(lambda: _scores(likelihood, 30, 6000))


def test_a_wrong_prior_of_the_scale_shows_in_the_joint_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latent_normal, "_LOG_SCALE_DEVIATION", 0.8)
    assert shows(lambda: _scores(BINARY, 30, 6000))
