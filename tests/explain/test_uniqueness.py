"""Canonical curves: the same tensor, and the same bits to rounding however it is written."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from csid import BayesianCSIDRegressor, CSIDRegressor, identifiability
from csid.explain import uniqueness
from csid.explain.identifiability import live_components
from csid.explain.uniqueness import canonical
from csid.tensor.cpd import CPD
from explain.coalitions import cells_and_masses, random_tensor

Array = NDArray[np.float64]
seeds = st.integers(0, 2**32 - 1)


def scrambled(rng: np.random.Generator, cpd: CPD, digits: float = 3.0) -> CPD:
    """An equivalent tensor: components in another order, scales and signs traded among their factors and V."""
    N, F = cpd.n_modes, cpd.rank
    order = rng.permutation(F)
    scales = rng.choice([-1.0, 1.0], (N, F)) * 10.0 ** rng.uniform(-digits, digits, (N, F))
    factors = tuple((A * s)[:, order] for A, s in zip(cpd.factors, scales, strict=True))
    return CPD(factors, (cpd.V / scales.prod(axis=0))[:, order], cpd.bias, cpd.marginals)


def check_equal(found: CPD, expected: CPD) -> None:
    for A, B in zip((*found.factors, found.V), (*expected.factors, expected.V), strict=True):
        assert_allclose(A, B, rtol=1e-10, atol=1e-10)


@given(seeds, st.lists(st.integers(1, 5), min_size=1, max_size=5), st.integers(1, 6), st.integers(1, 3))
def test_every_equivalent_solution_has_the_same_form(seed: int, levels: list[int], rank: int, outputs: int) -> None:
    rng = np.random.default_rng(seed)
    cpd = random_tensor(rng, levels, rank, outputs)
    check_equal(canonical(scrambled(rng, cpd)), canonical(cpd))


@given(seeds, st.integers(2, 5))
def test_components_of_equal_weight_have_an_order_too(seed: int, rank: int) -> None:
    """Entries of one size and uniform marginals: all weights tie, and so do most entries."""
    rng = np.random.default_rng(seed)
    levels = (3, 3, 4)
    factors = tuple(rng.choice([-1.0, 1.0], (I_n, rank)) for I_n in levels)
    cpd = CPD(factors, np.ones((1, rank)), np.zeros(1), tuple(np.full(I_n, 1 / I_n) for I_n in levels))
    form = canonical(cpd)
    assert_allclose(np.abs(form.V), 1.0)
    check_equal(canonical(scrambled(rng, cpd)), form)


@given(seeds, st.integers(1, 3))
def test_the_form_is_what_it_says(seed: int, outputs: int) -> None:
    rng = np.random.default_rng(seed)
    cpd = random_tensor(rng, [4, 3, 1], 3, outputs)
    form = canonical(cpd)
    cells, mass = cells_and_masses(cpd)
    nothing = np.zeros((0, 3))
    assert_allclose(form.evaluate(cells, nothing), cpd.evaluate(cells, nothing), atol=1e-10)
    for A, p in zip(form.factors, cpd.marginals, strict=True):
        assert_allclose(p @ A**2, 1.0)
        assert (A[np.abs(A).argmax(axis=0), np.arange(3)] > 0).all()
    sizes = np.linalg.norm(form.V, axis=0)
    assert (np.diff(sizes) <= 0).all()
    for f in range(3):
        part = CPD(tuple(A[:, [f]] for A in form.factors), form.V[:, [f]], np.zeros(outputs), cpd.marginals)
        assert_allclose(mass @ part.evaluate(cells, nothing) ** 2, form.V[:, f] ** 2, atol=1e-10)


def test_components_that_are_nothing_are_left_out() -> None:
    rng = np.random.default_rng(0)
    cpd = random_tensor(rng, [4, 3, 3], 3, 1)
    cpd.factors[1][:, 1] = 0.0
    alive = CPD(tuple(A[:, [0, 2]] for A in cpd.factors), cpd.V[:, [0, 2]], cpd.bias, cpd.marginals)
    check_equal(canonical(cpd), canonical(alive))


def test_a_column_on_levels_without_mass_is_normalised_all_the_same() -> None:
    A, B, p = np.array([[0.0], [3.0]]), np.array([[1.0], [2.0]]), np.array([1.0, 0.0])
    for scale in (1.0, -20.0):
        form = canonical(CPD((A * scale, B / scale), np.ones((1, 1)), np.zeros(1), (p, p)))
        assert_allclose(form.factors[0].ravel(), [0.0, np.sqrt(2.0)])


def test_five_hundred_predictors_of_very_different_sizes() -> None:
    rng = np.random.default_rng(0)
    factors = tuple(1 + 0.1 * rng.random((3, 2)) for _ in range(500))
    cpd = CPD(factors, np.array([[1.0, 1e-3]]), np.zeros(1), (np.full(3, 1 / 3),) * 500)
    sizes = np.where(np.arange(500) < 250, 1e3, 1e-3)
    apart = CPD(tuple(A * s for A, s in zip(factors, sizes, strict=True)), cpd.V, cpd.bias, cpd.marginals)
    assert live_components(apart).all()
    check_equal(canonical(apart), canonical(cpd))


# --- of a fitted estimator ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table() -> tuple[Array, Array]:
    X = np.random.default_rng(0).integers(0, 5, (800, 3)).astype(float)
    return X, np.prod(np.sin(X + 1), axis=1) + 0.5 * np.prod(np.cos(X), axis=1)


def test_two_fits_of_one_system_show_the_same_curves(table: tuple[Array, Array]) -> None:
    options = {"rank": 2, "ridge": 1e-9, "smoothness": 0.0, "early_stopping": False, "max_iter": 500, "tol": 1e-12}
    first, second = (uniqueness(CSIDRegressor(random_state=seed, **options).fit(*table)) for seed in (0, 3))
    assert first.unique
    assert second.unique
    assert_allclose(first.weights, second.weights, rtol=1e-2)
    for name in ("x0", "x1", "x2"):
        assert first.levels[name] == [0.0, 1.0, 2.0, 3.0, 4.0]
        assert_allclose(first.curves[name], second.curves[name], atol=1e-2)


def test_outputs_have_weights_of_their_own(table: tuple[Array, Array]) -> None:
    X, y = table
    model = CSIDRegressor(rank=2, max_iter=5, random_state=0).fit(X, np.column_stack([y, -2 * y]))
    found = uniqueness(model)
    assert found.weights.shape == (2, 2)
    assert_allclose(found.weights, canonical(model.cpd_).V.T)
    assert found.identifiability == identifiability(model)
    assert str(found) == str(found.identifiability)


def test_a_posterior_is_read_draw_by_draw(table: tuple[Array, Array]) -> None:
    X, y = table
    options = {"rank": 2, "prior": "medium", "effort": "fast", "n_chains": 1, "n_burn": 10, "n_draws": 3}
    model = BayesianCSIDRegressor(random_state=0, **options).fit(X, y)
    form = canonical(model.posterior_.draws[1])
    assert_allclose(uniqueness(model, draw=1).curves["x2"], form.factors[2])
    with pytest.raises(ValueError, match=r"not unique. Give one of its draws, from 0 to 2"):
        uniqueness(model)
    with pytest.raises(ValueError, match=r"draw=3: the model has draws from 0 to 2"):
        uniqueness(model, draw=3)


def test_least_squares_has_no_draws(table: tuple[Array, Array]) -> None:
    with pytest.raises(ValueError, match="CSIDRegressor has no posterior draws"):
        uniqueness(CSIDRegressor(rank=1, max_iter=1).fit(*table), draw=0)
    with pytest.raises(NotFittedError):
        uniqueness(CSIDRegressor())
