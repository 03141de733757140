"""The first pass over a table: sketches of its columns, to which levels are fitted, and moments of its targets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.data.cluster.cluster import Cluster
from csid.data.cluster.partitions import PartitionRows, Partitions
from csid.encoding import Moments, TableSketch

Array = NDArray[np.float64]
Held = tuple[NDArray[np.intp]]
"""Indices of the held-out rows of a partition, among its rows with a positive weight."""


@dataclass
class ClusterSurvey:
    """Summaries of training rows after one pass, which can be merged.

    table : sketches of the columns; moments : of the targets; least : (K,) the smallest target of each output.
    """

    table: TableSketch
    moments: Moments
    least: Array

    @classmethod
    def empty(cls, names: Sequence[str], flags: Sequence[bool | None], outputs: int) -> "ClusterSurvey":
        return cls(TableSketch(names, flags), Moments(outputs), np.full(outputs, np.inf))

    def merge(self, other: "ClusterSurvey") -> None:
        self.table.merge(other.table)
        self.moments.merge(other.moments)
        self.least = np.minimum(self.least, other.least)


def survey_partitions(
    cluster: Cluster, parts: Partitions, names: Sequence[str], flags: Sequence[bool | None], held_out: Sequence[Held]
) -> ClusterSurvey:
    """Survey all partitions."""
    tasks = parts.each(cluster, "survey", _survey, list(names), list(flags), own=held_out)
    found: ClusterSurvey = parts.compute(cluster, cluster.tree_reduce("survey-sum", merged, tasks))
    if found.table.n_rows < 2:
        raise ValueError(f"Found {found.table.n_rows} sample(s) in X while a minimum of 2 is required.")
    return found


def merged(parts: Sequence[ClusterSurvey]) -> ClusterSurvey:
    """Merge surveys into a new one."""
    first = parts[0]
    flags = [column.categorical for column in first.table.columns]
    total = ClusterSurvey.empty(first.table.names, flags, len(first.least))
    for part in parts:
        total.merge(part)
    return total


def training_rows(rows: PartitionRows, held_out: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Indices of the training rows and of the held-out rows of a partition."""
    positive = np.flatnonzero(rows.row_weights)
    mask = np.ones(len(positive), np.bool_)
    mask[held_out] = False
    return positive[mask], positive[~mask]


def _survey(rows: PartitionRows, names: list[str], flags: list[Any], held_out: NDArray[np.intp]) -> ClusterSurvey:
    train, _ = training_rows(rows, held_out)
    found = ClusterSurvey.empty(names, flags, rows.targets.shape[1])
    found.table.update(rows.X, len(rows.targets), rows.weights, None if len(train) == len(rows.targets) else train)
    if len(train):
        found.moments.update(rows.targets[train], rows.row_weights[train])
        found.least = rows.targets[train].min(axis=0)
    return found
