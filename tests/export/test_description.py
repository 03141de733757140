"""A fitted model as plain data, and models that cannot be described."""

import json
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from csid import CSIDRegressor
from csid.export import to_json, to_onnx, to_python
from csid.export.description import describe
from csid.fitted.description import CategoricalPredictor, NumericPredictor
from csid.likelihoods.student_t import StudentT
from export.systems import ALS, BAYESIAN_KINDS, JOINT_KINDS, fitted


def test_predictors_have_the_names_and_levels_of_the_columns() -> None:
    x, count, word, flag, code = describe(fitted("als")).predictors
    assert [p.name for p in (x, word, flag)] == ["x", 'wörd "quoted"', "__import__('os')"]
    assert isinstance(x, NumericPredictor)
    assert isinstance(count, NumericPredictor)
    assert count.grid.tolist() == list(range(9))
    assert isinstance(word, CategoricalPredictor)
    assert word.categories == ("größer als\n'1'", "u", "v")
    assert isinstance(flag, CategoricalPredictor)
    assert flag.categories == (False, True)
    assert isinstance(code, CategoricalPredictor)
    assert code.categories == (1.5, 2, 7)
    assert isinstance(code.categories[1], int)


def test_a_missing_cell_is_averaged_over_or_has_a_level() -> None:
    for kind, own in (("als", False), ("als, missing as a level", True)):
        model = fitted(kind)
        described = describe(model)
        for predictor, A, p in zip(described.predictors, model.cpd_.factors, model.cpd_.marginals, strict=True):
            missing = predictor.rows[predictor.missing if isinstance(predictor, CategoricalPredictor) else -1]
            assert_allclose(missing, A[-1] if own else p @ A)
            if isinstance(predictor, CategoricalPredictor):
                assert_allclose(predictor.rows[predictor.unseen], p @ A)


@pytest.mark.parametrize("kind", BAYESIAN_KINDS)
def test_the_components_of_the_tensor_are_those_of_the_draws(kind: str) -> None:
    model = fitted(kind)
    described = describe(model)
    draws = described.draws
    assert draws is not None
    assert described.V.shape == (len(described.bias), draws.ranks.sum())
    assert (draws.weights > 0.0).all()
    parts = np.split(described.V, np.cumsum(draws.ranks)[:-1], axis=1)
    for part, weight, draw in zip(parts, draws.weights, model.posterior_.draws, strict=True):
        assert_allclose(part / weight, draw.V)
    assert_allclose(draws.weights @ draws.bias, described.bias)


@pytest.mark.parametrize("kind", [*BAYESIAN_KINDS, "als, joint"])
def test_draws_fill_in_missing_cells_as_the_posterior_does(kind: str) -> None:
    model = fitted(kind)
    classes = describe(model).classes
    assert classes is not None
    C = classes.pmf.classes.rank
    assert (C, classes.conditional) == ((4, True) if kind in JOINT_KINDS else (1, False))
    if kind not in BAYESIAN_KINDS:
        assert classes.drawn.shape == (5, 0, C)
        return
    posterior = model.posterior_
    draws, N = posterior.draws, len(classes.pmf.levels)
    assert classes.drawn.shape == (N, len(draws), C)
    nothing = np.asarray(classes.pmf.levels, np.uint16)[None, :]
    fractions = np.zeros((0, N), np.float32)
    found = posterior.values(nothing, fractions)[:, 0]
    of_row = np.minimum(np.searchsorted(classes.pmf.classes.weights.cumsum(), classes.quantiles), C - 1)
    filled = [classes.drawn[:, d, c][None, :].astype(np.uint16) for d, c in enumerate(of_row)]
    expected = np.array([draw.evaluate(codes, fractions)[0] for draw, codes in zip(draws, filled, strict=True)])
    weights = posterior.weights
    deviations = classes.imputation_factor * (expected - weights @ expected)
    assert_allclose(found - weights @ found, deviations, rtol=1e-9, atol=1e-9)


def test_other_estimators_are_refused() -> None:
    with pytest.raises(
        TypeError, match=r"cannot export: a LinearRegression is .*: give a fitted CSIDRegressor or .*skl2"
    ):
        describe(LinearRegression())
    with pytest.raises(NotFittedError):
        describe(CSIDRegressor())


@pytest.mark.parametrize("categories", [[b"a", b"b"], [2**53 + 1, 3], [Decimal("0.1"), Decimal("0.2")]])
def test_categories_that_no_other_format_has_are_refused(categories: list[object]) -> None:
    table = pd.DataFrame({"c": pd.Categorical(categories * 10), "x": np.arange(20.0)})
    model = ALS(max_iter=1).fit(table, table["x"])
    with pytest.raises(ValueError, match=r"column 'c' has the category .*, which exports do not support: make its"):
        describe(model)


def test_columns_of_the_same_name_are_refused(system: tuple[np.ndarray, np.ndarray]) -> None:
    fitted_model = ALS(max_iter=1).fit(*system).fitted_
    first, _, last = fitted_model.encoding.modes
    repeated = replace(fitted_model, encoding=replace(fitted_model.encoding, modes=(first, first, last)))
    with pytest.raises(ValueError, match="two columns are called 'x0': rename one"):
        describe(repeated)


def test_tails_without_a_closed_form_are_refused_by_what_needs_one() -> None:
    model = fitted("bayes").fitted_
    likelihood = StudentT(degrees_of_freedom=7.0)
    model = replace(model, likelihood=likelihood, posterior=replace(model.posterior, likelihood=likelihood))
    for export in (to_python, lambda model: to_onnx(model, interval=0.9)):
        with pytest.raises(ValueError, match=r"7 degrees of freedom, but .* Student's t with 4 degrees of freedom"):
            export(model)
    to_onnx(model)
    assert json.loads(to_json(model))["posterior"]["likelihood"] == {"name": "student_t", "degrees_of_freedom": 7.0}
