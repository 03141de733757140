"""Dask collections as partitions of rows, which workers check when they read them. Errors name the partition."""

import itertools
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, NamedTuple

import dask.array as da
import dask.dataframe as dd
import narwhals as nw
import numpy as np
from dask.base import is_dask_collection
from dask.dataframe.dispatch import make_meta
from dask.delayed import Delayed
from numpy.typing import NDArray

from csid.data.checks import check_table, check_weights, number_of_rows, target_names, without_mask
from csid.data.cluster.cluster import LOST, Cluster
from csid.data.count_targets import CountsWithExposure
from csid.data.labels import ClassCounts
from csid.data.targets import NumericTargets, TargetReader
from csid.data.weights import AS_GIVEN, WeightMeaning, WeightTotals, WeightUnit
from csid.encoding.columns import read_columns

Array = NDArray[np.float64]


class PartitionError(ValueError):
    """A partition cannot be read, or is invalid."""


class PartitionRows(NamedTuple):
    """A checked partition: its table, targets (M, K), and weights (M,) or None."""

    X: Any
    targets: Array
    weights: Array | None

    @property
    def row_weights(self) -> Array:
        """(M,), ones without sample weights."""
        return np.ones(len(self.targets)) if self.weights is None else self.weights


@dataclass(frozen=True)
class PartitionColumns:
    """The columns that every partition must have.

    example : a table without rows; outputs : the number of columns of the targets.
    one_output : whether they are of one output, whose predictions are then one-dimensional.
    weight_unit : of the sample weights; targets : names of the outputs, none if y has no names.
    reader : of the targets.
    """

    example: Any
    outputs: int
    one_output: bool
    weight_unit: WeightUnit = AS_GIVEN
    targets: tuple[str, ...] = ()
    reader: TargetReader = field(default_factory=NumericTargets)

    def read_by(self, reader: TargetReader) -> "PartitionColumns":
        """The same columns with targets that a reader reads."""
        if reader.width is None:
            return replace(self, reader=reader)
        return replace(self, reader=reader, outputs=reader.width, one_output=True)

    @property
    def kinds(self) -> dict[str, str | None]:
        return _kinds(self.example)


