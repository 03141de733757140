"""Laws of all likelihoods with noise of one scale per output: densities, conditionals, losses and predictions."""

import ast
import json
import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import cumulative_trapezoid, quad, trapezoid
from scipy.stats import kstest, multivariate_normal, multivariate_t

from csid.data.problem import Problem
from csid.likelihoods import LIKELIHOODS, Likelihood, likelihood_of
from csid.likelihoods.gaussian import Gaussian
from csid.likelihoods.location_scale import GammaPrior, LocationScale
from csid.likelihoods.student_t import StudentT
from fit.strategies import problems, seeds
from scripted import Scripted

Array = np.ndarray
ALL = {"gaussian": Gaussian(), "student_t": StudentT(), "student_t with df=7": StudentT(degrees_of_freedom=7.0)}
every_likelihood = pytest.mark.parametrize("likelihood", ALL.values(), ids=ALL.keys())
in_closed_form = pytest.mark.parametrize("likelihood", [Gaussian(), StudentT()], ids=lambda one: one.name)


def _rows(seed: int, rows: int, outputs: int) -> tuple[Array, Array, Array]:
    """Targets, sample weights and values of the system, some of them far from their targets."""
    rng = np.random.default_rng(seed)
    targets, eta = rng.standard_normal((2, rows, outputs))
    targets[rng.random(rows) < 0.2] *= 30.0
    return targets, rng.uniform(0.1, 3.0, rows), eta


# --- noise of scale one -----------------------------------------------------------------------------------------------


@every_likelihood
def test_the_density_is_that_of_the_distribution_function(likelihood: LocationScale) -> None:
    edges = np.array([-8.0, -2.0, -0.3, 0.0, 0.1, 1.0, 5.0])
    for low, high in pairwise(edges):
        mass = quad(lambda z: float(likelihood.pdf(np.array(z))), low, high, epsabs=1e-13)[0]
        assert_allclose(likelihood.cdf(np.array(high)) - likelihood.cdf(np.array(low)), mass, atol=1e-12)
    assert_allclose(likelihood.cdf(np.array([-np.inf, 0.0, np.inf])), [0.0, 0.5, 1.0])


@every_likelihood
def test_the_variance_of_one_is_the_integral(likelihood: LocationScale) -> None:
    found = quad(lambda z: float(z**2 * likelihood.pdf(np.array(z))), -np.inf, np.inf)[0]
    assert_allclose(likelihood.variance_of_one, found, rtol=1e-7)


@every_likelihood
@pytest.mark.parametrize("q", [1e-9, 0.05, 0.5, 0.73, 1.0 - 1e-6])
def test_quantiles_invert_the_distribution_function(likelihood: LocationScale, q: float) -> None:
    assert_allclose(likelihood.cdf(np.array(likelihood.ppf(q))), q, rtol=1e-9)


@every_likelihood
def test_samples_follow_the_distribution_function(likelihood: LocationScale) -> None:
    drawn = likelihood.sample((200, 100), np.random.default_rng(0))
    assert drawn.shape == (200, 100)
    assert kstest(drawn.ravel(), likelihood.cdf).pvalue > 0.01


# --- for other programs -----------------------------------------------------------------------------------------------


@in_closed_form
def test_the_class_for_exported_modules_has_the_same_numbers(likelihood: LocationScale) -> None:
    """By itself: it needs the standard library of Python 3.8 only."""
    module: dict[str, Any] = {"__name__": "exported"}
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(likelihood.python, feature_version=(3, 8)))
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [])
        + ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [])
    }
    assert imported <= {"math", "statistics"}
    exec(likelihood.python, module)
    (standard,) = (one for name, one in module.items() if isinstance(one, type) and name.startswith("Standard"))
    noise, z = standard(), np.concatenate([np.linspace(-9.0, 9.0, 181), [-1e3, -40.0, 25.0, 1e6]])
    assert_allclose([noise.cdf(one) for one in z], likelihood.cdf(z), rtol=1e-12, atol=1e-15)
    assert_allclose([noise.pdf(one) for one in z], likelihood.pdf(z), rtol=1e-12)
    q = np.concatenate([np.linspace(0.005, 0.995, 199), [1e-6, 1.0 - 1e-6]])
    assert_allclose([noise.ppf(one) for one in q], [likelihood.ppf(one) for one in q], rtol=1e-9, atol=1e-12)
    assert_allclose(likelihood.onnx().ppf(q), [likelihood.ppf(one) for one in q], rtol=1e-12)


