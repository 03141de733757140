"""Sobol indices and Shapley effects, against the variance over all cells of the tensor."""

from dataclasses import replace
from decimal import Decimal
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from csid import BayesianCSIDRegressor, CSIDRegressor
from csid.encoding import EncodedRows
from csid.explain import additivity, shapley_effects, sobol_indices
from csid.explain.bands import band
from csid.explain.component_pairs import component_pairs, moments_of, on_levels
from csid.explain.importance import mean_effects
from csid.explain.variance import effect_variances, sobol_variances
from csid.tensor.cpd import CPD
from explain.coalitions import Coalition, cell_values, mean_over_coalitions, random_rows, random_tensor, shapley_weight
from explain.decimals import digits, exact, shapley_term
from explain.draws import of_each_draw

Array = NDArray[np.float64]

tensors = st.builds(
    lambda seed, levels, rank, outputs: random_tensor(np.random.default_rng(seed), levels, rank, outputs),
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(1, 3), min_size=1, max_size=4),
    st.integers(1, 10),
    st.integers(1, 3),
)


def explained(cpd: CPD, a: list[Array], p: list[Array]) -> dict[Coalition, Array]:
    """For each set of predictors, (K,): the variance of the mean prediction given them.

    a : for each predictor, (Q_n, F) the values that `w_n^T A_n` takes; p : (Q_n,) how often.
    """
    found = {}
    for given_ones in product([False, True], repeat=cpd.n_modes):
        total, square = 0.0, 0.0
        means = [p_n @ a_n for a_n, p_n in zip(a, p, strict=True)]
        cases = [range(len(p_n)) if known else [None] for p_n, known in zip(p, given_ones, strict=True)]
        for cell in product(*cases):
            mass = np.prod([1.0 if q is None else p_n[q] for q, p_n in zip(cell, p, strict=True)])
            values = [m if q is None else a_n[q] for q, a_n, m in zip(cell, a, means, strict=True)]
            value = cpd.V @ np.prod(values, axis=0)
            total, square = total + mass * value, square + mass * value**2
        found[frozenset(np.flatnonzero(given_ones).tolist())] = square - total**2
    return found


def check(cpd: CPD, worth: dict[Coalition, Array], moments: Any) -> None:
    components = component_pairs(cpd, moments)
    found, effects = sobol_variances(components), effect_variances(components)
    N = cpd.n_modes
    everyone = frozenset(range(N))
    atol = 1e-12 * max(1.0, max(np.abs(value).max() for value in worth.values()))
    atol = max(atol, 1e-12 * float((np.abs(components.V).sum(axis=1) ** 2).max()))
    assert_allclose(found.all, worth[everyone], rtol=0, atol=atol)
    assert_allclose(effects.sum(axis=0), worth[everyone], rtol=0, atol=atol)
    for n in range(N):
        assert_allclose(found.first[n], worth[frozenset([n])], rtol=0, atol=atol)
        assert_allclose(found.total[n], worth[everyone] - worth[everyone - {n}], rtol=0, atol=atol)
        expected = mean_over_coalitions(N, frozenset([n]), worth.__getitem__, shapley_weight)
        assert_allclose(effects[n], expected, rtol=0, atol=atol)
        for i in range(n):
            beyond = worth[frozenset([i, n])] - worth[frozenset([i])] - worth[frozenset([n])]
            assert_allclose(found.pairs[i, n], beyond, rtol=0, atol=atol)
            assert_allclose(found.pairs[n, i], beyond, rtol=0, atol=atol)
        assert_allclose(found.pairs[n, n], 0.0)


@given(tensors)
def test_variances_on_the_levels(cpd: CPD) -> None:
    check(cpd, explained(cpd, list(cpd.factors), list(cpd.marginals)), [on_levels(p) for p in cpd.marginals])


@given(tensors, st.integers(0, 2**32 - 1), st.booleans())
def test_variances_over_the_marginals_of_rows(cpd: CPD, seed: int, linear: bool) -> None:
    """Between levels, and over the rows in which a predictor is observed."""
    rows = random_rows(np.random.default_rng(seed), cpd, 4, linear)
    rows.codes[0] = 0
    if linear:
        rows.fractions[0] = 0.0
    a, p = [], []
    for n, A in enumerate(cpd.factors):
        observed = rows.codes[:, n] < len(A)
        a.append(cell_values(cpd, rows)[observed, n])
        p.append(np.full(observed.sum(), 1.0 / observed.sum()))
    check(cpd, explained(cpd, a, p), [moments_of(rows, n, q) for n, q in enumerate(cpd.marginals)])