@dataclass(frozen=True)
class Partitions:
    """Tables, targets, weights and exposures of all partitions, not yet read.

    weights, exposures : empty if there are none.
    """

    columns: PartitionColumns
    tables: list[Delayed]
    targets: list[Delayed]
    weights: list[Delayed]
    exposures: list[Delayed] = field(default_factory=list)

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any = None, exposure: Any = None) -> "Partitions":
        """The partitions of Dask collections, which must match."""
        X = in_whole_rows(X)
        N = len(X.columns) if isinstance(X, dd.DataFrame) else X.shape[1]
        if N == 0:
            raise ValueError("X has no columns: 0 feature(s) while a minimum of 1 is required.")
        y = _partitioned_like(X, y, "y")
        of_rows = {"sample_weight": sample_weight, "exposure": exposure}
        weights, exposures = (
            [] if given is None else pieces(_partitioned_like(X, given, name)) for name, given in of_rows.items()
        )
        one_output = len(y.shape) == 1 or y.shape[1] == 1
        columns = PartitionColumns(
            _example(X), 1 if one_output else int(y.shape[1]), one_output, targets=target_names(y)
        )
        return cls(columns, pieces(X), pieces(y), weights, exposures)

    def __len__(self) -> int:
        return len(self.tables)

    def weighted(self, cluster: Cluster, meaning: WeightMeaning) -> "Partitions":
        """The same partitions with the unit of their weights, which needs a pass over the weights."""
        if not self.weights:
            return self
        tasks = [cluster.task("weights", _weight_totals, piece) for piece in self.weights]
        totals: WeightTotals = self.compute(cluster, cluster.task("weights", _merged_totals, tasks))
        return replace(self, columns=replace(self.columns, weight_unit=totals.unit(meaning)))

    def class_counts(self, cluster: Cluster) -> ClassCounts:
        """The labels of all rows, counted where they are."""
        columns = cluster.value("columns", self.columns)
        given = itertools.zip_longest(self.targets, self.weights)
        tasks = [cluster.task("classes", _class_counts, at, columns, *pair) for at, pair in enumerate(given)]
        found: ClassCounts = self.compute(cluster, cluster.tree_reduce("classes-sum", ClassCounts.merged, tasks))
        return found

    def each(self, cluster: Cluster, name: str, function: Any, *arguments: Any, own: Any = None) -> list[Delayed]:
        """Tasks that call `function(rows, *arguments, *own[i])` for every partition i."""
        columns = cluster.value("columns", self.columns)
        return [
            cluster.task(name, _on_rows, function, at, columns, self._piece(at), arguments, own[at] if own else ())
            for at in range(len(self))
        ]

    def _piece(self, at: int) -> list[Any]:
        of_rows = [each[at] if each else None for each in (self.weights, self.exposures)]
        return [self.tables[at], self.targets[at], *of_rows]

    def lengths(self, cluster: Cluster) -> list[int]:
        """The number of rows with a positive weight in each partition."""
        given = self.weights or self.targets
        count = _count_positive if self.weights else _count
        tasks = [cluster.task("lengths", count, piece) for piece in given]
        return [int(length) for length in self.compute(cluster, cluster.task("lengths", list, tasks))]

    def compute(self, cluster: Cluster, task: Delayed) -> Any:
        """The result of a task that reads partitions. If one cannot be read, the error names it."""
        try:
            return cluster.compute(task)
        except (PartitionError, MemoryError, *LOST):
            raise
        except Exception as error:  # the user's graph may raise anything
            failure = cluster.first_failure(
                [cluster.task("reading", _touch, self._piece(at)) for at in range(len(self))]
            )
            if failure is None:
                raise
            at, cause = failure
            raise PartitionError(f"partition {at} of X, y or sample_weight cannot be read: {cause!r}") from error


def is_lazy(X: Any) -> bool:
    """Whether X is a Dask collection."""
    return bool(is_dask_collection(X))


def in_whole_rows(X: Any) -> Any:
    """X with all columns of a row in one partition."""
    if isinstance(X, dd.DataFrame):
        return X
    if not isinstance(X, da.Array):
        raise TypeError(f"X is a {type(X).__name__}: give a Dask DataFrame or a Dask Array.")
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimension(s): give a table of rows and columns.")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _partitioned_like(X: Any, other: Any, name: str) -> Any:
    """y or weights as a collection with the partitions of X."""
    if not isinstance(other, dd.DataFrame | dd.Series | da.Array):
        raise TypeError(f"{name} is a {type(other).__name__}: give a Dask collection with the partitions of X.")
    if isinstance(other, da.Array):
        if other.ndim > 2:
            raise ValueError(f"{name} has {other.ndim} dimensions: give an array of shape (rows,) or (rows, outputs).")
        if other.ndim == 2 and other.numblocks[1] > 1:
            other = other.rechunk({1: -1})
        known = isinstance(X, da.Array) and not np.isnan(X.chunks[0] + other.chunks[0]).any()
        if known and other.chunks[0] != X.chunks[0] and sum(other.chunks[0]) == sum(X.chunks[0]):
            other = other.rechunk({0: X.chunks[0]})
    if other.npartitions != X.npartitions:
        raise ValueError(
            f"X has {X.npartitions} partitions, but {name} has {other.npartitions}: repartition them to match, "
            "or take both from the same data frame."
        )
    return other


def pieces(collection: Any) -> list[Delayed]:
    """The partitions of a collection."""
    parts = collection.to_delayed()
    return list(parts.ravel()) if isinstance(parts, np.ndarray) else list(parts)


def _example(X: Any) -> Any:
    return make_meta(X) if isinstance(X, dd.DataFrame) else np.empty((0, X.shape[1]), X.dtype)


