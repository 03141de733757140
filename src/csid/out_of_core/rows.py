"""Rows to train on, in batches that are read as often as a fit needs them."""

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

from csid.inputs import number_of_rows

Array = NDArray[np.float64]


class Batch(NamedTuple):
    """Some rows.

    X : data frame or array, (m, N); y : (m,) or (m, K); weights : (m,) or None; label : where they come from.
    """

    X: Any
    y: Any
    weights: Any
    label: str


class Rows(ABC):
    """Rows in batches; every time they are read they are the same, in the same order."""

    folder: str | PathLike[str] | None = None
    """Where code files go while a model is fitted; the system's own for temporary files if None."""

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """All rows, some at a time."""

    @abstractmethod
    def counts(self) -> Iterator[tuple[int, Any]]:
        """The number of rows of each of some parts, and their weights or None, without reading more than needed."""

    @contextmanager
    def kept(self, folder: Path) -> Iterator["Rows"]:
        """The rows as they can be read several times; a folder to keep them in is given for rows that cannot."""
        yield self


class OpenRows(NamedTuple):
    """Rows while a fit reads them.

    folder : for what is written of them; n_rows : M; weighted : (M,) which have a weight above zero, or None for all.
    first : table of some.
    """

    given: Rows
    folder: Path
    n_rows: int
    weighted: NDArray[np.bool_] | None
    first: Any

    @property
    def counted(self) -> NDArray[np.intp]:
        """Rows whose weight is not zero."""
        return np.arange(self.n_rows) if self.weighted is None else np.flatnonzero(self.weighted)


@contextmanager
def opened(given: Rows) -> Iterator[OpenRows]:
    """Rows that can be read several times, and a folder that is gone afterwards."""
    with TemporaryDirectory(prefix="csid-", dir=given.folder) as folder, given.kept(Path(folder)) as rows:
        parts = [(count, None if weights is None else np.asarray(weights) != 0.0) for count, weights in rows.counts()]
        n_rows = sum(count for count, _ in parts)
        weighted = None
        if any(counts is not None for _, counts in parts):
            weighted = np.concatenate([np.ones(count, bool) if counts is None else counts for count, counts in parts])
        number = n_rows if weighted is None else int(weighted.sum())
        if number < 2:
            raise ValueError(f"there are {number} rows that count: a fit needs at least 2.")
        first = next(batch.X for batch in rows.batches() if number_of_rows(batch.X))
        yield OpenRows(rows, Path(folder), n_rows, weighted, first)


def rows_of(X: Any, y: Any, sample_weight: Any = None) -> Rows | None:
    """What a user handed to `fit` as rows in batches; None for a table in memory.

    A path, or a data set of Arrow's, comes with the name of its target; an iterator with nothing.
    """
    from csid.out_of_core.batches import Batches
    from csid.out_of_core.parquet import ParquetRows

    if isinstance(X, str | PathLike | pyarrow.dataset.Dataset):
        names = [y] if isinstance(y, str) else y
        if names is None or not all(isinstance(name, str) for name in names):
            raise TypeError(
                "X is a path, so y must name the column of the target, or several: fit('folder/', y='price')."
            )
        if not isinstance(sample_weight, str | None):
            raise TypeError("X is a path, so sample_weight must name the column of the weights.")
        return ParquetRows(X, y, sample_weight)
    if not isinstance(X, Rows) and not hasattr(X, "__next__"):
        return None
    if y is not None or sample_weight is not None:
        raise TypeError(f"X is {type(X).__name__}, which has targets and weights of its own: leave out y and weights.")
    return X if isinstance(X, Rows) else Batches(X)
