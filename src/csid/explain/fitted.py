"""What explanations read of a fitted estimator."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.cpd import CPD
from csid.encoding import EncodedRows

Array = NDArray[np.float64]


def encoded(model: Any, X: Any) -> EncodedRows:
    """The rows of a table, checked, on the levels of the model."""
    table, n_rows = model._checked(X)
    rows: EncodedRows = model.encoding_.encode(table, n_rows)
    return rows


def shaped(model: Any, values: Array) -> Array:
    """Values (..., K) without their last axis when the model was fitted to one output."""
    return np.asarray(values[..., 0] if model._one_output else values)


def names(model: Any) -> list[str]:
    """Of the predictors."""
    return [mode.name for mode in model.encoding_.modes]


def draws(model: Any) -> tuple[tuple[CPD, ...], Array]:
    """The posterior draws of a model, and their weights (D,)."""
    if not hasattr(model, "posterior_"):
        raise TypeError(
            f"draws=True asks for intervals over posterior draws, but {type(model).__name__} has none: "
            "fit a BayesianCSIDRegressor, or leave draws=False."
        )
    return model.posterior_.draws, model.posterior_.shares
