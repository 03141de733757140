"""Which of the outputs of a model is drawn, and its name. Those of a classifier are latent values of its classes."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid.data.targets import ClassTargets
from csid.explain.outputs import index_of_label
from csid.fitted.class_names import class_names
from csid.fitted.model import FittedModel

Array = NDArray[np.float64]
Output = Any
"""Position or name of an output; of a classifier, the label of a class; None for the default."""


class DrawnOutput(NamedTuple):
    """The output that is drawn.

    position : among the values of the tensor, which is taken times `sign`.
    name : as axes and titles say it. explained : the output as explanations take it.
    class_index, class_name : of a classifier, else None and empty.
    """

    position: int
    name: str
    explained: Any
    sign: float = 1.0
    class_index: int | None = None
    class_name: str = ""


def output_of(fitted: FittedModel, output: Output) -> DrawnOutput:
    """The output that is given by its position or name, or by the label of a class.

    By default the first one; of two classes, the second.
    """
    if fitted.classes is not None:
        return _output_of_class(fitted, fitted.classes, output)
    K, names = fitted.n_outputs, fitted.target_names
    k = 0 if output is None else names.index(output) if isinstance(output, str) and output in names else output
    if isinstance(k, int | np.integer) and 0 <= k < K:
        return DrawnOutput(int(k), names[k], int(k))
    raise ValueError(
        f"output={output!r}: the model has {K} output(s); "
        f"give a position from 0 to {K - 1}, or one of {', '.join(map(repr, names))}."
    )


def of_output(fitted: FittedModel, values: Array, drawn: DrawnOutput) -> Array:
    """The part of values (..., K) for one output; they have no axis K if y had one dimension."""
    return np.asarray(drawn.sign * (values if fitted.one_output else values[..., drawn.position]))


def classes_of(fitted: FittedModel, what: str) -> ClassTargets:
    """The classes of a classifier, or an error. what : the plot that needs them, for the error message."""
    if fitted.classes is None:
        raise TypeError(f"{what} needs classes, but {fitted.estimator} has numeric targets: use plots.calibration.")
    return fitted.classes


def _output_of_class(fitted: FittedModel, classes: ClassTargets, label: Any) -> DrawnOutput:
    """With one latent value, that of the first of two classes is its negative."""
    labels, one = classes.labels.tolist(), fitted.n_outputs == 1
    at = int(one) if label is None else index_of_label(classes, label, "output")
    name = class_names(classes.labels, fitted.class_target)[at]
    position, sign = (0, 1.0 if at else -1.0) if one else (at, 1.0)
    return DrawnOutput(position, f"latent value of {name}", labels[at], sign, at, name)
