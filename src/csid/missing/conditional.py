"""A tensor with missing cells that follow a joint PMF."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid._kernels.threads import Workers
from csid.missing.level_pmf import LevelPMF
from csid.tensor.cpd import CPD
from csid.tensor.evaluation import values_of_rows
from csid.tensor.factors import Factors

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ConditionalCPD:
    """A tensor that averages over missing cells under a joint PMF, given the observed cells of their row."""

    cpd: CPD
    pmf: LevelPMF

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_extended"}

    @cached_property
    def _extended(self) -> Factors:
        return self.pmf.extended(self.cpd.stacked)

    def evaluate(self, codes: NDArray[Any], fractions: NDArray[Any], n_threads: int = 1) -> Array:
        """Values (M, K) at encoded rows."""
        rows = self.cpd.at(codes, fractions)
        with Workers(n_threads) as workers:
            values = values_of_rows(rows, self.cpd.stacked, workers)
            if len(rows.incomplete):
                incomplete = rows.take(rows.incomplete)
                expected = self.pmf.expected(incomplete.codes, incomplete.fractions, self._extended, workers)
                values[rows.incomplete] = expected
        return values
