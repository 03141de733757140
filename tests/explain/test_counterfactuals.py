"""Counterfactuals, against predictions on dense grids of one and two predictors."""

from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from csid import BayesianCSIDRegressor, CSIDRegressor
from csid.encoding import OrdinalMode
from csid.explain import Counterfactual, counterfactuals
from csid.explain.nearest import nearest_point
from csid.explain.paths import Path

Array = NDArray[np.float64]


# --- the closed form ----------------------------------------------------------------------------------------------


def straight(costs: Array) -> Path:
    """A path of places one after the other."""
    k = np.arange(len(costs))
    return Path(0.0, k.astype(float).tolist(), k.astype(float), costs, k[:-1], k[1:])


def bilinear(g: Array, s: Array, t: Array) -> Array:
    """Values (S, T) at positions between the places of g."""
    i, j = (np.minimum(x.astype(int), m - 2) for x, m in zip((s, t), g.shape, strict=True))
    u, v = (s - i)[:, None], t - j
    return (
        (1 - u) * (1 - v) * g[np.ix_(i, j)]
        + u * (1 - v) * g[np.ix_(i + 1, j)]
        + (1 - u) * v * g[np.ix_(i, j + 1)]
        + u * v * g[np.ix_(i + 1, j + 1)]
    )


@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(2, 4), st.booleans())
def test_no_point_of_a_dense_grid_is_nearer(seed: int, first: int, second: int, free: bool) -> None:
    rng = np.random.default_rng(seed)
    g = rng.normal(size=(first, second)) + 0.5
    steps = [rng.random(n - 1) * (rng.random(n - 1) < 0.7 if free else 1.0) for n in (first, second)]
    costs = [np.append(0.0, np.cumsum(step)) for step in steps]
    found = nearest_point(g, *map(straight, costs))
    grids = [np.linspace(0.0, n - 1.0, 60 * (n - 1) + 1) for n in (first, second)]
    dense = [np.interp(grid, np.arange(len(c)), c) for grid, c in zip(grids, costs, strict=True)]
    reached = np.where(bilinear(g, *grids) < 0.0, dense[0][:, None] + dense[1], np.inf)
    if found is None:
        assert np.isinf(reached).all()
        return
    assert found.cost <= reached.min() + 1e-9
    at = [np.array([spot.piece + spot.fraction]) for spot in found.spots]
    assert_allclose(found.cost, sum(np.interp(p, np.arange(len(c)), c) for p, c in zip(at, costs, strict=True)))
    assert bilinear(g, *at)[0, 0] < 1e-9  # a point of the region, or of its edge
    beyond = [p + 1e-6 * spot.goes_on for p, spot in zip(at, found.spots, strict=True)]
    assert bilinear(g, *beyond)[0, 0] < 0.0


def test_the_nearest_point_of_a_hyperbola_is_inside_a_cell() -> None:
    """1 - 4 s t is zero nearest to the corner at s = t = 1/2, and with costs a, b where a s = b t."""
    g = np.array([[1.0, 1.0], [1.0, -3.0]])
    found = nearest_point(g, straight(np.array([0.0, 1.0])), straight(np.array([0.0, 1.0])))
    assert found is not None
    assert_allclose([found.cost, *(spot.fraction for spot in found.spots)], [1.0, 0.5, 0.5])
    uneven = nearest_point(g, straight(np.array([0.0, 1.0])), straight(np.array([0.0, 2.0])))
    assert uneven is not None
    assert_allclose([spot.fraction for spot in uneven.spots], [np.sqrt(0.5), np.sqrt(0.125)])


# --- of a fitted estimator ----------------------------------------------------------------------------------------

KINDS = ["linear", "constant", "levels for missing cells", "joint", "two outputs", "bayesian"]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    frame = pd.DataFrame(
        {
            "a": x,
            "b": x + rng.normal(size=400),
            "c": rng.integers(0, 4, 400).astype(float),
            "town": rng.choice(["Aalen", "Kehl", "Ulm"], 400, p=[0.6, 0.3, 0.1]),
        }
    )
    frame["y"] = frame["a"] * frame["b"] + frame["c"] * (frame["town"] == "Ulm") + np.sin(2 * frame["b"])
    frame.loc[::9, "b"] = np.nan
    frame.loc[::11, "town"] = None
    return frame


@pytest.fixture(scope="module")
def models(table: pd.DataFrame) -> dict[str, Any]:
    X, y = table.drop(columns="y"), table["y"].to_numpy()
    options = {"rank": 3, "levels": 6, "max_iter": 8, "random_state": 0}
    return {
        "linear": CSIDRegressor(pmf_rank=1, **options).fit(X, y),
        "constant": CSIDRegressor(pmf_rank=1, interpolation="constant", **options).fit(X, y),
        "levels for missing cells": CSIDRegressor(missing="level", **options).fit(X, y),
        "joint": CSIDRegressor(pmf_rank=3, **options).fit(X, y),
        "two outputs": CSIDRegressor(pmf_rank=1, **options).fit(X, np.column_stack([y, -y])),
        "bayesian": BayesianCSIDRegressor(
            rank=3, prior="medium", levels=6, effort="fast", n_chains=2, n_burn=10, n_draws=3, random_state=0
        ).fit(X, y),
    }


