"""Which of the outputs of a model is drawn, and what it is called."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from csid.schema import default_targets

Array = NDArray[np.float64]
Output = int | str


def output_of(model: Any, output: Output) -> tuple[int, str]:
    """Position and name of an output that is given by either."""
    check_is_fitted(model, "cpd_")
    K = model.cpd_.n_outputs
    schema = model.schema_
    names = schema.targets if schema is not None and len(schema.targets) == K else default_targets(K)
    if isinstance(output, str) and output in names:
        return names.index(output), output
    if isinstance(output, int | np.integer) and 0 <= output < K:
        return int(output), names[output]
    raise ValueError(
        f"output={output!r}: the model has {K} output(s); "
        f"give a position from 0 to {K - 1}, or one of {', '.join(map(repr, names))}."
    )


def of_output(model: Any, values: Array, k: int) -> Array:
    """Of an array (..., K), or of one without that axis for a model of one output, what belongs to output k."""
    return np.asarray(values if model._one_output else values[..., k])
