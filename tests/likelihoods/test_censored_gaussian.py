"""Censored Gaussian targets: values between their bounds, losses, weights, and the predictive distribution."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import kstest, norm, truncnorm

from csid.data.censored_targets import coded
from csid.data.samples import LocalSamples
from csid.inference.gibbs import SampledModel, Sweeps, run_chain
from csid.inference.starts import random_state
from csid.inference.state import Chain
from csid.likelihoods.censored_gaussian import CensoredGaussian
from csid.likelihoods.censored_mixture import CensoredMixture
from csid.likelihoods.gaussian import Gaussian
from csid.priors.prior import Prior
from fit.strategies import build_problem

Array = np.ndarray
CENSORED = CensoredGaussian()
ALPHA = {"alpha": np.array([4.0])}
BOUNDS = {"known": (0.3, 0.3), "above": (0.3, np.inf), "below": (-np.inf, -0.2), "between": (-0.5, 1.0)}


def _targets(kind: str, rows: int) -> Array:
    low, high = BOUNDS[kind]
    return coded(np.full(rows, low), np.full(rows, high))


@pytest.mark.parametrize("kind", ["above", "below", "between"])
def test_values_are_drawn_between_their_bounds(kind: str) -> None:
    eta = np.full((4000, 1), 0.1)
    drawn, weights = CENSORED.working(_targets(kind, 4000), np.ones(4000), eta, ALPHA, np.random.default_rng(0))
    exact = truncnorm(*(2.0 * (bound - 0.1) for bound in BOUNDS[kind]), loc=0.1, scale=0.5)
    assert kstest(drawn[:, 0], exact.cdf).pvalue > 1e-3
    assert_array_equal(weights, 1.0)
    expected, _ = CENSORED.working(_targets(kind, 1), np.ones(1), eta[:1], ALPHA, None)
    assert_allclose(expected, exact.mean(), rtol=1e-10)
    assert CENSORED.within(_targets(kind, 4000), np.ones(4000), eta, ALPHA, True) is None
    assert_allclose(CENSORED.within(_targets(kind, 2), np.full(2, 3.0), eta[:2], ALPHA, False), 6.0 * exact.var())


def test_known_values_are_working_targets_as_they_are() -> None:
    targets = coded(np.array([0.1, 1 / 3]), np.array([0.1, 1 / 3]))
    for rng in (None, np.random.default_rng(0)):
        working, _ = CENSORED.working(targets, np.array([1.0, 2.5]), np.zeros((2, 1)), ALPHA, rng)
        assert_array_equal(working[:, 0], [0.1, 1 / 3])
    assert_array_equal(CENSORED.within(targets, np.full(2, 2.0), np.zeros((2, 1)), ALPHA, True), [0.0])


def test_a_row_of_weight_w_stands_for_w_values() -> None:
    """The mean and the squared residuals of the working target are those of w rows, in expectation."""
    rows, w, eta = 40_000, 5.0, 0.4
    targets, rng = _targets("above", rows), np.random.default_rng(0)
    working, _ = CENSORED.working(targets, np.full(rows, w), np.full((rows, 1), eta), ALPHA, rng)
    exact = truncnorm(2.0 * (0.3 - eta), np.inf, loc=eta, scale=0.5)
    assert_allclose(working.mean(), exact.mean(), atol=0.005)
    assert_allclose(working.var(), exact.var() / w, rtol=0.03)
    within = CENSORED.within(targets, np.full(rows, w), np.full((rows, 1), eta), ALPHA, True)
    assert within is not None
    squares = w * float(((working - eta) ** 2).sum()) + within[0]
    assert_allclose(squares / rows, w * (exact.var() + (exact.mean() - eta) ** 2), rtol=0.01)


@pytest.mark.parametrize("kind", list(BOUNDS))
def test_losses_are_log_likelihoods_whose_gradient_is_that_of_the_working_problem(kind: str) -> None:
    targets, step, low, high = _targets(kind, 5), 1e-5, *BOUNDS[kind]
    eta = np.linspace(-1.5, 1.5, 5)[:, None]
    losses = CENSORED.losses(targets, eta, ALPHA)
    if kind == "known":
        assert_allclose(losses, (0.3 - eta[:, 0]) ** 2)
    else:
        for loss, at in zip(losses, eta[:, 0], strict=True):
            mass = quad(norm(at, 0.5).pdf, max(low, at - 8.0), min(high, at + 8.0), epsabs=1e-14)[0]
            assert loss == pytest.approx(-2.0 / 4.0 * np.log(mass), abs=1e-8)
    working, _ = CENSORED.working(targets, np.ones(5), eta, ALPHA, None)
    slope = (CENSORED.losses(targets, eta + step, ALPHA) - CENSORED.losses(targets, eta - step, ALPHA)) / (2 * step)
    assert_allclose(slope, 2.0 * (eta - working)[:, 0], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kind", list(BOUNDS))
def test_losses_fall_with_the_precision(kind: str) -> None:
    """So least squares may raise it: see `LocationScale.maximise`."""
    eta = np.linspace(-4.0, 4.0, 41)[:, None]
    at = [CENSORED.losses(_targets(kind, 41), eta, {"alpha": np.array([a])}) for a in np.geomspace(0.01, 100.0, 30)]
    assert (np.diff(at, axis=0) <= 1e-12).all()


def test_with_all_values_known_the_draws_are_those_of_gaussian_noise() -> None:
    problem = build_problem(0, rows=30, levels=(3, 2))
    known = coded(problem.targets[:, 0], problem.targets[:, 0])
    chains = []
    for likelihood, targets in ((Gaussian(), problem.targets), (CENSORED, known)):
        rng = np.random.default_rng(0)
        same = replace(problem, targets=targets)
        chain = Chain(random_state(same, likelihood, 2, rng))
        rng = _WithoutSeeds(1)
        run_chain(LocalSamples(same), SampledModel(Prior(), likelihood), chain, rng, Sweeps(0, 5))  # type: ignore[arg-type]
        chains.append(chain)
    assert_allclose(chains[1].trace, chains[0].trace, rtol=1e-12)


class _WithoutSeeds:
    """A generator whose draws do not depend on the seeds that others draw for their kernels."""

    def __init__(self, seed: int) -> None:
        self._numbers, self._seeds = np.random.default_rng(seed), np.random.default_rng(seed + 1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._seeds if name == "integers" else self._numbers, name)


@pytest.fixture
def mixture() -> CensoredMixture:
    """Three draws at four rows."""
    rng = np.random.default_rng(0)
    weights = np.array([0.2, 0.5, 0.3])
    return CensoredMixture(rng.standard_normal((3, 4, 1)), rng.uniform(0.3, 1.0, (3, 1, 1)), weights, CENSORED)


def test_the_predictive_density_of_an_interval_is_its_probability(mixture: CensoredMixture) -> None:
    targets = np.concatenate([_targets(kind, 1) for kind in BOUNDS])
    found = mixture.log_density(targets)
    assert found[0] == pytest.approx(np.log(mixture.pdf(np.full((4, 1), 0.3))[0, 0]), rel=1e-12)
    for row, kind in enumerate(BOUNDS):
        low, high = BOUNDS[kind]
        if kind != "known":
            mass = [
                quad(norm(c, s).pdf, max(low, c - 9.0), min(high, c + 9.0), epsabs=1e-13)[0]
                for c, s in zip(mixture.centres[:, row, 0], mixture.scales[:, 0, 0], strict=True)
            ]
            assert found[row] == pytest.approx(float(np.log(mixture.weights @ mass)), abs=1e-8)


def test_values_are_drawn_from_the_predictive_distribution_in_their_interval(mixture: CensoredMixture) -> None:
    many = mixture.take(np.full(4000, 2))
    for kind, (low, high) in BOUNDS.items():
        values = many.values_given(_targets(kind, 4000), np.random.default_rng(0))
        if kind == "known":
            assert_array_equal(values, 0.3)
            continue
        below = many.take(np.arange(1)).cdf  # the distribution function of the row, restricted to the interval
        ends = [below(np.full((1, 1), max(min(end, 30.0), -30.0)))[0, 0] for end in (low, high)]
        uniform = (many.cdf(values)[:, 0] - ends[0]) / (ends[1] - ends[0])
        assert kstest(uniform, "uniform").pvalue > 1e-3


def test_calibration_finds_distributions_that_are_too_narrow() -> None:
    """Of which a third of the rows is censored."""
    rng = np.random.default_rng(0)
    M = 3000
    values = rng.standard_normal(M)
    high = np.where(values > 0.5, np.inf, values)
    truth = coded(np.minimum(values, 0.5), high)
    factors = []
    for scale in (0.5, 1.0):
        narrow = CensoredMixture(np.zeros((1, M, 1)), np.full((1, 1, 1), scale), np.ones(1), CENSORED)
        calibrated = CENSORED.fit_calibration(narrow, truth, np.ones((M, 1))).of(narrow)
        factors.append(float(calibrated.scales.mean()) / scale)
    assert factors[0] > 1.5
    assert factors[1] == pytest.approx(1.0, abs=0.08)
