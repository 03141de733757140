"""The tables of a data set: from the folder named by `CSID_DATA`, from the cache, or from a public origin.

The cache folder holds tables as gzipped CSV, and below `originals` the files they were read from. pooch downloads
those; a file that the user saved there by hand is used as well. A table is verified by its values each time it is read.
A checksum of the file would not do: hosts repack their archives, and gzip output depends on the version of zlib.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from csid.datasets.descriptions import Description, File, Origin
from csid.datasets.download import DatasetError, fetch
from csid.datasets.tables import Table, fingerprint, read_csv_gz, write_csv_gz
from csid.files import atomic_file

ENVIRONMENT_VARIABLE = "CSID_DATA"


def cache_folder() -> Path:
    """The folder in the user's cache directory where downloads are kept."""
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("csid", appauthor=False)) / "datasets"


def read_tables(description: Description) -> list[Table]:
    """The tables of a data set, one for each of its files."""
    folder = os.environ.get(ENVIRONMENT_VARIABLE)
    if folder:
        return [_from_folder(Path(folder), file, description) for file in description.files]
    cache = cache_folder()
    damaged: list[str] = []
    tables = []
    for file in description.files:
        try:
            tables.append(_verified(cache / file.path, file))
        except DatasetError as error:
            damaged.append(str(error))
        except OSError:  # absent or unreadable: prepared again below
            continue
    return tables if len(tables) == len(description.files) else _prepare(description, cache, damaged)


def _from_folder(folder: Path, file: File, description: Description) -> Table:
    instead = f"or unset {ENVIRONMENT_VARIABLE} to download {description.name} from {description.origins[0].url}."
    try:
        return _verified(folder / file.path, file)
    except DatasetError as error:
        raise DatasetError(f"Data set {description.name!r}: {error} Replace the file, {instead}") from error
    except OSError as error:
        raise DatasetError(
            f"Data set {description.name!r}: cannot read {file.path} in the folder {str(folder)!r} given by "
            f"{ENVIRONMENT_VARIABLE} ({error.strerror}). Put the file there, {instead}"
        ) from error


def _verified(path: Path, file: File) -> Table:
    """The table in a file of a data folder, if it has the published values."""
    data = path.read_bytes()
    try:
        table = read_csv_gz(data)
    except Exception as error:  # a damaged file can fail in any way: not gzip, not text, not a table
        raise DatasetError(f"{path} is damaged: {error}.") from error
    _check(table, file, str(path))
    return table


def _check(table: Table, file: File, where: str) -> None:
    found = fingerprint(table)
    if found != file.fingerprint:
        raise DatasetError(
            f"{where} does not have the published values: "
            f"their sha256 is {found[:12]}…, expected {file.fingerprint[:12]}…."
        )


def _prepare(description: Description, cache: Path, failures: Sequence[str]) -> list[Table]:
    """The tables of a data set from the first origin that delivers the published values, saved in the cache."""
    failures = list(failures)
    alternative = f"set {ENVIRONMENT_VARIABLE} to a folder that contains {_paths(description)}."
    try:
        for origin in description.origins:
            try:
                tables = _from_origin(origin, description, cache)
            except DatasetError as error:
                failures.append(str(error))
                continue
            for file, table in zip(description.files, tables, strict=True):
                path = cache / file.path
                path.parent.mkdir(parents=True, exist_ok=True)
                with atomic_file(path) as temporary:
                    temporary.write_bytes(write_csv_gz(table))
            return tables
    except OSError as error:
        raise DatasetError(
            f"Data set {description.name!r}: cannot write to the cache folder {cache} ({error.strerror or error}). "
            f"Make room there or make it writable, or {alternative}"
        ) from error
    first = description.origins[0]
    raise DatasetError(
        f"Could not load data set {description.name!r}. {' '.join(failures)} "
        f"Download {first.url} by hand and save it as {_original_path(first, description, cache)}, or {alternative}"
    )


def _from_origin(origin: Origin, description: Description, cache: Path) -> list[Table]:
    """The tables in the original file: the one in the cache folder, or else downloaded to it."""
    path = _original_path(origin, description, cache)
    was_there = path.exists()
    fetch(origin.url, path)
    try:
        return _parsed(path, origin, description, str(path) if was_there else origin.url)
    except DatasetError as error:
        if was_there:  # perhaps saved by hand: not ours to delete
            raise DatasetError(f"{error} Delete it to download it again.") from error
        path.unlink(missing_ok=True)
        raise


def _parsed(path: Path, origin: Origin, description: Description, where: str) -> list[Table]:
    try:
        data = path.read_bytes()
        tables = [read(data) for read in origin.readers]
    except ImportError as error:
        raise ImportError(f"Data set {description.name!r}: {error}") from error
    except Exception as error:  # an unexpected file can fail in any way, see `originals`
        raise DatasetError(f"{where} is not the expected file: {error}.") from error
    for table, file in zip(tables, description.files, strict=True):
        _check(table, file, where)
    return tables


def _original_path(origin: Origin, description: Description, cache: Path) -> Path:
    return cache / "originals" / description.name / origin.file_name


def _paths(description: Description) -> str:
    return " and ".join(file.path for file in description.files)
