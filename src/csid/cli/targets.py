"""Read the targets of a table: numbers, or the labels of classes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from csid.cli.columns import numbers
from csid.cli.errors import DataError
from csid.encoding.text import normalised
from csid.fitted.schema import Schema

_MOST_SHOWN = 5


def known_targets(table: pa.Table, schema: Schema) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The targets (M,) or (M, K) of the rows that have all of them, and the indices of these rows."""
    if schema.labels is not None:
        return _known_labels(table, schema)
    y = np.stack([numbers(table, name, "target") for name in schema.targets], axis=1)
    known = np.flatnonzero(~np.isnan(y).any(axis=1))
    return (y[known, 0] if y.shape[1] == 1 else y[known]), known


def _known_labels(table: pa.Table, schema: Schema) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Texts as objects, truth values as booleans, numbers as integers."""
    (name,) = schema.targets
    column = table[name]
    if schema.labels == "number":
        values = numbers(table, name, "target")
        known = np.flatnonzero(~np.isnan(values))
        found = values[known]
        fractions = np.flatnonzero(found != np.rint(found))
        if len(fractions):
            row = known[fractions[0]]
            raise DataError(
                f"the target {name!r} holds {values[row]:g} in row {row + 1:,}, but numbers that are labels of classes "
                "must be whole. Use --task regression."
            )
        return found.astype(np.int64), known
    known = np.flatnonzero(column.is_valid().to_numpy())
    if schema.labels == "boolean" and len(known) and not pa.types.is_boolean(column.type):
        row = known[0]
        raise DataError(
            f"the target {name!r} must hold true or false, but row {row + 1:,} holds {column[row].as_py()!r}."
        )
    labels = column.take(known).to_pylist()
    return np.array(labels, dtype=object if schema.labels == "text" else np.bool_), known


def check_labels(labels: NDArray[Any], rows: NDArray[np.intp], known: Sequence[Any], target: str) -> None:
    """Refuse labels that a model does not know. rows : their indices in the file."""
    legal = set(known)
    unknown = np.array([label not in legal for label in labels.tolist()], bool)
    if not unknown.any():
        return
    first = int(np.argmax(unknown))
    label, shown = labels[first], ", ".join(map(repr, known[:_MOST_SHOWN]))
    more = f" and {len(known) - _MOST_SHOWN:,} more" if len(known) > _MOST_SHOWN else ""
    similar = [each for each in known if isinstance(each, str) and normalised(each) == normalised(str(label))]
    hint = (
        f" It differs from {similar[0]!r} only in case or blanks: csid fit --normalise-text merges them."
        if similar
        else ""
    )
    raise DataError(
        f"the target {target!r} holds {label!r} in row {rows[first] + 1:,}, a class that no training row had "
        f"({int(unknown.sum()):,} such rows in total). The classes of the model are {shown}{more}. Leave such rows "
        f"out, or fit anew with them.{hint}"
    )
