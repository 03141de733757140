"""A checked table as problems to sample: the levels of a setting, and rows that are held out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from csid._fit.missing_cells import LevelPMF
from csid._fit.problem import Problem, merge_repeated_cells, ordered_by_cell
from csid.encoding import Encoding, Interpolation, Missing, fit_encoding
from csid.estimator import problem_of
from csid.pmf import JointPMF
from csid.portfolio import Setting

Array = NDArray[np.float64]

_FEWEST_LEVELS = 32


@dataclass(frozen=True)
class Table:
    """A checked table with standardised targets."""

    X: Any
    targets: Array
    weights: Array
    names: list[str]
    flags: Sequence[bool | None]

    def __len__(self) -> int:
        return len(self.targets)

    def take(self, rows: NDArray[np.intp]) -> "Table":
        return replace(self, X=_safe_indexing(self.X, rows), targets=self.targets[rows], weights=self.weights[rows])


@dataclass(frozen=True)
class Coding:
    """How a table becomes levels.

    levels : most levels of a number, or "auto" for those of the setting, but from 32 on at most one for every 8 rows.
    merge : whether rows on the same cell may become one, as they may when all rows have the same noise.
    pmf : joint PMF of the predictors, from which missing cells are drawn; None where they are averaged over.
    heed : how much a drawn cell heeds the target of its row, from 0 to 1.
    """

    levels: int | Literal["auto"]
    interpolation: Interpolation
    missing: Missing
    merge: bool
    pmf: JointPMF | None = None
    heed: float = 1.0

    def encoder(self, table: Table, held_out: NDArray[np.intp]) -> "Encoder":
        """Encodes a table for settings, once for each number of levels, which are fitted on the rows not held out."""
        train = np.setdiff1d(np.arange(len(table)), held_out)

        @cache
        def encoded(levels: int) -> Encoded:
            given = (self.interpolation, self.missing, table.flags)
            encoding, rows = fit_encoding(table.X, len(table), table.names, table.weights, train, levels, *given)
            problem = problem_of(encoding, rows, table.weights, table.targets)
            pmf = None if self.pmf is None else self.pmf.on(encoding)
            return Encoded(encoding, self.settled(problem.take(train)), problem.take(held_out), pmf, self.heed)

        most = max(_FEWEST_LEVELS, len(train) // 8)
        return lambda setting: encoded(setting.levels if self.levels != "auto" else min(setting.levels, most))

    def settled(self, problem: Problem) -> Problem:
        """Repeated cells merged, and the rows in an order of their own."""
        return ordered_by_cell(merge_repeated_cells(problem) if self.merge and self.pmf is None else problem)


class Encoded(NamedTuple):
    """Levels, the rows that they were fitted on, settled, the rows that were held out; how missing cells are drawn."""

    encoding: Encoding
    train: Problem
    held_out: Problem
    pmf: LevelPMF | None
    heed: float


Encoder = Callable[[Setting], Encoded]
