"""Shapley values, interactions and Banzhaf values, against sums over all coalitions."""

import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from csid import BayesianCSIDRegressor, CSIDRegressor
from csid._kernels.threads import Workers
from csid.encoding import EncodedRows
from csid.explain import banzhaf_values, shapley_interactions, shapley_values
from csid.explain.bands import band
from csid.explain.games import balanced, uniform_rule
from csid.explain.shapley import banzhaf_of_rows, interactions_of_rows, values_of_rows
from csid.tensor.cpd import CPD
from explain.coalitions import (
    background_values,
    banzhaf_weight,
    cell_values,
    coalition_values,
    mean_over_coalitions,
    random_rows,
    random_tensor,
    shapley_weight,
)
from explain.decimals import digits, exact, shapley_term
from explain.draws import of_each_draw
from naive import cell_weights

Array = NDArray[np.float64]

tensors = st.builds(
    lambda seed, levels, rank, outputs: random_tensor(np.random.default_rng(seed), levels, rank, outputs),
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(1, 4), min_size=1, max_size=8),
    st.integers(1, 10),
    st.integers(1, 3),
)
cases = given(tensors, st.integers(0, 2**32 - 1), st.booleans(), st.booleans())


def rows_and_background(cpd: CPD, seed: int, linear: bool, data: bool) -> tuple[EncodedRows, EncodedRows | None]:
    rng = np.random.default_rng(seed)
    return random_rows(rng, cpd, 3, linear), random_rows(rng, cpd, 4, linear) if data else None


def played(game: Callable[..., Array], cpd: CPD, rows: EncodedRows, background: Any = None, threads: int = 1) -> Array:
    with Workers(threads) as workers:
        return game(balanced(cpd).stacked, rows, background, workers)


def naive_values(cpd: CPD, rows: EncodedRows, background: EncodedRows | None) -> Array:
    """The formula of the module in NumPy, with division by nothing and integrals by a rule of many nodes."""
    nodes, weights = uniform_rule(2 * cpd.n_modes)
    a, b = cell_values(cpd, rows)[:, None], background_values(cpd, background)[None]
    values = np.empty((len(a), cpd.n_modes, cpd.n_outputs))
    for n in range(cpd.n_modes):
        others = [j for j in range(cpd.n_modes) if j != n]
        products = sum(w * (b + t * (a - b))[:, :, others].prod(axis=2) for t, w in zip(nodes, weights, strict=True))
        values[:, n] = (((a - b)[:, :, n] * products) @ cpd.V.T).mean(axis=1)
    return values


# --- against the definitions --------------------------------------------------------------------------------------


@cases
def test_values_are_means_over_all_coalitions(cpd: CPD, seed: int, linear: bool, data: bool) -> None:
    rows, background = rows_and_background(cpd, seed, linear, data)
    worth = coalition_values(cpd, rows, background)
    found = played(values_of_rows, cpd, rows, background)
    size = max(1.0, max(np.abs(value).max() for value in worth.values()))
    for n in range(cpd.n_modes):
        expected = mean_over_coalitions(cpd.n_modes, frozenset([n]), worth.__getitem__, shapley_weight)
        assert_allclose(found[:, n], expected, rtol=0, atol=1e-12 * size)
    assert_allclose(found, naive_values(cpd, rows, background), rtol=0, atol=1e-12 * size)


@cases
def test_banzhaf_values_weigh_coalitions_alike(cpd: CPD, seed: int, linear: bool, data: bool) -> None:
    rows, background = rows_and_background(cpd, seed, linear, data)
    worth = coalition_values(cpd, rows, background)
    found = played(banzhaf_of_rows, cpd, rows, background)
    size = max(1.0, max(np.abs(value).max() for value in worth.values()))
    for n in range(cpd.n_modes):
        expected = mean_over_coalitions(cpd.n_modes, frozenset([n]), worth.__getitem__, banzhaf_weight)
        assert_allclose(found[:, n], expected, rtol=0, atol=1e-12 * size)


@cases
def test_interactions_are_half_the_index_of_a_pair(cpd: CPD, seed: int, linear: bool, data: bool) -> None:
    rows, background = rows_and_background(cpd, seed, linear, data)
    worth = coalition_values(cpd, rows, background)
    found = played(interactions_of_rows, cpd, rows, background)
    size = max(1.0, max(np.abs(value).max() for value in worth.values()))
    for i in range(cpd.n_modes):
        for n in set(range(cpd.n_modes)) - {i}:
            index = mean_over_coalitions(cpd.n_modes, frozenset([i, n]), worth.__getitem__, shapley_weight)
            assert_allclose(2 * found[:, i, n], index, rtol=0, atol=1e-12 * size)
    assert_allclose(found.sum(axis=2), played(values_of_rows, cpd, rows, background), rtol=0, atol=1e-12 * size)


