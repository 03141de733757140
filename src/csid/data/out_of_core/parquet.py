"""Rows of Parquet files: a file, a folder, or an Arrow dataset."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet

from csid.data.count_targets import CountsWithExposure
from csid.data.out_of_core.rows import Batch, RowBatches, TargetBatch

BATCH_ROWS = 1 << 17
_BUFFER = 1 << 16
_KINDS = {
    "null": (pa.types.is_null,),
    "boolean": (pa.types.is_boolean,),
    "number": (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal),
    "text": (pa.types.is_string, pa.types.is_large_string),
}


class ParquetRows(RowBatches):
    """Rows of a Parquet file, of all Parquet files of a folder, or of a `pyarrow.dataset.Dataset`.

    Parameters
    ----------
    path : path or Dataset
        The files of a folder are read in the order of their names. Folders such as `year=2024` give a column `year`.
    target : str or list of str
        One or several target columns.
    weight : str, optional
        The column with the sample weights.
    columns : list of str, optional
        The predictors. Default: all other columns.
    folder : path, optional
        Where code files go during a fit (about three bytes per cell). Default: the system's folder for temporary files.
    exposure : str, optional
        The column with the exposure of counts. See `BayesianCSIDRegressor.fit`.

    Examples
    --------
    >>> import tempfile, numpy as np, pandas as pd
    >>> from csid import CSIDRegressor, ParquetRows
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame(rng.uniform(-1, 1, (1000, 2)), columns=["a", "b"]).assign(y=lambda t: t.a * t.b)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table[:500].to_parquet(f"{folder}/first.parquet")
    ...     table[500:].to_parquet(f"{folder}/second.parquet")
    ...     model = CSIDRegressor(rank=2, random_state=0).fit(ParquetRows(folder, target="y"))
    >>> bool(model.score(table[["a", "b"]], table["y"]) > 0.99)
    True
    """

    def __init__(
        self,
        path: str | PathLike[str] | pyarrow.dataset.Dataset,
        target: str | Sequence[str],
        weight: str | None = None,
        columns: Sequence[str] | None = None,
        folder: str | PathLike[str] | None = None,
        exposure: str | None = None,
    ) -> None:
        self.path, self.target, self.weight, self.folder, self.exposure = path, target, weight, folder, exposure
        self._data = _open_dataset(path)
        self._targets = [target] if isinstance(target, str) else list(target)
        self.target_names = tuple(self._targets)
        special = [*self._targets, *self._of_rows]
        self.columns = list(columns) if columns is not None else self._others(special)
        known = self._data.schema.names
        for name in (*special, *self.columns):
            if name not in known:
                raise ValueError(f"{path} has no column {name!r}. Its columns are {', '.join(map(repr, known))}.")

    def __repr__(self) -> str:
        return f"ParquetRows({str(self.path)!r}, target={self.target!r})"

    def batches(self) -> Iterator[Batch]:
        for label, table in self._read([*self.columns, *self._targets, *self._of_rows]):
            yield Batch(table.select(self.columns), self._y(table, label), self._weights(table, label), label)

    def targets(self) -> Iterator[TargetBatch]:
        for label, table in self._read([*self._targets, *self._of_rows]):
            yield TargetBatch(self._y(table, label), self._weights(table, label), label)

    def counts(self) -> Iterator[tuple[int, Any]]:
        if self.weight is None:
            for fragment in self._fragments():
                with _name_file_in_errors(fragment):
                    yield fragment.count_rows(), None
            return
        for label, table in self._read([self.weight]):
            yield table.num_rows, _numbers(table[self.weight], self.weight, label)

    @property
    def _of_rows(self) -> list[str]:
        """The columns of the weights and of the exposure, if there are any."""
        return [name for name in (self.weight, self.exposure) if name is not None]

    def _y(self, table: pa.Table, label: str) -> Any:
        """A target as it is in the file, so that classes keep their labels; several targets as numbers."""
        if self.exposure is not None and isinstance(self.target, str):
            counts, exposure = (_numbers(table[name], name, label) for name in (self.target, self.exposure))
            return CountsWithExposure(counts, exposure)
        if not isinstance(self.target, str):
            return np.column_stack([_numbers(table[name], name, label) for name in self._targets])
        column = table[self.target]
        return _numbers(column, self.target, label) if _is_decimal(column.type) else column

    def _weights(self, table: pa.Table, label: str) -> Any:
        return None if self.weight is None else _numbers(table[self.weight], self.weight, label)

    def _others(self, special: Sequence[str]) -> list[str]:
        return [name for name in self._data.schema.names if name not in special]

    def _fragments(self) -> list[Any]:
        return sorted(self._data.get_fragments(), key=lambda fragment: str(fragment.path))

    def _read(self, columns: list[str]) -> Iterator[tuple[str, pa.Table]]:
        """Some columns in batches, file by file, each with a label of its rows. Memory does not grow with file size."""
        for fragment in self._fragments():
            with _name_file_in_errors(fragment):
                constants = self._check(fragment)
                inside = [name for name in columns if name not in constants]
                source = fragment.filesystem.open_input_file(fragment.path)
                file, row = pa.parquet.ParquetFile(source, pre_buffer=False, buffer_size=_BUFFER), 0
                for batch in file.iter_batches(BATCH_ROWS, columns=inside):
                    count, table = batch.num_rows, pa.Table.from_batches([batch])
                    for name in set(columns) & set(constants):
                        table = table.append_column(name, pa.repeat(constants[name], count))
                    if count:
                        yield f"{fragment.path}, rows {row + 1:,} to {row + count:,}", table.select(columns)
                    row += count

    def _check(self, fragment: Any) -> dict[str, pa.Scalar]:
        """Check that a file has all columns, of the same type as in the first file. Returns the columns in its path."""
        found, known = fragment.physical_schema, self._data.schema
        keys = pyarrow.dataset.get_partition_keys(fragment.partition_expression)
        constants = {name: pa.scalar(value, known.field(name).type) for name, value in keys.items()}
        for name in (*self.columns, *self._targets, *self._of_rows):
            if name in constants:
                continue
            if name not in found.names:
                raise ValueError(f"{fragment.path} has no column {name!r}, which earlier files have.")
            here, there = found.field(name).type, known.field(name).type
            if here != there and _kind(here) != _kind(there) and "null" not in (_kind(here), _kind(there)):
                raise ValueError(
                    f"{fragment.path}: column {name!r} has type {here}, but {there} in earlier files: write all files "
                    "with the same type."
                )
        return constants


def _open_dataset(path: Any) -> pyarrow.dataset.Dataset:
    if isinstance(path, pyarrow.dataset.FileSystemDataset) and path.format.default_extname == "parquet":
        return path
    if isinstance(path, pyarrow.dataset.Dataset):
        raise TypeError("the dataset is not in Parquet format: convert it to Parquet, or give its batches to Batches.")
    if not Path(path).exists():
        raise FileNotFoundError(2, "there is no such file or folder", str(path))
    try:
        data = pyarrow.dataset.dataset(path, format="parquet", partitioning="hive", exclude_invalid_files=False)
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(f"{path} cannot be read as Parquet: {error}") from None
    if not data.files:
        raise ValueError(f"{path} has no Parquet files: give a folder with at least one.")
    return data


@contextmanager
def _name_file_in_errors(fragment: Any) -> Iterator[None]:
    """Add the file name to Arrow errors."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{fragment.path} cannot be read as Parquet: {error}") from error


def _kind(type_: pa.DataType) -> str:
    if pa.types.is_dictionary(type_):
        type_ = type_.value_type
    for kind, tests in _KINDS.items():
        if any(belongs(type_) for belongs in tests):
            return kind
    return str(type_)


def _numbers(column: pa.ChunkedArray, name: str, label: str) -> Any:
    if _kind(column.type) != "number":
        raise ValueError(f"{label}: column {name!r} has type {column.type}, but must be numeric.")
    return column.cast(pa.float64()).to_numpy()


def _is_decimal(type_: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(type_))
