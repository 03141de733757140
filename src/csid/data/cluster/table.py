"""A table on a cluster: encoded blocks of all rows, and a sample of rows in memory."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from csid.data.cluster.blocks import merge_counts
from csid.data.cluster.cluster import Cluster
from csid.data.cluster.encoding import SurveyedPartitions, encode_partitions, held_out_rows, none_held_out
from csid.data.cluster.partitions import PartitionRows, Partitions
from csid.data.cluster.samples import ClusterSamples
from csid.data.cluster.survey import survey_partitions, training_rows
from csid.data.problem import Problem
from csid.data.table import EncodedTable, LocalTable, TableHeader
from csid.encoding import Encoding, LevelCounts, Levels, Mode
from csid.encoding.columns import is_table
from csid.encoding.encoding import refined_modes

Array = NDArray[np.float64]

_MOST_SAMPLED = 60_000


class WantedTable(NamedTuple):
    """Options of a `ClusterTable`.

    names : of the predictors; flags : whether each is categorical, None to decide by its type.
    merged : whether rows on the same cell are merged.
    units : centre and scale of the targets; None to compute them from the rows.
    """

    names: list[str]
    flags: Sequence[bool | None]
    merged: bool
    units: tuple[Array, Array] | None = None


@dataclass(frozen=True)
class ClusterTable:
    """Rows of partitions.

    merged : whether rows on the same cell are merged; draws : generator for the sample of rows in memory.
    """

    parts: SurveyedPartitions
    header: TableHeader
    merged: bool
    draws: np.random.Generator
    _sample: list[LocalTable] = field(default_factory=list)
    _kept: list[ClusterSamples] = field(default_factory=list)

    one_at_a_time = True

    @classmethod
    def of(
        cls,
        cluster: Cluster,
        partitions: Partitions,
        wanted: WantedTable,
        draws: np.random.Generator,
        hold_out: Callable[[int], int] | None,
    ) -> "ClusterTable":
        """A table after the first pass over its rows.

        hold_out : function from the number of rows to the number to hold out, which are drawn with `draws`.
        """
        held_out = none_held_out(partitions)
        if hold_out is not None:
            lengths = partitions.lengths(cluster)
            count = hold_out(sum(lengths))
            held_out = held_out_rows(lengths, count, draws) if count else held_out
        survey = survey_partitions(cluster, partitions, wanted.names, wanted.flags, held_out)
        columns = partitions.columns
        centre, scale = wanted.units or columns.reader.units(*survey.moments.centre_and_scale())
        header = TableHeader(wanted.names, wanted.flags, centre, scale, columns.one_output, columns.weight_unit)
        parts = SurveyedPartitions(cluster, partitions, survey, held_out, centre, scale)
        return cls(parts, header, wanted.merged, draws)

    def __len__(self) -> int:
        return self.parts.survey.table.n_rows

    @property
    def sample(self) -> LocalTable:
        """A random sample of the rows, in memory."""
        if not self._sample:
            self._sample.append(self._drawn())
        return self._sample[0]

    def encoded(self, levels: Levels, n_threads: int = 1) -> EncodedTable:
        known = levels.most
        target = known if isinstance(known, Encoding) else self.parts.survey.table.modes(levels)
        encoding, samples = encode_partitions(self.parts, target, self.merged)
        self._kept.append(samples)
        return EncodedTable(encoding, elsewhere=samples)

    def in_memory(self, encoded: EncodedTable) -> Problem:
        return self.sample.in_memory(self.sample.encoded(Levels(encoded.encoding, "linear", "marginalize")))

    def refined(self, encodings: Sequence[Encoding]) -> Encoding:
        """The union of the levels of several encodings, with the marginals of all rows."""
        modes, cluster, partitions = refined_modes(encodings), self.parts.cluster, self.parts.partitions
        tasks = partitions.each(cluster, "marginals", _count_levels, modes)
        counts: LevelCounts = cluster.compute(cluster.tree_reduce("marginals-sum", merge_counts, tasks))
        return Encoding(modes, counts.marginals())

    def sampled(self, most: int, rng: np.random.Generator) -> LocalTable:
        return self.sample.sampled(most, rng)

    def first(self, count: int) -> LocalTable:
        return self.sample.first(count)

    def whole_numbers(self, most: int) -> dict[int, Array]:
        return self.parts.survey.table.whole_numbers(most)

    def as_categories(self, columns: Collection[int]) -> Self:
        survey = replace(self.parts.survey, table=self.parts.survey.table.as_categories(columns))
        sample = [each.as_categories(columns) for each in self._sample]
        parts, header = self.parts._replace(survey=survey), self.header.as_categories(columns)
        return replace(self, parts=parts, header=header, _sample=sample)

    def release(self) -> None:
        while self._kept:
            self._kept.pop().release()

    def _drawn(self) -> LocalTable:
        cluster, partitions = self.parts.cluster, self.parts.partitions
        lengths = partitions.lengths(cluster)
        chosen = held_out_rows(lengths, min(_MOST_SAMPLED, sum(lengths)), self.draws)
        tasks = partitions.each(cluster, "sample", _some_rows, own=chosen)
        tables, targets, weights = zip(*partitions.compute(cluster, cluster.task("sample", list, tasks)), strict=True)
        standardised = self.header.standardised(np.concatenate(targets))
        sample = LocalTable(_stacked(tables), standardised, np.concatenate(weights), self.header)
        return sample.take(self.draws.permutation(len(sample)))


def _some_rows(rows: PartitionRows, chosen: NDArray[np.intp]) -> tuple[Any, Array, Array]:
    """Table, targets and weights of the chosen rows, given by index among those with a positive weight."""
    _, some = training_rows(rows, chosen)
    return _safe_indexing(rows.X, some), rows.targets[some], rows.row_weights[some]


def _stacked(tables: Sequence[Any]) -> Any:
    if not is_table(tables[0]):
        return np.concatenate(tables)
    frames = [nw.from_native(table, eager_only=True) for table in tables]
    return nw.concat(frames).to_native()


def _count_levels(rows: PartitionRows, modes: tuple[Mode, ...]) -> LevelCounts:
    counts, (train, _) = LevelCounts(modes), training_rows(rows, np.empty(0, np.intp))
    found = Encoding(modes, ()).encode_training(rows.X, len(rows.targets))
    positions = found.fractions[train] if len(found.fractions) else found.fractions
    counts.update(found.codes[train], positions, rows.row_weights[train])
    return counts
