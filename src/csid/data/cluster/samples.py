"""Blocks of rows on the workers of a cluster, as samples that a fit sums over."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from dask.delayed import Delayed
from numpy.typing import NDArray

from csid.data.cluster import blocks
from csid.data.cluster.cluster import Cluster
from csid.data.samples import Parameters, RowLikelihood
from csid.data.statistics import LevelSums
from csid.tensor.factors import Factors

Array = NDArray[np.float64]

_MODES_MULTIPLIED_DIRECTLY = 16


@dataclass(frozen=True)
class Totals:
    """Levels, weights and moments of the targets of all rows. See `csid.data.problem.Summary`."""

    levels: NDArray[np.intp]
    ordered: NDArray[np.intp]
    marginals: tuple[Array, ...]
    any_missing: NDArray[np.bool_]
    any_incomplete: bool
    n_rows: int
    total_weight: float
    n_observations: float
    within: Array
    mean: Array
    squares: Array
    least: Array

    @property
    def n_modes(self) -> int:
        return len(self.levels)

    @property
    def n_outputs(self) -> int:
        return len(self.within)


@dataclass(frozen=True)
class ClusterSamples:
    """Blocks of rows, kept on the workers.

    Factors are sent to the workers. Each thread sums over the blocks on its worker, and these sums are added along a
    tree, so only data of the size of a mode travels.

    _assignments : for each thread its worker and the indices of its blocks, found when a sweep begins.
    _working : the blocks with the working targets of the last sweep, released when there are new ones.
    """

    cluster: Cluster
    blocks: list[Delayed]
    summary: Totals
    weight_held_out: float
    _assignments: list[tuple[str, list[int]]] = field(default_factory=list)
    _working: list[Delayed] = field(default_factory=list)

    @property
    def any_held_out(self) -> bool:
        return self.weight_held_out > 0.0

    def working(
        self, likelihood: RowLikelihood, factors: Factors, parameters: Parameters, rng: np.random.Generator | None
    ) -> "ClusterSamples":
        """Each block is seeded by its index, so its draws are the same on any worker, and if it is computed again."""
        self._assignments[:] = self.cluster.assignments(self.blocks)
        worker_of = {index: worker for worker, indices in self._assignments for index in indices}
        seed = None if rng is None else int(rng.integers(2**63))
        at = self.cluster.value("factors", blocks.AtFactors(likelihood, factors, parameters))
        tasks = []
        for index, block in enumerate(self.blocks):  # a working block is computed where its block is
            own = None if seed is None else [seed, index]
            tasks.append(self.cluster.task("working", blocks.with_working, block, at, own, worker=worker_of[index]))
        kept = self.cluster.keep(tasks)
        self.cluster.release(self._working)
        self._working[:] = kept
        made = ClusterSamples(self.cluster, kept, self.summary, self.weight_held_out, list(self._assignments))
        weight, count, found = made._sum("sums-weights", blocks.weights, ())
        within = self.summary.within if not likelihood.latent else found + np.zeros(len(factors.V))
        summary = replace(self.summary, total_weight=float(weight[0]), n_observations=float(count[0]), within=within)
        return replace(made, summary=summary)

    def loss(self, likelihood: RowLikelihood, factors: Factors, parameters: Parameters) -> float:
        (total,) = self._sum("sums-losses", blocks.loss, (likelihood, factors, parameters))
        return float(total[0])

    def loss_at(self, likelihood: RowLikelihood, factors: Factors) -> Callable[[Parameters], float]:
        return partial(self.loss, likelihood, factors)

    def held_out_loss(self, likelihood: RowLikelihood, factors: Factors, parameters: Parameters) -> float:
        if not likelihood.augmented:
            return self.held_out_error(factors)
        (total,) = self._sum("sums-held-out", blocks.loss_held_out, (likelihood, factors, parameters))
        return float(total[0]) / self.weight_held_out

    def sums_by_mode(self, factors: Factors) -> Iterator[tuple[int, LevelSums]]:
        rank, S = factors.rank, factors.table.shape[1]
        self._assignments[:] = self.cluster.assignments(self.blocks)
        for group in _groups(self.summary.n_modes):
            outside = self._outside(factors, group)
            for k in group.tolist():
                others = group[group != k]
                given = (factors.of_modes(others), k, others)
                yield k, blocks.unpack_sums(self._sum(f"sums-mode-{k}", blocks.sums_of_mode, given, outside), rank, S)
            self.cluster.release(outside)

    def output_sums(self, factors: Factors) -> tuple[Array, Array]:
        gram, rhs = self._sum("sums-outputs", blocks.sums_of_outputs, (factors,))
        return gram, rhs

    def residual_sums(self, factors: Factors) -> tuple[Array, Array]:
        first, second = self._sum("sums-residuals", blocks.sums_of_residuals, (factors,))
        return first, second

    def noise_sums(self, factors: Factors) -> tuple[Array, float]:
        (squares,) = self._sum("sums-noise", blocks.sums_of_noise, (factors,))
        return squares, self.summary.n_observations

    def held_out_error(self, factors: Factors) -> float:
        """Weighted mean of squared residuals of held-out rows, summed over outputs."""
        _, second = self._sum("sums-held-out", blocks.squares_held_out, (factors,))
        return float(second.sum()) / self.weight_held_out

    def release(self) -> None:
        """Release the blocks on the workers."""
        self.cluster.release([*self.blocks, *self._working])

    def _outside(self, factors: Factors, group: NDArray[np.intp]) -> list[Delayed]:
        """For each block the products over all modes outside a group, kept on the workers; empty if there are none."""
        rest = np.setdiff1d(np.arange(self.summary.n_modes), group)
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
        """The sum over all blocks of the arrays that a function returns for a block."""
        given = self.cluster.value("factors", arguments)
        tasks = []
        for worker, indices in self._assignments or self.cluster.assignments(self.blocks):
            own = [self.blocks[at] for at in indices], [outside[at] for at in indices if outside]
            tasks.append(self.cluster.task(name, blocks.sum_over_blocks, function, given, *own, worker=worker))
        result: list[Array] = self.cluster.compute(self.cluster.tree_reduce(f"add-{name}", blocks.add_sums, tasks))
        return result


def _groups(n_modes: int) -> list[NDArray[np.intp]]:
    """Groups of modes, of a size such that products outside a group and inside it cost about the same."""
    at_once = max(_MODES_MULTIPLIED_DIRECTLY, math.isqrt(n_modes))
    return np.array_split(np.arange(n_modes, dtype=np.intp), -(-n_modes // at_once))
