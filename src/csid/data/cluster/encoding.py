"""From partitions to samples that a fit can sum over: hold out rows, and encode the others into blocks."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid.data.cluster import blocks
from csid.data.cluster.blocks import BlockEncoding, Content
from csid.data.cluster.cluster import Cluster
from csid.data.cluster.partitions import Partitions
from csid.data.cluster.samples import ClusterSamples, Totals
from csid.data.cluster.survey import ClusterSurvey, Held
from csid.encoding import Encoding, Mode

Array = NDArray[np.float64]

_MOST_SHUFFLED = 20_000_000
_BLOCKS_PER_THREAD = 4
_ROWS_PER_BLOCK = 4_000_000


class SurveyedPartitions(NamedTuple):
    """Partitions on a cluster after the first pass.

    held_out : the held-out rows of each partition; centre, scale : (K,) of the targets.
    """

    cluster: Cluster
    partitions: Partitions
    survey: ClusterSurvey
    held_out: Sequence[Held]
    centre: Array
    scale: Array


def none_held_out(parts: Partitions) -> list[Held]:
    """Hold out no rows."""
    return [(np.empty(0, np.intp),) for _ in range(len(parts))]


def held_out_rows(lengths: Sequence[int], n_held_out: int, rng: np.random.Generator) -> list[Held]:
    """Rows to hold out of each partition.

    The same rows that a local fit holds out. With more than 20 million rows, which are not shuffled as a whole, an
    equal fraction of each partition.

    Parameters
    ----------
    lengths : the number of rows with a positive weight in each partition
    n_held_out : the number of rows to hold out in total
    rng : draws the rows
    """
    M, edges = sum(lengths), np.cumsum([0, *lengths])
    if M <= _MOST_SHUFFLED:
        chosen = np.sort(rng.permutation(M)[:n_held_out])
        cuts = np.searchsorted(chosen, edges)
        return [(chosen[start:stop] - edge,) for start, stop, edge in zip(cuts, cuts[1:], edges, strict=False)]
    seeds = rng.integers(2**63, size=len(lengths))
    counts = np.diff(edges * n_held_out // M).tolist()
    draws = zip(seeds.tolist(), lengths, counts, strict=True)
    return [(np.sort(np.random.default_rng(seed).choice(M_i, n, replace=False)),) for seed, M_i, n in draws]


def encode_partitions(
    parts: SurveyedPartitions, levels: tuple[Mode, ...] | Encoding, merged: bool
) -> tuple[Encoding, ClusterSamples]:
    """Encode the partitions into blocks on the workers, with standardised targets.

    Small partitions are joined: a sweep runs tasks for every block, and a task costs the scheduler a millisecond.

    Parameters
    ----------
    parts : the partitions after the first pass
    levels : an encoding, or modes whose marginals are counted from the rows
    merged : whether rows on the same cell are merged
    """
    cluster, survey, centre, scale = parts.cluster, parts.survey, parts.centre, parts.scale
    modes = levels.modes if isinstance(levels, Encoding) else levels
    target = cluster.value("levels", BlockEncoding(modes, centre, scale, merged))
    rows = parts.partitions.each(cluster, "encode", blocks.encode_partition, target, own=parts.held_out)
    wanted = max(_BLOCKS_PER_THREAD * cluster.n_threads(), survey.table.n_rows // _ROWS_PER_BLOCK)
    groups = np.array_split(np.arange(len(rows)), min(wanted, len(rows)))
    kept = cluster.keep(
        cluster.task("block", blocks.join_partitions, [rows[at] for at in group], merged) for group in groups
    )
    counted = [cluster.task("content", blocks.content, block, list(modes)) for block in kept]
    content: Content = cluster.compute(cluster.tree_reduce("content-sum", blocks.merge_contents, counted))
    encoding = levels if isinstance(levels, Encoding) else Encoding(modes, content.counts.marginals())
    moments = survey.moments
    totals = Totals(
        levels=encoding.levels,
        ordered=encoding.ordered,
        marginals=encoding.marginals,
        any_missing=content.any_missing,
        any_incomplete=content.any_incomplete,
        n_rows=content.n_rows,
        total_weight=moments.weight,
        n_observations=moments.weight,
        within=content.within,
        mean=(moments.mean - centre) / scale,
        squares=np.maximum(moments.squares * (moments.unit / scale) ** 2 - content.within, 0.0),
        least=(survey.least - centre) / scale,
    )
    return encoding, ClusterSamples(cluster, kept, totals, content.held_out)