def rows_of(table: pd.DataFrame) -> pd.DataFrame:
    """Complete ones, and some that lack predictors."""
    return table.drop(columns="y").iloc[[1, 9, 11, 2]]


def predicted(model: Any, X: pd.DataFrame) -> Array:
    values = np.asarray(model.predict(X))
    return values[:, 1] if values.ndim == 2 else values


def fraction_between(model: Any, n: int, old: Any, new: Any) -> Any:
    """The distance by its definition; `new` may be an array."""
    mode, p = model.encoding_.modes[n], model.encoding_.marginals[n]
    if not isinstance(mode, OrdinalMode):
        return np.where(old == np.asarray(new), 0.0, 0.5)
    G = len(mode.grid)
    rows = model.n_samples_ * p[:G] + 1.0 / G
    reached = [(rows[:i].sum() + 0.5 * rows[i]) / rows.sum() for i in range(G)]
    if mode.linear:
        return np.abs(np.interp(new, mode.grid, reached) - np.interp(old, mode.grid, reached))
    level = [np.abs(mode.grid[:, None] - x).argmin(axis=0) for x in (old, np.asarray(new, float))]
    return np.abs(np.array(reached)[level[1]] - np.array(reached)[level[0]])


def dense_values(model: Any, n: int, points: int) -> list[Any]:
    mode = model.encoding_.modes[n]
    if not isinstance(mode, OrdinalMode):
        return list(mode.categories)
    if not mode.linear:
        return mode.grid.tolist()
    return np.unique(np.append(np.linspace(mode.grid[0], mode.grid[-1], points), mode.grid)).tolist()


def dense_distances(model: Any, row: pd.DataFrame, changed: tuple[int, ...], passes: Any, points: int) -> Array:
    """Of all points of a dense grid over some predictors at which the prediction passes."""
    names = row.columns
    values = [dense_values(model, n, points) for n in changed]
    cells = pd.DataFrame(list(product(*values)), columns=names[list(changed)])
    X = pd.DataFrame({name: cells[name] if name in cells else row[name].iloc[0] for name in names}, index=cells.index)
    X = X.astype(row.dtypes)
    costs = sum(fraction_between(model, n, row[names[n]].iloc[0], cells[names[n]].to_numpy()) for n in changed)
    return np.asarray(costs)[passes(predicted(model, X))]


def apply(row: pd.DataFrame, one: Counterfactual) -> pd.DataFrame:
    return row.assign(**{name: new for name, (_, new) in one.changes.items()})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("side", ["below", "above"])
def test_nothing_on_dense_grids_is_nearer(models: dict[str, Any], table: pd.DataFrame, kind: str, side: str) -> None:
    model = models[kind]
    for m in range(4):
        row = rows_of(table).iloc[[m]]
        start = predicted(model, row)[0]
        for gap in (0.3, 2.0):
            c = start - gap if side == "below" else start + gap

            def passes(values: Array, c: float = c) -> NDArray[np.bool_]:
                return values < c if side == "below" else values > c

            found = counterfactuals(model, row, output=1 if kind == "two outputs" else None, **{side: c})
            assert_allclose(found.prediction, start)
            known = [n for n, name in enumerate(row.columns) if not row[name].isna().iloc[0]]
            by_names = {tuple(one.changes): one for one in found.found}
            for changed in [*combinations(known, 1), *combinations(known, 2)]:
                names = tuple(row.columns[list(changed)])
                points = 400 if len(changed) == 1 else 25
                distances = dense_distances(model, row, changed, passes, points)
                singles = [by_names[name,].distance for name in names if (name,) in by_names]
                at_best = by_names[names].distance if names in by_names else min(singles, default=np.inf)
                assert distances.min(initial=np.inf) >= at_best - 1e-5
                if len(changed) == 1:
                    assert (names in by_names) == bool(len(distances))
                    assert distances.min(initial=np.inf) < at_best + 0.01 or not len(distances)
            for one in found.found:
                changed_row = apply(row, one)
                assert_allclose(predicted(model, changed_row), one.prediction, rtol=1e-12)
                assert passes(predicted(model, changed_row)).all()
                parts = [
                    float(np.squeeze(fraction_between(model, row.columns.get_loc(name), old, new)))
                    for name, (old, new) in one.changes.items()
                ]
                assert_allclose(one.distance, sum(parts), atol=1e-7)  # positions are in single precision
                assert all(old == row[name].iloc[0] for name, (old, _) in one.changes.items())
            order = [(len(one.changes), one.distance) for one in found.found]
            assert order == sorted(order)


