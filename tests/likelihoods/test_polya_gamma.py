"""Pólya-Gamma draws: their moments and Laplace transform, and how far their law is from the exact one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from csid._kernels.polya_gamma import draw_polya_gamma, expected_polya_gamma

Array = np.ndarray

PARAMETERS = [(0.05, 0.3), (0.7, -2.0), (1.0, 0.0), (1.9, 5.0), (2.7, 0.0), (3.5, 1.0), (19.5, -3.0), (250.3, -4.0)]
everywhere = pytest.mark.parametrize(("b", "c"), PARAMETERS)


def _draws(b: float, c: float, n: int = 200_000, seed: int = 1) -> Array:
    found = np.empty(n)
    draw_polya_gamma(np.full(n, b), np.full(n, c), np.uint64(seed), found)
    return found


def _moments(b: float, c: float) -> tuple[float, float]:
    if c == 0.0:
        return b / 4.0, b / 24.0
    return b * np.tanh(c / 2.0) / (2.0 * c), b * (np.sinh(c) - c) / (4.0 * c**3 * np.cosh(c / 2.0) ** 2)


@everywhere
def test_mean_and_variance(b: float, c: float) -> None:
    drawn, (mean, variance) = _draws(b, c), _moments(b, c)
    assert (drawn > 0.0).all()
    assert abs(drawn.mean() - mean) < 4.0 * np.sqrt(variance / len(drawn))
    squares = (drawn - mean) ** 2
    assert abs(squares.mean() - variance) < 4.0 * squares.std() / np.sqrt(len(drawn))


@everywhere
def test_laplace_transform(b: float, c: float) -> None:
    """E exp(-t omega) = (cosh(c / 2) / cosh(sqrt(c^2 / 4 + t / 2)))^b."""
    drawn, (mean, _) = _draws(b, c), _moments(b, c)
    for t in np.array([0.3, 1.0, 3.0]) / mean:
        exact = (np.cosh(c / 2.0) / np.cosh(np.sqrt(c * c / 4.0 + t / 2.0))) ** b
        values = np.exp(-t * drawn)
        assert abs(values.mean() - exact) < 4.0 * values.std() / np.sqrt(len(values))


def test_expectations_are_the_means_also_near_zero() -> None:
    c = np.array([-1e-9, 0.0, 0.049999, 0.050001, -0.050001, 3.0, 700.0])
    found = np.empty(len(c))
    expected_polya_gamma(np.full(len(c), 1.7), c, found)
    safe = np.where(c == 0.0, 1.0, c)
    assert_allclose(found, 1.7 * np.where(c == 0.0, 0.25, np.tanh(safe / 2.0) / (2.0 * safe)), rtol=1e-10)


def test_a_row_draws_the_same_with_any_others() -> None:
    b, c = np.random.default_rng(0).uniform(0.1, 9.0, (2, 50))
    every, some = np.empty(50), np.empty(20)
    draw_polya_gamma(b, c, np.uint64(3), every)
    draw_polya_gamma(b[:20], c[:20], np.uint64(3), some)
    assert_array_equal(every[:20], some)
    assert (_draws(1.0, 0.0, 20) != _draws(1.0, 0.0, 20, seed=2)).all()


def _characteristic_functions(b: float, c: float, u: Array) -> tuple[Array, Array]:
    """Of the exact law, and of the law that is drawn: some terms, and a Gamma variable for the rest."""
    terms = 8 if b < 2.0 else 4 if b < 20.0 else 2
    s = np.sqrt((0.5 * c * c - 1j * u) / 2.0)
    exact = b * (c / 2.0 + np.log1p(np.exp(-c)) - s - np.log1p(np.exp(-2.0 * s)))
    a = 1.0 / (2.0 * np.pi**2 * (np.arange(terms) + 0.5) ** 2 + 0.5 * c * c)
    mean, variance = _moments(1.0, c)
    mean, variance = mean - a.sum(), variance - (a**2).sum()
    rest = mean**2 / variance * np.log(1.0 - 1j * u * variance / mean)
    return np.exp(exact), np.exp(-b * (np.log(1.0 - 1j * np.outer(u, a)).sum(axis=1) + rest))


@pytest.mark.parametrize("c", [0.0, 1.0, 3.0, 6.0])
@pytest.mark.parametrize("b", [0.5, 1.0, 1.99, 2.0, 5.0, 19.9, 20.0, 300.0])
def test_the_law_that_is_drawn_is_close_to_the_exact_one(b: float, c: float) -> None:
    """By inversion of the characteristic functions: the largest difference of the distribution functions."""
    mean, variance = _moments(b, c)
    step = 2.0 * np.pi / (mean + 40.0 * np.sqrt(variance))
    u = step * np.arange(1, 1 << 12)
    exact, drawn = _characteristic_functions(b, c, u)
    x = np.linspace(0.0, mean + 10.0 * np.sqrt(variance), 200)
    difference = (np.exp(-1j * np.outer(x, u)) @ ((exact - drawn) / u)).imag * step / np.pi
    assert np.abs(difference).max() < 1e-4
