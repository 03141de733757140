"""Which of the outputs of a model is drawn, and its name."""

import numpy as np
from numpy.typing import NDArray

from csid.fitted.model import FittedModel

Array = NDArray[np.float64]
Output = int | str


def output_of(fitted: FittedModel, output: Output) -> tuple[int, str]:
    """Position and name of an output that is given by either."""
    K, names = fitted.n_outputs, fitted.target_names
    if isinstance(output, str) and output in names:
        return names.index(output), output
    if isinstance(output, int | np.integer) and 0 <= output < K:
        return int(output), names[output]
    raise ValueError(
        f"output={output!r}: the model has {K} output(s); "
        f"give a position from 0 to {K - 1}, or one of {', '.join(map(repr, names))}."
    )


def of_output(fitted: FittedModel, values: Array, k: int) -> Array:
    """The part of values (..., K) for output k; they have no axis K if y had one dimension."""
    return np.asarray(values if fitted.one_output else values[..., k])