@every_likelihood
def test_a_file_keeps_the_likelihood(likelihood: LocationScale) -> None:
    entries = likelihood.as_json()
    assert LIKELIHOODS[entries["name"]].of_json(entries) == likelihood
    assert set(entries) <= {"name", "degrees_of_freedom"}


@every_likelihood
@pytest.mark.parametrize("rate", [0.25, np.array([0.2, 0.7])])
def test_a_file_keeps_the_prior_of_the_precision(likelihood: LocationScale, rate: Any) -> None:
    entries = json.loads(json.dumps(replace(likelihood, precision_prior=GammaPrior(1.5, rate)).as_json()))
    kept = LIKELIHOODS[entries["name"]].of_json(entries)
    assert isinstance(kept, LocationScale)
    assert kept.precision_prior.shape == 1.5
    assert_array_equal(kept.precision_prior.rate, rate)
    assert replace(kept, precision_prior=likelihood.precision_prior) == likelihood


@every_likelihood
@pytest.mark.parametrize(
    "prior",
    [3, None, [1.0, 1.0], {"shape": 1.0}]
    + [{"shape": shape, "rate": 1.0} for shape in (0.0, -1.0, math.inf, math.nan, 10**400, "a", None, [1.0])]
    + [{"shape": 1.0, "rate": rate} for rate in (0.0, [1.0, -1.0], math.nan, [[1.0]], "a", {}, 10**400)],
)
def test_a_file_with_another_prior_is_refused(likelihood: LocationScale, prior: Any) -> None:
    with pytest.raises(ValueError, match="not a positive shape and rate"):
        type(likelihood).of_json(likelihood.as_json() | {"precision_prior": prior})


def test_likelihoods_by_name() -> None:
    assert likelihood_of("gaussian", "number") == Gaussian()
    assert likelihood_of("student_t", "number") == StudentT()
    given = StudentT(degrees_of_freedom=9.0)
    assert likelihood_of(given, "number") is given
    with pytest.raises(ValueError, match=r"likelihood='cauchy': give one of 'gaussian', .*'student_t'"):
        likelihood_of("cauchy", "number")


# --- its own parameter ------------------------------------------------------------------------------------------------


@every_likelihood
@given(problems())
@settings(deadline=None, max_examples=30)
def test_noise_starts_as_large_as_the_targets_scatter(likelihood: LocationScale, problem: Problem) -> None:
    mean = np.average(problem.targets, axis=0, weights=problem.weights)
    variance = np.average((problem.targets - mean) ** 2, axis=0, weights=problem.weights)
    assert_allclose(likelihood.start(problem)["alpha"], 1.0 / np.maximum(variance, 1e-12), rtol=1e-8)


@every_likelihood
def test_the_precision_is_drawn_given_the_residuals(likelihood: LocationScale) -> None:
    """Gamma prior times the likelihood of normal residuals: by the parameters that are asked for, and by quadrature."""
    likelihood = type(likelihood)(GammaPrior(1.5, np.array([0.2, 0.7])))
    squares, n, rng = np.array([3.0, 40.0]), 9.0, Scripted()
    drawn = likelihood.draw({}, squares, n, rng)
    ((shape, scale),) = rng.gammas
    assert shape == 1.5 + 4.5
    assert_allclose(1.0 / scale, [0.2 + 1.5, 0.7 + 20.0])
    assert_allclose(drawn["alpha"], shape * scale)
    alpha = np.linspace(1e-9, 40.0, 200_001)
    density = alpha**0.5 * np.exp(-0.2 * alpha) * alpha**4.5 * np.exp(-0.5 * alpha * 3.0)
    cdf = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
    many = [likelihood.draw({}, squares, n, rng)["alpha"][0] for rng in [np.random.default_rng(0)] for _ in range(5000)]
    assert kstest(many, lambda at: np.interp(at, alpha, cdf / cdf[-1])).pvalue > 0.01


