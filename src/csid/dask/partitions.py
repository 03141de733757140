"""Dask collections as partitions of rows, checked where they are read; errors name the partition."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import dask.array as da
import dask.dataframe as dd
import narwhals as nw
import numpy as np
from dask.base import is_dask_collection
from dask.delayed import Delayed
from numpy.typing import NDArray

from csid.dask.cluster import Cluster
from csid.encoding.columns import read_columns
from csid.inputs import check_table, check_targets, check_weights, number_of_rows

Array = NDArray[np.float64]


class PartitionError(ValueError):
    """A partition cannot be used."""


class Rows(NamedTuple):
    """A partition that was checked: its table, targets (M, K), and weights (M,) if rows have any."""

    X: Any
    targets: Array
    weights: Array | None

    @property
    def masses(self) -> Array:
        return np.ones(len(self.targets)) if self.weights is None else self.weights


@dataclass(frozen=True)
class Columns:
    """What every partition must have.

    example : a table without rows; outputs : K; one_output : whether y has a single column without a name.
    """

    example: Any
    outputs: int
    one_output: bool

    @property
    def kinds(self) -> dict[str, str | None]:
        return _kinds(self.example)


@dataclass(frozen=True)
class Partitions:
    """Tables, targets and weights, piece by piece, unread. weights : empty where all rows are alike."""

    columns: Columns
    tables: list[Delayed]
    targets: list[Delayed]
    weights: list[Delayed]

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any = None) -> "Partitions":
        """The partitions of collections that are cut alike."""
        X = in_whole_rows(X)
        N = len(X.columns) if isinstance(X, dd.DataFrame) else X.shape[1]
        if N == 0:
            raise ValueError("X has no columns: 0 feature(s) while a minimum of 1 is required.")
        y = _cut_like(X, y, "y")
        given = [] if sample_weight is None else _pieces(_cut_like(X, sample_weight, "sample_weight"))
        one_output = len(y.shape) == 1 or y.shape[1] == 1
        columns = Columns(_example(X), 1 if one_output else int(y.shape[1]), one_output)
        return cls(columns, _pieces(X), _pieces(y), given)

    def __len__(self) -> int:
        return len(self.tables)

    def each(self, cluster: Cluster, name: str, function: Any, *arguments: Any, own: Any = None) -> list[Delayed]:
        """`function(rows, *arguments)` of every partition; `own` : a list with one more argument for each."""
        columns = cluster.value("columns", self.columns)
        return [
            cluster.task(name, _on_rows, function, at, columns, self._piece(at), arguments, own[at] if own else ())
            for at in range(len(self))
        ]

    def _piece(self, at: int) -> list[Any]:
        return [self.tables[at], self.targets[at], self.weights[at] if self.weights else None]

    def lengths(self, cluster: Cluster) -> list[int]:
        """How many rows of each partition count."""
        given = self.weights or self.targets
        count = _count_positive if self.weights else _count
        tasks = [cluster.task("lengths", count, piece) for piece in given]
        return [int(length) for length in self.compute(cluster, cluster.task("lengths", list, tasks))]

    def compute(self, cluster: Cluster, task: Delayed) -> Any:
        """The result of a task that reads partitions; where one cannot be read, an error that names it."""
        try:
            return cluster.compute(task)
        except (PartitionError, MemoryError):
            raise
        except Exception as error:  # whatever a graph of the user's raises
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


def _cut_like(X: Any, other: Any, name: str) -> Any:
    """y or weights as a collection with the partitions of X."""
    if not isinstance(other, dd.DataFrame | dd.Series | da.Array):
        raise TypeError(f"{name} is a {type(other).__name__}: give a Dask collection with the partitions of X.")
    if isinstance(other, da.Array):
        if other.ndim > 2:
            raise ValueError(f"{name} has {other.ndim} dimensions: give one number per row, or one row per row.")
        if other.ndim == 2 and other.numblocks[1] > 1:
            other = other.rechunk({1: -1})
        known = isinstance(X, da.Array) and not np.isnan(X.chunks[0] + other.chunks[0]).any()
        if known and other.chunks[0] != X.chunks[0] and sum(other.chunks[0]) == sum(X.chunks[0]):
            other = other.rechunk({0: X.chunks[0]})
    if other.npartitions != X.npartitions:
        raise ValueError(
            f"X has {X.npartitions} partitions, but {name} has {other.npartitions}: cut them alike, with repartition, "
            "or take both from one data frame."
        )
    return other


def _pieces(collection: Any) -> list[Delayed]:
    pieces = collection.to_delayed()
    return list(pieces.ravel()) if isinstance(pieces, np.ndarray) else list(pieces)


def _example(X: Any) -> Any:
    return X._meta if isinstance(X, dd.DataFrame) else np.empty((0, X.shape[1]), X.dtype)


def _on_rows(function: Any, at: int, columns: Columns, piece: list[Any], arguments: Any, own: Any) -> Any:
    """Read a partition, and call a function with its rows."""
    try:
        return function(_checked(columns, *piece), *arguments, *own)
    except (ValueError, TypeError) as error:
        raise PartitionError(f"in partition {at}: {error}") from error


def _checked(columns: Columns, X: Any, y: Any, sample_weight: Any) -> Rows:
    X = check_table(X, "the fit", min_rows=0)
    _check_columns(columns, X)
    n_rows = number_of_rows(X)
    if n_rows == 0:
        return Rows(X, np.empty((0, columns.outputs)), None if sample_weight is None else np.empty(0))
    targets = check_targets(np.asarray(y)[:, 0] if columns.one_output and np.ndim(y) == 2 else y, n_rows)
    targets = targets.reshape(n_rows, -1)
    if targets.shape[1] != columns.outputs:
        raise ValueError(f"y has {targets.shape[1]} columns, where it has {columns.outputs} as a whole.")
    return Rows(X, targets, None if sample_weight is None else check_weights(sample_weight, n_rows, fewest=0))


def _check_columns(columns: Columns, X: Any) -> None:
    expected, found = columns.kinds, _kinds(X)
    if list(found) != list(expected):
        raise ValueError(f"X has the columns {list(found)}, where it has {list(expected)} as a whole.")
    for n, (name, kind) in enumerate(expected.items()):
        differs = kind is not None and found[name] is not None and found[name] != kind
        if differs and not _is_missing_throughout(X, n):
            raise ValueError(f"column {name!r} holds {found[name]}, where it holds {kind} in X as a whole.")


def _is_missing_throughout(X: Any, n: int) -> bool:
    data = list(read_columns(X))[n].data
    return bool(np.isnan(data).all()) if isinstance(data, np.ndarray) else all(value is None for value in data)


def _kinds(X: Any) -> dict[str, str | None]:
    """What each column holds by its type, which does not always say."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        kind = {"f": "numbers", "i": "numbers", "u": "numbers", "b": "booleans"}.get(X.dtype.kind)
        return {str(n): kind for n in range(X.shape[1])}
    types = {nw.Boolean: "booleans", nw.String: "words", nw.Categorical: None, nw.Enum: None}
    return {name: "numbers" if dtype.is_numeric() else types.get(type(dtype)) for name, dtype in frame.schema.items()}


def _count(piece: Any) -> int:
    return len(piece)


def _count_positive(weights: Any) -> int:
    return int((np.asarray(weights) > 0).sum())


def _touch(piece: list[Any]) -> None:
    """Nothing: it is enough that the arguments could be made."""