@pytest.mark.parametrize("data", [False, True])
@pytest.mark.parametrize("linear", [False, True])
def test_ten_predictors_over_all_coalitions(linear: bool, data: bool) -> None:
    """1,024 coalitions, two outputs, some cells missing."""
    cpd = random_tensor(np.random.default_rng(7), [2, 3, 4, 2, 5, 3, 2, 4, 3, 2], 6, 2)
    rows, background = rows_and_background(cpd, 8, linear, data)
    worth = coalition_values(cpd, rows, background)
    phi, pairs = (played(game, cpd, rows, background) for game in (values_of_rows, interactions_of_rows))
    for n in range(10):
        expected = mean_over_coalitions(10, frozenset([n]), worth.__getitem__, shapley_weight)
        assert_allclose(phi[:, n], expected, rtol=0, atol=1e-10)
    index = mean_over_coalitions(10, frozenset([2, 9]), worth.__getitem__, shapley_weight)
    assert_allclose(2 * pairs[:, 2, 9], index, rtol=0, atol=1e-10)


# --- the axioms ---------------------------------------------------------------------------------------------------


@cases
def test_values_sum_to_the_prediction_less_its_mean(cpd: CPD, seed: int, linear: bool, data: bool) -> None:
    rows, background = rows_and_background(cpd, seed, linear, data)
    mean = cpd.mean() if background is None else cpd.evaluate(background.codes, background.fractions).mean(axis=0)
    expected = cpd.evaluate(rows.codes, rows.fractions) - mean
    found = played(values_of_rows, cpd, rows, background)
    assert_allclose(found.sum(axis=1), expected, rtol=0, atol=1e-11 * max(1.0, np.abs(found).max()))


@given(tensors, st.integers(0, 2**32 - 1), st.booleans())
def test_a_missing_predictor_and_one_without_effect_get_nothing(cpd: CPD, seed: int, linear: bool) -> None:
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, cpd, 5, linear, missing=0.5)
    missing = rows.codes == [len(A) for A in cpd.factors]
    assert (played(values_of_rows, cpd, rows)[missing] == 0.0).all()
    cpd.factors[0][:] = cpd.factors[0][:1]
    assert_allclose(played(values_of_rows, cpd, rows)[:, 0], 0.0, atol=1e-12 * np.abs(cpd.V).sum() * 4**cpd.n_modes)


def test_predictors_that_do_the_same_get_the_same() -> None:
    rng = np.random.default_rng(0)
    cpd = random_tensor(rng, [4, 4, 3], 5, 2)
    (A, _, B), (p, _, q) = cpd.factors, cpd.marginals
    twins = CPD((A, A, B), cpd.V, cpd.bias, (p, p, q))
    rows = random_rows(rng, twins, 9, linear=False)
    rows.codes[:, 1] = rows.codes[:, 0]
    found = played(values_of_rows, twins, rows)
    assert_allclose(found[:, 0], found[:, 1], rtol=1e-12, atol=1e-13)


def test_threads_give_the_same_bits() -> None:
    rng = np.random.default_rng(0)
    cpd = random_tensor(rng, [9] * 6, 20, 2)
    rows, background = random_rows(rng, cpd, 300, linear=True), random_rows(rng, cpd, 7, linear=True)
    for game in (values_of_rows, interactions_of_rows, banzhaf_of_rows):
        assert_array_equal(played(game, cpd, rows, background), played(game, cpd, rows, background, threads=3))


def test_a_background_of_many_rows_goes_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    cpd = random_tensor(rng, [4] * 3, 5, 1)
    rows, background = random_rows(rng, cpd, 5, linear=True), random_rows(rng, cpd, 11, linear=True)
    whole = played(values_of_rows, cpd, rows, background)
    monkeypatch.setattr("csid.explain.games._BACKGROUND_BYTES", 1000)
    assert_allclose(played(values_of_rows, cpd, rows, background), whole, rtol=1e-12)


# --- many predictors ----------------------------------------------------------------------------------------------


