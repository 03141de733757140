"""Explanations of classifiers: latent values by label, probabilities, and changes that make a class the likeliest."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_equal
from numpy.typing import NDArray
from scipy.special import ndtr

from csid import BayesianCSIDClassifier, CSIDRegressor
from csid.encoding import OrdinalMode
from csid.explain import (
    Band,
    additivity,
    banzhaf_values,
    counterfactuals,
    empirical_dependence,
    ice_curves,
    partial_dependence,
    shapley_effects,
    shapley_interactions,
    shapley_values,
    sobol_indices,
)
from csid.explain.nearest import nearest_common_point
from csid.fitted.model import FittedModel
from csid.likelihoods.class_predictive import ProbabilityCalibration
from explain.test_counterfactuals import bilinear, straight
from explain.test_models import plain
from export.classifiers import labels_of, probabilities, weighted

Array = NDArray[np.float64]

LABELS: dict[str, list[Any]] = {"two": ["no", "yes"], "three": ["cat", "dog", "emu"]}
KINDS = ["two", "three", "two, without draws", "three, without draws"]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=250), "b": rng.uniform(-1, 1, 250)})
    frame["town"] = rng.choice(["Kehl", "Ulm"], 250)
    return frame


@pytest.fixture(scope="module")
def models(table: pd.DataFrame) -> dict[str, FittedModel]:
    """Two and three classes, with draws and without; "constant" without interpolation."""
    rng = np.random.default_rng(1)
    value = (
        table["a"] * np.where(table["town"] == "Ulm", 1.0, -0.3) + np.sin(3 * table["b"]) + 0.3 * rng.normal(size=250)
    )
    ranks = (value.rank().to_numpy() - 1.0) / len(value)
    found: dict[str, FittedModel] = {}
    for kind, labels in LABELS.items():
        y = np.array(labels, dtype=object)[(ranks * len(labels)).astype(int)]
        for name, options in ((kind, {}), (f"{kind}, constant", {"interpolation": "constant"})):
            model = BayesianCSIDClassifier(
                rank=3,
                prior="medium",
                levels=6,
                effort="fast",
                n_chains=2,
                n_burn=30,
                n_draws=4,
                random_state=0,
                **options,
            ).fit(table, y)
            posterior, calibration = weighted(model.posterior_), ProbabilityCalibration(1.5)
            found[name] = replace(model.fitted_, tensor=posterior.mean, posterior=posterior, calibration=calibration)
            found[f"{name}, without draws"] = replace(found[name], posterior=None)
    return found


EXPLAIN: dict[str, Callable[..., Any]] = {
    "shapley_values": lambda model, X, **options: shapley_values(model, X[:4], **options),
    "shapley_interactions": lambda model, X, **options: shapley_interactions(model, X[:4], **options),
    "banzhaf_values": lambda model, X, **options: banzhaf_values(model, X[:4], **options),
    "ice_curves": lambda model, X, **options: ice_curves(model, "a", X[:4], **options),
    "sobol_indices": lambda model, X, **options: sobol_indices(model, **options),
    "shapley_effects": lambda model, X, **options: shapley_effects(model, X, **options),
    "additivity": lambda model, X, **options: additivity(model, **options),
}
DEPENDENCE: dict[str, Callable[..., Any]] = {
    "partial_dependence": lambda model, X, **options: partial_dependence(model, ("a", "town"), **options),
    "empirical_dependence": lambda model, X, **options: empirical_dependence(model, "b", X, **options),
}
SHARES = ("sobol_indices", "shapley_effects", "additivity")


def _arrays(found: Any) -> list[Array]:
    """The numbers of a result, one array after the other."""
    if isinstance(found, dict):
        return [
            array
            for name, value in found.items()
            if name not in ("features", "levels", "outputs")
            for array in _arrays(value)
        ]
    if isinstance(found, Band):
        return [np.asarray(part) for part in found]
    return [] if found is None else [np.asarray(found)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*EXPLAIN, *DEPENDENCE])
def test_a_label_selects_the_latent_value_of_its_class(
    models: dict[str, FittedModel], table: pd.DataFrame, kind: str, name: str
) -> None:
    model, explain = models[kind], (EXPLAIN | DEPENDENCE)[name]
    labels = labels_of(model)
    whole = _arrays(plain(explain(model, table)))
    for k, label in enumerate(labels):
        one = _arrays(plain(explain(model, table, output=label)))
        if len(labels) > 2:
            expected = [part[..., k] for part in whole]
        else:  # one latent value, whose negative is that of the first class
            expected = [part if k or name in SHARES else -part for part in whole]
            if k == 0 and name in DEPENDENCE and len(expected) == 3:
                expected = [expected[0], expected[2], expected[1]]
        for ours, theirs in zip(one, expected, strict=True):
            assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("kind", ["two", "three"])
@pytest.mark.parametrize("name", EXPLAIN)
def test_bands_are_those_of_the_draws(
    models: dict[str, FittedModel], table: pd.DataFrame, kind: str, name: str
) -> None:
    model = models[kind]
    assert model.posterior is not None
    label, weights = labels_of(model)[-1], model.posterior.weights
    each = [
        _arrays(plain(EXPLAIN[name](replace(model, tensor=draw), table, output=label)))
        for draw in model.posterior.draws
    ]
    bands = _arrays(plain(EXPLAIN[name](model, table, output=label, draws=True)))
    for n, parts in enumerate(zip(*each, strict=True)):
        mean, lower, upper = bands[3 * n : 3 * n + 3]
        assert_allclose(mean, np.tensordot(weights, np.array(parts), 1), atol=1e-12)
        assert (lower >= np.min(parts, axis=0) - 1e-12).all()
        assert (upper <= np.max(parts, axis=0) + 1e-12).all()
        assert (lower <= upper).all()


@pytest.mark.parametrize("kind", KINDS)
def test_shapley_values_sum_to_the_latent_values(
    models: dict[str, FittedModel], table: pd.DataFrame, kind: str
) -> None:
    model = models[kind]
    phi = shapley_values(model, table[:10])
    expected = model.squeeze(model.means(table[:10], 1) - model.tensor.mean())
    assert_allclose(phi.sum(axis=1), expected, atol=1e-12)


def test_an_explanation_for_shap_names_the_classes(models: dict[str, FittedModel], table: pd.DataFrame) -> None:
    pytest.importorskip("shap")
    found = shapley_values(models["three"], table[:5], as_explanation=True)
    assert list(found.output_names) == LABELS["three"]
    assert shapley_values(models["three"], table[:5], output="dog", as_explanation=True).values.shape == (5, 3)


# --- probabilities ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("features", ["a", ("town", "a")])
def test_probabilities_are_those_at_the_mean_latent_values_of_each_draw(
    models: dict[str, FittedModel], kind: str, features: Any
) -> None:
    model = models[kind]
    found = partial_dependence(model, features, scale="probability")
    tensors = [model.tensor] if model.posterior is None else list(model.posterior.draws)
    weights = np.ones(1) if model.posterior is None else model.posterior.weights
    latent = [partial_dependence(replace(model, tensor=each, posterior=None), features).values for each in tensors]
    each = np.array([_probabilities(values, kind) for values in latent])
    powers = np.tensordot(weights, each, 1) ** 1.5
    assert_allclose(found.values, powers / powers.sum(axis=-1, keepdims=True), atol=1e-7)
    one = partial_dependence(model, features, scale="probability", output=labels_of(model)[0])
    assert_equal(one.values, found.values[..., 0])
    if model.posterior is None:
        assert found.lower is None
        return
    calibrated = each**1.5 / (each**1.5).sum(axis=-1, keepdims=True)
    assert found.upper is not None
    for level, bound in ((0.05, found.lower), (0.95, found.upper)):
        assert_allclose(bound, np.apply_along_axis(_quantile, 0, calibrated, weights, level), atol=1e-7)
    assert one.upper is not None
    assert_equal(one.upper, found.upper[..., 0])


def _quantile(values: Array, weights: Array, level: float) -> float:
    """The smallest value at which the cumulative weight reaches a level."""
    order = np.argsort(values)
    return float(values[order][np.searchsorted(np.cumsum(weights[order]), level - 1e-12)])


def _probabilities(latent: Array, kind: str) -> Array:
    """By fine quadrature over the largest latent value."""
    if kind.startswith("two"):
        return np.stack([ndtr(-latent), ndtr(latent)], axis=-1)
    z = np.linspace(latent.min() - 9.0, latent.max() + 9.0, 2001)
    t = z - latent[..., None]
    others = np.stack([np.delete(ndtr(t), k, axis=-2).prod(axis=-2) for k in range(3)], axis=-2)
    return (np.exp(-0.5 * t**2) * others).sum(axis=-1) * (z[1] - z[0]) / np.sqrt(2.0 * np.pi)


# --- tables -----------------------------------------------------------------------------------------------------------


def test_tables_say_what_is_on_the_latent_scale(models: dict[str, FittedModel]) -> None:
    two, three = models["two"], models["three"]
    for found in (sobol_indices(two), additivity(two), partial_dependence(two, "a")):
        assert found.table().note == "Latent scale: of class yes."
    for found in (sobol_indices(three), additivity(three), partial_dependence(three, "a")):
        assert found.table().note == "Latent scale: a value per class."
    assert sobol_indices(three, output="dog").table().note == "Latent scale: of class dog."
    header = list(sobol_indices(three).table().header)
    assert header[1:5] == ["first order of cat", "total of cat", "first order of dog", "total of dog"]
    assert list(additivity(three).table().header) == ["part", "share of cat", "share of dog", "share of emu"]
    latent = partial_dependence(three, "a").table()
    assert (latent.title, latent.header[1]) == ("Mean latent value by a", "mean of cat")
    likely = partial_dependence(three, "a", scale="probability").table()
    assert (likely.title, likely.header[1]) == ("Probability at the mean latent value by a", "probability of cat")
    assert likely.note == ""
    assert partial_dependence(three, ("a", "b")).table().title.endswith("by a and b, class cat")


# --- counterfactuals --------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(2, 4), st.integers(2, 3))
def test_no_point_along_the_pieces_is_nearer(seed: int, first: int, second: int, conditions: int) -> None:
    rng = np.random.default_rng(seed)
    g = rng.normal(size=(conditions, first, second)) + 0.3
    costs = [np.append(0.0, np.cumsum(rng.random(n - 1))) for n in (first, second)]
    found = nearest_common_point(g, *map(straight, costs))
    grids = [np.linspace(0.0, n - 1.0, 200 * (n - 1) + 1) for n in (first, second)]
    values = np.array([bilinear(one, *grids) for one in g])
    on_lines = (grids[0] % 1.0 == 0.0)[:, None] | (grids[1] % 1.0 == 0.0)
    dense = [np.interp(grid, np.arange(len(c)), c) for grid, c in zip(grids, costs, strict=True)]
    reached = np.where((values < 0.0).all(axis=0) & on_lines, dense[0][:, None] + dense[1], np.inf)
    if found is None:
        assert np.isinf(reached).all()
        return
    assert found.cost <= reached.min() + 1e-9
    at = [np.array([spot.piece + spot.fraction]) for spot in found.spots]
    assert_allclose(found.cost, sum(np.interp(p, np.arange(len(c)), c) for p, c in zip(at, costs, strict=True)))
    assert max(bilinear(one, *at)[0, 0] for one in g) < 1e-9  # a point of the region, or of its edge


def _distance(model: FittedModel, n: int, old: Any, new: Any) -> float:
    """The fraction of the rows between two levels, as the docstring of `counterfactuals` says."""
    mode, p = model.encoding.modes[n], model.encoding.marginals[n]
    if not isinstance(mode, OrdinalMode):
        return 0.0 if old == new else 0.5
    G = len(mode.grid)
    rows = model.n_samples * p[:G] + 1.0 / G
    reached = np.array([(rows[:i].sum() + 0.5 * rows[i]) / rows.sum() for i in range(G)])
    if mode.linear:
        return float(abs(np.interp(new, mode.grid, reached) - np.interp(old, mode.grid, reached)))
    start, end = (np.abs(mode.grid - x).argmin() for x in (old, new))
    return float(abs(reached[end] - reached[start]))


def _nearest(model: FittedModel, row: pd.DataFrame, changed: tuple[str, ...], index: int, points: int) -> float:
    """The smallest distance, over a grid of the changed predictors, at which the class is the likeliest."""
    values = []
    for name in changed:
        mode = model.encoding.modes[row.columns.get_loc(name)]
        if not isinstance(mode, OrdinalMode):
            values.append(list(mode.categories))
        else:
            ends = mode.grid[0], mode.grid[-1]
            values.append(np.union1d(mode.grid, np.linspace(*ends, points) if mode.linear else []).tolist())
    cells = pd.DataFrame(list(product(*values)), columns=list(changed))
    X = pd.DataFrame({name: cells[name] if name in changed else row[name].iloc[0] for name in row.columns}, cells.index)
    reached = probabilities(model, X).argmax(axis=1) == index
    distances = [
        sum(
            _distance(model, row.columns.get_loc(name), row[name].iloc[0], value)
            for name, value in zip(changed, cell, strict=True)
        )
        for cell in cells[reached].itertuples(index=False)
    ]
    return min(distances, default=np.inf)


COUNTERFACTUAL_KINDS = [*KINDS, "two, constant, without draws", "three, constant, without draws", "three, constant"]


@pytest.mark.parametrize("kind", COUNTERFACTUAL_KINDS)
def test_nothing_on_grids_is_nearer_to_a_class(models: dict[str, FittedModel], table: pd.DataFrame, kind: str) -> None:
    model = models[kind]
    labels, interpolates, exact = labels_of(model), "constant" not in kind, "without draws" in kind
    for m, (index, label) in product((0, 5), enumerate(labels)):
        row = table.iloc[[m]]
        found = counterfactuals(model, row, to_class=label)
        assert found.prediction == labels[probabilities(model, row)[0].argmax()]
        for one in found.found:
            changed = row.assign(**{name: new for name, (_, new) in one.changes.items()})
            (p,) = probabilities(model, changed)
            assert labels[p.argmax()] == one.prediction == one.to_class == label
            assert_allclose(p[index], one.probability, rtol=1e-9)
        if found.prediction == label:
            assert [one.changes for one in found.found] == [{}]
            continue
        by_names = {tuple(one.changes): one.distance for one in found.found}
        for count in (1, 2):
            for names in combinations(row.columns, count):
                singles = min((by_names[name,] for name in names if (name,) in by_names), default=np.inf)
                at_best = min(by_names.get(names, np.inf), singles)
                nearest = _nearest(model, row, names, index, 200 if count == 1 else 20)
                slack = 1e-5 if exact and (count == 1 or "two" in kind or not interpolates) else 0.12
                assert nearest >= at_best - slack
                if count == 1:
                    assert np.isinf(nearest) == np.isinf(at_best)
                    assert np.isinf(nearest) or at_best <= nearest + (0.01 if exact else 0.05)


@pytest.mark.parametrize("kind", ["three", "two, without draws"])
def test_if_no_change_suffices_the_closest_has_its_probability(
    models: dict[str, FittedModel], table: pd.DataFrame, kind: str
) -> None:
    model = models[kind]
    labels = labels_of(model)
    X = table.assign(p=probabilities(model, table)[:, 0]).sort_values("p")
    row = X.drop(columns="p").iloc[[0]]  # as far from the first class as any
    found = counterfactuals(model, row, to_class=labels[0], features="town", most_changes=1)
    assert found.found == ()
    assert found.furthest is not None
    changed = row.assign(**{name: new for name, (_, new) in found.furthest.changes.items()})
    assert_allclose(found.furthest.probability, probabilities(model, changed)[0, 0], rtol=1e-9)
    assert f"probability of {labels[0]} " in str(found)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_predict_confirms_a_class_that_the_mean_latent_value_suggests() -> None:
    """In "b", the mean of the draws is above zero, but two of three draws are far below it."""
    table = pd.DataFrame({"c": ["a", "b", "b", "c"] * 10})
    fit = BayesianCSIDClassifier(
        rank=1, prior="medium", effort="fast", n_chains=1, n_burn=2, n_draws=3, whole_numbers="number", random_state=0
    ).fit(table, table["c"] == "c")
    (group,) = fit.posterior_.groups
    latent = np.array([[-1.0, -1.0, -1.0], [-1.0, -1.0, 2.2], [1.0, 1.0, 1.0]])  # categories by draws
    group = replace(group, factors=(latent.astype(np.float32),), V=np.ones((1, 3)), bias=np.zeros((3, 1)))
    posterior = replace(fit.posterior_, groups=(replace(group, ranks=np.ones(3, int), weights=np.full(3, 1 / 3)),))
    model = replace(fit.fitted_, tensor=posterior.mean, posterior=posterior)
    assert model.means(pd.DataFrame({"c": ["b"]}), 1)[0, 0] > 0.05
    (found,) = counterfactuals(model, pd.DataFrame({"c": ["a"]}), to_class=True).found
    assert found.changes == {"c": ("a", "c")}
    assert found.prediction is True


def test_a_latent_value_may_be_the_goal(models: dict[str, FittedModel], table: pd.DataFrame) -> None:
    for kind in ("two", "three"):
        model, row = models[kind], table.iloc[[3]]
        for k, label in enumerate(labels_of(model)):
            values = model.means(row, 1)[0]
            start = values[k] if kind == "three" else (values[0] if k else -values[0])
            found = counterfactuals(model, row, above=start + 0.05, output=label)
            assert_allclose(found.prediction, start)
            assert found.found
            assert all(one.prediction > start + 0.05 and one.probability is None for one in found.found)


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (
            "two",
            {},
            "below=None, above=None, to_class=None: give one of them, the class that must become the likeliest",
        ),
        ("two", {"below": 1.0, "to_class": "no"}, r"below=1\.0, above=None, to_class='no': give one of them"),
        ("three", {"to_class": "fox"}, "to_class='fox': give a label of the model, which are 'cat', 'dog', 'emu'"),
        ("three", {"below": 0.0}, "output=None: the model has 3 outputs; give one of them, such as 'cat'"),
        ("three", {"below": 0.0, "output": 1}, "output=1: give a label of the model"),
    ],
)
def test_counterfactuals_say_what_they_need(
    models: dict[str, FittedModel], table: pd.DataFrame, kind: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        counterfactuals(models[kind], table.iloc[[0]], **options)


def test_bands_need_draws(models: dict[str, FittedModel], table: pd.DataFrame) -> None:
    with pytest.raises(TypeError, match=r"draws=True needs posterior draws, .*: fit a BayesianCSIDClassifier"):
        shapley_values(models["two, without draws"], table[:2], draws=True)


def test_regressors_have_no_classes(models: dict[str, FittedModel]) -> None:
    X = np.random.default_rng(0).uniform(size=(60, 2))
    model = CSIDRegressor(rank=1, max_iter=2, random_state=0).fit(X, np.column_stack([X[:, 0], X[:, 1]]))
    with pytest.raises(ValueError, match="to_class='a': CSIDRegressor has no classes; give below or above"):
        counterfactuals(model, X[0], to_class="a")
    with pytest.raises(ValueError, match="scale='probability' is for classifiers: leave it at 'latent'"):
        partial_dependence(model, "x0", scale="probability")
    with pytest.raises(ValueError, match="scale='odds': give 'latent' or 'probability'"):
        partial_dependence(models["two"], "a", scale="odds")  # type: ignore[arg-type]
    assert_allclose(shapley_values(model, X, output="y2"), shapley_values(model, X)[..., 1])
    assert_allclose(sobol_indices(model, output=0).total, sobol_indices(model).total[:, 0])
    with pytest.raises(ValueError, match=r"output='y3': the model has 2 output\(s\); give a number from 0 to 1, or a"):
        shapley_values(model, X, output="y3")
