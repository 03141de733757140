"""Rows whose targets are known, to fit or to evaluate: predictors, targets, weights and groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from csid.cli.cells import OddCells, recognise
from csid.cli.columns import numbers, predictors, with_types
from csid.cli.errors import DataError
from csid.cli.options import TextFormat
from csid.cli.tables import Reading, read
from csid.cli.targets import check_labels, known_targets
from csid.data.remarks import remarks_on, remarks_on_classes
from csid.fitted.schema import CellFormat, Schema

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LabelledRows:
    """Rows whose targets are known.

    X : predictors; y : numbers (M,) or (M, K), or labels of classes (M,).
    weights : (M,) or None; groups : (M,) labels or None.
    n_skipped : how many rows of the file lack a target; odd : notes on cells that could not be read.
    absent : predictors that the file does not have.
    """

    X: pa.Table
    y: NDArray[Any]
    weights: Array | None
    groups: NDArray[Any] | None
    n_skipped: int = 0
    odd: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()

    @property
    def notes(self) -> list[str]:
        """What to tell about the rows that were skipped, and the cells that could not be read."""
        skipped = [f"Rows skipped because a target is missing: {self.n_skipped:,}."] if self.n_skipped else []
        return [*skipped, *self.odd]

    def remarks(self, schema: Schema) -> list[str]:
        """What deserves a remark before a fit."""
        if schema.labels is not None:
            return remarks_on_classes(self.X, self.y, schema.targets[0])
        return remarks_on(self.X, self.y.reshape(len(self.y), -1), schema.targets)

    def take(self, rows: NDArray[np.intp]) -> "LabelledRows":
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        groups = None if self.groups is None else self.groups[rows]
        return LabelledRows(self.X.take(rows), self.y[rows], weights, groups)

    def split(self, fraction: float, seed: int, by_class: bool = False) -> tuple["LabelledRows", "LabelledRows"]:
        """Rows to train on, and a fraction to hold out; groups stay whole.

        by_class : hold out this fraction of each class, but never all of its rows; not where groups stay whole.
        """
        members = np.arange(len(self.y)) if self.groups is None else np.unique(self.groups, return_inverse=True)[1]
        count = members.max() + 1
        order = np.random.default_rng(seed).permutation(count)
        if by_class and self.groups is None:
            strata = np.unique(self.y, return_inverse=True)[1][order]
            parts = [order[strata == stratum] for stratum in range(strata.max() + 1)]
            chosen = np.concatenate([part[: min(round(fraction * len(part)), len(part) - 1)] for part in parts])
        else:
            chosen = order[: round(fraction * count)]
        is_held_out = np.isin(members, chosen)
        train, test = np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)
        if len(train) < 2 or len(test) == 0:
            units = "rows" if self.groups is None else "groups"
            raise DataError(
                f"--holdout {fraction} of {count} {units} holds out {len(test)} rows and leaves {len(train)} to fit: "
                "choose a fraction that holds out at least 1 row and leaves at least 2."
            )
        if by_class and (lost := set(self.y[test].tolist()) - set(self.y[train].tolist())):
            raise DataError(
                f"--holdout {fraction} holds out all rows of the class {min(lost)!r}, because groups stay whole: "
                "choose another fraction or --seed, or leave out --group."
            )
        return self.take(train), self.take(test)


def labelled(
    table: pa.Table,
    schema: Schema,
    weight: str | None,
    group: str | None,
    odd: OddCells | None = None,
    classes: Sequence[Any] | None = None,
) -> LabelledRows:
    """The rows of a table that have all targets. classes : all that they may have."""
    y, known = known_targets(table, schema)
    if classes is not None:
        check_labels(y, known, classes, schema.targets[0])
    present, X = set(table.column_names), predictors(table, schema, odd)
    weights = None if weight is None else numbers(table, weight, "weight")
    groups = None if group is None else np.array(table[group].to_pylist(), dtype=object).astype(str)
    return LabelledRows(
        X if len(known) == table.num_rows else X.take(known),
        y,
        None if weights is None else weights[known],
        None if groups is None else groups[known],
        n_skipped=table.num_rows - len(known),
        odd=() if odd is None else tuple(odd.notes()),
        absent=tuple(column.name for column in schema.columns if column.name not in present),
    )


def read_labelled(
    data: str,
    schema: Schema,
    text: TextFormat,
    weight: str | None = None,
    group: str | None = None,
    absent_as_missing: bool = False,
    classes: Sequence[Any] | None = None,
) -> LabelledRows:
    """Read the rows of a file that have all targets, by the schema of a model. classes : those of a classifier."""
    numeric = (*schema.targets, *filter(None, [weight]))
    names = [column.name for column in schema.columns]
    optional = frozenset(names) if absent_as_missing else frozenset()
    odd = OddCells(text.cells.strict)
    reading = Reading(
        schema.missing,
        text.delimiter,
        text.encoding,
        text.sheet,
        columns=[*names, *numeric],
        optional=optional,
        also=() if group is None else (group,),
    )
    table = read(data, reading)
    formats = {name: schema.formats.get(name, CellFormat()) for name in schema.targets}
    if weight is not None:
        formats[weight] = schema.formats.get(weight) or recognise(table, {weight: "number"}, text.cells)[weight].format
    table = with_types(table, schema, formats, odd)
    rows = labelled(table, schema, weight, group, odd, classes)
    odd.refuse_unreadable()
    if len(rows.y) == 0:
        raise DataError(f"{data} has no row with a target.")
    return rows
