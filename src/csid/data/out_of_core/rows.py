"""Training rows in batches, which a fit reads several times."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow.dataset
from numpy.typing import NDArray

from csid.data.checks import number_of_rows
from csid.data.weights import WeightTotals

Array = NDArray[np.float64]


class Batch(NamedTuple):
    """Some rows.

    X : data frame or array, (m, N); y : (m,) or (m, K); weights : (m,) or None.
    label : names the batch in error messages.
    """

    X: Any
    y: Any
    weights: Any
    label: str


class TargetBatch(NamedTuple):
    """Targets and weights of some rows. See `Batch`."""

    y: Any
    weights: Any
    label: str


class RowBatches(ABC):
    """Rows in batches, the same rows in the same order on every pass."""

    folder: str | PathLike[str] | None = None
    """Where code files go during a fit. None for the system's folder for temporary files."""

    exposure: str | None = None
    """The column with the exposure of counts, if they have one."""

    target_names: tuple[str, ...] = ()
    """Names of the outputs; none if they are not known."""

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """All rows, batch by batch."""

    @abstractmethod
    def counts(self) -> Iterator[tuple[int, Any]]:
        """The number of rows, and their weights or None, of consecutive parts, read as cheaply as possible."""

    def targets(self) -> Iterator[TargetBatch]:
        """Targets and weights of all rows, part by part, read as cheaply as possible."""
        for batch in self.batches():
            yield TargetBatch(batch.y, batch.weights, batch.label)

    @contextmanager
    def kept(self, folder: Path) -> Iterator["RowBatches"]:
        """Rows that can be read several times: these, or a copy of them in `folder`."""
        yield self


class OpenRows(NamedTuple):
    """Rows during a fit.

    folder : for code files.
    n_rows : M.
    weighted : (M,) whether a row has a positive weight; None when all rows do.
    totals : of the weights.
    first : the predictors of the first batch.
    """

    given: RowBatches
    folder: Path
    n_rows: int
    weighted: NDArray[np.bool_] | None
    totals: WeightTotals
    first: Any

    @property
    def positive_weight(self) -> NDArray[np.intp]:
        """Indices of the rows with a positive weight."""
        return np.arange(self.n_rows) if self.weighted is None else np.flatnonzero(self.weighted)


@contextmanager
def open_rows(given: RowBatches) -> Iterator[OpenRows]:
    """Rows that can be read several times, with a temporary folder that is removed afterwards."""
    with TemporaryDirectory(prefix="csid-", dir=given.folder) as folder, given.kept(Path(folder)) as rows:
        parts, totals = [], WeightTotals()
        for count, weights in rows.counts():
            parts.append((count, None if weights is None else np.asarray(weights) != 0.0))
            totals = totals.merged(WeightTotals.of(np.ones(count) if weights is None else np.asarray(weights, float)))
        n_rows = sum(count for count, _ in parts)
        weighted = None
        if any(counts is not None for _, counts in parts):
            weighted = np.concatenate([np.ones(count, bool) if counts is None else counts for count, counts in parts])
        number = n_rows if weighted is None else int(weighted.sum())
        if number < 2:
            found = "1 row" if number == 1 else f"{number} rows"
            raise ValueError(f"found {found} with a positive weight: a fit needs at least 2.")
        first = next(batch.X for batch in rows.batches() if number_of_rows(batch.X))
        yield OpenRows(rows, Path(folder), n_rows, weighted, totals, first)


def row_batches(X: Any, y: Any, sample_weight: Any = None, exposure: Any = None) -> RowBatches | None:
    """The input of `fit` as rows in batches; None for a table in memory.

    A path or an Arrow dataset needs the name of its target as y; an iterator needs no y.
    """
    from csid.data.out_of_core.batches import Batches
    from csid.data.out_of_core.parquet import ParquetRows

    if isinstance(X, str | PathLike | pyarrow.dataset.Dataset):
        names = [y] if isinstance(y, str) else y
        if names is None or not all(isinstance(name, str) for name in names):
            raise TypeError(
                "X is a path or dataset, so y must name the target column, or several: fit('folder/', y='price')."
            )
        for name, column in (("sample_weight", sample_weight), ("exposure", exposure)):
            if not isinstance(column, str | None):
                raise TypeError(f"X is a path or dataset, so {name} must be the name of a column, or None.")
        return ParquetRows(X, y, sample_weight, exposure=exposure)
    if not isinstance(X, RowBatches) and not hasattr(X, "__next__"):
        return None
    if y is not None or sample_weight is not None:
        raise TypeError(
            f"X is a {type(X).__name__}, which contains its own targets and weights: leave out y and sample_weight."
        )
    if exposure is not None:
        raise TypeError(
            f"X is a {type(X).__name__}, for which exposure is not supported: give the path of Parquet files, "
            "ParquetRows(path, target=…, exposure=…), or a table in memory."
        )
    return X if isinstance(X, RowBatches) else Batches(X)


@contextmanager
def prefix_errors(label: str) -> Iterator[None]:
    """Prefix error messages with the label of the rows."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise (TypeError if isinstance(error, TypeError) else ValueError)(f"{label}: {error}") from error
