"""From tables to regression tasks: target, predictors, groups of rows and official splits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.datasets.descriptions import Description
from csid.datasets.tables import Column, Library, Table, data_frame, integers_if_exact

Array = NDArray[np.float64]

_MIN_SCORES = 20
_INITIAL_SAMPLES = 50
_RECORDS: Mapping[str, Mapping[str, tuple[str, str, slice]]] = {
    "cascaded_tanks": {
        "train": ("uEst", "yEst", slice(None)),
        "test": ("uVal", "yVal", slice(None)),
    },
    "silverbox": {
        "train": ("V1", "V2", slice(40650, 105712)),
        "test_multisine": ("V1", "V2", slice(105712, 127400)),
        "test_arrow": ("V1", "V2", slice(100, 40575)),
    },
}
_PARTS = {"silverbox": {"test_arrow_no_extrapolation": ("test_arrow", 32000)}}
"""Test sets that are the first part of a longer record, and their number of samples."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A task: predict `y` from `X`.

    X : (M, N) data frame of pandas, polars or pyarrow; categorical predictors have a categorical type.
    y : (M,) float64, or (M, K) for K targets.
    target : names of the K targets.
    categorical : names of the categorical predictors.
    groups : (M,) the person, student or record of each row, or None. Split by group to measure how well unseen groups
        are predicted.
    split : row numbers of the official train and test sets by name; empty if there are none.
    description : the data set with its licence and citation.
    """

    name: str
    X: Any = field(repr=False)
    y: Array = field(repr=False)
    target: tuple[str, ...]
    categorical: tuple[str, ...]
    groups: NDArray[Any] | None = field(repr=False)
    split: Mapping[str, NDArray[np.intp]] = field(repr=False)
    description: Description = field(repr=False)


@dataclass(frozen=True)
class Assessment:
    """An assessment of OULAD that can be the target.

    kind : "TMA" (marked by a tutor), "CMA" (marked by a computer) or "Exam" (final exam).
    students : number of students with a score.
    """

    module: str
    presentation: str
    kind: str
    number: int
    students: int

    @property
    def name(self) -> str:
        """The name for `load("oulad", target=name)`, such as "CMA 24295"."""
        return f"{self.kind} {self.number}"


def table_task(description: Description, tables: Sequence[Table], target: str | None, library: Library) -> Dataset:
    """Predict the target columns from the others; rows with a missing target are dropped."""
    names = description.target if target is None else (target,)
    table = _stacked(description, tables)
    y = np.stack([table[name].astype(np.float64) for name in names], axis=1)
    known = ~np.isnan(y).any(axis=1)
    excluded = {*description.target, *description.dropped}
    X = {name: column[known] for name, column in table.items() if name not in excluded}
    groups = integers_if_exact(table[description.groups][known]) if description.groups else None
    return _dataset(description, X, y[known], names, groups, {}, library)


def oulad_assessments(tables: Sequence[Table]) -> list[Assessment]:
    """The assessments that have scores, in descending order of their number of students."""
    key, results = tables
    scored = results["id_assessment"][~np.isnan(results["score"].astype(np.float64))]
    counts = dict(zip(*(part.tolist() for part in np.unique(scored, return_counts=True)), strict=True))
    columns = ("code_module", "code_presentation", "assessment_type", "id_assessment")
    found = [
        Assessment(module, presentation, kind, int(number), counts[number])
        for module, presentation, kind, number in zip(*(key[name].tolist() for name in columns), strict=True)
        if number in counts
    ]
    return sorted(found, key=lambda one: (-one.students, one.number))


def oulad_task(description: Description, tables: Sequence[Table], target: str | None, library: Library) -> Dataset:
    """Predict the score in one assessment from the scores in the others of its module; a row is a student.

    Assessments in which fewer than 20 of these students have a score are not used as predictors.
    """
    name = description.target[0] if target is None else target
    assessments = {one.name: one for one in oulad_assessments(tables)}
    if name not in assessments:
        raise ValueError(
            f"target is {target!r}, which is not an assessment with scores: choose one of the "
            f"{len(assessments)} listed by csid.datasets.oulad_assessments(), such as {description.target[0]!r}."
        )
    chosen = assessments[name]
    number, student, score = (
        tables[1][column].astype(np.float64) for column in ("id_assessment", "id_student", "score")
    )
    students = np.unique(student[(number == chosen.number) & ~np.isnan(score)])
    theirs = np.isin(student, students) & ~np.isnan(score)
    number, row, score = number[theirs], np.searchsorted(students, student[theirs]), score[theirs]
    columns: Table = {}
    for one in sorted(assessments.values(), key=lambda one: one.number):
        of_one = number == one.number
        if one.module == chosen.module and np.count_nonzero(of_one) >= min(_MIN_SCORES, len(students)):
            columns[one.name] = np.full(len(students), np.nan)
            columns[one.name][row[of_one]] = score[of_one]
    y = columns.pop(name).astype(np.float64)
    return _dataset(description, columns, y[:, None], (name,), integers_if_exact(students), {}, library)


def dynamic_task(
    description: Description, tables: Sequence[Table], lags: int | tuple[int, int], library: Library
) -> Dataset:
    """Predict the next output of a dynamical system from past inputs and outputs; rows of a record are in time order.

    No lag crosses from one record into another. The first 50 samples of a test record only set the initial state: they
    are not part of the test set.
    """
    (table,) = tables
    records = {
        name: (np.asarray(table[u][part], np.float64), np.asarray(table[y][part], np.float64))
        for name, (u, y, part) in _RECORDS[description.name].items()
    }
    pair = _checked_lags(lags, min(len(u) for u, _ in records.values()))
    start = max(pair)
    pieces = [lagged(u, y, pair) for u, y in records.values()]
    X: Table = {column: np.concatenate([piece[column] for piece, _ in pieces]) for column in pieces[0][0]}
    lengths = [len(outputs) for _, outputs in pieces]
    groups = np.repeat(list(records), lengths)
    first_rows = dict(zip(records, np.cumsum([0, *lengths[:-1]]).tolist(), strict=True))
    ends = {name: (name, len(u)) for name, (u, _) in records.items()} | _PARTS.get(description.name, {})
    split = {}
    for name, (record, samples) in ends.items():
        from_sample = start if name == "train" else max(start, _INITIAL_SAMPLES)
        split[name] = first_rows[record] + np.arange(from_sample - start, samples - start)
    outputs = np.concatenate([piece for _, piece in pieces])
    return _dataset(description, X, outputs[:, None], description.target, groups, split, library)


def lagged(u: Array, y: Array, lags: tuple[int, int]) -> tuple[Table, Array]:
    """Predictors u(t), u(t-1), … and y(t-1), … with these numbers of lags, and output y(t), for each t that has all."""
    start, stop = max(lags), len(y)
    X: Table = {"u(t)": u[start:]}
    for name, signal, most in (("u", u, lags[0]), ("y", y, lags[1])):
        X |= {f"{name}(t-{lag})": signal[start - lag : stop - lag] for lag in range(1, most + 1)}
    return X, y[start:]


def _checked_lags(lags: Any, samples: int) -> tuple[int, int]:
    pair = lags if isinstance(lags, tuple) else (lags, lags)
    integers = all(isinstance(lag, int | np.integer) and not isinstance(lag, bool) for lag in pair)
    if len(pair) != 2 or not integers or min(pair) < 0 or not 1 <= max(pair) < samples - _INITIAL_SAMPLES:
        raise ValueError(
            f"lags is {lags!r}: give an integer from 1 to {samples - _INITIAL_SAMPLES - 1}, "
            "or a tuple of two, for inputs and outputs."
        )
    return int(pair[0]), int(pair[1])


def _stacked(description: Description, tables: Sequence[Table]) -> Table:
    """All files of a data set as one table, with the constant columns that tell them apart."""
    parts: list[Table] = []
    for file, table in zip(description.files, tables, strict=True):
        rows = len(next(iter(table.values())))
        parts.append(table | {name: np.full(rows, value) for name, value in file.constants.items()})
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _dataset(
    description: Description,
    X: Mapping[str, Column],
    y: Array,
    target: tuple[str, ...],
    groups: NDArray[Any] | None,
    split: Mapping[str, NDArray[np.intp]],
    library: Library,
) -> Dataset:
    frame = data_frame(X, description.categorical, library)
    values = y[:, 0] if len(target) == 1 else y
    return Dataset(
        description.name,
        frame,
        np.ascontiguousarray(values),
        target,
        description.categorical,
        groups,
        split,
        description,
    )
