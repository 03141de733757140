"""What a fit asks of the samples, wherever their rows are: what is known of them, and sums over rows.

Least squares and the sampler see no row. Rows in the memory of this process are `LocalSamples`; a cluster sums the
same over blocks of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from csid._fit.factors import Factors
from csid._fit.problem import Known, Problem
from csid._fit.statistics import LevelSums, Workers, level_sums, output_sums, partial_products, residual_sums

Array = NDArray[np.float64]


class Samples(Protocol):
    """Rows that can be summed over."""

    @property
    def known(self) -> Known:
        """Levels, weights and moments of the targets."""

    def sums_by_mode(self, factors: Factors) -> Iterator[tuple[int, LevelSums]]:
        """Visit the modes in order, giving for each what its normal equations need of the data: D, O and R.

        The caller may change the factor of a mode before it asks for the next one, and no other.
        """

    def output_sums(self, factors: Factors) -> tuple[Array, Array]:
        """Gram matrix (S, S) and right-hand sides (K, S) of the output mode."""

    def residual_sums(self, factors: Factors) -> tuple[Array, Array]:
        """Weighted sums of the residuals and of their squares, (K,) each."""


@dataclass(frozen=True)
class LocalSamples:
    """The rows of a problem, summed in threads."""

    problem: Problem
    workers: Workers = field(default_factory=Workers)

    @property
    def known(self) -> Known:
        return self.problem

    def sums_by_mode(self, factors: Factors) -> Iterator[tuple[int, LevelSums]]:
        for k, outside, modes in partial_products(self.problem, factors, self.workers):
            yield k, level_sums(self.problem, factors, k, outside, modes, self.workers)

    def output_sums(self, factors: Factors) -> tuple[Array, Array]:
        return output_sums(self.problem, factors, self.workers)

    def residual_sums(self, factors: Factors) -> tuple[Array, Array]:
        return residual_sums(self.problem, factors, self.workers)


def at_hand(samples: Samples, what: str) -> LocalSamples:
    """The samples, for what looks at rows one by one; an error says so where they are elsewhere."""
    if isinstance(samples, LocalSamples):
        return samples
    raise NotImplementedError(f"{what} looks at rows one by one, and these are not in the memory of this process.")