@pytest.mark.parametrize("kind", KINDS)
def test_if_no_change_suffices_the_closest_is_given(models: dict[str, Any], table: pd.DataFrame, kind: str) -> None:
    model = models[kind]
    for m, most_changes in product(range(4), (1, 2)):
        row = rows_of(table).iloc[[m]]
        options = {"output": 1 if kind == "two outputs" else None, "most_changes": most_changes}
        found = counterfactuals(model, row, above=1e6, **options)
        assert found.found == ()
        assert found.furthest is not None
        assert str(found).startswith("no change suffices; the closest is ")
        assert_allclose(predicted(model, apply(row, found.furthest)), found.furthest.prediction)
        assert len(found.furthest.changes) <= most_changes
        known = [n for n, name in enumerate(row.columns) if not row[name].isna().iloc[0]]
        best = found.furthest.prediction

        def passes(values: Array, best: float = best) -> NDArray[np.bool_]:
            return values > best + 1e-4

        for changed in combinations(known, most_changes):
            assert not len(dense_distances(model, row, changed, passes, 25))
        beyond = counterfactuals(model, row, above=best - 1e-3, **options).found
        assert beyond
        assert all(one.prediction > best - 1e-3 for one in beyond)


def test_a_row_that_is_there_needs_no_change(models: dict[str, Any], table: pd.DataFrame) -> None:
    row = rows_of(table).iloc[[0]]
    found = counterfactuals(models["linear"], row, below=1e3)
    assert found.found == (Counterfactual({}, found.prediction, 0.0),)
    assert str(found) == f"no change: {found.prediction:.6g} (distance 0)"


def test_only_some_may_change(models: dict[str, Any], table: pd.DataFrame) -> None:
    row = rows_of(table).iloc[[0]]
    start = predicted(models["linear"], row)[0]
    found = counterfactuals(models["linear"], row, below=start - 0.2, features=["b", 2]).found
    assert {name for one in found for name in one.changes} <= {"b", "c"}
    (only,) = counterfactuals(models["linear"], row, below=start - 0.2, features="b", most_changes=1).found
    assert list(only.changes) == ["b"]
    assert "b from " in str(only)


def test_a_value_beyond_the_grid_counts_as_the_last_level(models: dict[str, Any], table: pd.DataFrame) -> None:
    model, row = models["linear"], rows_of(table).iloc[[0]].assign(a=100.0)
    found = counterfactuals(model, row, below=predicted(model, row)[0] - 0.5, features="a").found
    assert found[0].changes["a"][0] == 100.0
    assert found[0].changes["a"][1] < model.encoding_.modes[0].grid[-1]
    at_end = row.assign(a=model.encoding_.modes[0].grid[-1])
    again = counterfactuals(model, at_end, below=predicted(model, row)[0] - 0.5, features="a").found
    assert_allclose(found[0].distance, again[0].distance)


def test_rows_may_be_arrays_of_one_or_two_dimensions() -> None:
    X = np.random.default_rng(0).uniform(0, 1, (200, 1))
    model = CSIDRegressor(rank=1, random_state=0).fit(X, 3 * X[:, 0])
    expected = counterfactuals(model, X[:1], above=2.5)
    assert counterfactuals(model, X[0], above=2.5) == expected
    assert counterfactuals(model, [X[0, 0]], above=2.5) == expected
    assert expected.found[0].changes["x0"][1] == pytest.approx(2.5 / 3, abs=0.05)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "below=None, above=None: give one of them"),
        ({"below": 1.0, "above": 2.0}, r"below=1\.0, above=2\.0: give one of them"),
        ({"below": np.nan}, "below=nan: give a finite number"),
        ({"above": np.inf}, "above=inf: give a finite number"),
        ({"below": 0.0, "most_changes": 3}, "most_changes=3: give 1 or 2"),
        ({"below": 0.0, "output": 1}, "output=1: the model has 1 output\\(s\\); give a number from 0 to 0"),
        ({"below": -1e3, "features": ["d"]}, "no predictor 'd'"),
        ({"below": -1e3, "features": ["b"]}, "'b' is missing in the row, or a category never seen: it cannot change"),
    ],
)
def test_errors_name_the_argument(
    models: dict[str, Any], table: pd.DataFrame, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        counterfactuals(models["linear"], rows_of(table).iloc[[1]], **options)


def test_errors_name_the_row(models: dict[str, Any], table: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="row has 2 rows: give one"):
        counterfactuals(models["linear"], rows_of(table).iloc[:2], below=0.0)
    nothing = rows_of(table).iloc[[0]].assign(a=np.nan, b=np.nan, c=np.nan, town=None)
    with pytest.raises(ValueError, match="all of its predictors are missing"):
        counterfactuals(models["linear"], nothing, below=-1e3)
    with pytest.raises(ValueError, match="the model has 2 outputs; give one of them"):
        counterfactuals(models["two outputs"], rows_of(table).iloc[[0]], below=0.0)
    with pytest.raises(NotFittedError):
        counterfactuals(CSIDRegressor(), [[0.0]], below=0.0)