@given(tensors, st.integers(-200, 200))
def test_balancing_rounds_nothing_and_keeps_products_near_one(cpd: CPD, power: int) -> None:
    scaled = CPD((cpd.factors[0] * 10.0**power, *cpd.factors[1:]), cpd.V, cpd.bias, cpd.marginals)
    even = balanced(scaled)
    sizes = [np.sqrt(p @ A**2) for p, A in zip(even.marginals, even.factors, strict=True)]
    running = np.cumprod(sizes, axis=0)
    assert ((running > 0.7) & (running < 1.42)).all()
    powers = [np.unique(np.frexp(A / B)[0]) for A, B in zip(even.factors, scaled.factors, strict=True)]
    assert all((mantissas == 0.5).all() for mantissas in powers)


def value_in_decimals(cpd: CPD, rows: EncodedRows, n: int) -> float:
    """The Shapley value of predictor n in the first row: products of polynomials in t, with 200 digits."""
    levels = [len(A) for A in cpd.factors]
    W = [weights[0] for weights in cell_weights(rows.codes, rows.fractions, levels)]
    with digits():
        phi = Decimal(0)
        for f in range(cpd.rank):
            line = []
            for w, A, p in zip(W, cpd.factors, cpd.marginals, strict=True):
                m = exact(p) @ exact(A[:, f])
                a = exact(w[:-1]) @ exact(A[:, f]) + exact(w[-1]) * m
                line.append((m, a - m))
            phi += exact(cpd.V[0, f]) * shapley_term(line, n)
        return float(phi)


def test_a_component_that_is_all_but_zero_does_no_harm() -> None:
    rng = np.random.default_rng(0)
    cpd = random_tensor(rng, [4, 3, 3], 2, 1)
    for A in cpd.factors[1:]:
        A[:, 1] = 1e-312
    even = balanced(cpd)
    assert all(np.isfinite(A).all() for A in (*even.factors, even.V))
    rows = random_rows(rng, cpd, 5, linear=True)
    assert_allclose(played(values_of_rows, cpd, rows), naive_values(cpd, rows, None), atol=1e-12)


