"""Blocks of rows on a cluster, and their naive twin in memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest
from distributed import Client
from numpy.typing import NDArray

from csid.data.cluster.cluster import Cluster
from csid.data.cluster.encoding import SurveyedPartitions, encode_partitions, none_held_out
from csid.data.cluster.partitions import Partitions
from csid.data.cluster.samples import ClusterSamples
from csid.data.cluster.survey import survey_partitions
from csid.data.samples import LocalSamples
from csid.data.table import problem_of
from csid.encoding import Encoding, Levels
from csid.inference import gibbs
from csid.tensor.evaluation import values_of_rows
from on_dask.partitioned import Data

Array = NDArray[np.float64]


class Found(NamedTuple):
    """Blocks of all rows, their levels, and the standardised targets (M, K) of the same rows in memory."""

    samples: ClusterSamples
    encoding: Encoding
    targets: Array


@contextmanager
def samples_of(data: Data, client: Client | None, merged: bool, standardised: bool = True) -> Iterator[Found]:
    """The rows of an array as blocks, on six levels. standardised : whether targets are, as numbers but not classes."""
    parts = Partitions.of(*data.lazy)
    N, held_out = data.X.shape[1], none_held_out(parts)
    with Cluster(client) as cluster:
        survey = survey_partitions(cluster, parts, [f"x{n}" for n in range(N)], [None] * N, held_out)
        centre, scale = survey.moments.centre_and_scale() if standardised else (np.zeros(1), np.ones(1))
        modes = survey.table.modes(Levels(6, "linear", "marginalize"))
        found = SurveyedPartitions(cluster, parts, survey, held_out, centre, scale)
        encoding, samples = encode_partitions(found, modes, merged)
        yield Found(samples, encoding, (data.y.reshape(len(data.X), -1) - centre) / scale)


@dataclass(frozen=True)
class BlockwiseSamples(LocalSamples):
    """Rows in memory, whose working targets are drawn block by block, each with random numbers of its own.

    edges : where the blocks begin, and the last one ends.
    """

    edges: tuple[int, ...] = field(default=())

    @classmethod
    def of(cls, found: Found, data: Data, rows_of_block: int) -> "BlockwiseSamples":
        M = len(data.X)
        coded = found.encoding.encode_training(data.X, M)
        problem = problem_of(found.encoding, coded, np.ones(M), found.targets)
        return cls(problem, edges=(*range(0, M, rows_of_block), M))

    def working(self, likelihood: Any, factors: Any, parameters: Any, rng: Any) -> LocalSamples:
        seed = None if rng is None else int(rng.integers(2**63))
        eta = values_of_rows(self.problem.cells, factors, self.workers)
        parts = []
        for place, (start, stop) in enumerate(zip(self.edges, self.edges[1:], strict=False)):
            rows, own = slice(start, stop), None if seed is None else np.random.default_rng([seed, place])
            given = self.problem.targets[rows], self.problem.weights[rows], eta[rows]
            parts.append(likelihood.working(*given, parameters, own))
        targets, weights = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return LocalSamples(self.problem.as_working(targets, weights), self.workers)


def sums_are_in_double_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws of a chain then differ by the rounding of doubles where sums are in another order."""
    monkeypatch.setattr(gibbs, "single_is_enough", lambda *given: False)
