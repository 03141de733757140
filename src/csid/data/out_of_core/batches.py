"""Rows from an iterable of batches. An iterator, which can be read only once, is first copied to a temporary folder."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.feather

from csid.data.checks import number_of_rows, without_mask
from csid.data.labels import check_labels, declared_order
from csid.data.out_of_core.rows import Batch, RowBatches, TargetBatch
from csid.encoding.columns import is_table


class Batches(RowBatches):
    """Rows from an iterable of batches `(X, y)` or `(X, y, sample_weight)`.

    Parameters
    ----------
    batches : iterable, or function that returns one
        Read three times, and must be the same each time. An iterator, which can be read only once, is first copied to a
        temporary folder for the time of the fit.
    folder : path, optional
        Where that copy and the code files go. Default: the system's folder for temporary files.

    Examples
    --------
    >>> import numpy as np
    >>> from csid import Batches, CSIDRegressor
    >>> def read():
    ...     for part in range(5):
    ...         X = np.random.default_rng(part).uniform(-1, 1, (300, 2))
    ...         yield X, X[:, 0] * X[:, 1]
    >>> model = CSIDRegressor(rank=2, random_state=0).fit(Batches(read))
    >>> model.n_samples_
    1350
    """

    def __init__(
        self, batches: Iterable[Any] | Callable[[], Iterable[Any]], folder: str | PathLike[str] | None = None
    ) -> None:
        self._batches, self.folder = batches, folder

    def batches(self) -> Iterator[Batch]:
        given = self._batches() if callable(self._batches) else self._batches
        for number, batch in enumerate(given):
            label = f"batch {number}"
            if not isinstance(batch, tuple) or len(batch) not in (2, 3):
                found = f"a tuple of length {len(batch)}" if isinstance(batch, tuple) else f"a {type(batch).__name__}"
                raise TypeError(f"{label} must be a tuple (X, y) or (X, y, sample_weight), but is {found}.")
            X, y, weights = batch if len(batch) == 3 else (*batch, None)
            yield Batch(X, y, weights, label)

    def counts(self) -> Iterator[tuple[int, Any]]:
        for batch in self.batches():
            yield number_of_rows(batch.X), batch.weights

    @contextmanager
    def kept(self, folder: Path) -> Iterator[RowBatches]:
        if hasattr(self._batches, "__next__"):
            yield KeptBatches(folder, self.batches())
        else:
            yield self


class KeptBatches(RowBatches):
    """Batches copied to a folder: data frames as Arrow files, arrays as .npy files."""

    def __init__(self, folder: Path, batches: Iterable[Batch]) -> None:
        self._folder = folder
        self._batches: list[tuple[str, bool]] = []
        for number, batch in enumerate(batches):
            weighted = batch.weights is not None
            _write(folder / f"{number}.X", batch.X)
            _write_targets(folder / f"{number}.y", batch.y)
            if weighted:
                np.save(folder / f"{number}.weights.npy", np.asarray(without_mask(batch.weights)), allow_pickle=False)
            self._batches.append((batch.label, weighted))

    def batches(self) -> Iterator[Batch]:
        for number, (label, weighted) in enumerate(self._batches):
            targets = self._targets_of(number, weighted, label)
            yield Batch(_read(self._folder / f"{number}.X"), *targets)

    def targets(self) -> Iterator[TargetBatch]:
        for number, (label, weighted) in enumerate(self._batches):
            yield self._targets_of(number, weighted, label)

    def counts(self) -> Iterator[tuple[int, Any]]:
        for each in self.targets():
            yield len(each.y), each.weights

    def _targets_of(self, number: int, weighted: bool, label: str) -> TargetBatch:
        weights = np.load(self._folder / f"{number}.weights.npy", allow_pickle=False) if weighted else None
        return TargetBatch(_read_targets(self._folder / f"{number}.y"), weights, label)


def _write(path: Path, X: Any) -> None:
    X = without_mask(X)
    if is_table(X):
        table = nw.from_native(X, eager_only=True).to_arrow()
        pa.feather.write_feather(table, path.with_name(path.name + ".arrow"), compression="lz4")
    elif np.asarray(X).dtype.kind in "fiub":
        np.save(path.with_name(path.name + ".npy"), np.asarray(X), allow_pickle=False)
    else:
        raise TypeError(
            f"the iterator gives X of type {type(X).__name__}, which cannot be copied to disk: it must give data "
            "frames or numeric arrays. Alternatively, give Batches a function that returns a new iterator."
        )


def _write_targets(path: Path, y: Any) -> None:
    """Numbers and their bounds as an array; texts and categories as an Arrow column, which keeps their order."""
    y = without_mask(y)
    if np.asarray(y).dtype.kind in "fiubV" and not hasattr(y, "cat"):
        np.save(path.with_name(path.name + ".npy"), np.asarray(y), allow_pickle=False)
        return
    labels = check_labels(y).tolist()
    order = declared_order(y)
    column = (
        pa.array(labels)
        if order is None
        else pa.DictionaryArray.from_arrays(
            pa.array([order.index(label) for label in labels], pa.int32()), pa.array(order), ordered=True
        )
    )
    pa.feather.write_feather(pa.table({"y": column}), path.with_name(path.name + ".arrow"), compression="lz4")


def _read_targets(path: Path) -> Any:
    array = path.with_name(path.name + ".npy")
    if array.exists():
        return np.load(array, allow_pickle=False)
    return pa.feather.read_table(path.with_name(path.name + ".arrow"))["y"]


def _read(path: Path) -> Any:
    array = path.with_name(path.name + ".npy")
    if array.exists():
        return np.load(array, allow_pickle=False)
    return pa.feather.read_table(path.with_name(path.name + ".arrow"))
