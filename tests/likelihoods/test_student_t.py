"""Student's t noise: a normal whose precision differs from row to row, integrated by brute force."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import kstest, t

from csid.data.samples import LocalSamples
from csid.likelihoods.student_t import StandardStudent4, StudentT
from fit.strategies import build_factors, build_problem, seeds
from naive import model_of, student_t_losses, values
from scripted import Scripted

Array = np.ndarray


def _joint(df: float, alpha: Array, residuals: Array) -> Callable[[float], float]:
    """Prior density of lambda times the normal likelihood of the residuals (K,) of a row."""

    def density(scale: float) -> float:
        prior = (
            (0.5 * df) ** (0.5 * df) / math.gamma(0.5 * df) * scale ** (0.5 * df - 1.0) * math.exp(-0.5 * df * scale)
        )
        normal = np.sqrt(alpha * scale / (2.0 * np.pi)) * np.exp(-0.5 * alpha * scale * residuals**2)
        return float(prior * normal.prod())

    return density


def _integral(of: Callable[[float], float]) -> float:
    return float(quad(of, 0.0, np.inf, epsabs=0.0, epsrel=1e-11, limit=500)[0])


# --- the scales of rows -----------------------------------------------------------------------------------------------


def test_row_scales_are_drawn_given_the_residuals() -> None:
    """lambda_m ~ Gamma(df / 2, df / 2) a priori; outputs of a row share it, and rows keep their own weights."""
    problem = build_problem(0, levels=(3, 2), rows=9, outputs=2, weighted=True)
    alpha, factors, rng = np.array([0.7, 1.9]), build_factors(problem, 2, 0), Scripted()
    eta = values(problem, model_of(factors))
    targets, weights = StudentT().working(problem.targets, problem.weights, eta, {"alpha": alpha}, rng)
    ((shape, scale),) = rng.gammas
    assert targets is problem.targets
    assert_allclose(shape, 3.0 * problem.weights)
    assert_allclose(1.0 / scale, 2.0 + 0.5 * (problem.targets - eta) ** 2 @ alpha, rtol=1e-12)
    assert_allclose(weights, shape * scale, rtol=1e-12)


def test_samples_take_the_row_scales_at_their_factors() -> None:
    """And still stand for as many observations; drawn ones are those of the generator."""
    problem = build_problem(2, levels=(3, 4), rows=30, outputs=2, weighted=True)
    alpha, factors, likelihood = {"alpha": np.array([0.7, 1.9])}, build_factors(problem, 2, 2), StudentT()
    eta = values(problem, model_of(factors))
    for make in (lambda: None, lambda: np.random.default_rng(3)):
        working = LocalSamples(problem).working(likelihood, factors, alpha, make()).problem
        _, weights = likelihood.working(problem.targets, problem.weights, eta, alpha, make())
        assert_allclose(working.weights, weights, rtol=1e-9)
        assert_allclose(working.roots**2, working.weights, rtol=1e-12)
        assert working.n_observations == problem.total_weight
        assert working.total_weight == pytest.approx(weights.sum())
        assert working.cells is problem.cells


@pytest.mark.parametrize("df", [3.0, 4.0, 11.0])
@pytest.mark.parametrize("residuals", [[0.0], [1.3], [-40.0], [0.5, -2.0], [3.0, 0.0, 20.0]])
def test_row_scales_follow_prior_times_likelihood(df: float, residuals: list[float]) -> None:
    """Draws of a row, by quadrature; and their expectation, where least squares takes it."""
    likelihood, r = StudentT(degrees_of_freedom=df), np.array(residuals)
    alpha = np.random.default_rng(0).uniform(0.5, 2.0, len(r))
    given = np.tile(r, (4000, 1)), np.ones(4000), np.zeros((4000, len(r)))
    _, drawn = likelihood.working(*given, {"alpha": alpha}, np.random.default_rng(1))
    density = _joint(df, alpha, r)
    grid = np.concatenate([[0.0], np.geomspace(1e-9, 50.0, 40_001)])
    heights = np.array([0.0, *map(density, grid[1:])])
    below = np.concatenate([[0.0], np.cumsum(0.5 * np.diff(grid) * (heights[1:] + heights[:-1]))])
    assert kstest(drawn, lambda at: np.interp(at, grid, below / below[-1])).pvalue > 0.005
    same = np.full(len(r), alpha.min())  # least squares has one precision
    one = given[0][:1], given[1][:1], given[2][:1]
    _, expected = likelihood.working(*one, {"alpha": alpha}, None)
    density = _joint(df, same, r)
    assert_allclose(expected[0], _integral(lambda scale: scale * density(scale)) / _integral(density), rtol=1e-8)


@pytest.mark.parametrize("df", [3.0, 4.0, 11.0])
@pytest.mark.parametrize("residuals", [[0.0], [1.3], [-40.0], [0.5, -2.0], [3.0, 0.0, 20.0]])
def test_losses_are_the_logarithm_of_the_integral_over_row_scales(df: float, residuals: list[float]) -> None:
    """Up to a constant -2 / alpha times it."""
    r, alpha = np.array([residuals]), 0.8
    same = np.full(r.shape[1], alpha)
    integrals = [_integral(_joint(df, same, at)) for at in (r[0], np.zeros_like(r[0]))]
    expected = -2.0 / alpha * np.log(integrals[0] / integrals[1])
    found = StudentT(degrees_of_freedom=df).losses(r, np.zeros_like(r), {"alpha": same})
    assert_allclose(found, expected, rtol=1e-8, atol=1e-9)
    assert_allclose(student_t_losses(df, alpha)(r), expected, rtol=1e-8, atol=1e-9)


@given(seeds, st.integers(1, 3), st.floats(1e-6, 1e6))
@settings(deadline=None, max_examples=60)
def test_losses_fall_as_the_precision_rises(seed: int, outputs: int, alpha: float) -> None:
    r = 10.0 * np.random.default_rng(seed).standard_normal((20, outputs))
    low, high = (StudentT().losses(r, 0.0 * r, {"alpha": np.full(outputs, a)}) for a in (alpha, 1.5 * alpha))
    assert (high <= low * (1.0 + 1e-12)).all()


def test_many_degrees_of_freedom_are_the_gaussian() -> None:
    r = np.random.default_rng(0).standard_normal((20, 2))
    likelihood, parameters = StudentT(degrees_of_freedom=1e9), {"alpha": np.full(2, 1.3)}
    assert_allclose(likelihood.losses(r, 0.0 * r, parameters), (r**2).sum(axis=1), rtol=1e-7)
    assert_allclose(likelihood.working(r, np.ones(20), 0.0 * r, parameters, None)[1], 1.0, rtol=1e-6)


def test_in_least_squares_an_output_without_noise_takes_no_row_away() -> None:
    """Its precision is that of all outputs, and not as high as that of a constant."""
    targets = np.column_stack([np.random.default_rng(0).standard_normal(50), np.zeros(50)])
    eta = np.tile([0.0, 0.5], (50, 1))
    _, weights = StudentT().working(targets, np.ones(50), eta, {"alpha": np.array([1.0, 1e12])}, None)
    assert weights.min() > 0.1


# --- noise of scale one -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("df", [2.5, 4.0, 30.0])
def test_noise_of_scale_one_is_the_standard_t(df: float) -> None:
    likelihood, z, q = StudentT(degrees_of_freedom=df), np.linspace(-50.0, 50.0, 97), [1e-6, 0.3, 0.999]
    assert_allclose(likelihood.cdf(z), t.cdf(z, df), rtol=1e-10)
    assert_allclose(likelihood.pdf(z), t.pdf(z, df), rtol=1e-10)
    assert_allclose([likelihood.ppf(one) for one in q], t.ppf(q, df), rtol=1e-9)
    assert likelihood.variance_of_one == pytest.approx(t.var(df))
    assert "heavy tails" in likelihood.label


@pytest.mark.parametrize("z", [-30.0, -1.5, 0.0, 0.4, 7.0])
def test_the_density_is_the_integral_over_row_scales(z: float) -> None:
    likelihood = StudentT()
    expected = _integral(_joint(likelihood.degrees_of_freedom, np.ones(1), np.array([z])))
    assert_allclose(likelihood.pdf(np.array([z])), expected, rtol=1e-9)


def test_the_tails_of_exported_modules_keep_their_digits() -> None:
    z, noise = np.array([-1e3, -40.0, -10.0]), StandardStudent4()
    assert_allclose([noise.cdf(one) for one in z], t.cdf(z, 4.0), rtol=1e-4, atol=1e-15)
    q = np.array([1e-9, 1e-5, 0.5, 1.0 - 1e-7])
    assert_allclose([noise.ppf(one) for one in q], t.ppf(q, 4.0), rtol=1e-6, atol=1e-12)


# --- files and other programs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [None, "4", True, 2.0, 1, -4.0, math.inf, math.nan, [4.0]])
def test_bad_degrees_of_freedom_in_a_file_are_refused(bad: Any) -> None:
    with pytest.raises(ValueError, match="degrees of freedom, not a number above 2"):
        StudentT.of_json({"name": "student_t", "degrees_of_freedom": bad})


def test_a_file_without_degrees_of_freedom_is_refused() -> None:
    with pytest.raises(ValueError, match="has None degrees of freedom"):
        StudentT.of_json({"name": "student_t"})


def test_a_whole_number_of_degrees_of_freedom_is_read() -> None:
    found = StudentT.of_json({"name": "student_t", "degrees_of_freedom": 6})
    assert found == StudentT(degrees_of_freedom=6.0)
    assert found.as_json() == {"name": "student_t", "degrees_of_freedom": 6.0}


@pytest.mark.parametrize("language", ["javascript", "python", "onnx"])
def test_other_programs_have_four_degrees_of_freedom_only(language: str) -> None:
    with pytest.raises(ValueError, match=r"5 degrees of freedom.*with 4 degrees of freedom only"):
        getattr(StudentT(degrees_of_freedom=5.0), language)()
