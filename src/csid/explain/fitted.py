"""What explanations read of a fitted estimator."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.cpd import CPD
from csid.encoding import EncodedRows
from csid.explain.bands import Band, band

Array = NDArray[np.float64]
Feature = int | str

MOST_NUMBERS = 1 << 24
"""That explanations keep at a time, of all draws."""


def encoded(model: Any, X: Any) -> EncodedRows:
    """The rows of a table, checked, on the levels of the model."""
    table, n_rows = model._checked(X)
    rows: EncodedRows = model.encoding_.encode(table, n_rows)
    return rows


def shaped(model: Any, values: Array) -> Array:
    """Values (..., K) without their last axis when the model was fitted to one output."""
    return np.asarray(values[..., 0] if model._one_output else values)


def shaped_band(model: Any, found: Band) -> Band:
    """The same of a band."""
    return Band(*(shaped(model, values) for values in found))


def names(model: Any) -> list[str]:
    """Of the predictors."""
    return [mode.name for mode in model.encoding_.modes]


def positions(model: Any, features: Feature | Sequence[Feature]) -> tuple[int, ...]:
    """Where the predictors stand that are given by name or position."""
    known = names(model)
    given = [features] if isinstance(features, int | np.integer | str) else list(features)
    wrong = [item for item in given if item not in (known if isinstance(item, str) else range(len(known)))]
    if wrong:
        raise ValueError(
            f"there is no predictor {wrong[0]!r}: give names, such as {known[0]!r}, "
            f"or positions from 0 to {len(known) - 1}."
        )
    return tuple(known.index(item) if isinstance(item, str) else int(item) for item in given)


def draws(model: Any) -> tuple[tuple[CPD, ...], Array]:
    """The posterior draws of a model, and their weights (D,)."""
    if not hasattr(model, "posterior_"):
        raise TypeError(
            f"draws=True asks for intervals over posterior draws, but {type(model).__name__} has none: "
            "fit a BayesianCSIDRegressor, or leave draws=False."
        )
    return model.posterior_.draws, model.posterior_.shares


def band_of_rows(
    model: Any, rows: EncodedRows, n_numbers: int, each: Callable[[EncodedRows], Array], coverage: float
) -> Band:
    """The band over posterior draws of what is computed row by row, some rows at a time.

    n_numbers : of one row and draw; each : from some rows to values (D, M, ...) of all draws.
    """
    shares = model.posterior_.shares
    most = max(1, MOST_NUMBERS // (len(shares) * n_numbers))
    parts = [slice(start, start + most) for start in range(0, len(rows.codes), most)]
    bands = [band(each(EncodedRows(rows.codes[part], rows.fractions[part])), shares, coverage) for part in parts]
    return Band(*(np.concatenate(arrays) for arrays in zip(*bands, strict=True)))
