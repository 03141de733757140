"""Bounds of censored targets as columns: what goes in comes out, and bad bounds are refused with the row."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import csid
from csid.data.censored_targets import CensoredTargets, bounds_of, coded, is_known

Array = np.ndarray

finite = st.floats(-1e6, 1e6)
bounds = st.lists(
    st.one_of(
        finite.map(lambda value: (value, value)),
        finite.map(lambda value: (value, np.inf)),
        finite.map(lambda value: (-np.inf, value)),
        st.tuples(finite, finite).map(lambda pair: (min(pair), max(pair))),
    ),
    min_size=1,
    max_size=20,
)


@given(bounds, st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
def test_bounds_survive_their_columns_in_any_units(
    pairs: list[tuple[float, float]], centre: float, scale: float
) -> None:
    lower, upper = np.array(pairs).T
    targets = coded(lower, upper)
    assert np.isfinite(targets).all()
    assert_array_equal(is_known(targets), lower == upper)
    same = {"rtol": 1e-9, "atol": 1e-6}
    for found, exact in zip(bounds_of(targets), (lower, upper), strict=True):
        assert_allclose(found, exact, **same)
    assert_array_equal(np.array(bounds_of(targets))[:, lower == upper], [lower[lower == upper]] * 2)
    if (targets[:, 1] >= 0.0).any():
        means = np.array([centre, targets[:, 1].mean(), targets[:, 2].mean()])
        units = CensoredTargets().units(means, np.full(3, scale))
        for found, exact in zip(bounds_of((targets - units[0]) / units[1]), (lower, upper), strict=True):
            assert_allclose(centre + scale * found, exact, **same)


def test_targets_of_every_form_are_read() -> None:
    lower, upper = np.array([1.0, -np.inf, 2.0]), np.array([1.0, 0.5, np.inf])
    exact = coded(lower, upper)
    for y in (
        csid.censored(lower, upper),
        csid.censored(list(lower), pd.Series(upper)),
        pd.DataFrame({"lower": lower, "upper": upper}),
        pl.DataFrame({"upper": upper, "lower": lower}),
    ):
        assert_array_equal(CensoredTargets().read(y, 3), exact)
    assert_array_equal(
        CensoredTargets().read([1, 2, 4], 3), coded(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 4.0]))
    )
    assert csid.censored(0.0, [0.0, 1.0]).tolist() == [(0.0, 0.0), (0.0, 1.0)]


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        (
            [0.0, 2.0],
            [0.0, 1.0],
            r"lower=2, upper=1 in row 2 .*lower bound is above the upper one: give lower <= upper",
        ),
        ([0.0, np.nan], [0.0, 1.0], r"in row 2 .*a bound is NaN: give -inf or inf"),
        ([-np.inf, 0.0], [np.inf, 1.0], r"in row 1 .*there is no bound: drop the rows"),
        ([0.0, np.inf], [0.0, np.inf], r"in row 2 .*no number is between the bounds"),
        (["a"], [1.0], "lower must hold numbers only"),
        ([[1.0]], [[1.0]], "have 2 dimensions: give one bound for each row"),
    ],
)
def test_bad_bounds_are_refused(lower: Any, upper: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        csid.censored(lower, upper)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros((3, 2)), r"y has shape \(3, 2\), .*give y=csid.censored\(lower, upper\)"),
        (pd.DataFrame({"low": [1.0] * 3, "high": [1.0] * 3}), r"y has the columns 'low', 'high', but needs 'lower'"),
        (csid.censored([1.0], [1.0]), "inconsistent numbers of samples: X 3, y 1"),
        ([1.0, np.nan, 2.0], "Input y contains NaN, first in row 2"),
        (csid.censored([1.0, 1e300, 2.0], [1.0, np.inf, 2.0]), r"in row 2, but targets must be within"),
    ],
)
def test_other_targets_are_refused(y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CensoredTargets().read(y, 3)


def test_rows_that_are_all_open_are_refused() -> None:
    targets = coded(np.array([1.0, -np.inf, 3.0]), np.array([np.inf, 2.0, np.inf]))
    with pytest.raises(ValueError, match=r"all rows of y are censored on one side.* add rows whose value is known"):
        CensoredTargets().units(targets.mean(axis=0), targets.std(axis=0))