def test_means_of_zero_are_not_divided_by() -> None:
    cpd = random_tensor(np.random.default_rng(0), [2, 3, 2, 2], 3, 2)
    even = np.array([0.5, 0.5])
    for n in (0, 2):
        cpd.factors[n][:, 1] = [1.0, -1.0]
    cpd = CPD(cpd.factors, cpd.V, cpd.bias, (even, cpd.marginals[1], even, even))
    check(cpd, explained(cpd, list(cpd.factors), list(cpd.marginals)), [on_levels(p) for p in cpd.marginals])


def test_a_predictor_that_is_never_observed_keeps_its_marginal() -> None:
    p = np.array([0.25, 0.75])
    rows = EncodedRows(np.full((3, 1), 2, np.uint8), np.zeros((0, 1), np.float32))
    for found, expected in zip(moments_of(rows, 0, p), on_levels(p), strict=True):
        assert_allclose(found, expected)


def test_blocks_of_components_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    cpd = random_tensor(np.random.default_rng(0), [5, 4, 3], 70, 2)
    components = component_pairs(cpd, [on_levels(p) for p in cpd.marginals])
    whole, effects = sobol_variances(components), effect_variances(components)
    monkeypatch.setattr("csid.explain.component_pairs._BLOCK_BYTES", 1)
    assert len(list(components.blocks())) == 15
    for found, expected in zip(sobol_variances(components), whole, strict=True):
        assert_allclose(found, expected, atol=1e-9)
    assert_allclose(effect_variances(components), effects, atol=1e-9)


def variances_in_decimals(cpd: CPD, n: int) -> tuple[float, ...]:
    """All, first order and total of predictor n, and its Shapley effect."""
    with digits():
        found = [Decimal(0)] * 4
        for f, g in product(range(cpd.rank), repeat=2):
            line = []
            for A, p in zip(cpd.factors, map(exact, cpd.marginals), strict=True):
                a, b = exact(A[:, f]), exact(A[:, g])
                mm = (p @ a) * (p @ b)
                line.append((mm, p @ (a * b) - mm * p.sum()))  # marginals sum to one up to rounding only
            means, all_but = prod(m for m, _ in line), [*line[:n], *line[n + 1 :]]
            parts = (
                prod(m + c for m, c in line) - means,
                line[n][1] * prod(m for m, _ in all_but),
                line[n][1] * prod(m + c for m, c in all_but),
                shapley_term(line, n),
            )
            weight = exact(cpd.V[0, f]) * exact(cpd.V[0, g])
            found = [so_far + weight * part for so_far, part in zip(found, parts, strict=True)]
        return tuple(map(float, found))


