"""The input of a fit: checked rows and their standardised targets, wherever they are.

Rows in memory are a `LocalTable`, rows read in batches from files a `DiskTable` (`out_of_core/table.py`), and rows of
Dask collections a `ClusterTable` (`cluster/table.py`).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from csid.data.checks import check_standardised
from csid.data.problem import Problem
from csid.data.samples import HeldOutSamples
from csid.data.weights import AS_GIVEN, WeightUnit
from csid.encoding import EncodedRows, Encoding, Levels, Moments, column_threads, fit_encoding, refine
from csid.encoding.columns import read_columns
from csid.encoding.modes import few_whole_numbers
from csid.tensor.cells import Cells

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

_FEW_ROWS = 2  # times the square of the number of predictors


class TableHeader(NamedTuple):
    """Names and units that all rows of a table share.

    names : of the N predictors.
    flags : whether each predictor is categorical; None to decide by its type.
    centre, scale : (K,) mean and standard deviation of the targets, in the units of y.
    one_output : whether y is one-dimensional.
    weight_unit : of the sample weights.
    """

    names: list[str]
    flags: Sequence[bool | None]
    centre: Array
    scale: Array
    one_output: bool
    weight_unit: WeightUnit = AS_GIVEN

    @property
    def n_outputs(self) -> int:
        return len(self.centre)

    def standardised(self, targets: Array) -> Array:
        """Targets (M, K) in these units, which an earlier fit may have chosen."""
        values = np.asarray((targets - self.centre) / self.scale)
        check_standardised(values)
        return values

    def as_categories(self, columns: Collection[int]) -> "TableHeader":
        return self._replace(flags=[True if n in columns else flag for n, flag in enumerate(self.flags)])


class EncodedTable(NamedTuple):
    """A table whose predictors are encoded on levels.

    problem, held_out : training rows, and held-out rows if any, in memory or mapped from a code file.
    elsewhere : all rows, if they are on a cluster.
    """

    encoding: Encoding
    problem: Problem | None = None
    held_out: Problem | None = None
    elsewhere: HeldOutSamples | None = None


class Table(Protocol):
    """Checked rows with standardised targets."""

    @property
    def header(self) -> TableHeader:
        """Names and units that all rows share."""

    def __len__(self) -> int:
        """The number of training rows."""

    @property
    def one_at_a_time(self) -> bool:
        """Whether encoded rows use the memory of a cluster, so that only one encoding is kept at a time."""

    def encoded(self, levels: Levels, n_threads: int = 1) -> EncodedTable:
        """The encoded rows. Levels are fitted to the training rows unless they are given."""

    def in_memory(self, encoded: EncodedTable) -> Problem:
        """The training rows if they are in memory or mapped from a code file, else a random sample of them."""

    def refined(self, encodings: Sequence[Encoding]) -> Encoding:
        """The union of the levels of several encodings, for linear interpolation."""

    def sampled(self, most: int, rng: np.random.Generator) -> "LocalTable":
        """A random sample of at most `most` training rows, in memory."""

    def first(self, count: int) -> "LocalTable":
        """`count` training rows, the same in every call."""

    def whole_numbers(self, most: int) -> dict[int, Array]:
        """The distinct values of each predictor whose numbers are all whole, and at most `most`, by its position.

        Without dates, and predictors that the user has declared numbers or categories.
        """

    def as_categories(self, columns: Collection[int]) -> Self:
        """The same rows with the whole numbers of these predictors as categories."""

    def release(self) -> None:
        """Free encoded rows on a cluster."""


@dataclass(frozen=True)
class LocalTable:
    """A checked table in memory. held_out : indices of rows that are not trained on."""

    X: Any
    targets: Array
    weights: Array
    header: TableHeader
    held_out: Rows = field(default_factory=lambda: np.empty(0, np.intp))

    one_at_a_time = False

    def __len__(self) -> int:
        return len(self.targets) - len(self.held_out)

    @property
    def n_outputs(self) -> int:
        return int(self.targets.shape[1])

    @property
    def train(self) -> Rows:
        every = np.arange(len(self.targets))
        return np.setdiff1d(every, self.held_out) if len(self.held_out) else every

    def holding_out(self, rows: Rows) -> "LocalTable":
        return replace(self, held_out=rows)

    def take(self, rows: Rows) -> "LocalTable":
        """The rows at these indices, in this order."""
        X, targets, weights = _safe_indexing(self.X, rows), self.targets[rows], self.weights[rows]
        return LocalTable(X, targets, weights, self.header)

    def encoded(self, levels: Levels, n_threads: int = 1) -> EncodedTable:
        n_rows, header = len(self.targets), self.header
        if isinstance(levels.most, Encoding):
            encoding, rows = levels.most, levels.most.encode_training(self.X, n_rows)
        else:
            with column_threads(n_threads) as map_columns:
                given = (self.X, n_rows, header.names, self.weights, self.train)
                encoding, rows = fit_encoding(*given, levels, header.flags, map_columns)
        problem = problem_of(encoding, rows, self.weights, self.targets)
        if not len(self.held_out):
            return EncodedTable(encoding, problem)
        return EncodedTable(encoding, problem.take(self.train), problem.take(self.held_out))

    def in_memory(self, encoded: EncodedTable) -> Problem:
        return present(encoded.problem)

    def refined(self, encodings: Sequence[Encoding]) -> Encoding:
        return refine(encodings, self.X, len(self), self.weights)

    def sampled(self, most: int, rng: np.random.Generator) -> "LocalTable":
        return self.take(rng.permutation(len(self))[:most])

    def first(self, count: int) -> "LocalTable":
        return self.take(np.arange(min(count, len(self))))

    def whole_numbers(self, most: int) -> dict[int, Array]:
        some, found = self.train if len(self.held_out) else None, {}
        for n, (column, flag) in enumerate(zip(read_columns(self.X), self.header.flags, strict=True)):
            plain = flag is None and column.is_numeric and not column.is_date
            values = few_whole_numbers(column, some, most) if plain else None
            if values is not None:
                found[n] = values
        return found

    def as_categories(self, columns: Collection[int]) -> Self:
        return replace(self, header=self.header.as_categories(columns))

    def release(self) -> None:
        """Nothing to free: encoded rows are in memory."""


def present(problem: Problem | None) -> Problem:
    """The problem of an encoded table whose rows are in memory or mapped from a code file."""
    if problem is None:
        raise TypeError("the rows are on a cluster, not in the memory of this process.")
    return problem


def problem_of(encoding: Encoding, rows: EncodedRows, weights: Array, targets: Array) -> Problem:
    """The problem of encoded rows."""
    cells = Cells(rows.codes, rows.fractions, encoding.levels, encoding.known)
    return Problem(cells, weights, targets, encoding.ordered, encoding.marginals)


def centre_and_scale(targets: Array, weights: Array) -> tuple[Array, Array]:
    """Weighted mean and standard deviation of each output; the scale of a constant output is 1."""
    moments = Moments(targets.shape[1])
    moments.update(targets, weights)
    return moments.centre_and_scale()


def rows_are_few(n_rows: int, n_predictors: int) -> bool:
    """Whether a table has fewer than 2 N^2 rows: too few to estimate each predictor separately."""
    return n_rows < _FEW_ROWS * n_predictors**2


def draw_held_out(n_rows: int, n_held_out: int, rng: np.random.Generator) -> Rows:
    """Sorted indices of randomly drawn held-out rows."""
    return np.sort(rng.permutation(n_rows)[:n_held_out])
