"""A fitted model as plain data, and what has none."""

from copy import copy
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from csid import CSIDRegressor
from csid.description import Category, Number
from csid.export.description import describe
from export.systems import ALS, BAYESIAN_KINDS, JOINT_KINDS, fitted


def test_predictors_have_the_names_and_levels_of_the_columns() -> None:
    x, count, word, flag, code = describe(fitted("als")).predictors
    assert [p.name for p in (x, word, flag)] == ["x", 'wörd "quoted"', "__import__('os')"]
    assert isinstance(x, Number)
    assert isinstance(count, Number)
    assert count.grid.tolist() == list(range(9))
    assert isinstance(word, Category)
    assert word.categories == ("größer als\n'1'", "u", "v")
    assert isinstance(flag, Category)
    assert flag.categories == (False, True)
    assert isinstance(code, Category)
    assert code.categories == (1.5, 2, 7)
    assert isinstance(code.categories[1], int)


def test_a_missing_cell_is_averaged_over_or_has_a_level() -> None:
    for kind, own in (("als", False), ("als, missing as a level", True)):
        model = fitted(kind)
        described = describe(model)
        for predictor, A, p in zip(described.predictors, model.cpd_.factors, model.cpd_.marginals, strict=True):
            missing = predictor.rows[predictor.missing if isinstance(predictor, Category) else -1]
            assert_allclose(missing, A[-1] if own else p @ A)
            if isinstance(predictor, Category):
                assert_allclose(predictor.rows[predictor.unseen], p @ A)


@pytest.mark.parametrize("kind", BAYESIAN_KINDS)
def test_the_components_of_the_tensor_are_those_of_the_draws(kind: str) -> None:
    model = fitted(kind)
    described = describe(model)
    draws = described.draws
    assert draws is not None
    assert described.V.shape == (len(described.bias), draws.ranks.sum())
    assert (draws.shares > 0.0).all()
    parts = np.split(described.V, np.cumsum(draws.ranks)[:-1], axis=1)
    for part, share, draw in zip(parts, draws.shares, model.posterior_.draws, strict=True):
        assert_allclose(part / share, draw.V)
    assert_allclose(draws.shares @ draws.bias, described.bias)


@pytest.mark.parametrize("kind", JOINT_KINDS)
def test_draws_fill_in_missing_cells_as_the_posterior_does(kind: str) -> None:
    model = fitted(kind)
    classes = describe(model).classes
    assert classes is not None
    assert classes.pmf.classes.rank == 4
    if kind not in BAYESIAN_KINDS:
        assert classes.drawn.shape == (5, 0, 4)
        return
    posterior = model.posterior_
    draws, N = posterior.draws, len(classes.pmf.levels)
    assert classes.drawn.shape == (N, len(draws), 4)
    nothing = np.asarray(classes.pmf.levels, np.uint16)[None, :]
    fractions = np.zeros((0, N), np.float32)
    found = posterior.each(nothing, fractions)[:, 0]
    of_row = np.minimum(np.searchsorted(classes.pmf.classes.shares.cumsum(), classes.quantiles), 3)
    filled = [classes.drawn[:, d, c][None, :].astype(np.uint16) for d, c in enumerate(of_row)]
    expected = np.array([draw.evaluate(codes, fractions)[0] for draw, codes in zip(draws, filled, strict=True)])
    shares = posterior.shares
    assert_allclose(found - shares @ found, expected - shares @ expected, rtol=1e-9, atol=1e-9)


def test_other_estimators_are_refused() -> None:
    with pytest.raises(
        TypeError, match=r"a LinearRegression cannot be exported: give a fitted CSIDRegressor or .*skl2"
    ):
        describe(LinearRegression())
    with pytest.raises(NotFittedError):
        describe(CSIDRegressor())


@pytest.mark.parametrize("categories", [[b"a", b"b"], [2**53 + 1, 3], [Decimal("0.1"), Decimal("0.2")]])
def test_categories_that_no_other_format_has_are_refused(categories: list[object]) -> None:
    table = pd.DataFrame({"c": pd.Categorical(categories * 10), "x": np.arange(20.0)})
    model = ALS(max_iter=1).fit(table, table["x"])
    with pytest.raises(ValueError, match=r"column 'c' has the category .*, which other formats do not have: make its"):
        describe(model)


def test_columns_of_the_same_name_are_refused(system: tuple[np.ndarray, np.ndarray]) -> None:
    model = ALS(max_iter=1).fit(*system)
    first, _, last = model.encoding_.modes
    model.encoding_ = replace(model.encoding_, modes=(first, first, last))
    with pytest.raises(ValueError, match="two columns are called 'x0': rename one"):
        describe(model)


def test_noise_of_other_tails_is_refused() -> None:
    model = copy(fitted("bayes"))
    model.posterior_ = replace(model.posterior_, degrees_of_freedom=7.0)
    with pytest.raises(ValueError, match=r"7\.0 degrees of freedom: only normal noise and Student's t"):
        describe(model)
