"""A model as ONNX, of standard operators only."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from csid.export.description import describe
from csid.fitted.description import CategoricalPredictor, ModelDescription, Predictor
from csid.fitted.model import Model

if TYPE_CHECKING:
    import onnx

    from csid.export.onnx_nodes import Value

_ABOUT = (
    "A low-rank tensor over the levels of each predictor, fitted by csid. Each input is a column. NaN is a missing "
    "number, the empty string a missing string. See csid.export.to_onnx."
)


def to_onnx(
    model: Model,
    interval: float | Sequence[float] | None = None,
    precision: Literal["double", "single"] = "double",
) -> "onnx.ModelProto":
    """A fitted model as ONNX, with standard operators of opset 19 (ONNX 1.14, 2023) only.

    Each predictor is an input of shape [rows, 1] named after its column, or `x0`, `x1`, … if the model was fitted to an
    array. Columns whose categories are strings are strings, all others are doubles; booleans are 0.0 and 1.0. A missing
    cell is NaN, or the empty string unless that is a category. Infinity takes the outer level.

    The output `prediction` is a double of shape [rows, K]. With `interval`, the outputs `lower` and `upper` are the
    bounds of the predictive interval, of the same shape. The outputs of a classifier are `label`, of shape [rows], and
    `probabilities`, doubles of shape [rows, C] in the order of `classes_`. Labels are strings or 64-bit integers;
    booleans are 0 and 1. These are the names and types of skl2onnx, without `ZipMap`. If a column has the name of an
    output, the output is numbered: `prediction_1`.

    Parameters
    ----------
    model : a fitted csid estimator
    interval : float or sequence of float, optional
        Coverage of the predictive interval of a Bayesian model, such as 0.9. Several coverages give outputs called
        `lower_0.5`, `upper_0.5` and so on.
    precision : {"double", "single"}, default="double"
        How factors are stored. "single" halves the file of a Bayesian model and changes its predictions by less than
        1e-6 standard deviations of y, and probabilities by less than 1e-5. It is not offered for a least-squares fit,
        whose components can cancel and whose file is small anyway.

    Notes
    -----
    Each row of a batch needs about four doubles of memory per component (`model.cpd_.rank`), three per level of the
    predictor with the most levels and, with intervals or of a classifier, ten per draw, output and coverage: run
    thousands of rows at a time, not millions. With a joint PMF (`model.pmf_`), a row with missing cells needs nine
    doubles per component, and time proportional to its possible classes times the largest number of missing cells in
    the batch.

    Probabilities are those of `predict_proba`, to 1e-8. Of several classes, their integrals take some 2 microseconds
    per class and draw in each row: 4 ms a row for 26 classes and 48 draws, twice as long as in Python.

    Examples
    --------
    >>> import numpy as np
    >>> import onnxruntime
    >>> from csid import CSIDRegressor
    >>> from csid.export import to_onnx
    >>> X = np.random.default_rng(0).uniform(size=(50, 2))
    >>> model = CSIDRegressor(rank=2, random_state=0).fit(X, X[:, 0] * X[:, 1])
    >>> session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    >>> (prediction,) = session.run(None, {"x0": X[:, [0]], "x1": X[:, [1]]})
    >>> bool(np.allclose(prediction[:, 0], model.predict(X)))
    True
    """
    require("onnx")
    from onnx import helper

    from csid.export.onnx_graph import OPSET
    from csid.export.onnx_nodes import Graph

    described = describe(model)
    names = [predictor.name for predictor in described.predictors]
    if "" in names:
        raise ValueError("a column has no name (''), but an ONNX input needs one: rename it and fit again.")
    if precision not in (("double",) if described.draws is None else ("double", "single")):
        raise ValueError(f"precision={precision!r}: give 'double' or, for a model with posterior draws, 'single'.")
    unique = unique_names(names)
    graph = Graph(unique)
    outputs = _outputs(described, [graph.value(name) for name in names], interval, precision == "single")
    called = [unique(output.name) for output in outputs]
    for output, name in zip(outputs, called, strict=True):
        graph.add("Identity", output.value, output=name)
    proto = helper.make_graph(
        graph.nodes,
        "csid",
        [helper.make_tensor_value_info(each.name, _type(each), ["rows", 1]) for each in described.predictors],
        [
            helper.make_tensor_value_info(name, output.kind, ["rows", *output.shape])
            for name, output in zip(called, outputs, strict=True)
        ],
        graph.constants,
    )
    return helper.make_model_gen_version(
        proto,
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="csid",
        producer_version=version("csid"),
        doc_string=_ABOUT,
    )


class _Output(NamedTuple):
    """An output of the graph: its name, its value, its ONNX type, and its shape behind the rows."""

    name: str
    value: "Value"
    kind: int
    shape: tuple[int, ...]


def _outputs(
    model: ModelDescription, columns: "Sequence[Value]", interval: float | Sequence[float] | None, single: bool
) -> list[_Output]:
    from onnx import TensorProto

    from csid.export.onnx_classes import class_outputs, label_type
    from csid.export.onnx_graph import outputs

    coverages, double, classification = checked_coverages(interval, model), TensorProto.DOUBLE, model.classification
    if classification is None:
        found = zip(output_names(interval), outputs(model, columns, coverages, single), strict=True)
        return [_Output(name, value, double, (len(model.bias),)) for name, value in found]
    label, probabilities = class_outputs(model, classification, columns, single)
    return [
        _Output("label", label, label_type(classification), ()),
        _Output("probabilities", probabilities, double, (len(classification.labels),)),
    ]


def require(package: str) -> None:
    """Raise an error that says what to install if a package is missing."""
    if find_spec(package) is None:
        raise ImportError(f"export to ONNX needs the package {package}: pip install 'csid[export]'.")


def checked_coverages(interval: float | Sequence[float] | None, model: ModelDescription) -> list[float]:
    """The coverages of the requested intervals."""
    coverages = [] if interval is None else [float(each) for each in np.atleast_1d(interval)]
    wrong = next((each for each in coverages if not 0.0 < each < 1.0), None)
    if wrong is not None:
        raise ValueError(f"interval={wrong}: give a probability between 0 and 1, such as 0.9.")
    if coverages and model.classification is not None:
        raise ValueError(f"interval={interval}: intervals are of numbers, but a classifier has probabilities. Omit it.")
    if coverages and model.draws is None:
        raise ValueError(f"interval={interval}: a CSIDRegressor has no intervals; fit a BayesianCSIDRegressor.")
    return coverages


def output_names(interval: float | Sequence[float] | None) -> list[str]:
    """Names of the outputs: the prediction, then the lower and upper bound of each interval."""
    if interval is None or np.ndim(interval) == 0:
        return ["prediction", *(["lower", "upper"] if interval is not None else [])]
    return ["prediction", *(f"{side}_{float(each)}" for each in np.asarray(interval) for side in ("lower", "upper"))]


def unique_names(taken: Iterable[str]) -> Callable[[str], str]:
    """A function that makes names unique, among those taken and those it has made."""
    used, counts = set(taken), Counter[str]()

    def unique(name: str) -> str:
        new = name
        while new in used:
            counts[name] += 1
            new = f"{name}_{counts[name]}"
        used.add(new)
        return new

    return unique


def _type(predictor: Predictor) -> int:
    from onnx import TensorProto

    strings = isinstance(predictor, CategoricalPredictor) and predictor.of_strings
    return int(TensorProto.STRING if strings else TensorProto.DOUBLE)
