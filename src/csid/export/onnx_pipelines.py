"""Converters for skl2onnx, so that a pipeline that ends in one of the estimators becomes ONNX.

Outputs have the names and types that skl2onnx gives to those of regressors and classifiers.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from csid.estimators.bayesian import BayesianCSIDRegressor
from csid.estimators.bayesian_classifier import BayesianCSIDClassifier
from csid.estimators.least_squares import CSIDRegressor
from csid.estimators.least_squares_classifier import CSIDClassifier
from csid.export.description import describe
from csid.export.onnx_model import checked_coverages, output_names, require
from csid.fitted.description import CategoricalPredictor, ModelDescription, Predictor, as_classification
from csid.fitted.model import fitted_model

if TYPE_CHECKING:
    from csid.export.onnx_nodes import Graph, Value

_CLASSIFIER_OPTIONS = {"zipmap": [True, False, "columns"], "output_class_labels": [False, True], "nocl": [False, True]}


def register_skl2onnx() -> None:
    """Teach skl2onnx to convert the estimators of csid, on their own or in a pipeline.

    The input of the estimator is a matrix of numbers, or several inputs whose columns, side by side, are its
    predictors. A predictor whose categories are strings needs an input of strings. With
    `options={id(estimator): {"interval": 0.9}}`, the bounds of the predictive interval of a regressor are further
    outputs. Outputs are single precision unless an input is double.

    Classifiers have the outputs and options of those of scikit-learn: `output_label` and the list of dictionaries
    `output_probability`, or with `options={id(pipeline): {"zipmap": False}}` the tensors `label` and `probabilities`.
    Dictionaries are in single precision.

    Examples
    --------
    >>> import numpy as np
    >>> import skl2onnx
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from csid import CSIDRegressor
    >>> from csid.export import register_skl2onnx
    >>> register_skl2onnx()
    >>> X = np.random.default_rng(0).uniform(size=(50, 2))
    >>> pipeline = make_pipeline(StandardScaler(), CSIDRegressor(rank=2, random_state=0)).fit(X, X[:, 0] * X[:, 1])
    >>> [output.name for output in skl2onnx.to_onnx(pipeline, X).graph.output]
    ['variable']
    """
    require("onnx")
    require("skl2onnx")
    from skl2onnx import update_registered_converter

    for regressor in (CSIDRegressor, BayesianCSIDRegressor):
        update_registered_converter(
            regressor, _alias(regressor), _shapes, _convert, parser=_parse, options={"interval": None}
        )
    for classifier in (CSIDClassifier, BayesianCSIDClassifier):  # the parser is that of all classifiers in skl2onnx
        update_registered_converter(
            classifier, _alias(classifier), _class_shapes, _convert_classifier, options=_CLASSIFIER_OPTIONS
        )


def _alias(estimator: type) -> str:
    return f"Csid{estimator.__name__}"


def _parse(
    scope: Any, model: CSIDRegressor | BayesianCSIDRegressor, inputs: list[Any], custom_parsers: Any = None
) -> list[Any]:
    """Declare the outputs; skl2onnx calls that of a regressor `variable`."""
    from skl2onnx.common.data_types import guess_tensor_type

    interval = scope.get_options(model, {"interval": None})["interval"]
    operator = scope.declare_local_operator(_alias(type(model)), model)
    operator.inputs = inputs
    for name in ["variable", *output_names(interval)[1:]]:
        operator.outputs.append(scope.declare_local_variable(name, guess_tensor_type(inputs[0].type)))
    return list(operator.outputs)


def _shapes(operator: Any) -> None:
    kind, K = _floating(operator), fitted_model(operator.raw_operator).n_outputs
    for variable in operator.outputs:
        variable.set_type(kind([operator.inputs[0].get_first_dimension(), K]))


def _class_shapes(operator: Any) -> None:
    from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType
    from skl2onnx.common.utils_classifier import get_label_classes

    rows, labels = (
        operator.inputs[0].get_first_dimension(),
        get_label_classes(operator.scope_inst, operator.raw_operator),
    )
    label, probabilities = operator.outputs
    label.set_type((StringTensorType if isinstance(labels[0], str) else Int64TensorType)([rows]))
    zipmap = operator.scope_inst.get_options(operator.raw_operator, {"zipmap": True})["zipmap"]
    kind = FloatTensorType if zipmap is True else _floating(operator)  # the operator ZipMap takes no doubles
    probabilities.set_type(kind([rows, len(labels)]))


def _floating(operator: Any) -> Any:
    """The type of outputs that are numbers: doubles if an input is."""
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    double = any(isinstance(variable.type, DoubleTensorType) for variable in operator.inputs)
    return DoubleTensorType if double else FloatTensorType


def _convert(scope: Any, operator: Any, container: Any) -> None:
    from csid.export.onnx_graph import outputs

    def values(described: ModelDescription, columns: "list[Value]") -> "list[Value]":
        interval = container.get_options(operator.raw_operator, {"interval": None})["interval"]
        return outputs(described, columns, checked_coverages(interval, described))

    _add(scope, operator, container, values)


def _convert_classifier(scope: Any, operator: Any, container: Any) -> None:
    from csid.export.onnx_classes import class_outputs

    def values(described: ModelDescription, columns: "list[Value]") -> "list[Value]":
        classification = as_classification(described)
        if container.get_options(operator.raw_operator, {"nocl": False})["nocl"]:
            classification = replace(classification, labels=tuple(range(len(classification.labels))))
        return list(class_outputs(described, classification, columns))

    _add(scope, operator, container, values)


def _add(
    scope: Any,
    operator: Any,
    container: Any,
    values_of: "Callable[[ModelDescription, list[Value]], list[Value]]",
) -> None:
    """Add the nodes of an estimator, whose outputs are the given values of its columns."""
    from skl2onnx.common.data_types import guess_proto_type

    from csid.export.onnx_graph import OPSET
    from csid.export.onnx_nodes import Graph

    model = operator.raw_operator
    if container.target_opset < OPSET:
        raise ValueError(f"target_opset={container.target_opset}: a {type(model).__name__} needs {OPSET} or more.")
    described = describe(model)
    graph = Graph(scope.get_unique_variable_name)
    columns = [
        _column(graph, predictor, *place)
        for predictor, place in zip(described.predictors, _places(operator, len(described.predictors)), strict=True)
    ]
    for value, variable in zip(values_of(described, columns), operator.outputs, strict=True):
        graph.add("Cast", value, output=variable.onnx_name, to=guess_proto_type(variable.type))
    container.initializers.extend(graph.constants)
    container.nodes.extend(graph.nodes)
    container.node_domain_version_pair_sets.add(("", OPSET))


def _places(operator: Any, wanted: int) -> list[tuple[Any, int]]:
    """For each predictor, its input and the index of its column there."""
    inputs = operator.inputs
    widths = [wanted if len(inputs) == 1 else variable.get_second_dimension() for variable in inputs]
    if None in widths or sum(widths) != wanted:
        found = ", ".join(f"{variable.raw_name!r} {variable.type.shape}" for variable in inputs)
        raise ValueError(
            f"{type(operator.raw_operator).__name__} has {wanted} predictors, but its inputs are {found}: "
            "give initial types with that many columns in total."
        )
    return [(variable, n) for variable, width in zip(inputs, widths, strict=True) for n in range(width)]


def _column(graph: "Graph", predictor: Predictor, variable: Any, n: int) -> "Value":
    """One column (M, 1) of an input, as strings or as doubles."""
    from onnx import TensorProto
    from skl2onnx.common.data_types import StringTensorType

    column = graph.value(variable.onnx_name).then("Gather", np.array([n]), axis=1)
    if not isinstance(predictor, CategoricalPredictor) or not predictor.of_strings:
        return column.cast(TensorProto.DOUBLE)
    if not isinstance(variable.type, StringTensorType):
        raise ValueError(
            f"predictor {predictor.name!r} has strings as categories, but the input {variable.raw_name!r} is "
            f"{variable.type}: give it as an input of its own, a StringTensorType([None, 1])."
        )
    return column
