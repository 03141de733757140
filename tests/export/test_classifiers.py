"""Classifiers in other programs: ONNX, pipelines of skl2onnx, Python modules and JSON, against the model."""

import ast
import csv
import json
import math
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pandas as pd
import pytest
import skl2onnx
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy.special import ndtr
from skl2onnx.common.data_types import DoubleTensorType, StringTensorType
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from csid.data.targets import ClassTargets
from csid.export import register_skl2onnx, to_json, to_onnx, to_python
from csid.likelihoods.class_predictive import ProbabilityCalibration
from csid.likelihoods.multinomial_probit import MultinomialProbit
from export.classifiers import BAYES, KINDS, fitted, labels_of, probabilities
from export.systems import feeds, new_rows, run
from export.test_document import _components, _rows
from export.test_onnx import _nodes
from export.test_python import BARE

Array = NDArray[np.float64]

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

AGREEMENT = 1e-8
"""Of probabilities with those of the model: the normal tails in ONNX are good to 1e-8 of themselves."""


def _likeliest(model: Any, expected: Array) -> list[Any]:
    return [labels_of(model)[at] for at in expected.argmax(axis=1)]


# --- ONNX -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_onnx_has_the_labels_and_probabilities_of_the_model(kind: str) -> None:
    model = fitted(kind)
    table = new_rows(model)
    found, expected = run(to_onnx(model), feeds(model, table)), probabilities(model, table)
    assert list(found) == ["label", "probabilities"]
    assert_allclose(found["probabilities"], expected, atol=AGREEMENT)
    assert found["label"].tolist() == _likeliest(model, expected)
    assert found["label"].dtype == (object if isinstance(labels_of(model)[0], str) else np.int64)
    assert found["label"].shape == (len(table),)


@pytest.mark.parametrize("kind", ["two strings", "four numbers", "three, joint", "two, without draws"])
@pytest.mark.parametrize("rows", [0, 1])
def test_a_batch_may_be_a_single_row_or_none(kind: str, rows: int) -> None:
    model = fitted(kind)
    table = new_rows(model)[:rows]
    found = run(to_onnx(model), feeds(model, table))
    assert found["label"].shape == (rows,)
    assert found["probabilities"].shape == (rows, len(labels_of(model)))
    if rows:
        assert_allclose(found["probabilities"], probabilities(model, table), atol=AGREEMENT)


@pytest.mark.parametrize("kind", ["two booleans", "three, joint"])
def test_the_file_is_valid_and_of_standard_operators_only(kind: str) -> None:
    exported = to_onnx(fitted(kind))
    onnx.checker.check_model(exported, full_check=True)
    assert {node.domain for node in _nodes(exported.graph)} == {""}
    types = [each.type.tensor_type for each in exported.graph.output]
    label = onnx.TensorProto.STRING if "three" in kind else onnx.TensorProto.INT64
    assert [each.elem_type for each in types] == [label, onnx.TensorProto.DOUBLE]
    assert types[1].shape.dim[1].dim_value == len(labels_of(fitted(kind)))


def test_a_column_with_the_name_of_an_output_numbers_it() -> None:
    table = pd.DataFrame({"label": np.arange(40.0)})
    exported = to_onnx(BAYES().fit(table, table["label"] > 20.0))
    assert [output.name for output in exported.graph.output] == ["label_1", "probabilities"]


@pytest.mark.parametrize("kind", ["two strings", "three strings"])
def test_single_precision_is_good_to_five_digits(kind: str) -> None:
    model = fitted(kind)
    inputs = feeds(model, new_rows(model))
    double, single = (run(to_onnx(model, precision=each), inputs)["probabilities"] for each in ("double", "single"))
    assert_allclose(single, double, atol=1e-5)


def _with_latent_values(eta: Array, exponent: float) -> Any:
    """A classifier without draws of rows that have their own latent values (M, C), by their index."""
    model = fitted("three, without draws, joint")
    M, C = eta.shape
    mode = BAYES().fit(np.array([[0.0], [1.0]] * 20), [0, 1] * 20).encoding_.modes[0]
    mode = replace(mode, grid=np.arange(float(M)))
    encoding = replace(model.encoding, modes=(mode,), marginals=(np.full(M, 1.0 / M),))
    tensor = replace(
        model.tensor,
        factors=(np.eye(M),),
        V=np.ascontiguousarray(eta.T),
        bias=np.zeros(C),
        marginals=encoding.marginals,
    )
    labels = ClassTargets(np.arange(C), np.ones(C))
    likelihood = MultinomialProbit(tuple(np.full(C, 1.0 / C)))
    calibration = ProbabilityCalibration(exponent)
    return replace(
        model,
        encoding=encoding,
        tensor=tensor,
        pmf=None,
        likelihood=likelihood,
        classes=labels,
        calibration=calibration,
    )