@pytest.mark.parametrize("size", [1.0, 1e3])
def test_five_hundred_predictors_lose_no_digits(size: float) -> None:
    """With factors of very different sizes, whose products leave the range of floats on the way."""
    rng = np.random.default_rng(0)
    N, F = 500, 3
    factors = tuple((size if n < N // 2 else 1 / size) * (1 + 0.3 * rng.normal(size=(3, F))) for n in range(N))
    cpd = CPD(factors, rng.normal(size=(1, F)), np.zeros(1), tuple(rng.dirichlet(np.ones(3)) for _ in range(N)))
    rows = random_rows(rng, cpd, 1, linear=True)
    found = played(values_of_rows, cpd, rows)[0, :, 0]
    for n in (0, 77, 250, 499):
        assert_allclose(found[n], value_in_decimals(cpd, rows, n), rtol=0, atol=1e-12 * np.abs(found).max())


# --- of a fitted estimator ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table() -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 3))
    X[::10, 1] = np.nan
    y = np.sin(3 * X[:, 0]) * np.nan_to_num(X[:, 1]) + X[:, 2] ** 2
    return X, np.column_stack([y, -y + X[:, 0]])


@pytest.fixture(scope="module")
def fitted(table: tuple[Array, Array]) -> dict[str, Any]:
    X, Y = table
    return {
        "one": CSIDRegressor(rank=3, max_iter=8, pmf_rank=1, random_state=0).fit(X, Y[:, 0]),
        "two": CSIDRegressor(rank=3, max_iter=8, pmf_rank=1, random_state=0).fit(X, Y),
        "bayesian": BayesianCSIDRegressor(
            rank=4, prior="medium", effort="fast", n_chains=2, n_burn=20, n_draws=10, missing="marginalize", pmf_rank=1,
            random_state=0,
        ).fit(X, Y[:, 0]),
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["one", "two", "bayesian"])
@pytest.mark.parametrize("data", [False, True])
def test_a_fitted_model_is_explained(fitted: dict[str, Any], table: tuple[Array, Array], kind: str, data: bool) -> None:
    model, X = fitted[kind], table[0][:25]
    background = table[0][100:110] if data else None
    outputs = (2,) if kind == "two" else ()
    mean = model.predict(background).mean(axis=0) if data else model.cpd_.mean()
    phi = shapley_values(model, X, background=background)
    assert phi.shape == (25, 3, *outputs)
    assert_allclose(phi.sum(axis=1), model.predict(X) - mean, atol=1e-10)
    pairs = shapley_interactions(model, X, background=background)
    assert pairs.shape == (25, 3, 3, *outputs)
    assert_allclose(pairs.sum(axis=2), phi, atol=1e-10)
    assert_allclose(pairs, pairs.swapaxes(1, 2))
    assert banzhaf_values(model, X, background=background).shape == phi.shape


def test_draws_give_an_interval_around_their_mean(
    fitted: dict[str, Any], table: tuple[Array, Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, X = fitted["bayesian"], table[0][:25]
    mean, lower, upper = shapley_values(model, X, draws=True)
    assert_allclose(mean, shapley_values(model, X), atol=1e-10)
    assert (lower <= upper).all()
    assert (lower < upper).mean() > 0.9
    assert ((lower < mean) & (mean < upper)).mean() > 0.8
    assert (upper[0, 1], lower[0, 1]) == (0.0, 0.0)  # missing
    wide = shapley_values(model, X, draws=True, coverage=0.99)
    assert (wide.lower <= lower).all()
    monkeypatch.setattr("csid.explain.batches._MAX_NUMBERS", 1)
    assert_allclose(shapley_values(model, X, draws=True), [mean, lower, upper], atol=1e-12)


@pytest.mark.parametrize("explain", [shapley_interactions, banzhaf_values])
def test_all_games_have_intervals(fitted: dict[str, Any], table: tuple[Array, Array], explain: Any) -> None:
    model, X, background = fitted["bayesian"], table[0][:4], table[0][100:103]
    each = of_each_draw(model, lambda one: explain(one, X, background=background))
    found = explain(model, X, background=background, draws=True, coverage=0.8)
    assert_allclose(found, band(np.array(each), model.posterior_.weights, 0.8), atol=1e-12)
    assert_allclose(found.mean, explain(model, X, background=background), atol=1e-10)


def test_errors_name_the_argument(fitted: dict[str, Any], table: tuple[Array, Array]) -> None:
    X = table[0][:3]
    with pytest.raises(TypeError, match="CSIDRegressor has none"):
        shapley_values(fitted["one"], X, draws=True)
    with pytest.raises(ValueError, match=r"coverage=90: give a probability"):
        shapley_values(fitted["bayesian"], X, draws=True, coverage=90)
    with pytest.raises(ValueError, match="3 features"):
        shapley_values(fitted["one"], X[:, :2])
    with pytest.raises(NotFittedError):
        shapley_values(CSIDRegressor(), X)


def test_an_explanation_needs_shap(
    fitted: dict[str, Any], table: tuple[Array, Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ImportError, match="install the package shap"):
        shapley_values(fitted["one"], table[0][:3], as_explanation=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["one", "two"])
def test_an_explanation_has_what_plots_need(fitted: dict[str, Any], table: tuple[Array, Array], kind: str) -> None:
    pytest.importorskip("shap")
    model, X = fitted[kind], table[0][:5]
    found = shapley_values(model, X, as_explanation=True)
    assert_allclose(found.values, shapley_values(model, X))
    assert_allclose(found.base_values + found.values.sum(axis=1), model.predict(X))
    assert_array_equal(found.data, X)
    assert found.feature_names == ["x0", "x1", "x2"]


@pytest.mark.filterwarnings("ignore")
def test_shap_agrees_over_a_data_set(fitted: dict[str, Any], table: tuple[Array, Array]) -> None:
    shap = pytest.importorskip("shap")
    model, whole = fitted["one"], table[0][~np.isnan(table[0]).any(axis=1)]
    X, background = whole[:5], whole[100:110]
    theirs = shap.explainers.Exact(model.predict, shap.maskers.Independent(background, max_samples=10))(X).values
    assert_allclose(shapley_values(model, X, background=background), theirs, atol=1e-8)


@pytest.mark.filterwarnings("ignore")
def test_shapiq_agrees_on_the_game_of_missing_cells(fitted: dict[str, Any], table: tuple[Array, Array]) -> None:
    """Its exact computer, given predictions whose predictors outside of a coalition are missing."""
    shapiq = pytest.importorskip("shapiq")
    model, row = fitted["one"], table[0][1]
    assert not np.isnan(row).any()

    def worth(coalitions: NDArray[np.bool_]) -> Array:
        return np.asarray(model.predict(np.where(coalitions, row, np.nan)))

    computer = shapiq.ExactComputer(game=worth, n_players=3)
    values = shapley_values(model, row[None])[0]
    assert_allclose(values, computer("SV").get_n_order_values(1), atol=1e-10)
    assert_allclose(banzhaf_values(model, row[None])[0], computer("BV").get_n_order_values(1), atol=1e-10)
    pairs = 2 * shapley_interactions(model, row[None])[0]
    np.fill_diagonal(pairs, 0.0)
    assert_allclose(pairs, computer("SII", order=2).get_n_order_values(2), atol=1e-10)