def _on_rows(function: Any, at: int, columns: PartitionColumns, piece: list[Any], arguments: Any, own: Any) -> Any:
    """Read and check a partition, and call a function with its rows."""
    try:
        return function(_checked(columns, *piece), *arguments, *own)
    except (ValueError, TypeError) as error:
        raise PartitionError(f"in partition {at}: {error}") from error


def _checked(columns: PartitionColumns, X: Any, y: Any, sample_weight: Any, exposure: Any) -> PartitionRows:
    X = check_table(X, "the fit", min_rows=0)
    _check_columns(columns, X)
    n_rows = number_of_rows(X)
    if n_rows == 0:
        return PartitionRows(X, np.empty((0, columns.outputs)), None if sample_weight is None else np.empty(0))
    y = _one_column(columns, y)
    given = y if exposure is None else CountsWithExposure(y, exposure)
    targets = columns.reader.read(given, n_rows).reshape(n_rows, -1)
    if targets.shape[1] != columns.outputs:
        raise ValueError(f"y has {targets.shape[1]} columns, but {columns.outputs} by its Dask metadata.")
    factors = columns.reader.factors(targets)
    if sample_weight is None:
        return PartitionRows(X, targets, factors)
    weights = columns.weight_unit.of(check_weights(sample_weight, n_rows, fewest=0))
    return PartitionRows(X, targets, weights if factors is None else weights * factors)


def _one_column(columns: PartitionColumns, y: Any) -> Any:
    """Targets as they are, or the only column of a table of one output."""
    y = without_mask(y)
    return np.asarray(y)[:, 0] if columns.one_output and np.ndim(y) == 2 and np.shape(y)[1] == 1 else y


def _class_counts(at: int, columns: PartitionColumns, y: Any, sample_weight: Any) -> ClassCounts:
    """The labels of a partition."""
    try:
        weights = None
        if sample_weight is not None:
            weights = columns.weight_unit.of(check_weights(sample_weight, len(y), fewest=0))
        return ClassCounts.of(_one_column(columns, y), weights)
    except (ValueError, TypeError) as error:
        raise PartitionError(f"in partition {at}: {error}") from error


def _check_columns(columns: PartitionColumns, X: Any) -> None:
    expected, found = columns.kinds, _kinds(X)
    if list(found) != list(expected):
        raise ValueError(f"X has the columns {list(found)}, but {list(expected)} by its Dask metadata.")
    for n, (name, kind) in enumerate(expected.items()):
        differs = kind is not None and found[name] is not None and found[name] != kind
        if differs and not _all_missing(X, n):
            raise ValueError(f"column {name!r} holds {found[name]}, but {kind} by its Dask metadata.")


def _all_missing(X: Any, n: int) -> bool:
    data = list(read_columns(X))[n].data
    return bool(np.isnan(data).all()) if isinstance(data, np.ndarray) else all(value is None for value in data)


def _kinds(X: Any) -> dict[str, str | None]:
    """What each column holds, by its type; None when the type does not tell."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        kind = {"f": "numbers", "i": "numbers", "u": "numbers", "b": "booleans"}.get(X.dtype.kind)
        return {str(n): kind for n in range(X.shape[1])}
    types = {nw.Boolean: "booleans", nw.String: "text", nw.Categorical: None, nw.Enum: None}
    types |= {nw.Date: "dates", nw.Datetime: "dates", nw.Duration: "numbers"}
    return {name: "numbers" if dtype.is_numeric() else types.get(type(dtype)) for name, dtype in frame.schema.items()}


def _weight_totals(piece: Any) -> WeightTotals:
    return WeightTotals.of(np.asarray(piece, np.float64).ravel())


def _merged_totals(parts: list[WeightTotals]) -> WeightTotals:
    return reduce(WeightTotals.merged, parts, WeightTotals())


def _count(piece: Any) -> int:
    return len(piece)


def _count_positive(weights: Any) -> int:
    return int((np.asarray(weights) > 0).sum())


def _touch(piece: list[Any]) -> None:
    """Do nothing: the arguments are computed before the call."""