@pytest.mark.parametrize("exponent", [math.exp(-3.0), 1.0, math.exp(3.0)])
def test_the_tails_of_the_probabilities_are_those_of_the_model(exponent: float) -> None:
    """Small exponents make tiny probabilities large, and with them their errors."""
    eta = np.random.default_rng(0).normal(size=(200, 5)) * np.geomspace(0.1, 8.0, 200)[:, None]
    model = _with_latent_values(eta, exponent)
    likelihood = model.likelihood.predictive(eta[None], {}, np.ones(1))
    expected = model.calibration.of(likelihood).probabilities
    rows = np.arange(200.0)[:, None]
    (name,) = model.names
    assert_allclose(run(to_onnx(model), {name: rows})["probabilities"], expected, atol=AGREEMENT)
    predict_proba = _module(model)["predict_proba"]
    found = [list(predict_proba({name: row}).values()) for row in rows[:, 0].tolist()]
    assert_allclose(found, expected, atol=1e-12)


def test_probabilities_of_two_classes_are_those_of_a_normal_tail() -> None:
    model = replace(fitted("two, without draws"), calibration=None)
    table = new_rows(model)
    second = ndtr(model.means(table, 1)[:, 0])
    assert_allclose(run(to_onnx(model), feeds(model, table))["probabilities"][:, 1], second, atol=1e-12)


def test_a_label_beyond_64_bits_is_refused() -> None:
    model = fitted("two booleans")
    model = replace(model, classes=ClassTargets(np.array([0, 2**63], dtype=np.uint64), np.ones(2)))
    with pytest.raises(ValueError, match=f"the label {2**63} is beyond the 64-bit integers of ONNX: make the labels"):
        to_onnx(model)


def test_intervals_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"interval=0\.9: intervals are of numbers, but a classifier has probabilities"
    ):
        to_onnx(fitted("two strings"), interval=0.9)


# --- pipelines --------------------------------------------------------------------------------------------------------

LABELS = {
    "strings": np.array(["a", "b", "c"], dtype=object),
    "numbers": np.array([4, 1, 9]),
    "floats": np.array([0.0, 1.0]),
    "booleans": np.array([False, True]),
}


def _pipeline(kind: str, system: tuple[Array, Array]) -> tuple[Any, Array]:
    X, y = system
    labels = LABELS[kind]
    ranks = np.argsort(np.argsort(y)) * len(labels) // len(y)
    register_skl2onnx()
    return make_pipeline(StandardScaler(), BAYES(n_chains=1)).fit(X, labels[ranks]), X


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("kind_of_input", [np.float32, np.float64])
def test_outputs_of_pipelines_are_called_as_those_of_scikit_learn(
    kind: str, kind_of_input: Any, system: tuple[Array, Array]
) -> None:
    pipeline, X = _pipeline(kind, system)
    X = X.astype(kind_of_input)
    like = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, pipeline.predict(X))
    expected, labels = pipeline.predict_proba(X), pipeline.predict(X)
    assert len(set(labels.tolist())) == len(LABELS[kind])
    for options in ({}, {"zipmap": False}, {"zipmap": "columns"}, {"nocl": True, "zipmap": False}):
        models = (
            skl2onnx.to_onnx(each, X, options={id(each): options} if options else None) for each in (pipeline, like)
        )
        ours, theirs = models
        assert [each.name for each in ours.graph.output] == [each.name for each in theirs.graph.output]
        if kind_of_input == np.float64 and options.get("zipmap") is False:
            assert [each.type for each in ours.graph.output] == [each.type for each in theirs.graph.output]
        found = list(run(ours, {"X": X}).values())
        wanted = expected.argmax(axis=1) if options.get("nocl") else labels
        assert (found[0] == wanted).mean() > 0.99  # single precision of the input may tip a row
        if not options:
            found[1] = np.array([list(row.values()) for row in found[1]])
        elif options["zipmap"] == "columns":
            found[1] = np.stack(found[1:], axis=1)
        assert_allclose(found[1], expected, atol=1e-4 if kind_of_input == np.float32 else 1e-6)


@pytest.mark.parametrize("kind", ["two strings", "three, joint"])
def test_named_inputs_of_several_types(kind: str) -> None:
    register_skl2onnx()
    fitted_model = fitted(kind)
    model = BAYES()
    model.fitted_ = fitted_model
    table = new_rows(fitted_model)
    inputs = {f"column{n}": values for n, values in enumerate(feeds(fitted_model, table).values())}
    types = [
        (name, StringTensorType([None, 1]) if values.dtype == object else DoubleTensorType([None, 1]))
        for name, values in inputs.items()
    ]
    found = run(skl2onnx.to_onnx(model, initial_types=types, options={id(model): {"zipmap": False}}), inputs)
    expected = probabilities(fitted_model, table)
    assert_allclose(found["probabilities"], expected, atol=AGREEMENT)
    assert found["label"].tolist() == _likeliest(fitted_model, expected)


# --- Python modules ---------------------------------------------------------------------------------------------------


def _module(model: Any) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "model"}
    exec(to_python(model), names)
    return names


