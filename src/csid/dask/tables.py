"""A table on a cluster, as the sampler asks of it: its size, a sample of rows in memory, levels, blocks on levels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from csid.coding import LocalTable
from csid.dask.blocks import counts_together
from csid.dask.cluster import Cluster
from csid.dask.fitting import Encoded, encoded, held_out_rows, none_held_out
from csid.dask.partitions import Partitions, Rows
from csid.dask.survey import Survey, training_rows
from csid.encoding import Encoding, LevelCounts, Mode
from csid.encoding.columns import is_table
from csid.encoding.encoding import refined_modes

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ClusterTable:
    """Rows of partitions; centre, scale : of the targets; sample : some of the rows, drawn at random, in memory."""

    cluster: Cluster
    parts: Partitions
    survey: Survey
    centre: Array
    scale: Array
    sample: LocalTable

    @classmethod
    def of(
        cls,
        cluster: Cluster,
        parts: Partitions,
        survey: Survey,
        flags: Sequence[bool | None],
        most: int,
        rng: np.random.Generator,
    ) -> "ClusterTable":
        """A table with a sample of at most so many rows."""
        lengths = parts.lengths(cluster)
        chosen = held_out_rows(lengths, min(most, sum(lengths)), rng)
        tasks = parts.each(cluster, "sample", _some_rows, own=chosen)
        tables, targets, weights = zip(*parts.compute(cluster, cluster.task("sample", list, tasks)), strict=True)
        centre, scale = survey.moments.centre_and_scale()
        standardised = (np.concatenate(targets) - centre) / scale
        X, masses = _stacked(tables), np.concatenate(weights)
        sample = LocalTable(X, standardised, masses, survey.table.names, flags)
        shuffled = sample.take(rng.permutation(len(sample)))
        return cls(cluster, parts, survey, centre, scale, shuffled)

    def __len__(self) -> int:
        return self.survey.table.n_rows

    def take(self, rows: NDArray[np.intp]) -> LocalTable:
        """Rows of the sample."""
        return self.sample.take(rows)

    def blocks(self, modes: tuple[Mode, ...]) -> Encoded:
        """All rows on these levels, kept on the workers until they are released."""
        given = (self.centre, self.scale, none_held_out(self.parts))
        return encoded(self.cluster, self.parts, self.survey, modes, *given)

    def refined(self, encodings: Sequence[Encoding]) -> Encoding:
        """The levels of several encodings together, with marginals of all rows."""
        modes = refined_modes(encodings)
        tasks = self.parts.each(self.cluster, "marginals", _count_levels, modes)
        counts: LevelCounts = self.cluster.compute(self.cluster.reduced("marginals-sum", counts_together, tasks))
        return Encoding(modes, counts.marginals())


def _some_rows(rows: Rows, chosen: NDArray[np.intp]) -> tuple[Any, Array, Array]:
    """The chosen ones of the rows that count: their table, targets and weights."""
    _, some = training_rows(rows, chosen)
    return _safe_indexing(rows.X, some), rows.targets[some], rows.masses[some]


def _stacked(tables: Sequence[Any]) -> Any:
    if not is_table(tables[0]):
        return np.concatenate(tables)
    frames = [nw.from_native(table, eager_only=True) for table in tables]
    return nw.concat(frames).to_native()


def _count_levels(rows: Rows, modes: tuple[Mode, ...]) -> LevelCounts:
    counts, (train, _) = LevelCounts(modes), training_rows(rows, np.empty(0, np.intp))
    found = Encoding(modes, ()).encode_training(rows.X, len(rows.targets))
    positions = found.fractions[train] if len(found.fractions) else found.fractions
    counts.update(found.codes[train], positions, rows.masses[train])
    return counts
