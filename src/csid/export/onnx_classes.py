"""Class probabilities of a described classifier, as nodes of an ONNX graph. Formulas come from the likelihood."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from csid.export.onnx_graph import values
from csid.export.onnx_nodes import Value
from csid.fitted.description import Classification, Label, ModelDescription
from csid.likelihoods.class_predictive import LEAST_PROBABILITY

_LARGEST_LABEL = 2**63


class ClassOutputs(NamedTuple):
    """The likeliest label (M,), and the calibrated probabilities (M, C) of all classes."""

    label: Value
    probabilities: Value


def class_outputs(
    model: ModelDescription, classification: Classification, columns: Sequence[Value], single: bool = False
) -> ClassOutputs:
    """The label and the probabilities. columns, single : as in `onnx_graph.outputs`."""
    latent, deviations = values(model, columns, model.draws, single)
    of_draws = latent.then("Unsqueeze", np.array([2]))
    weights, parameters = np.ones(1), {}
    if model.draws is not None and deviations is not None:
        of_draws, weights, parameters = of_draws + deviations, model.draws.weights, model.draws.parameters
    each = classification.likelihood.onnx().probabilities(of_draws, parameters)
    plain = (each * weights).total(2).then("Max", LEAST_PROBABILITY).then("Pow", classification.exponent)
    probabilities = plain / plain.then("ReduceSum", np.array([1]), keepdims=1)
    labels = latent.graph.constant(_labels(classification.labels))
    return ClassOutputs(labels.then("Gather", probabilities.then("ArgMax", axis=1, keepdims=0)), probabilities)


def label_type(classification: Classification) -> int:
    """The type of labels: strings, or 64-bit integers, also for booleans, as skl2onnx has them."""
    strings = isinstance(classification.labels[0], str)
    return int(TensorProto.STRING if strings else TensorProto.INT64)


def _labels(labels: Sequence[Label]) -> "np.typing.NDArray[np.object_ | np.int64]":
    if isinstance(labels[0], str):
        return np.array(labels, dtype=object)
    beyond = next((each for each in labels if not -_LARGEST_LABEL <= int(each) < _LARGEST_LABEL), None)
    if beyond is not None:
        raise ValueError(
            f"the label {beyond} is beyond the 64-bit integers of ONNX: make the labels texts, and fit anew."
        )
    return np.array(labels, dtype=np.int64)
