"""The steps from collections to samples that a fit can sum over: hold out, survey, encode."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csid.dask import blocks
from csid.dask.blocks import Content, Frame
from csid.dask.cluster import Cluster
from csid.dask.partitions import Partitions
from csid.dask.samples import ClusterSamples, Totals
from csid.dask.survey import Held, Survey
from csid.encoding import Encoding, Mode

Array = NDArray[np.float64]

_MOST_SHUFFLED = 20_000_000
_BLOCKS_PER_THREAD = 4
_ROWS_PER_BLOCK = 4_000_000


@dataclass(frozen=True)
class Encoded:
    """Samples on the cluster, and the levels that they are on."""

    encoding: Encoding
    samples: ClusterSamples


def none_held_out(parts: Partitions) -> list[Held]:
    """No row of any partition."""
    return [(np.empty(0, np.intp),) for _ in range(len(parts))]


def held_out_rows(lengths: Sequence[int], n_held_out: int, rng: np.random.Generator) -> list[Held]:
    """Rows to hold out of each partition, of which so many count.

    The same rows that a local fit holds out; of very many, whose order is not shuffled as a whole, an equal share of
    each partition.
    """
    M, edges = sum(lengths), np.cumsum([0, *lengths])
    if M <= _MOST_SHUFFLED:
        chosen = np.sort(rng.permutation(M)[:n_held_out])
        cuts = np.searchsorted(chosen, edges)
        return [(chosen[start:stop] - edge,) for start, stop, edge in zip(cuts, cuts[1:], edges, strict=False)]
    seeds = rng.integers(2**63, size=len(lengths))
    shares = np.diff(edges * n_held_out // M).tolist()
    draws = zip(seeds.tolist(), lengths, shares, strict=True)
    return [(np.sort(np.random.default_rng(seed).choice(M_i, n, replace=False)),) for seed, M_i, n in draws]


def encoded(
    cluster: Cluster,
    parts: Partitions,
    survey: Survey,
    modes: tuple[Mode, ...],
    centre: Array,
    scale: Array,
    held_out: Sequence[Held],
    marginals: tuple[Array, ...] | None = None,
) -> Encoded:
    """Blocks on the workers, with these levels and standardised targets.

    Small partitions are joined: a sweep sums over each block in turn, and a task costs the scheduler a millisecond.
    marginals : of the levels; counted from the rows where they are not given.
    """
    frame = cluster.value("levels", Frame(modes, centre, scale))
    rows = parts.each(cluster, "encode", blocks.encoded, frame, own=held_out)
    wanted = max(_BLOCKS_PER_THREAD * cluster.n_threads(), survey.table.n_rows // _ROWS_PER_BLOCK)
    groups = np.array_split(np.arange(len(rows)), min(wanted, len(rows)))
    kept = cluster.keep(cluster.task("block", blocks.joined, [rows[at] for at in group]) for group in groups)
    counted = [cluster.task("content", blocks.content, block, list(modes)) for block in kept]
    content: Content = cluster.compute(cluster.reduced("content-sum", blocks.contents_together, counted))
    encoding = Encoding(modes, content.counts.marginals() if marginals is None else marginals)
    moments = survey.moments
    totals = Totals(
        levels=encoding.levels,
        ordered=encoding.ordered,
        marginals=encoding.marginals,
        any_missing=content.any_missing,
        n_rows=content.n_rows,
        total_weight=moments.weight,
        within=content.within,
        mean=(moments.mean - centre) / scale,
        squares=np.maximum(moments.squares * (moments.unit / scale) ** 2 - content.within, 0.0),
        least=(survey.least - centre) / scale,
    )
    return Encoded(encoding, ClusterSamples(cluster, kept, totals, content.held_out))