@pytest.mark.parametrize("size", [1.0, 1e3])
def test_five_hundred_predictors_lose_no_digits(size: float) -> None:
    """With factors of very different sizes, whose products leave the range of floats on the way."""
    rng = np.random.default_rng(0)
    N, F = 500, 2
    factors = tuple((size if n < N // 2 else 1 / size) * (1 + 0.05 * rng.normal(size=(3, F))) for n in range(N))
    cpd = CPD(factors, np.array([[1.0, -0.7]]), np.zeros(1), tuple(rng.dirichlet(np.ones(3)) for _ in range(N)))
    components = component_pairs(cpd, [on_levels(p) for p in cpd.marginals])
    found, effects = sobol_variances(components), effect_variances(components)
    for n in (0, 250, 499):
        everything, first, total, effect = variances_in_decimals(cpd, n)
        assert_allclose(found.all, everything, rtol=1e-11)
        assert_allclose(found.first[n], first, rtol=1e-10)
        assert_allclose(found.total[n], total, rtol=1e-10)
        assert_allclose(effects[n], effect, rtol=1e-10)
    assert_allclose(effects.sum(axis=0), found.all, rtol=1e-11)


# --- of a fitted estimator ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (600, 4))
    y = X[:, 0] + X[:, 1] * X[:, 2]
    models = {
        "one": CSIDRegressor(rank=4, random_state=0).fit(X, y),
        "two": CSIDRegressor(rank=4, random_state=0).fit(X, np.column_stack([y, X[:, 3]])),
    }
    return {"X": X, **models}


@pytest.mark.parametrize("kind", ["one", "two"])
@pytest.mark.parametrize("data", [False, True])
def test_a_fitted_model_is_taken_apart(fitted: dict[str, Any], kind: str, data: bool) -> None:
    model, X = fitted[kind], fitted["X"] if data else None
    found, effects, parts = sobol_indices(model, X), shapley_effects(model, X), additivity(model, X)
    outputs = (2,) if kind == "two" else ()
    assert found.first.shape == found.total.shape == effects.shape == (4, *outputs)
    assert found.pairs.shape == (4, 4, *outputs)
    assert found.variance.shape == outputs
    assert_allclose(effects.sum(axis=0), 1.0)
    assert ((effects > found.first - 1e-12) & (effects < found.total + 1e-12)).all()
    assert_allclose(parts.main + parts.pairs + parts.higher, 1.0)
    first, pairs = (found.first[:, 0], found.pairs[..., 0]) if outputs else (found.first, found.pairs)
    assert_allclose(first, [0.75, 0, 0, 0], atol=0.03)  # variances of 1/3 and 1/9
    assert_allclose(pairs[1, 2], 0.25, atol=0.03)


def test_draws_give_an_interval(fitted: dict[str, Any]) -> None:
    """Of the indices of each draw, one by one."""
    X = fitted["X"][:200]
    options = {"rank": 3, "prior": "medium", "effort": "fast", "n_chains": 2, "n_burn": 20, "n_draws": 6}
    model = BayesianCSIDRegressor(random_state=0, **options).fit(X, X[:, 0] + X[:, 1] * X[:, 2])

    def said(one: Any, **options: Any) -> tuple[Any, ...]:
        indices, effects = sobol_indices(one, X, **options), shapley_effects(one, X, **options)
        shares = (indices.first, indices.total, indices.pairs, indices.variance)
        return (*shares, effects, *additivity(one, X, **options))

    each = zip(*of_each_draw(model, said), strict=True)
    found = said(model, draws=True, coverage=0.8)
    for part, of_draws in zip(found, each, strict=True):
        assert_allclose(part, band(np.array(of_draws), model.posterior_.weights, 0.8), atol=1e-12)
    effects = found[4]
    assert_allclose(effects.mean.sum(), 1.0)
    assert (effects.lower < effects.upper).all()
    with pytest.raises(TypeError, match="draws=True needs posterior draws, but CSIDRegressor has none"):
        sobol_indices(fitted["one"], draws=True)
    with pytest.raises(ValueError, match=r"coverage=1\.5"):
        shapley_effects(model, draws=True, coverage=1.5)


def test_importances_are_the_effects_and_a_mean_over_outputs(fitted: dict[str, Any]) -> None:
    one, two = fitted["one"], fitted["two"]
    assert_allclose(one.feature_importances_, shapley_effects(one), atol=1e-12)
    assert_allclose(two.feature_importances_, shapley_effects(two).mean(axis=1), atol=1e-12)
    assert_allclose(two.feature_importances_.sum(), 1.0)
    assert (two.feature_importances_ >= 0.0).all()


def test_values_between_levels_vary_less_than_levels(fitted: dict[str, Any]) -> None:
    """Over the same rows; rows held out would have other marginals."""
    X = fitted["X"]
    model = CSIDRegressor(rank=4, levels=8, early_stopping=False, random_state=0).fit(X, X[:, 0] + X[:, 1] * X[:, 2])
    on, between = sobol_indices(model), sobol_indices(model, X)
    assert 0.9 * on.variance < between.variance < on.variance


def test_a_constant_has_no_shares() -> None:
    fitted = CSIDRegressor(rank=2, max_iter=2).fit(np.arange(20.0).reshape(10, 2), np.arange(10.0)).fitted_
    A, p = np.ones((3, 2)), np.array([0.2, 0.3, 0.5])
    model = replace(fitted, tensor=CPD((A, A), np.ones((1, 2)), np.zeros(1), (p, p)))
    assert (sobol_indices(model).first == 0.0).all()
    assert (shapley_effects(model) == 0.0).all()
    assert tuple(additivity(model)) == (0.0, 0.0, 0.0)
    assert_allclose(mean_effects(model.tensor), 0.5)  # because shares must sum to one


@pytest.mark.filterwarnings("ignore")
def test_salib_agrees_up_to_its_sampling(fitted: dict[str, Any]) -> None:
    sampling = pytest.importorskip("SALib.sample.sobol")
    analysis = pytest.importorskip("SALib.analyze.sobol")
    model = fitted["one"]
    problem = {"num_vars": 4, "names": ["a", "b", "c", "d"], "bounds": [[-1.0, 1.0]] * 4}
    inputs = sampling.sample(problem, 4096, seed=0)
    theirs = analysis.analyze(problem, model.predict(inputs), seed=0)
    X = np.linspace(-1, 1, 4001)[:, None] * np.ones(4)
    found = sobol_indices(model, X)
    assert_allclose(found.first, theirs["S1"], atol=0.02)
    assert_allclose(found.total, theirs["ST"], atol=0.02)
    assert_allclose(found.pairs[1, 2], theirs["S2"][1, 2], atol=0.02)
