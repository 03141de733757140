"""A table becomes levels and weights: where values fall, what missing and unseen cells mean, and what levels see."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from csid import CSIDRegressor
from csid._kernels.positions import as_numbers
from csid.encoding import CategoricalMode, EncodedRows, Encoding, Levels, OrdinalMode, fit_encoding
from csid.encoding.columns import Column
from csid.encoding.encoding import auto_levels, encode_columns

Array = NDArray[np.float64]

seeds = st.integers(0, 2**32 - 1)


def fit(
    X: Any, levels: Any = 8, interpolation: Any = "linear", missing: Any = "marginalize", **options: Any
) -> tuple[Encoding, EncodedRows]:
    """The encoding of a table whose rows all have weight one, unless told otherwise."""
    n_rows, n_columns = X.shape
    defaults: dict[str, Any] = {
        "names": [f"x{n}" for n in range(n_columns)],
        "weights": np.ones(n_rows),
        "train": np.arange(n_rows),
        "categorical": [None] * n_columns,
    }
    return fit_encoding(X, n_rows, levels=Levels(levels, interpolation, missing), **(defaults | options))


def level_weights(encoding: Encoding, rows: EncodedRows, n: int) -> Array:
    """`w_n(x)` of every row, (M, I_n), by its definition."""
    levels = int(encoding.levels[n])
    W = np.zeros((len(rows.codes), levels))
    for m, code in enumerate(rows.codes[:, n]):
        t = float(rows.fractions[m, n]) if len(rows.fractions) else 0.0
        if code == levels:
            W[m] = encoding.marginals[n]
        else:
            W[m, code] += 1.0 - t
            if t > 0.0:
                W[m, code + 1] += t
    return W


# --- where a number falls -----------------------------------------------------------------------------------------


@given(seeds, st.integers(1, 9))
def test_constant_interpolation_takes_the_nearest_level(seed: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    encoding, _ = fit(rng.normal(size=(50, 1)), levels=levels, interpolation="constant")
    x = 3 * rng.normal(size=(50, 1))
    rows = encoding.encode(x, 50)
    grid = encoding.modes[0].grid
    assert_array_equal(rows.codes[:, 0], np.abs(x - grid).argmin(axis=1))
    assert rows.fractions.shape == (0, 1)


@pytest.mark.parametrize("levels", [1, 2, 3, 255, 300])
@pytest.mark.parametrize("linear", [False, True])
def test_many_values_fall_where_a_sorted_search_says(levels: int, linear: bool) -> None:
    rng = np.random.default_rng(levels)
    grid = np.sort(rng.normal(size=levels))
    middles = 0.5 * grid[1:] + 0.5 * grid[:-1]
    x = rng.permutation(np.concatenate([2.0 * rng.normal(size=700), grid, middles, [np.nan]]))
    codes, fractions = np.empty(len(x), np.uint16), np.empty(len(x), np.float32)
    OrdinalMode("x", grid, linear, False).encode(Column("x", x), codes, fractions if linear else None)
    expected = np.maximum(np.searchsorted(grid, x, "right") - 1, 0) if linear else np.searchsorted(middles, x)
    expected[np.isnan(x)] = levels
    assert_array_equal(codes, expected)


@given(seeds, st.integers(2, 9))
def test_linear_weights_give_a_value_back_between_the_outer_levels_and_clamp_beyond(seed: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    encoding, _ = fit(rng.normal(size=(50, 1)), levels=levels)
    grid = encoding.modes[0].grid
    x = np.concatenate([3 * rng.normal(size=50), grid])
    W = level_weights(encoding, encoding.encode(x[:, None], len(x)), 0)
    assert_allclose(W.sum(axis=1), 1.0, rtol=1e-14)
    assert (W >= 0).all()
    assert (np.count_nonzero(W, axis=1) <= 2).all()
    assert_allclose(W @ grid, np.clip(x, grid[0], grid[-1]), rtol=0, atol=1e-7 * np.ptp(grid))


def test_values_on_a_level_have_no_fraction() -> None:
    encoding, _ = fit(np.array([[0.0], [1.0], [4.0]]))
    rows = encoding.encode(np.array([[0.0], [1.0], [4.0], [-1.0], [9.0]]), 5)
    assert rows.codes[:, 0].tolist() == [0, 1, 2, 0, 2]
    assert not rows.fractions.any()


# --- missing and unseen cells -------------------------------------------------------------------------------------


@pytest.fixture
def table() -> pd.DataFrame:
    return pd.DataFrame({"x": [0.0, np.nan, 2.0, 2.0, 1.0], "c": ["u", "v", None, "v", "v"]})


def test_a_missing_cell_has_the_code_behind_the_last_level(table: pd.DataFrame) -> None:
    encoding, rows = fit(table)
    assert encoding.levels.tolist() == [3, 2]
    assert rows.codes.tolist() == [[0, 0], [3, 1], [2, 2], [2, 1], [1, 1]]


def test_missing_can_be_a_level_of_its_own(table: pd.DataFrame) -> None:
    encoding, rows = fit(table, missing="level")
    assert encoding.levels.tolist() == [4, 3]
    assert encoding.ordered.tolist() == [3, 0]  # the level of missing cells has no neighbours
    assert [mode.level_names for mode in encoding.modes] == [[0.0, 1.0, 2.0, None], ["u", "v", None]]
    assert rows.codes.tolist() == [[0, 0], [3, 1], [2, 2], [2, 1], [1, 1]]
    assert_allclose(encoding.marginals[0], [0.2, 0.2, 0.4, 0.2])
    assert_allclose(encoding.marginals[1], [0.2, 0.6, 0.2])


def test_missing_has_no_level_where_training_has_none(table: pd.DataFrame) -> None:
    encoding, _ = fit(table.iloc[[0, 3, 4]], missing="level")
    assert encoding.levels.tolist() == [3, 2]
    assert encoding.encode(table, 5).codes[[1, 2], [0, 1]].tolist() == [3, 2]


def test_an_unseen_category_has_the_code_behind_the_last_level(table: pd.DataFrame) -> None:
    for missing, code in (("marginalize", 2), ("level", 3)):
        encoding, _ = fit(table, missing=missing)
        assert encoding.encode(pd.DataFrame({"x": [0.0], "c": ["w"]}), 1).codes[0, 1] == code


@pytest.mark.parametrize("interpolation", ["linear", "constant"])
def test_marginals_are_the_weighted_mean_of_level_weights_over_observed_training_rows(interpolation: str) -> None:
    rng = np.random.default_rng(0)
    x = np.where(rng.uniform(size=60) < 0.2, np.nan, rng.normal(size=60))
    table = pd.DataFrame({"x": x, "c": rng.choice(["u", "v", None], 60)})
    weights, train = rng.uniform(0.5, 2, 60), np.sort(rng.choice(60, 40, replace=False))
    encoding, rows = fit(table, weights=weights, train=train, interpolation=interpolation, levels=5)
    for n, name in enumerate(table):
        seen = train[table[name].notna().to_numpy()[train]]
        W = level_weights(encoding, rows, n)
        assert_allclose(encoding.marginals[n], weights[seen] @ W[seen] / weights[seen].sum(), rtol=1e-12)


def test_a_missing_or_unseen_cell_is_predicted_by_the_average_over_levels() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=200), "c": rng.choice(["u", "v", "w"], 200), "z": rng.normal(size=200)})
    y = X["x"] * X["c"].map({"u": 1.0, "v": -1.0, "w": 2.0}) + X["z"] ** 2
    model = CSIDRegressor(rank=3, max_iter=10, random_state=0, levels=6, early_stopping=False).fit(X, y)
    levels, (p_x, p_c, _) = model.levels_, model.encoding_.marginals
    assert_allclose(p_c, [(X["c"] == c).mean() for c in levels["c"]])

    def value(x: Any, c: Any) -> float:
        return float(model.predict(pd.DataFrame({"x": [x], "c": pd.Series([c], dtype=object), "z": [0.3]}))[0])

    over_c = sum(p * value(0.5, c) for p, c in zip(p_c, levels["c"], strict=True))
    assert_allclose(value(0.5, "never seen"), over_c, rtol=1e-12)
    assert_allclose(value(0.5, None), over_c, rtol=1e-12)
    over_x = sum(p * value(x, "u") for p, x in zip(p_x, levels["x"], strict=True))
    assert_allclose(value(np.nan, "u"), over_x, rtol=1e-12)
    both = sum(
        p * q * value(x, c)
        for p, x in zip(p_x, levels["x"], strict=True)
        for q, c in zip(p_c, levels["c"], strict=True)
    )
    assert_allclose(value(np.nan, "never seen"), both, rtol=1e-12)


def test_numbers_where_words_were_categories_are_refused() -> None:
    encoding, _ = fit(pd.DataFrame({"c": ["1", "2"]}))
    with pytest.raises(ValueError, match=r"column 'c' holds 1 \(int\) in row 1, but.*'1' \(str\): convert the column"):
        encoding.encode(pd.DataFrame({"c": [1, 2]}), 2)
    encoding, _ = fit(pd.DataFrame({"c": [1, 2]}), categorical=[True])
    with pytest.raises(ValueError, match=r"column 'c' holds '2' \(str\) in row 2, but.*1 \(int\): convert the column"):
        encoding.encode(pd.DataFrame({"c": [None, "2"]}), 2)


# --- columns with little information ----------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["marginalize", "level"])
@pytest.mark.parametrize(
    "column",
    [
        pd.Series(np.full(40, np.nan)),
        pd.Series([None] * 40, dtype="string"),
        pd.Series(np.full(40, 7.0)),
        pd.Series(["only"] * 40),
        pd.Series([None, "only"] * 20),
        pd.Series([np.nan, 7.0] * 20),
    ],
    ids=["all missing", "all missing words", "constant", "one category", "one category or none", "one number or none"],
)
def test_a_column_with_little_information_is_accepted(column: pd.Series, missing: str) -> None:
    x = np.linspace(-1, 1, 40)
    table = pd.DataFrame({"x": x, "dull": column})
    model = CSIDRegressor(rank=2, max_iter=10, random_state=0, missing=missing, levels=10).fit(table, x**2)
    assert model.encoding_.levels[1] <= 2
    assert_allclose(model.encoding_.marginals[1].sum(), 1.0)
    assert model.score(table, x**2) > 0.9
    assert np.isfinite(model.predict(table.assign(dull=pd.Series([None] * 40, dtype=column.dtype)))).all()


def test_one_level_is_accepted() -> None:
    x = np.linspace(-1, 1, 40)[:, None]
    model = CSIDRegressor(rank=2, max_iter=5, random_state=0, levels=1).fit(x, x[:, 0])
    assert_allclose(model.levels_["x0"], [0.0], atol=1e-15)
    assert_allclose(model.predict(x), 0.0, atol=1e-12)


def test_kinds_of_modes() -> None:
    encoding, _ = fit(pd.DataFrame({"x": [0.0, 1.0], "c": ["b", "a"], "k": [5, 3]}), categorical=[None, None, True])
    x, c, k = encoding.modes
    assert isinstance(x, OrdinalMode)
    assert isinstance(c, CategoricalMode)
    assert isinstance(k, CategoricalMode)
    assert c.categories == ("a", "b")
    assert k.categories == (3, 5)


# --- many levels --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("categories", "dtype"), [(255, np.uint8), (256, np.uint16)])
def test_codes_are_bytes_up_to_255_levels(categories: int, dtype: type) -> None:
    names = [f"k{i:03}" for i in range(categories)]
    encoding, rows = fit(pd.DataFrame({"c": names}))
    assert rows.codes.dtype == dtype
    assert rows.codes[:, 0].tolist() == list(range(categories))
    assert encoding.encode(pd.DataFrame({"c": [None, "new", "k001"]}), 3).codes[:, 0].tolist() == [
        categories,
        categories,
        1,
    ]


def test_twenty_thousand_categories_fit_and_predict() -> None:
    rng = np.random.default_rng(0)
    effect = rng.normal(size=20_000)
    c = np.tile(np.arange(20_000), 2)
    table = pd.DataFrame({"c": c.astype(str), "x": rng.uniform(size=40_000)})
    model = CSIDRegressor(rank=2, max_iter=3, random_state=0, early_stopping=False, levels=4).fit(table, effect[c])
    assert model.encoding_.levels[0] == 20_000
    assert model.score(table, effect[c]) > 0.95
    assert np.isfinite(model.predict(pd.DataFrame({"c": ["20000"], "x": [0.5]}))).all()


def test_more_categories_than_codes_are_refused_by_name() -> None:
    names = [str(i) for i in range(65_536)]
    with pytest.raises(ValueError, match=r"column 'c' has 65536 categories; at most 65535 .*Group rare categories"):
        fit(pd.DataFrame({"c": names}))
    encoding, rows = fit(pd.DataFrame({"c": names[:-1]}))
    assert encoding.levels[0] == 65_535
    assert encoding.encode(pd.DataFrame({"c": ["new"]}), 1).codes[0, 0] == 65_535
    assert rows.codes.max() == 65_534


def test_the_level_of_missing_cells_needs_a_code_too() -> None:
    names = [str(i) for i in range(65_535)]
    with pytest.raises(ValueError, match=r"column 'c' has 65535 categories.*one of them for missing cells"):
        fit(pd.DataFrame({"c": [*names, None]}), missing="level")
    x = np.append(np.arange(65_535.0), np.nan)[:, None]
    encoding, rows = fit(x, levels=65_535, missing="level")
    assert encoding.levels[0] <= 65_535
    assert rows.codes[-1, 0] == encoding.levels[0] - 1
    assert rows.codes[:-1, 0].max() < encoding.levels[0] - 1


@pytest.mark.parametrize(("rows", "predictors", "levels"), [(10, 3, 16), (3000, 3, 250), (10**6, 3, 255), (400, 5, 20)])
def test_automatic_levels_are_a_quarter_of_the_rows_per_predictor_within_bounds(
    rows: int, predictors: int, levels: int
) -> None:
    assert auto_levels(rows, predictors) == levels


# --- levels see training rows only --------------------------------------------------------------------------------


def test_rows_of_zero_weight_do_not_influence_levels() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=80), "c": rng.choice(["u", "v"], 80)})
    weights = np.ones(80)
    table.loc[:4, "x"], table.loc[:4, "c"], weights[:5] = 1e6, "odd", 0.0
    model = CSIDRegressor(rank=2, max_iter=2, random_state=0, levels=6).fit(table, table["x"], weights)
    without = CSIDRegressor(rank=2, max_iter=2, random_state=0, levels=6).fit(table[5:], table["x"][5:])
    assert model.levels_ == without.levels_
    assert model.levels_["x"][-1] < 10
    assert model.levels_["c"] == ["u", "v"]
    for p, q in zip(model.encoding_.marginals, without.encoding_.marginals, strict=True):
        assert_array_equal(p, q)


def test_held_out_rows_do_not_influence_levels() -> None:
    x = np.random.default_rng(0).permutation(np.arange(200.0))
    table = pd.DataFrame({"x": x, "c": [f"k{v:.0f}" for v in x]})  # every row has a value and a category of its own
    model = CSIDRegressor(rank=2, max_iter=2, random_state=0, levels=200, early_stopping=True, validation_fraction=0.3)
    model.fit(table, x)
    assert model.n_samples_ == 140
    assert len(model.levels_["x"]) == 140
    assert model.levels_["c"] == sorted(f"k{v:.0f}" for v in model.levels_["x"])


def test_rows_given_for_validation_do_not_influence_levels() -> None:
    x = np.arange(50.0)[:, None]
    model = CSIDRegressor(rank=2, max_iter=2, random_state=0, levels=99).fit(
        x, x[:, 0], X_val=100 + x, y_val=100 + x[:, 0]
    )
    assert model.levels_["x0"] == x[:, 0].tolist()


# --- positions of training rows -----------------------------------------------------------------------------------


@given(seeds)
def test_training_positions_are_multiples_of_a_step_in_any_type(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2))
    encoding, rows = fit(X)
    as_they_fall = encoding.encode(X, 60)
    codes, short = np.empty((60, 2), np.uint8, order="F"), np.empty((60, 2), np.uint16, order="F")
    encode_columns(encoding.modes, X, codes, short)
    assert_array_equal(codes, rows.codes)
    assert_array_equal(short, np.minimum(np.floor(as_numbers(rows.fractions) * 65536 + 0.5), 65535))
    assert_array_equal(as_numbers(short), as_numbers(rows.fractions))
    assert np.abs(as_numbers(short) - as_they_fall.fractions).max() <= 2.0**-16
    assert_array_equal(rows.fractions, encoding.encode_training(X, 60).fractions)


def test_scores_are_the_standardised_values_of_levels() -> None:
    rng = np.random.default_rng(0)
    number = np.where(rng.random(200) < 0.2, np.nan, rng.gamma(2.0, size=200).round(1))
    X = pd.DataFrame(
        {
            "number": number,
            "word": rng.choice(["u", "v"], 200),
            "same": 7.0,
            "huge": 1e300 * number,
            "tiny": 1e-300 * number,
        }
    )
    encoding, _ = fit(X, missing="level", levels=12)
    scores = encoding.standardised_levels
    grid, p = encoding.modes[0].grid, encoding.marginals[0]
    share = p[:-1] / p[:-1].sum()
    deviation = np.sqrt(share @ (grid - share @ grid) ** 2)
    assert_allclose(scores[0][:-1], np.clip((grid - share @ grid) / deviation, -4.0, 4.0), rtol=1e-9)
    assert scores[0][-1] == 0.0  # "missing" has no value
    assert_array_equal(scores[1], [0.0, 0.0])
    assert not scores[2].any()
    assert_allclose(scores[3], scores[0], rtol=1e-6)


def test_scores_of_levels_far_off_are_cut_off() -> None:
    encoding, _ = fit(pd.DataFrame({"x": [*np.linspace(0.0, 1.0, 99), 1e6]}), levels=100)
    assert encoding.standardised_levels[0].max() == 4.0


@given(seeds, st.booleans())
def test_numbers_are_looked_up_as_their_categories_are(seed: int, missing_level: bool) -> None:
    """An array of numbers and the list of its values have the same codes, whatever the order of the categories."""
    rng = np.random.default_rng(seed)
    categories = rng.permutation([-3, 0, 1.5, 2, 7, 2**40])[: rng.integers(1, 7)]
    mode = CategoricalMode("c", tuple(int(c) if c.is_integer() else c for c in categories.tolist()), missing_level)
    values = np.append(rng.choice([-3, 0, 1.5, 2, 7, 2**40, 9, -0.0], 30), [np.nan, 1e300])
    codes = np.empty((2, len(values)), np.uint8)
    for column, filled in zip((values, Column("c", values).values()), codes, strict=True):
        mode.encode(Column("c", column), filled, None)
    assert_array_equal(*codes)
