"""Rows to train or to evaluate on, from a file: predictors, targets, weights and groups, split if wanted."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from csid.cli.errors import DataError
from csid.cli.frames import described, infer, known_targets, matching, numbers, predictors
from csid.cli.options import missing_words
from csid.cli.tables import MISSING, Reading, read
from csid.schema import Schema

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Training:
    """Rows whose targets are known.

    X : predictors; y : (M,) or (M, K); weights : (M,) or None; groups : (M,) what rows belong to, or None.
    columns : a line for each column of the file; notes : what the user should know.
    """

    schema: Schema
    X: pa.Table
    y: Array
    weights: Array | None
    groups: NDArray[Any] | None
    columns: list[dict[str, Any]]
    notes: list[str]

    def take(self, rows: NDArray[np.intp]) -> "Training":
        return replace(
            self,
            X=self.X.take(rows),
            y=self.y[rows],
            weights=None if self.weights is None else self.weights[rows],
            groups=None if self.groups is None else self.groups[rows],
        )

    def split(self, share: float, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows to train on, and a share to hold out; rows of a group stay together."""
        members = np.arange(len(self.y)) if self.groups is None else np.unique(self.groups, return_inverse=True)[1]
        count = members.max() + 1
        held_out = np.random.default_rng(seed).permutation(count)[: round(share * count)]
        out = np.isin(members, held_out)
        train, test = np.flatnonzero(~out), np.flatnonzero(out)
        if len(train) < 2 or len(test) == 0:
            what = "rows" if self.groups is None else "groups"
            raise DataError(f"--holdout {share}: of {count} {what} it leaves {len(test)} rows out and {len(train)} in.")
        return train, test


class Wanted(NamedTuple):
    """Which data, and what the flags say of their columns.

    files : words for missing cells, delimiter and encoding.
    """

    data: str
    targets: Sequence[str]
    files: tuple[list[str] | None, str | None, str]
    categorical: list[str] | None
    ordinal: list[str] | None
    ignore: list[str] | None
    weight: str | None
    group: str | None

    @property
    def reading(self) -> Reading:
        missing, delimiter, encoding = self.files
        return Reading(missing_words(missing) or list(MISSING), delimiter, encoding)

    def schema_of(self, table: pa.Table) -> Schema:
        """What the columns are, by these rows."""
        given = (self.categorical or [], self.ordinal or [], self.ignore or [], self.weight, self.group)
        return infer(table, self.targets, self.reading.missing, *given)


def read_training(wanted: Wanted) -> Training:
    """Read and type a file; rows without a target are left out, and said to be."""
    data, targets, weight, group = wanted.data, wanted.targets, wanted.weight, wanted.group
    table = read(data, wanted.reading)
    schema = wanted.schema_of(table)
    y, known = known_targets(table, targets)
    if len(known) < 2:
        raise DataError(f"{data} has {len(known)} row(s) with a target; a fit needs at least 2.")
    notes = [f"{len(y) - len(known):,} rows without a target are left out."] if len(known) < len(y) else []
    ignored = matching("--ignore", wanted.ignore or [], table.column_names)
    without = [name for name in schema.ignored if name not in ignored]
    if without:
        notes.append(
            f"no predictor, for want of values that repeat: {', '.join(without)} (--categorical keeps a column)."
        )
    columns = described(table, schema)
    training = Training(
        schema,
        predictors(table, schema),
        y[:, 0] if y.shape[1] == 1 else y,
        None if weight is None else numbers(table, weight, "weight"),
        None if group is None else np.array(table[group].to_pylist(), dtype=object).astype(str),
        columns,
        notes,
    )
    return training if len(known) == len(y) else training.take(known)