@every_likelihood
def test_an_informed_prior_expects_the_error(likelihood: LocationScale) -> None:
    """All the more, the more rows it is worth; the shape of the noise stays."""
    error, squares = np.array([0.25, 4.0]), np.array([100.0, 100.0])
    informed = likelihood.with_noise_prior(error, 1e7)
    assert_allclose(informed.draw({}, squares, 50.0, Scripted())["alpha"], 1.0 / error, rtol=1e-4)
    weak = likelihood.with_noise_prior(error, 1e-7)
    assert_allclose(weak.draw({}, squares, 50.0, Scripted())["alpha"], 0.5, rtol=1e-4)
    assert likelihood.with_noise_prior(np.zeros(2), 5.0).draw({}, np.zeros(2), 10.0, Scripted())["alpha"].max() < np.inf
    assert replace(informed, precision_prior=likelihood.precision_prior) == likelihood
    assert (
        likelihood.draw({}, squares, 50.0, Scripted())["alpha"][0]
        == likelihood.draw({}, squares, 50.0, Scripted())["alpha"][1]
    )


@every_likelihood
@given(seeds, st.integers(1, 60), st.integers(1, 3), st.floats(-6.0, 6.0))
@settings(deadline=None, max_examples=100)
def test_the_precision_of_least_squares_raises_no_loss(
    likelihood: LocationScale, seed: int, rows: int, outputs: int, magnitude: float
) -> None:
    """Nor does it lower the likelihood of the rows, which is what it is for."""
    targets, weights, eta = _rows(seed, rows, outputs)
    parameters = {"alpha": 10.0**magnitude * np.random.default_rng([seed, 1]).uniform(1.0, 3.0, outputs)}
    _, working = likelihood.working(targets, weights, eta, parameters, None)
    squares = working @ (targets - eta) ** 2
    better = likelihood.maximise(parameters, squares, weights.sum())
    assert_array_equal(better["alpha"], better["alpha"][0])
    before, after = (weights @ likelihood.losses(targets, eta, each) for each in (parameters, better))
    assert after <= before * (1.0 + 1e-12)

    def log_likelihood(alpha: float) -> float:
        shape = np.eye(outputs) / alpha
        if isinstance(likelihood, StudentT):
            density = multivariate_t(shape=shape, df=likelihood.degrees_of_freedom)
        else:
            density = multivariate_normal(cov=shape)
        return float(weights @ np.reshape(density.logpdf(targets - eta), -1))

    start, found = log_likelihood(float(parameters["alpha"].min())), log_likelihood(float(better["alpha"][0]))
    assert found >= start - 1e-9 * abs(start)


@every_likelihood
def test_perfect_residuals_leave_a_finite_precision(likelihood: LocationScale) -> None:
    found = likelihood.maximise({"alpha": np.ones(2)}, np.zeros(2), 10.0)["alpha"]
    assert np.isfinite(found).all()


# --- rows -------------------------------------------------------------------------------------------------------------


@every_likelihood
@given(seeds, st.integers(1, 20), st.integers(1, 3))
@settings(deadline=None, max_examples=60)
def test_the_slope_of_the_losses_is_that_of_the_working_problem(
    likelihood: LocationScale, seed: int, rows: int, outputs: int
) -> None:
    """By finite differences; with precisions that differ between outputs as well."""
    targets, _, eta = _rows(seed, rows, outputs)
    parameters = {"alpha": np.random.default_rng([seed, 1]).uniform(0.2, 5.0, outputs)}
    working, weights = likelihood.working(targets, np.ones(rows), eta, parameters, None)
    for j in range(outputs):
        step = 1e-5 * np.eye(outputs)[j]
        above, below = (likelihood.losses(targets, eta + sign * step, parameters) for sign in (1.0, -1.0))
        expected = -2.0 * weights * (working - eta)[:, j]
        assert_allclose((above - below) / 2e-5, expected, rtol=1e-5, atol=1e-5)


