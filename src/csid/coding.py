"""A checked table as problems to sample: the levels of a setting, and rows that are held out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from csid._fit.missing_cells import LevelPMF
from csid._fit.problem import Problem, merge_repeated_cells, ordered_by_cell
from csid.encoding import Encoding, Interpolation, Missing, fit_encoding, refine
from csid.estimator import problem_of
from csid.pmf import JointPMF
from csid.portfolio import Setting

Array = NDArray[np.float64]

_FEWEST_LEVELS = 32


class Sampled(Protocol):
    """Rows that chains were run on, wherever they are."""

    def __len__(self) -> int: ...

    def take(self, rows: NDArray[np.intp]) -> "LocalTable":
        """Some rows, in that order."""

    def refined(self, encodings: Sequence[Encoding]) -> Encoding:
        """The levels of several encodings together, for linear interpolation."""


class Table(Sampled, Protocol):
    """Checked rows with standardised targets, in memory or in files."""

    @property
    def n_outputs(self) -> int: ...

    def encoded(
        self, levels: int, interpolation: Interpolation, missing: Missing, train: NDArray[np.intp] | None
    ) -> tuple[Encoding, Problem]:
        """Levels fitted on some rows, by default all, and all rows on them."""

    def on(self, encoding: Encoding) -> Problem:
        """The rows on known levels."""


@dataclass(frozen=True)
class LocalTable:
    """A checked table in memory, with standardised targets."""

    X: Any
    targets: Array
    weights: Array
    names: list[str]
    flags: Sequence[bool | None]

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def n_outputs(self) -> int:
        return int(self.targets.shape[1])

    def take(self, rows: NDArray[np.intp]) -> "LocalTable":
        return replace(self, X=_safe_indexing(self.X, rows), targets=self.targets[rows], weights=self.weights[rows])

    def encoded(
        self, levels: int, interpolation: Interpolation, missing: Missing, train: NDArray[np.intp] | None
    ) -> tuple[Encoding, Problem]:
        some = np.arange(len(self)) if train is None else train
        given = (levels, interpolation, missing, self.flags)
        encoding, rows = fit_encoding(self.X, len(self), self.names, self.weights, some, *given)
        return encoding, problem_of(encoding, rows, self.weights, self.targets)

    def on(self, encoding: Encoding) -> Problem:
        return problem_of(encoding, encoding.encode_training(self.X, len(self)), self.weights, self.targets)

    def refined(self, encodings: Sequence[Encoding]) -> Encoding:
        return refine(encodings, self.X, len(self), self.weights)


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
        train = np.setdiff1d(np.arange(len(table)), held_out) if len(held_out) else None

        @cache
        def encoded(levels: int) -> Encoded:
            encoding, problem = table.encoded(levels, self.interpolation, self.missing, train)
            own = problem if train is None else problem.take(train)
            pmf = None if self.pmf is None else self.pmf.on(encoding)
            return Encoded(encoding, self.settled(own), problem.take(held_out), pmf, self.heed)

        return lambda setting: encoded(self.levels_of(setting, len(table) - len(held_out)))

    def levels_of(self, setting: Setting, n_rows: int) -> int:
        """Most levels of a number, from so many rows."""
        return setting.levels if self.levels != "auto" else min(setting.levels, max(_FEWEST_LEVELS, n_rows // 8))

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
