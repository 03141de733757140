"""Normal noise: the paper's squared errors, on the targets as they are."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from csid.data.samples import LocalSamples
from csid.likelihoods.gaussian import Gaussian, StandardNormal
from fit.strategies import build_factors, build_problem
from naive import model_of, squared_errors, values

Array = np.ndarray


def test_targets_and_weights_are_those_of_the_rows() -> None:
    """The very arrays, so that nothing is computed anew in a sweep."""
    problem, parameters = build_problem(0, outputs=2, weighted=True), {"alpha": np.array([0.3, 4.0])}
    for rng in (None, np.random.default_rng(0)):
        eta = np.zeros_like(problem.targets)
        targets, weights = Gaussian().working(problem.targets, problem.weights, eta, parameters, rng)
        assert targets is problem.targets
        assert weights is problem.weights
        assert problem.as_working(targets, weights) is problem
    assert not Gaussian.augmented


def test_losses_are_squared_errors() -> None:
    """Whatever the precision; of samples, their weighted sum."""
    problem = build_problem(1, outputs=3, missing=0.2, weighted=True)
    factors, parameters = build_factors(problem, 2, 1), {"alpha": np.array([0.3, 4.0, 1.0])}
    eta = values(problem, model_of(factors))
    errors = squared_errors(problem.targets - eta)
    assert_allclose(Gaussian().losses(problem.targets, eta, parameters), errors)
    loss = LocalSamples(problem).loss(Gaussian(), factors, parameters)
    assert_allclose(loss, problem.weights @ errors, rtol=1e-12)


def test_noise_of_scale_one_is_the_standard_normal() -> None:
    z = np.linspace(-12.0, 12.0, 97)
    assert_allclose(Gaussian().cdf(z), norm.cdf(z), rtol=1e-12)
    assert_allclose(Gaussian().pdf(z), norm.pdf(z), rtol=1e-12)
    assert_allclose([Gaussian().ppf(q) for q in (1e-12, 0.3, 0.999)], norm.ppf([1e-12, 0.3, 0.999]), rtol=1e-12)
    assert Gaussian().variance_of_one == 1.0
    assert Gaussian().label == "normal"


def test_tails_of_exported_modules_keep_their_digits() -> None:
    z = np.array([-35.0, -20.0, -8.5])
    assert_allclose([StandardNormal().cdf(one) for one in z], norm.cdf(z), rtol=1e-11)
    assert_array_equal([StandardNormal().cdf(one) for one in (-1e4, 1e4)], [0.0, 1.0])


def test_a_file_says_only_its_name() -> None:
    assert Gaussian().as_json() == {"name": "gaussian"}
    assert Gaussian.of_json({"name": "gaussian"}) == Gaussian()
