"""Ordered classes: latent values between cut points, their probabilities, and cuts that are drawn."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import kstest, lognorm, norm, truncnorm

from csid.data.problem import Problem
from csid.likelihoods import latent_normal, ordinal_probit
from csid.likelihoods.binary_probit import BinaryProbit
from csid.likelihoods.ordinal_probit import OrdinalProbit
from fit.strategies import build_problem

Array = np.ndarray
FOUR = OrdinalProbit((0.1, 0.2, 0.4, 0.3))
CUTS = np.array([-1.5, 0.0, 0.8])


def _parameters(scale: float = 1.3) -> dict[str, Array]:
    return {"alpha": np.array([scale**2]), "cuts": CUTS, "loss": np.zeros(1)}


@pytest.mark.parametrize("klass", range(4))
@pytest.mark.parametrize("units", [None, 0.5])
def test_latent_values_are_drawn_between_the_cuts_of_their_class(klass: int, units: float | None) -> None:
    M, eta, s = 4000, 0.7, 1.3
    targets = np.full((M, 1), float(klass))
    of_rows = None if units is None else np.full(M, units)
    values = FOUR.latent_values(targets, np.full((M, 1), eta), _parameters(s), np.random.default_rng(klass), of_rows)
    ends = np.concatenate([[-np.inf], s * CUTS * (units or 1.0), [np.inf]]) - eta
    exact = truncnorm(ends[klass], ends[klass + 1], loc=eta)
    assert kstest(values[:, 0], exact.cdf).pvalue > 1e-3
    expected = FOUR.latent_values(
        targets[:1], np.full((1, 1), eta), _parameters(s), None, None if units is None else of_rows[:1]
    )
    assert_allclose(expected, exact.mean(), rtol=1e-10)


@given(st.floats(-8, 8), st.floats(0.1, 10))
def test_probabilities_are_integrals_and_sum_to_one(eta: float, scale: float) -> None:
    parameters = _parameters(scale)
    ends = np.concatenate([[-np.inf], scale * CUTS, [np.inf]])
    exact = np.diff(norm.cdf(ends - eta))
    inside = [quad(norm.pdf, *np.clip(ends[k : k + 2] - eta, -40, 40), epsabs=1e-12)[0] for k in (1, 2)]
    assert_allclose(exact[1:3], inside, atol=1e-8)
    kept = {name: each[None] for name, each in FOUR.parameters_in_units(parameters, np.zeros(1), np.ones(1)).items()}
    found = FOUR.class_probabilities(np.full((1, 1, 1), eta), kept)
    assert_allclose(found[0, 0], exact, atol=1e-12)
    assert_allclose(found.sum(), 1.0, atol=1e-14)
    logs = FOUR.log_probabilities(np.arange(4.0)[:, None], np.full((4, 1), eta), parameters)
    assert_allclose(np.exp(logs), exact, atol=1e-12)


def test_cuts_may_differ_between_rows() -> None:
    """As the draws of several folds have them."""
    values, cuts = np.zeros((2, 3, 1)), np.sort(np.random.default_rng(0).standard_normal((2, 3, 3)))
    found = FOUR.class_probabilities(values, {"cuts": cuts})
    for d, m in np.ndindex(2, 3):
        assert_array_equal(found[d, m], FOUR.class_probabilities(values[:1, :1], {"cuts": cuts[d, m][None]})[0, 0])


def test_a_larger_value_makes_higher_classes_likelier() -> None:
    values = np.linspace(-4, 4, 50)[None, :, None]
    at_most = FOUR.class_probabilities(values, {"cuts": CUTS[None]})[0].cumsum(axis=1)[:, :-1]
    assert (np.diff(at_most, axis=0) < 0.0).all()


def test_the_gradient_of_the_loss_is_that_of_the_working_problem() -> None:
    rng = np.random.default_rng(0)
    targets, eta, step = rng.integers(0, 4, (50, 1)).astype(float), rng.standard_normal((50, 1)), 1e-5
    parameters = _parameters()
    working, weights = FOUR.working(targets, np.ones(50), eta, parameters, None)
    slope = (FOUR.losses(targets, eta + step, parameters) - FOUR.losses(targets, eta - step, parameters)) / (2 * step)
    assert_allclose(slope, 2.0 * parameters["alpha"] * (eta - working)[:, 0], rtol=1e-6, atol=1e-8)
    assert_array_equal(weights, 1.0)


def test_two_classes_are_those_of_the_binary_probit() -> None:
    two, values = OrdinalProbit((0.3, 0.7)), np.linspace(-3, 3, 7)[None, :, None]
    start = two.start(build_problem(0))
    assert_array_equal(start["cuts"], [0.0])
    exact = BinaryProbit((0.3, 0.7)).class_probabilities(values, {})
    assert_allclose(two.class_probabilities(values, {"cuts": start["cuts"][None]}), exact, atol=1e-15)


def test_a_fit_starts_at_the_frequencies_of_the_classes() -> None:
    problem: Problem = build_problem(0)
    start, values = FOUR.start(problem), FOUR.start_values(problem)
    p = FOUR.class_probabilities(values.mean[None, None], {"cuts": start["cuts"][None]})
    assert_allclose(p[0, 0], FOUR.frequencies, atol=1e-12)
    assert 0.0 in start["cuts"]


def _scores_of_three_classes(loss_factor: float = 1.0) -> Array:
    """How many standard errors the draws of log scale and log distance, and of their squares, are from exact means.

    The exact density given ten rows is summed over a grid.
    """
    three, rng = OrdinalProbit((0.3, 0.4, 0.3)), np.random.default_rng(3)
    eta, targets = rng.standard_normal((10, 1)), rng.integers(0, 3, (10, 1)).astype(float)
    start = three.start(build_problem(0))
    other = 1 - three._fixed

    def at(log_scale: float, log_distance: float) -> dict[str, Array]:
        cuts = np.zeros(2)
        cuts[other] = (1.0 if other else -1.0) * np.exp(log_distance)
        return {"alpha": np.exp(2.0 * np.array([log_scale])), "cuts": cuts, "loss": np.zeros(1)}

    def log_density(log_scale: float, log_distance: float) -> float:
        own = at(log_scale, log_distance)
        from_scale = -0.5 * (log_scale / latent_normal._LOG_SCALE_DEVIATION) ** 2
        centre = np.log(np.diff(start["cuts"])[0])
        from_distance = -0.5 * ((log_distance - centre) / ordinal_probit._LOG_DISTANCE_DEVIATION) ** 2
        return float(from_scale + from_distance - 0.5 * three.losses(targets, eta, own).sum())

    grid = np.linspace(-5.0, 4.0, 90)
    logs = np.array([[log_density(a, b) for b in grid] for a in grid])
    p = np.exp(logs - logs.max())
    p /= p.sum()
    exact = np.array([(p.sum(axis=1 - axis) * grid**k).sum() for k in (1, 2) for axis in (0, 1)])

    parameters, kept = start, []
    for _ in range(3000):
        parameters = three.draw_given_targets(
            parameters, lambda own: loss_factor * float(three.losses(targets, eta, own).sum()), rng
        )
        one = [0.5 * np.log(parameters["alpha"][0]), np.log(np.diff(parameters["cuts"])[0])]
        kept.append([*one, *np.square(one)])
    means = np.array(kept).reshape(30, 100, 4).mean(axis=1)
    return (means.mean(axis=0) - exact) / (means.std(axis=0, ddof=1) / np.sqrt(30))


def test_scale_and_cuts_are_drawn_from_their_law_given_the_targets() -> None:
    assert np.abs(_scores_of_three_classes()).max() < 4.0


def test_counting_the_targets_twice_is_noticed() -> None:
    assert np.abs(_scores_of_three_classes(2.0)).max() > 6.0


def test_given_many_rows_the_cuts_and_the_scale_are_found() -> None:
    """Drawn given the targets and eta alone, from a start that is far away."""
    rng = np.random.default_rng(0)
    M, s = 4000, 2.0
    eta = rng.standard_normal((M, 1))
    z = s * eta[:, 0] + rng.standard_normal(M)
    targets = np.searchsorted(s * CUTS, z)[:, None].astype(float)
    parameters = FOUR.start(build_problem(0)) | {"alpha": np.array([0.2])}

    def loss(own: Any) -> float:
        return float(FOUR.losses(targets, eta, own).sum())

    kept = []
    for sweep in range(120):
        parameters = FOUR.draw_given_targets(parameters, loss, rng)
        assert float(parameters["loss"][0]) == pytest.approx(0.5 * loss(parameters), rel=1e-9)
        if sweep >= 40:
            kept.append([*parameters["cuts"], np.sqrt(parameters["alpha"][0])])
    assert_allclose(np.mean(kept, axis=0), [*CUTS, s], atol=0.12)
    assert_array_equal(np.array(kept)[:, FOUR._fixed], 0.0)


def test_distances_between_cuts_are_log_normal() -> None:
    rng, start = np.random.default_rng(0), np.diff(FOUR.start(build_problem(0))["cuts"])
    cuts = rng.uniform(0.1, 2.0, (2, 3)).cumsum(axis=1)
    exact = [lognorm.logpdf(np.diff(each), 1.0, scale=start).sum() for each in cuts]
    found = [FOUR.log_prior_of_cuts(each) for each in cuts]
    assert found[1] - found[0] == pytest.approx(exact[1] - exact[0], rel=1e-10)


def test_cuts_out_of_order_have_no_probability() -> None:
    assert FOUR.log_prior_of_cuts(np.array([0.0, -1.0, 2.0])) == -np.inf
    assert FOUR.wrong_draws("cuts", np.array([[0.0, 1.0, 2.0]])) is None
    assert FOUR.wrong_draws("cuts", np.array([[0.0, 1.0, 2.0], [0.0, 0.0, 1.0]])) == "is not increasing"
