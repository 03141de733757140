"""Pipelines that end in one of the estimators, by skl2onnx."""

import sys
from typing import Any

import numpy as np
import onnx
import pandas as pd
import pytest
import skl2onnx
from numpy.testing import assert_allclose
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, Int64TensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from csid.export import register_skl2onnx
from export.systems import ALS, BAYES, BAYESIAN_KINDS, bounds, feeds, fitted, new_rows, run

Array = np.ndarray
System = tuple[Array, Array]


@pytest.fixture(autouse=True)
def _registered() -> None:
    register_skl2onnx()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("make", [ALS, BAYES])
@pytest.mark.parametrize("interpolation", ["linear", "constant"])
def test_a_matrix_of_doubles(system: System, make: Any, interpolation: str) -> None:
    X, y = system
    pipeline = make_pipeline(StandardScaler(), make(interpolation=interpolation)).fit(X, y)
    exported = skl2onnx.to_onnx(pipeline, initial_types=[("X", DoubleTensorType([None, 3]))])
    onnx.checker.check_model(exported, full_check=True)
    found = run(exported, {"X": X})["variable"]
    assert found.dtype == np.float64
    assert_allclose(found[:, 0], pipeline.predict(X), rtol=1e-9, atol=1e-9)


def test_a_matrix_of_floats_with_missing_cells_gives_floats(system: System) -> None:
    X, y = system
    X = X.astype(np.float32)
    X[::5, 1] = np.nan
    model = ALS().fit(X, np.column_stack([y, -y]))
    found = run(skl2onnx.to_onnx(model, X), {"X": X})["variable"]
    assert found.dtype == np.float32
    assert_allclose(found, model.predict(X), atol=1e-6)


@pytest.mark.parametrize("kind", ["als", *BAYESIAN_KINDS])
def test_named_inputs_of_several_types(kind: str) -> None:
    """Numbers, coded categories, booleans and strings straight into the estimator, with bounds as further outputs."""
    model = fitted(kind)
    table = new_rows(model)
    inputs = {f"column{n}": values for n, values in enumerate(feeds(model, table).values())}
    types = [
        (name, StringTensorType([None, 1]) if values.dtype == object else DoubleTensorType([None, 1]))
        for name, values in inputs.items()
    ]
    options = None if kind == "als" else {id(model): {"interval": (0.5, 0.9)}}
    found = run(skl2onnx.to_onnx(model, initial_types=types, options=options), inputs)
    expected = model.predict(table).reshape(len(table), -1)
    assert_allclose(found["variable"], expected, rtol=1e-9, atol=1e-9)
    if kind != "als":
        lower, upper = bounds(model, table, 0.9)
        assert list(found) == ["variable", "lower_0.5", "upper_0.5", "lower_0.9", "upper_0.9"]
        assert_allclose(found["lower_0.9"], lower, rtol=1e-7, atol=1e-7)
        assert_allclose(found["upper_0.9"], upper, rtol=1e-7, atol=1e-7)


def test_columns_that_are_transformed(system: System) -> None:
    X, y = system
    word = np.random.default_rng(0).choice(["u", "v", "w"], len(X))
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(word=word)
    table.loc[::7, "a"] = np.nan
    y = y + (word == "u")
    columns = ColumnTransformer(
        [
            ("filled", make_pipeline(SimpleImputer(), StandardScaler()), ["a"]),
            ("scaled", StandardScaler(), ["b", "c"]),
            ("word", OneHotEncoder(sparse_output=False, handle_unknown="ignore"), ["word"]),
        ]
    )
    pipeline = make_pipeline(columns, ALS()).fit(table, y)
    types = [(name, FloatTensorType([None, 1])) for name in "abc"] + [("word", StringTensorType([None, 1]))]
    found = run(
        skl2onnx.to_onnx(pipeline, initial_types=types),
        {name: table[[name]].to_numpy(dtype=object if name == "word" else np.float32) for name in table},
    )["variable"]
    assert_allclose(found[:, 0], pipeline.predict(table), atol=1e-5 * np.std(y))


def test_several_inputs_side_by_side(system: System) -> None:
    X, y = system
    whole = np.round(3.0 * X[:, [2]])
    model = ALS(categorical_features=[2]).fit(np.hstack([X[:, :2], whole]), y)
    types = [("pair", FloatTensorType([None, 2])), ("whole", Int64TensorType([None, 1]))]
    pair = X[:, :2].astype(np.float32)
    found = run(skl2onnx.to_onnx(model, initial_types=types), {"pair": pair, "whole": whole.astype(np.int64)})
    assert_allclose(found["variable"][:, 0], model.predict(np.hstack([pair, whole])), atol=1e-6)


def test_the_best_of_a_search(system: System) -> None:
    X, y = system
    search = GridSearchCV(ALS(), {"rank": [1, 2]}, cv=2).fit(X, y)
    found = run(skl2onnx.to_onnx(search, X), {"X": X})["variable"]
    assert_allclose(found[:, 0], search.predict(X), rtol=1e-9)


# --- refusals -----------------------------------------------------------------------------------------------------


def test_an_old_opset_is_refused(system: System) -> None:
    with pytest.raises(ValueError, match="target_opset=15: a CSIDRegressor needs 19 or more"):
        skl2onnx.to_onnx(ALS(max_iter=1).fit(*system), system[0], target_opset=15)


def test_words_need_an_input_of_strings() -> None:
    words = np.array([["u"], ["v"]] * 20, dtype=object)
    model = ALS(max_iter=1).fit(words, np.arange(40.0))
    with pytest.raises(
        ValueError, match="predictor 'x0' has strings as categories, but the input 'X' is DoubleTensorType"
    ):
        skl2onnx.to_onnx(model, initial_types=[("X", DoubleTensorType([None, 1]))])


def test_inputs_must_have_as_many_columns_as_there_are_predictors(system: System) -> None:
    types = [(name, DoubleTensorType([None, 1])) for name in "ab"]
    with pytest.raises(ValueError, match=r"CSIDRegressor has 3 predictors, but its inputs are 'a' \[None, 1\], 'b'"):
        skl2onnx.to_onnx(ALS(max_iter=1).fit(*system), initial_types=types)


def test_what_to_install_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match=r"needs the package skl2onnx: pip install 'csid\[export\]'"):
        register_skl2onnx()
