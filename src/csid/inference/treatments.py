"""Turn a table into problems to sample: levels, held-out rows, and the treatment of missing cells."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

from csid.data.merging import merge_repeated_cells, sort_by_cell
from csid.data.problem import Problem, Summary
from csid.data.samples import Samples
from csid.data.table import EncodedTable, Table
from csid.encoding import Encoding, Interpolation, Levels, Missing
from csid.missing.joint_pmf import JointPMF
from csid.missing.level_pmf import LevelPMF
from csid.priors.catalogue import PriorSpec

_FEWEST_LEVELS = 32


class EncodedFold(NamedTuple):
    """Encoded training and held-out rows.

    train : training rows, in memory or mapped from a code file; of rows on a cluster, a sample.
    elsewhere : all training rows, if they are on a cluster.
    pmf : joint PMF from which missing cells are drawn; None for the product of the marginals, over which they are
        averaged.
    """

    encoding: Encoding
    train: Problem
    held_out: Problem | None
    elsewhere: Samples | None
    pmf: LevelPMF | None

    @property
    def summary(self) -> Summary:
        """Summary of all training rows."""
        return self.train if self.elsewhere is None else self.elsewhere.summary


FoldEncoder = Callable[[PriorSpec], EncodedFold]


@dataclass(frozen=True)
class Treatment:
    """How a table is encoded, and how missing cells are treated.

    levels : the largest number of levels of a numeric predictor, or "auto" for that of the prior, but above 32 at most
        one for every 8 rows.
    merge : whether to merge rows on the same cell, which requires that all rows have the same noise.
    pmf : joint PMF of the predictors, from which missing cells are drawn; None for the product of the marginals, over
        which they are averaged. On a complete table it serves predictions alone.
    likelihood_power : the power, from 0 to 1, of the likelihood of a row's target when its missing cells are drawn.
    """

    levels: int | Literal["auto"]
    interpolation: Interpolation
    missing: Missing
    merge: bool
    pmf: JointPMF | None = None
    likelihood_power: float = 1.0

    def encoder(self, table: Table) -> FoldEncoder:
        """A function that encodes a table for a prior, once for each number of levels."""

        @cache
        def encoded(levels: int) -> EncodedFold:
            return self._fold(table, table.encoded(Levels(levels, self.interpolation, self.missing)))

        return lambda spec: encoded(self.levels_of(spec, len(table)))

    def on(self, table: Table, encoding: Encoding) -> EncodedFold:
        """A table on given levels."""
        return self._fold(table, table.encoded(Levels(encoding, self.interpolation, self.missing)))

    def levels_of(self, spec: PriorSpec, n_rows: int) -> int:
        """The largest number of levels of a numeric predictor fitted to `n_rows` rows."""
        return spec.levels if self.levels != "auto" else min(spec.levels, max(_FEWEST_LEVELS, n_rows // 8))

    def _fold(self, table: Table, found: EncodedTable) -> EncodedFold:
        problem = table.in_memory(found)
        train = self._merge_and_sort(problem) if found.elsewhere is None else problem
        pmf = None if self.pmf is None else self.pmf.on(found.encoding)
        return EncodedFold(found.encoding, train, found.held_out, found.elsewhere, pmf)

    def _merge_and_sort(self, problem: Problem) -> Problem:
        """Merge repeated cells, and sort the rows by cell, so that their original order does not matter.

        Rows are not merged if any cell is missing: each incomplete row has a variance of its own.
        """
        return sort_by_cell(merge_repeated_cells(problem) if self.merge and not problem.any_incomplete else problem)
