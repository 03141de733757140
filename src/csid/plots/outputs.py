"""Which of the outputs of a model is drawn, and its name.

The outputs of a classifier are latent values: of the second of two classes, or of each of several.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.data.targets import ClassTargets
from csid.fitted.class_names import class_names
from csid.fitted.model import FittedModel

Array = NDArray[np.float64]
Output = int | str

_MOST_SHOWN = 5


def output_of(fitted: FittedModel, output: Output) -> tuple[int, str]:
    """Position and name of an output that is given by either."""
    K, names = fitted.n_outputs, fitted.target_names
    k = names.index(output) if isinstance(output, str) and output in names else output
    if isinstance(k, int | np.integer) and 0 <= k < K:
        return int(k), names[k] if fitted.classes is None else f"latent value of {class_of(fitted, int(k))[1]}"
    raise ValueError(
        f"output={output!r}: the model has {K} output(s); "
        f"give a position from 0 to {K - 1}, or one of {', '.join(map(repr, names))}."
    )


def of_output(fitted: FittedModel, values: Array, k: int) -> Array:
    """The part of values (..., K) for output k; they have no axis K if y had one dimension."""
    return np.asarray(values if fitted.one_output else values[..., k])


def class_of(fitted: FittedModel, k: int) -> tuple[int, str]:
    """Position and name of the class whose latent value output k is."""
    at = k if fitted.n_outputs > 1 else 1
    return at, class_names(classes_of(fitted, "this plot").labels, fitted.class_target)[at]


def classes_of(fitted: FittedModel, what: str) -> ClassTargets:
    """The classes of a classifier, or an error. what : the plot that needs them, for the error message."""
    if fitted.classes is None:
        raise TypeError(f"{what} needs classes, but {fitted.estimator} has numeric targets: use plots.calibration.")
    return fitted.classes


def label_of(fitted: FittedModel, label: Any, what: str) -> int:
    """The position of a class that is given by its label."""
    labels = classes_of(fitted, what).labels.tolist()
    if label in labels:
        return int(labels.index(label))
    some = ", ".join(map(repr, labels[:_MOST_SHOWN])) + (", …" if len(labels) > _MOST_SHOWN else "")
    raise ValueError(f"label={label!r} is not a class: give one of {some}.")
