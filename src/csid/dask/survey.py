"""The first pass over a table: sketches of its columns and moments of its targets, from which levels come."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.dask.cluster import Cluster
from csid.dask.partitions import Partitions, Rows
from csid.encoding import Moments, TableSketch

Array = NDArray[np.float64]
Held = tuple[NDArray[np.intp]]
"""Rows of a partition that are held out, among those that count."""


@dataclass
class Survey:
    """What is known of training rows after one pass; parts of it merge.

    table : their sketches; moments : of their targets; least : (K,) the smallest targets; counted : how many rows.
    """

    table: TableSketch
    moments: Moments
    least: Array

    @classmethod
    def empty(cls, names: Sequence[str], flags: Sequence[bool | None], outputs: int) -> "Survey":
        return cls(TableSketch(names, flags), Moments(outputs), np.full(outputs, np.inf))

    def merge(self, other: "Survey") -> None:
        self.table.merge(other.table)
        self.moments.merge(other.moments)
        self.least = np.minimum(self.least, other.least)


def surveyed(
    cluster: Cluster, parts: Partitions, names: Sequence[str], flags: Sequence[bool | None], held_out: Sequence[Held]
) -> Survey:
    """The survey of all partitions."""
    tasks = parts.each(cluster, "survey", _survey, list(names), list(flags), own=held_out)
    found: Survey = parts.compute(cluster, cluster.reduced("survey-sum", merged, tasks))
    if found.table.n_rows < 2:
        raise ValueError(f"Found {found.table.n_rows} sample(s) in X while a minimum of 2 is required.")
    return found


def merged(parts: Sequence[Survey]) -> Survey:
    """One survey of several, which stay as they are."""
    first = parts[0]
    flags = [column.categorical for column in first.table.columns]
    whole = Survey.empty(first.table.names, flags, len(first.least))
    for part in parts:
        whole.merge(part)
    return whole


def training_rows(rows: Rows, held_out: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Which rows of a partition are trained on, and which are held out."""
    counted = np.flatnonzero(rows.masses)
    mask = np.ones(len(counted), np.bool_)
    mask[held_out] = False
    return counted[mask], counted[~mask]


def _survey(rows: Rows, names: list[str], flags: list[Any], held_out: NDArray[np.intp]) -> Survey:
    train, _ = training_rows(rows, held_out)
    found = Survey.empty(names, flags, rows.targets.shape[1])
    found.table.update(rows.X, len(rows.targets), rows.weights, None if len(train) == len(rows.targets) else train)
    if len(train):
        found.moments.update(rows.targets[train], rows.masses[train])
        found.least = rows.targets[train].min(axis=0)
    return found
