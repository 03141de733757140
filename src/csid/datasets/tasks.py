"""Tables as tasks: what is predicted from what, and which rows belong together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.datasets.descriptions import Description
from csid.datasets.tables import Column, Library, Table, data_frame, whole_numbers

Array = NDArray[np.float64]

_FEWEST_SCORES = 20
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
"""Shorter records that begin as a longer one does, and their number of samples."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A task: predict `y` from `X`.

    X : data frame (M, N) of pandas, polars or pyarrow; categories have a categorical type, whole numbers are integers.
    y : (M,) float64, or (M, K) for K targets.
    target : names of the K targets.
    categorical : names of the predictors that are categories.
    groups : (M,) what a row belongs to (a person, a student, a record), or None. A split that keeps groups whole tells
        how well others are predicted than those seen.
    split : row numbers of the official parts, by name, such as "train" and "test"; empty where there are none.
    description : the set, its licence and citation.
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
    """An assessment of OULAD that can be predicted.

    kind : "TMA", "CMA" or "Exam": marked by a tutor, by a computer, or a final examination.
    students : how many have a score in it.
    """

    module: str
    presentation: str
    kind: str
    number: int
    students: int

    @property
    def name(self) -> str:
        """What `load("oulad", target=name)` takes, such as "CMA 24295"."""
        return f"{self.kind} {self.number}"


def table_task(description: Description, tables: Sequence[Table], target: str | None, library: Library) -> Dataset:
    """Some columns from the others; rows without a target are left out."""
    names = description.target if target is None else (target,)
    table = _stacked(description, tables)
    y = np.stack([table[name].astype(np.float64) for name in names], axis=1)
    known = ~np.isnan(y).any(axis=1)
    no_predictors = {*description.target, *description.dropped}
    X = {name: column[known] for name, column in table.items() if name not in no_predictors}
    groups = whole_numbers(table[description.groups][known]) if description.groups else None
    return _dataset(description, X, y[known], names, groups, {}, library)


def oulad_assessments(tables: Sequence[Table]) -> list[Assessment]:
    """The assessments with scores, those of the most students first."""
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
    """The score in one assessment from those in the others of its module; a row is a student.

    A predictor is left out when fewer than 20 of these students have a score in it.
    """
    name = description.target[0] if target is None else target
    assessments = {one.name: one for one in oulad_assessments(tables)}
    if name not in assessments:
        raise ValueError(
            f"target is {target!r}, which is no assessment with scores: choose the name of one of the "
            f"{len(assessments)} in csid.datasets.oulad_assessments(), such as {description.target[0]!r}."
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
        if one.module == chosen.module and np.count_nonzero(of_one) >= min(_FEWEST_SCORES, len(students)):
            columns[one.name] = np.full(len(students), np.nan)
            columns[one.name][row[of_one]] = score[of_one]
    y = columns.pop(name).astype(np.float64)
    return _dataset(description, columns, y[:, None], (name,), whole_numbers(students), {}, library)


def dynamic_task(
    description: Description, tables: Sequence[Table], lags: int | tuple[int, int], library: Library
) -> Dataset:
    """The next output from inputs and outputs so far; rows of a record follow one another in time.

    No row reaches into another record. The first 50 samples of a record for testing set the initial state, and are not
    in its part of the split.
    """
    (table,) = tables
    records = {
        name: (np.asarray(table[u][part], np.float64), np.asarray(table[y][part], np.float64))
        for name, (u, y, part) in _RECORDS[description.name].items()
    }
    back = _checked_lags(lags, min(len(u) for u, _ in records.values()))
    start = max(back)
    pieces = [lagged(u, y, back) for u, y in records.values()]
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


def lagged(u: Array, y: Array, back: tuple[int, int]) -> tuple[Table, Array]:
    """Predictors u(t), u(t-1), … and y(t-1), … as far back as said, and y(t), for every t that has them all."""
    start, stop = max(back), len(y)
    X: Table = {"u(t)": u[start:]}
    for name, signal, furthest in (("u", u, back[0]), ("y", y, back[1])):
        X |= {f"{name}(t-{lag})": signal[start - lag : stop - lag] for lag in range(1, furthest + 1)}
    return X, y[start:]


def _checked_lags(lags: Any, samples: int) -> tuple[int, int]:
    pair = lags if isinstance(lags, tuple) else (lags, lags)
    whole = all(isinstance(lag, int | np.integer) and not isinstance(lag, bool) for lag in pair)
    if len(pair) != 2 or not whole or min(pair) < 0 or not 1 <= max(pair) < samples - _INITIAL_SAMPLES:
        raise ValueError(
            f"lags is {lags!r}: give a number of samples from 1 to {samples - _INITIAL_SAMPLES - 1}, "
            "or two of them, for inputs and outputs."
        )
    return int(pair[0]), int(pair[1])


def _stacked(description: Description, tables: Sequence[Table]) -> Table:
    """All files of a set as one table, with the columns that tell them apart."""
    parts: list[Table] = []
    for file, table in zip(description.files, tables, strict=True):
        rows = len(next(iter(table.values())))
        parts.append(table | {name: np.full(rows, value) for name, value in file.adds.items()})
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
