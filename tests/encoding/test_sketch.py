"""Levels of a table that is seen in parts: those of the whole table, or close to them."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from csid.data.table import centre_and_scale
from csid.encoding import Encoding, LevelCounts, Levels, Moments, OrdinalMode, TableSketch, fit_encoding
from csid.encoding import sketch as sketches
from csid.encoding.columns import Column
from csid.encoding.lloyd_max import lloyd_max_levels
from csid.encoding.sketch import ColumnSketch

Array = NDArray[np.float64]
seeds = st.integers(0, 2**32 - 1)


def table(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """Numbers with few and with many values, words, booleans, and cells that are missing."""
    X = pd.DataFrame(
        {
            "many": rng.normal(size=rows),
            "few": rng.integers(0, 7, rows).astype(float),
            "word": rng.choice(list("abcdef"), rows),
            "flag": rng.random(rows) < 0.3,
        }
    )
    X.loc[rng.random(rows) < 0.2, "many"] = np.nan
    X.loc[rng.random(rows) < 0.2, "word"] = None
    return X


def in_parts(X: Any, edges: list[int]) -> list[Any]:
    return [X[start:stop] for start, stop in zip([0, *edges], [*edges, len(X)], strict=True)]


def sketched(X: Any, edges: list[int], weights: Array | None = None) -> TableSketch:
    """Every part in a sketch of its own that has travelled, all merged."""
    names = list(X.columns)
    whole = TableSketch(names, [None] * len(names))
    for part, mass in zip(in_parts(X, edges), in_parts(weights if weights is not None else X, edges), strict=True):
        one = TableSketch(names, [None] * len(names))
        one.update(part, len(part), None if weights is None else np.asarray(mass))
        whole.merge(pickle.loads(pickle.dumps(one)))
    return whole


def counted(sketch: TableSketch, X: Any, edges: list[int], levels: Levels) -> Encoding:
    modes = sketch.modes(levels)
    counts = LevelCounts(modes)
    plain = Encoding(modes, ())
    for part in in_parts(X, edges):
        rows = plain.encode_training(part, len(part))
        counts.merge(pickle.loads(pickle.dumps(_counts_of(modes, rows))))
    return Encoding(modes, counts.marginals())


def _counts_of(modes: Any, rows: Any) -> LevelCounts:
    counts = LevelCounts(modes)
    counts.update(rows.codes, rows.fractions)
    return counts


@pytest.mark.parametrize("interpolation", ["constant", "linear"])
@pytest.mark.parametrize("missing", ["marginalize", "level"])
@given(seed=seeds, edges=st.lists(st.integers(0, 300), max_size=6).map(sorted))
def test_a_table_in_parts_has_the_levels_and_marginals_of_the_whole(
    interpolation: Any, missing: Any, seed: int, edges: list[int]
) -> None:
    X = table(np.random.default_rng(seed), 300)
    levels = Levels("auto", interpolation, missing)
    whole, _ = fit_encoding(X, 300, list(X.columns), np.ones(300), np.arange(300), levels, [None] * 4)
    parts = counted(sketched(X, edges), X, edges, levels)
    for own, other, p, q in zip(parts.modes, whole.modes, parts.marginals, whole.marginals, strict=True):
        if isinstance(own, OrdinalMode) and isinstance(other, OrdinalMode):
            assert_array_equal(own.grid, other.grid)
            assert (own.linear, own.missing_level) == (other.linear, other.missing_level)
        else:
            assert own == other
        assert_array_equal(p, q)


@pytest.mark.parametrize("kind", ["normal", "cauchy", "exponential", "clumps"])
def test_a_long_column_in_parts_is_quantised_nearly_as_well(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sketches, "SKETCH_POINTS", 4096)
    rng = np.random.default_rng(0)
    draws = {
        "normal": rng.normal(size=200_000),
        "cauchy": np.clip(rng.standard_cauchy(200_000), -1e3, 1e3),
        "exponential": rng.exponential(size=200_000),
        "clumps": rng.integers(0, 40, 200_000) + 1e-3 * rng.normal(size=200_000),
    }
    values = draws[kind]
    one = ColumnSketch("column 'x'")
    for part in np.array_split(values, 64):
        one.update(Column("column 'x'", part))
    grid = one.mode("x", 64, "constant", "marginalize").grid  # type: ignore[union-attr]
    best = lloyd_max_levels(values, None, 64)
    assert _distortion(values, grid) < 1.03 * _distortion(values, best)


def _distortion(values: Array, grid: Array) -> float:
    nearest = grid[np.searchsorted(0.5 * (grid[1:] + grid[:-1]), values)]
    return float(((values - nearest) ** 2).mean())


def test_weights_and_training_rows_count_as_in_the_whole_table() -> None:
    rng = np.random.default_rng(1)
    X, weights = table(rng, 400), rng.integers(1, 5, 400).astype(float)
    train = np.sort(rng.permutation(400)[:300])
    levels = Levels(16, "linear", "marginalize")
    whole, _ = fit_encoding(X, 400, list(X.columns), weights, train, levels, [None, True, None, None])
    sketch = TableSketch(list(X.columns), [None, True, None, None])
    for start in range(0, 400, 70):
        part = X[start : start + 70]
        inside = train[(train >= start) & (train < start + 70)] - start
        sketch.update(part, len(part), weights[start : start + 70], inside)
    assert sketch.n_rows == 300
    assert_array_equal(sketch.modes(levels)[0].grid, whole.modes[0].grid)  # type: ignore[union-attr]
    assert sketch.modes(levels)[1:] == whole.modes[1:]


def test_a_part_without_values_takes_the_type_of_the_others() -> None:
    for parts in ([[None, None], ["a", "b"]], [["a", "b"], [None, None]]):
        one = ColumnSketch("column 'x'")
        for part in parts:
            data = np.full(2, np.nan) if part[0] is None else part
            one.update(Column("column 'x'", data))  # type: ignore[arg-type]
        assert one.mode("x", 8, "linear", "marginalize").level_names == ["a", "b"]


def test_types_that_differ_between_parts_are_named() -> None:
    one = ColumnSketch("column 'x'")
    one.update(Column("column 'x'", np.arange(3.0)))
    with pytest.raises(ValueError, match="column 'x' mixes types: numbers in one part of the rows, 'a' "):
        one.update(Column("column 'x'", ["a", "b"]))
    two = ColumnSketch("column 'y'")
    two.update(Column("column 'y'", ["a"]))
    two.update(Column("column 'y'", [True]))
    with pytest.raises(ValueError, match="column 'y' mixes types"):
        two.mode("y", 8, "linear", "marginalize")


def test_too_many_categories_are_refused_before_they_fill_the_memory() -> None:
    one = ColumnSketch("column 'id'")
    for start in range(0, 60_000, 10_000):
        one.update(Column("column 'id'", [f"u{m}" for m in range(start, start + 10_000)]))
    with pytest.raises(ValueError, match="column 'id' has 70000 categories; at most 65535"):
        one.update(Column("column 'id'", [f"v{m}" for m in range(10_000)]))


@given(seed=seeds, scale=st.sampled_from([1e-300, 1e-8, 1.0, 1e300]), edges=st.lists(st.integers(0, 60)).map(sorted))
def test_moments_in_parts_are_those_of_all_rows(seed: int, scale: float, edges: list[int]) -> None:
    rng = np.random.default_rng(seed)
    targets, weights = scale * rng.normal([3.0, 0.0], size=(60, 2)), rng.uniform(0, 2, 60)
    whole = Moments(2)
    for part, mass in zip(in_parts(targets, edges), in_parts(weights, edges), strict=True):
        one = Moments(2)
        one.update(part, mass)
        whole.merge(one)
    centre, scales = centre_and_scale(targets, weights)
    assert_allclose(whole.centre_and_scale()[0], centre, rtol=1e-10, atol=1e-12 * scale)
    assert_allclose(whole.centre_and_scale()[1], scales, rtol=1e-10)


def test_the_categories_of_whole_numbers_are_those_of_the_whole_table() -> None:
    rng = np.random.default_rng(0)
    X = table(rng, 300)
    X["gaps"] = np.where(rng.random(300) < 0.2, np.nan, rng.integers(-2, 3, 300))
    X["later"] = np.append(np.zeros(299), 0.5)
    sketch = sketched(X, [100, 180])
    found = sketch.whole_numbers(7)
    assert list(found) == [1, 4]
    assert_array_equal(found[4], [-2, -1, 0, 1, 2])
    assert list(sketch.whole_numbers(6)) == [4]
    levels = Levels(32, "linear", "level")
    flags = [True if n in found else None for n in range(6)]
    whole, _ = fit_encoding(X, 300, list(X), np.ones(300), np.arange(300), levels, flags)
    given = counted(sketch.as_categories(found), X, [100, 180], levels)
    assert given.modes[1:5] == whole.modes[1:5]
    assert [mode.n_ordered for mode in sketch.modes(levels)][4] == 5
    for p, q in zip(given.marginals, whole.marginals, strict=True):
        assert_allclose(p, q)