@pytest.mark.parametrize("kind", KINDS)
def test_a_module_has_the_labels_and_probabilities_of_the_model(kind: str) -> None:
    model = fitted(kind)
    table = new_rows(model)[80:180]
    module, expected = _module(model), probabilities(model, table)
    rows = table.to_dict("records")
    found = [module["predict_proba"](row) for row in rows]
    assert all(list(each) == labels_of(model) for each in found)
    assert_allclose([list(each.values()) for each in found], expected, rtol=1e-9, atol=1e-12)
    assert module["predict_many"](rows) == [module["predict"](row) for row in rows] == _likeliest(model, expected)
    assert "predict_interval" not in module


@pytest.mark.parametrize("kind", ["two booleans", "three, joint", "two, without draws"])
def test_as_a_command_it_predicts_a_file_without_anything_installed(kind: str, tmp_path: Path) -> None:
    model = fitted(kind)
    table = new_rows(model)[:40]
    (tmp_path / "model.py").write_text(to_python(model), encoding="utf-8")
    table.to_csv(tmp_path / "data.csv", index=False)
    command = [*BARE, "-X", "utf8", "model.py", "data.csv"]
    ran = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, encoding="utf-8")
    header, *rows = csv.reader(ran.stdout.splitlines())
    labels = [int(label) if isinstance(label, float) else label for label in labels_of(model)]
    assert header == ["prediction", *(f"probability_{label}" for label in labels)]
    expected = probabilities(model, table)
    assert [row[0] for row in rows] == [str(labels[at]) for at in expected.argmax(axis=1)]
    assert_allclose(np.array([row[1:] for row in rows], dtype=float), expected, rtol=1e-8, atol=1e-12)
    refused = subprocess.run([*command, "--interval", "0.9"], cwd=tmp_path, capture_output=True, encoding="utf-8")
    assert refused.returncode == 1
    assert refused.stderr == "--interval is for models of numbers: this one has classes, with their probabilities.\n"


@pytest.mark.parametrize("kind", ["two strings", "three, joint"])
def test_its_syntax_is_that_of_python_3_8(kind: str) -> None:
    ast.parse(to_python(fitted(kind)), feature_version=(3, 8))


def test_labels_never_become_code() -> None:
    labels = ["__import__('os').abort()", '"""\nraise SystemExit(1)\n"""', "{model}"]
    model = BAYES().fit(np.arange(60.0)[:, None], np.repeat(labels, 20))
    source = to_python(model)
    assert "abort" not in source
    assert "SystemExit(1)" not in source
    assert set(_module(model)["predict_proba"]({"x0": 3.0})) == set(labels)


# --- JSON -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_few_lines_predict_from_the_document(kind: str) -> None:
    """By the description in the docstring of `csid.export.document`, and not otherwise."""
    model = fitted(kind)
    document = json.loads(to_json(model), parse_constant=pytest.fail)
    told, posterior = document["classification"], document["posterior"]
    assert document["version"] == 4
    assert told["labels"] == labels_of(model)
    table = new_rows(model)[80:120]
    V = np.array(document["V"])
    for row, expected in zip(table.to_dict("records"), probabilities(model, table), strict=True):
        components, drawn = _components(document, row)
        value = document["bias"] + V @ components
        centres, weights = value[None], np.ones(1)
        if posterior is not None:
            weights = np.array(posterior["weights"])
            sums = np.add.reduceat(V * drawn, np.cumsum([0, *posterior["ranks"][:-1]]), axis=1).T
            centres = posterior["bias"] + sums / weights[:, None]
            incomplete = any(each is None for each in _rows(document, row, impute=True))
            factor = document["classes"]["imputation_factor"] if incomplete else 1.0
            centres = value + factor * (centres - weights @ centres)
        each = np.array([_probabilities(told["likelihood"]["name"], centre) for centre in centres])
        found = np.maximum(weights @ each, 1e-12) ** told["exponent"]
        assert_allclose(found / found.sum(), expected, rtol=1e-7, atol=1e-9)


def _probabilities(likelihood: str, values: Array) -> Array:
    """By fine quadrature over the largest latent value."""
    if likelihood == "binary_probit":
        return np.array([ndtr(-values[0]), ndtr(values[0])])
    assert likelihood == "multinomial_probit"
    z = np.linspace(values.min() - 9.0, values.max() + 9.0, 4001)[:, None]
    below = ndtr(z - values)
    density = np.exp(-0.5 * (z - values) ** 2) / math.sqrt(2.0 * math.pi)
    others = np.array([np.delete(below, k, axis=1).prod(axis=1) for k in range(len(values))]).T
    return (density * others).sum(axis=0) * (z[1, 0] - z[0, 0])


def test_regressors_have_no_classification() -> None:
    from export.systems import fitted as regressor

    assert "classification" not in json.loads(to_json(regressor("bayes")))
    assert_array_equal(sorted(json.loads(to_json(fitted("two strings")))["posterior"]), ["bias", "ranks", "weights"])
