"""The schema of a data file that a model was fitted to: columns, their types, and missing-value markers."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Type = Literal["number", "text", "boolean", "date", "time"]
Kind = Literal["number", "category"]
LabelType = Literal["number", "text", "boolean"]


@dataclass(frozen=True)
class CellFormat:
    """How the cells of a column are written.

    unit : of numbers, such as kg or $; decimal : their decimal mark, a point or a comma.
    day_first : whether 02/11/2023 is in November.
    """

    unit: str = ""
    decimal: str = "."
    day_first: bool = False


@dataclass(frozen=True)
class ColumnSchema:
    """A predictor.

    type : how its cells are read; kind : how the model treats them. A date is a number of days, a time of hours.
    order : for text that is an ordered number, its values from lowest to highest; format : how the cells are written.
    """

    name: str
    type: Type
    kind: Kind
    order: tuple[str, ...] = ()
    format: CellFormat = CellFormat()


@dataclass(frozen=True)
class Schema:
    """The columns of a data file.

    columns : the predictors; targets : the target columns; missing : markers of a missing cell.
    weight, group : columns with the sample weights, and with the groups of rows.
    ignored : columns that are not used; formats : how the cells of targets and of the weight are written.
    normalise_text : whether texts that differ only in case or blanks are the same.
    labels : how the cells of a target are read that holds the labels of classes; None if targets are numbers.
    """

    columns: tuple[ColumnSchema, ...]
    targets: tuple[str, ...]
    missing: tuple[str, ...]
    weight: str | None = None
    group: str | None = None
    ignored: tuple[str, ...] = ()
    normalise_text: bool = False
    formats: Mapping[str, CellFormat] = field(default_factory=dict)
    labels: LabelType | None = None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def default_targets(outputs: int) -> tuple[str, ...]:
    """Default names of outputs."""
    return ("y",) if outputs == 1 else tuple(f"y{j + 1}" for j in range(outputs))


def label_type_of(labels: NDArray[Any]) -> LabelType:
    """How the labels (C,) of classes are read from a file."""
    if labels.dtype == object:
        return "text"
    return "boolean" if labels.dtype == np.bool_ else "number"
