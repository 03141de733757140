"""ONNX against the model that it came from, by ONNX Runtime."""

import math
import subprocess
import sys
from typing import Any

import numpy as np
import onnx
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from onnx.reference import ReferenceEvaluator
from scipy.special import ndtr, stdtr
from scipy.stats import norm, t

from csid.export import onnx_graph, onnx_nodes, to_onnx
from csid.export.onnx_model import unique_names
from csid.likelihoods.gaussian import Gaussian
from csid.likelihoods.student_t import StudentT
from export.systems import ALS, BAYES, BAYESIAN_KINDS, JOINT_KINDS, KINDS, bounds, feeds, fitted, new_rows, run

COLUMN_CALLED_PREDICTION = "prediction_1"


def _nodes(graph: onnx.GraphProto) -> list[onnx.NodeProto]:
    """Those of a graph and of the bodies of its loops."""
    bodies = [attribute.g for node in graph.node for attribute in node.attribute if attribute.HasField("g")]
    return [*graph.node, *(node for body in bodies for node in _nodes(body))]


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_those_of_the_model(kind: str) -> None:
    model = fitted(kind)
    table = new_rows(model)
    expected = model.predict(table).reshape(len(table), -1)
    found = run(to_onnx(model), feeds(model, table))
    assert list(found) == [COLUMN_CALLED_PREDICTION]
    assert_allclose(found[COLUMN_CALLED_PREDICTION], expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", BAYESIAN_KINDS)
def test_intervals_are_those_of_the_model(kind: str) -> None:
    model = fitted(kind)
    table = new_rows(model)
    coverages = (0.6, 0.99)  # a bound of 0.5 can fall between two draws, where any number is as good
    found = run(to_onnx(model, interval=coverages), feeds(model, table))
    assert list(found) == [COLUMN_CALLED_PREDICTION, "lower_0.6", "upper_0.6", "lower_0.99", "upper_0.99"]
    for coverage in coverages:
        lower, upper = bounds(model, table, coverage)
        assert_allclose(found[f"lower_{coverage}"], lower, rtol=1e-7, atol=1e-7)
        assert_allclose(found[f"upper_{coverage}"], upper, rtol=1e-7, atol=1e-7)


def test_one_interval_has_plain_names() -> None:
    exported = to_onnx(fitted("bayes"), interval=0.9)
    assert [output.name for output in exported.graph.output] == [COLUMN_CALLED_PREDICTION, "lower", "upper"]


@pytest.mark.parametrize("kind", ["als", "bayes, after a pilot", "als, joint", "bayes, joint"])
@pytest.mark.parametrize("rows", [0, 1])
def test_a_batch_may_be_a_single_row_or_none(kind: str, rows: int) -> None:
    model = fitted(kind)
    table = new_rows(model)[:rows]
    interval = None if kind.startswith("als") else 0.9
    found = run(to_onnx(model, interval), feeds(model, table))
    for values in found.values():
        assert values.shape == (rows, model.cpd_.n_outputs)
    if rows:
        assert_allclose(found[COLUMN_CALLED_PREDICTION].ravel(), np.ravel(model.predict(table)), rtol=1e-10)


@pytest.mark.parametrize(
    "kind", ["als", "als, constant", "bayes, several outputs", "bayes, heavy tails", "als, joint", "bayes, joint"]
)
def test_the_file_is_valid_and_of_standard_operators_only(kind: str) -> None:
    exported = to_onnx(fitted(kind), None if kind.startswith("als") else 0.9)
    onnx.checker.check_model(exported, full_check=True)
    assert [(opset.domain, opset.version) for opset in exported.opset_import] == [("", 19)]
    assert {node.domain for node in _nodes(exported.graph)} == {""}
    assert exported.producer_name == "csid"
    assert "fitted by csid" in exported.doc_string
    inputs = {
        each.name: onnx.helper.tensor_dtype_to_string(each.type.tensor_type.elem_type) for each in exported.graph.input
    }
    assert inputs == {
        "x": "TensorProto.DOUBLE",
        "a count": "TensorProto.DOUBLE",
        'wörd "quoted"': "TensorProto.STRING",
        "__import__('os')": "TensorProto.DOUBLE",
        "prediction": "TensorProto.DOUBLE",
    }


@pytest.mark.parametrize("kind", ["bayes, heavy tails", "bayes, joint, heavy tails"])
def test_the_reference_implementation_of_onnx_agrees(kind: str) -> None:
    model = fitted(kind)
    table = new_rows(model)[:20]
    exported = to_onnx(model, interval=0.9)
    inputs = feeds(model, table)
    for reference, ours in zip(
        ReferenceEvaluator(exported).run(None, inputs), run(exported, inputs).values(), strict=True
    ):
        assert_allclose(reference, ours, rtol=1e-9, atol=1e-9)


def test_an_array_has_inputs_that_are_numbered(system: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = system
    model = ALS().fit(X, y)
    found = run(to_onnx(model), {f"x{n}": X[:, [n]] for n in range(3)})
    assert_allclose(found["prediction"][:, 0], model.predict(X), rtol=1e-10)


def test_infinite_numbers_count_as_the_outer_levels(system: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = system
    for interpolation in ("linear", "constant"):
        exported = to_onnx(ALS(interpolation=interpolation).fit(X, y))
        far, infinite = ({f"x{n}": np.array([[-end], [end]]) for n in range(3)} for end in (1e9, np.inf))
        assert_array_equal(run(exported, far)["prediction"], run(exported, infinite)["prediction"])


def test_an_empty_string_is_missing_unless_it_is_a_category() -> None:
    words = np.array(["", "u", "v"])[np.random.default_rng(0).integers(0, 3, 90)]
    y = np.unique(words, return_inverse=True)[1] * 2.0
    model = ALS(missing="level").fit(pd.DataFrame({"word": words}), y)
    given = np.array([["", "u", "v"]], dtype=object).T
    found = run(to_onnx(model), {"word": given})["prediction"][:, 0]
    assert_allclose(found, model.predict(pd.DataFrame({"word": ["", "u", "v"]})), rtol=1e-10)
    lacking = pd.DataFrame({"word": [None if word == "" else word for word in words]})
    model = ALS(missing="level").fit(lacking, y)
    found = run(to_onnx(model), {"word": given})["prediction"][:, 0]
    assert_allclose(found, model.predict(pd.DataFrame({"word": [None, "u", "v"]})), rtol=1e-10)
    assert abs(found[0] - model.predict(pd.DataFrame({"word": ["never seen"]}))[0]) > 0.1


@pytest.mark.parametrize("kind", JOINT_KINDS)
def test_rows_do_not_depend_on_what_others_lack(kind: str) -> None:
    model = fitted(kind)
    exported, inputs = to_onnx(model), feeds(model, new_rows(model))
    together = run(exported, inputs)[COLUMN_CALLED_PREDICTION]
    for m in range(0, 200, 9):
        alone = run(exported, {name: column[[m]] for name, column in inputs.items()})[COLUMN_CALLED_PREDICTION]
        assert_allclose(alone[0], together[m], rtol=1e-12)


@pytest.mark.parametrize("make", [ALS, BAYES])
@pytest.mark.parametrize("lacked", [{"n": np.nan}, {"c": None}, {"n": np.nan, "c": None}])
def test_joint_columns_that_were_hardly_observed(make: Any, lacked: dict[str, Any]) -> None:
    table = pd.DataFrame({"x": np.arange(80.0), "n": 1.0, "c": pd.Series(["u"] * 80, dtype="string")}).assign(**lacked)
    model = make(missing="marginalize", pmf_rank=4, categorical_features=["c"]).fit(table, table["x"])
    assert model.pmf_ is not None
    other = pd.DataFrame({"x": [np.nan, 3.0, np.nan], "n": [2.0, np.nan, np.nan], "c": ["u", "w", None]})
    found = run(to_onnx(model), feeds(model, other))["prediction"][:, 0]
    assert_allclose(found, model.predict(other), rtol=1e-10)


@pytest.mark.parametrize("columns", [{"n": np.full(40, np.nan)}, {"c": pd.Series([None] * 40, dtype="string")}])
def test_a_column_that_was_never_observed_is_an_input_all_the_same(columns: dict[str, Any]) -> None:
    table = pd.DataFrame({"x": np.arange(40.0), "one": np.ones(40), **columns})
    model = ALS().fit(table, table["x"])
    for other in (table, table.assign(**{name: 3.0 if name == "n" else "word" for name in columns})):
        found = run(to_onnx(model), feeds(model, other))["prediction"][:, 0]
        assert_allclose(found, model.predict(other), rtol=1e-10)


@pytest.mark.parametrize("kind", BAYESIAN_KINDS)
def test_single_precision_is_half_as_large_and_good_to_six_digits(kind: str) -> None:
    model = fitted(kind)
    table = new_rows(model)
    exported = [to_onnx(model, 0.9, precision) for precision in ("double", "single")]
    double, single = (run(each, feeds(model, table)) for each in exported)
    spread = np.std(double[COLUMN_CALLED_PREDICTION], axis=0)
    for name in double:
        assert (np.abs(single[name] - double[name]) < 1e-6 * spread).all()
    sizes = [sum(c.ByteSize() for c in each.graph.initializer if len(c.dims) == 2) for each in exported]
    assert sizes[1] < 0.8 * sizes[0]


def test_tails_of_the_mixture_are_as_fine_as_those_of_scipy() -> None:
    """The distribution functions that are written out in operators."""
    z = np.concatenate([np.linspace(-45.0, 45.0, 4001), [-1e200, 1e200]])
    for noise, expected, density in (
        (Gaussian().onnx(), ndtr(z), norm.pdf),
        (StudentT().onnx(), stdtr(4.0, z), t(4.0).pdf),
    ):
        assert_allclose(_computed(noise.cdf, z), expected, atol=1e-14)
        assert_allclose(_computed(noise.pdf, z)[:-2], density(z[:-2]), atol=1e-14)


def _computed(function: Any, z: np.ndarray) -> np.ndarray:
    """What ONNX Runtime computes for a function of values."""
    graph = onnx_nodes.Graph(unique_names(["z"]))
    name = function(graph.value("z")).name
    made = onnx.helper.make_graph(
        graph.nodes,
        "function",
        [onnx.helper.make_tensor_value_info("z", onnx.TensorProto.DOUBLE, [None])],
        [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.DOUBLE, [None])],
        graph.constants,
    )
    opsets = [onnx.helper.make_opsetid("", onnx_graph.OPSET)]
    return run(onnx.helper.make_model_gen_version(made, opset_imports=opsets), {"z": z})[name]


def test_a_model_with_a_single_draw_has_intervals(system: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = system
    model = BAYES(n_chains=1, n_draws=1, n_burn=20).fit(X, y)
    found = run(to_onnx(model, 0.9), {f"x{n}": X[:, [n]] for n in range(3)})
    lower, upper = bounds(model, X, 0.9)
    assert_allclose(found["lower"], lower, atol=1e-9)
    assert_allclose(found["upper"], upper, atol=1e-9)


# --- refusals -----------------------------------------------------------------------------------------------------


def test_intervals_need_a_posterior_and_a_probability() -> None:
    with pytest.raises(
        ValueError, match=r"interval=0\.9: a CSIDRegressor has no intervals; fit a BayesianCSIDRegressor"
    ):
        to_onnx(fitted("als"), interval=0.9)
    for wrong in (0.0, 1.0, math.nan, (0.5, 90.0)):
        with pytest.raises(ValueError, match=r"give a probability between 0 and 1, such as 0\.9"):
            to_onnx(fitted("bayes"), interval=wrong)


def test_precision_is_checked() -> None:
    with pytest.raises(
        ValueError, match="precision='half': give 'double' or, for a model with posterior draws, 'single'"
    ):
        to_onnx(fitted("bayes"), precision="half")
    with pytest.raises(ValueError, match="precision='single'"):
        to_onnx(fitted("als"), precision="single")


def test_a_model_beyond_the_limit_of_the_format_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_nodes, "LARGEST", 500)
    with pytest.raises(
        ValueError, match=r'an ONNX file is limited to 2 GB: export with precision="single", or fit with fewer'
    ):
        to_onnx(fitted("als"))


def test_a_column_without_a_name_is_refused() -> None:
    table = pd.DataFrame({"": np.arange(30.0), "x": 1.0})
    with pytest.raises(ValueError, match=r"a column has no name \(''\)"):
        to_onnx(ALS(max_iter=1).fit(table, np.arange(30.0)))


def test_what_to_install_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"needs the package onnx: pip install 'csid\[export\]'"):
        to_onnx(fitted("als"))


def test_importing_csid_imports_nothing_of_onnx() -> None:
    code = "import sys, csid.export; sys.exit(any(name.split('.')[0] in ('onnx', 'skl2onnx') for name in sys.modules))"
    subprocess.run([sys.executable, "-c", code], check=True)
