"""Blocks of rows on the workers of a cluster, as samples that a fit sums over."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from dask.delayed import Delayed
from numpy.typing import NDArray

from csid._fit.factors import Factors
from csid._fit.statistics import LevelSums
from csid.dask import blocks
from csid.dask.cluster import Cluster

Array = NDArray[np.float64]

_MODES_MULTIPLIED_ANEW = 16


@dataclass(frozen=True)
class Totals:
    """What is known of all rows; names as in `csid._fit.problem.Problem`."""

    levels: NDArray[np.intp]
    ordered: NDArray[np.intp]
    marginals: tuple[Array, ...]
    any_missing: NDArray[np.bool_]
    n_rows: int
    total_weight: float
    within: Array
    mean: Array
    squares: Array
    least: Array

    @property
    def n_modes(self) -> int:
        return len(self.levels)

    @property
    def n_outputs(self) -> int:
        return len(self.mean)


@dataclass(frozen=True)
class ClusterSamples:
    """Blocks, one for each partition, kept on the workers.

    Factors travel to the workers; each thread sums over the blocks that it has at hand, and these sums are added up
    along a tree: what travels is as small as a mode. _shares : the worker and the numbers of the blocks of each thread,
    found when a sweep begins.
    """

    cluster: Cluster
    blocks: list[Delayed]
    known: Totals
    weight_held_out: float
    _shares: list[tuple[str, list[int]]] = field(default_factory=list)

    def sums_by_mode(self, factors: Factors) -> Iterator[tuple[int, LevelSums]]:
        rank, S = factors.rank, factors.table.shape[1]
        self._shares[:] = self.cluster.shares(self.blocks)
        for group in _groups(self.known.n_modes):
            outside = self._outside(factors, group)
            for k in group.tolist():
                others = group[group != k]
                given = (factors.of_modes(others), k, others)
                yield k, blocks.unpacked(self._sum(f"sums-mode-{k}", blocks.sums_of_mode, given, outside), rank, S)
            self.cluster.release(outside)

    def output_sums(self, factors: Factors) -> tuple[Array, Array]:
        gram, rhs = self._sum("sums-outputs", blocks.sums_of_outputs, (factors,))
        return gram, rhs

    def residual_sums(self, factors: Factors) -> tuple[Array, Array]:
        first, second = self._sum("sums-residuals", blocks.sums_of_residuals, (factors,))
        return first, second

    def held_out_error(self, factors: Factors) -> float:
        """Weighted mean of squared residuals of the rows that are held out, summed over outputs."""
        _, second = self._sum("sums-held-out", blocks.sums_held_out, (factors,))
        return float(second.sum()) / self.weight_held_out

    def _outside(self, factors: Factors, group: NDArray[np.intp]) -> list[Delayed]:
        """For each block the products over all modes that are not in a group, kept; none where all are in it."""
        rest = np.setdiff1d(np.arange(self.known.n_modes), group)
        if not len(rest):
            return []
        given = self.cluster.value("factors", (factors.of_modes(rest), rest))
        return self.cluster.keep(self.cluster.task("products", blocks.products, block, given) for block in self.blocks)

    def _sum(
        self,
        name: str,
        function: Callable[..., list[Array]],
        arguments: tuple[Any, ...],
        outside: Sequence[Delayed] = (),
    ) -> list[Array]:
        """The sum over blocks of arrays that a function gives."""
        given = self.cluster.value("factors", arguments)
        tasks = []
        for worker, share in self._shares or self.cluster.shares(self.blocks):
            own = [self.blocks[at] for at in share], [outside[at] for at in share if outside]
            tasks.append(self.cluster.task(name, blocks.summed, function, given, *own, worker=worker))
        result: list[Array] = self.cluster.compute(self.cluster.reduced(f"add-{name}", blocks.added, tasks))
        return result


def _groups(n_modes: int) -> list[NDArray[np.intp]]:
    """Modes in groups, such that the products outside a group and those inside it cost about the same."""
    at_once = max(_MODES_MULTIPLIED_ANEW, math.isqrt(n_modes))
    return np.array_split(np.arange(n_modes, dtype=np.intp), -(-n_modes // at_once))