@every_likelihood
@given(seeds, st.integers(1, 20), st.integers(1, 3))
@settings(deadline=None, max_examples=60)
def test_losses_lie_below_the_working_squares(likelihood: LocationScale, seed: int, rows: int, outputs: int) -> None:
    """The bound that makes sweeps of least squares lower the losses: it touches where the weights are of."""
    targets, _, eta = _rows(seed, rows, outputs)
    other = eta + np.random.default_rng([seed, 2]).standard_normal(eta.shape)
    parameters = {"alpha": np.full(outputs, 1.7)}
    working, weights = likelihood.working(targets, np.ones(rows), eta, parameters, None)
    gain = likelihood.losses(targets, eta, parameters) - likelihood.losses(targets, other, parameters)
    squares = [((working - at) ** 2).sum(axis=1) for at in (eta, other)]
    promised = weights * (squares[0] - squares[1])
    assert (gain >= promised - 1e-9 * (1.0 + np.abs(promised))).all()


# --- draws ------------------------------------------------------------------------------------------------------------


@every_likelihood
def test_a_trace_is_the_noise_in_the_units_of_y(likelihood: LocationScale) -> None:
    trace = likelihood.trace({"alpha": np.array([4.0, 0.25])})
    assert_allclose(trace, [0.5, 2.0])
    assert_allclose(
        likelihood.trace_in_units(np.array([trace, 2.0 * trace]), np.array([3.0, 5.0])), [[1.5, 10], [3, 20]]
    )


@every_likelihood
@pytest.mark.parametrize("own_rows", [False, True])
def test_predictions_are_integrals_over_draws_and_noise(likelihood: LocationScale, own_rows: bool) -> None:
    """By brute force from the density of a new target of the fit, moved to the units of y."""
    rng = np.random.default_rng(0)
    D, M, K = 4, 3, 2
    eta, alpha, weights = rng.standard_normal((D, M, K)), rng.uniform(0.5, 4.0, (D, K)), rng.dirichlet(np.ones(D))
    centre, scale = np.array([10.0, -3.0]), np.array([2.0, 0.5])
    kept = [likelihood.parameters_in_units({"alpha": one}, centre, scale) for one in alpha]
    parameters = {name: np.array([one[name] for one in kept]) for name in likelihood.draw_parameters}
    if own_rows:
        parameters = {name: np.repeat(each[:, None], M, axis=1) for name, each in parameters.items()}
    found = likelihood.predictive(centre + scale * eta, parameters, weights)
    new = np.tan(np.linspace(-1.5705, 1.5705, 400_001))  # new targets of the fit, far out in the tails
    y = centre + scale * new[:, None]
    for m, j in np.ndindex(M, K):
        roots = np.sqrt(alpha[:, j, None])
        density = weights @ (roots * likelihood.pdf(roots * (new - eta[:, m, j, None])))
        mean, below = trapezoid(density * y[:, j], new), cumulative_trapezoid(density, new, initial=0.0)
        assert_allclose(below[-1], 1.0, atol=1e-8)
        assert_allclose(found.mean[m, j], mean, rtol=1e-6)
        assert_allclose(found.variance[m, j], trapezoid(density * (y[:, j] - mean) ** 2, new), rtol=1e-5)
        assert_allclose(
            found.model_variance[m, j], weights @ (centre[j] + scale[j] * eta[:, m, j] - mean) ** 2, rtol=1e-4
        )
        for at in (150_000, 200_000, 230_000):
            there = np.full((M, K), y[at, j])
            assert_allclose(found.cdf(there)[m, j], below[at], atol=1e-7)
            assert_allclose(found.pdf(there)[m, j], density[at] / scale[j], rtol=1e-10)
            assert_allclose(found.ppf(float(below[at]))[m, j], y[at, j], rtol=1e-4)
    noise = likelihood.variance_of_one * weights @ (scale**2 / alpha)
    assert_allclose(found.noise_variance, np.broadcast_to(noise, found.noise_variance.shape))
    if not own_rows:
        assert_allclose(likelihood.noise_variance(parameters, weights), noise)


def test_a_likelihood_without_a_noise_of_one_size_has_no_variance_of_it() -> None:
    assert_array_equal(Likelihood.noise_variance(Gaussian(), {}, np.ones(1)), [0.0])
