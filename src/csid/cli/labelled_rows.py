"""Rows whose targets are known, to fit or to evaluate: predictors, targets, weights and groups."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from csid.cli.cells import OddCells, recognise
from csid.cli.columns import known_targets, numbers, predictors, with_numbers
from csid.cli.errors import DataError
from csid.cli.options import TextFormat
from csid.cli.tables import Reading, read
from csid.data.remarks import remarks_on
from csid.fitted.schema import CellFormat, Schema

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LabelledRows:
    """Rows whose targets are known.

    X : predictors; y : (M,) or (M, K); weights : (M,) or None; groups : (M,) labels or None.
    n_skipped : how many rows of the file lack a target; odd : notes on cells that could not be read.
    absent : predictors that the file does not have.
    """

    X: pa.Table
    y: Array
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

    def remarks(self, targets: Sequence[str]) -> list[str]:
        """What deserves a remark before a fit."""
        return remarks_on(self.X, self.y.reshape(len(self.y), -1), targets)

    def take(self, rows: NDArray[np.intp]) -> "LabelledRows":
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        groups = None if self.groups is None else self.groups[rows]
        return LabelledRows(self.X.take(rows), self.y[rows], weights, groups)

    def split(self, fraction: float, seed: int) -> tuple["LabelledRows", "LabelledRows"]:
        """Rows to train on, and a fraction to hold out; groups stay whole."""
        members = np.arange(len(self.y)) if self.groups is None else np.unique(self.groups, return_inverse=True)[1]
        count = members.max() + 1
        chosen = np.random.default_rng(seed).permutation(count)[: round(fraction * count)]
        is_held_out = np.isin(members, chosen)
        train, test = np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)
        if len(train) < 2 or len(test) == 0:
            units = "rows" if self.groups is None else "groups"
            raise DataError(
                f"--holdout {fraction} of {count} {units} holds out {len(test)} rows and leaves {len(train)} to fit: "
                "choose a fraction that holds out at least 1 row and leaves at least 2."
            )
        return self.take(train), self.take(test)


def labelled(
    table: pa.Table, schema: Schema, weight: str | None, group: str | None, odd: OddCells | None = None
) -> LabelledRows:
    """The rows of a table that have all targets."""
    y, known = known_targets(table, schema.targets)
    present = set(table.column_names)
    rows = LabelledRows(
        predictors(table, schema, odd),
        y[:, 0] if y.shape[1] == 1 else y,
        None if weight is None else numbers(table, weight, "weight"),
        None if group is None else np.array(table[group].to_pylist(), dtype=object).astype(str),
    )
    return replace(
        rows if len(known) == len(y) else rows.take(known),
        n_skipped=len(y) - len(known),
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
) -> LabelledRows:
    """Read the rows of a file that have all targets, by the schema of a model."""
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
    table = with_numbers(table, formats, odd)
    rows = labelled(table, schema, weight, group, odd)
    odd.refuse_unreadable()
    if len(rows.y) == 0:
        raise DataError(f"{data} has no row with a target.")
    return rows
