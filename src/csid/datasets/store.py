"""The tables of a data set: from the folder that `CSID_DATA` names, from the cache, or from their public origin.

Whatever the way, a table is verified by its values before it is used or kept.
"""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from csid.datasets.descriptions import Description, File, Origin
from csid.datasets.download import DatasetError, download
from csid.datasets.tables import Table, fingerprint, read_csv_gz, write_csv_gz
from csid.files import written_aside

ENVIRONMENT_VARIABLE = "CSID_DATA"


def cache_folder() -> Path:
    """Where tables are kept once they are downloaded, in the user's own cache."""
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("csid", appauthor=False)) / "datasets"


def read_tables(description: Description) -> list[Table]:
    """The tables of a set, one for each of its files."""
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
        except OSError:  # not there, or not to be read: then it is fetched
            continue
    return tables if len(tables) == len(description.files) else _fetch(description, cache, damaged)


def _from_folder(folder: Path, file: File, description: Description) -> Table:
    instead = f"or unset {ENVIRONMENT_VARIABLE} to download {description.name} from {description.origins[0].url}."
    try:
        return _verified(folder / file.path, file)
    except DatasetError as error:
        raise DatasetError(f"{error} Replace it, {instead}") from error
    except OSError as error:
        raise DatasetError(
            f"{ENVIRONMENT_VARIABLE} is {str(folder)!r}, where {file.path} cannot be read ({error.strerror}): "
            f"put it there, {instead}"
        ) from error


def _verified(path: Path, file: File) -> Table:
    """The table in a file of a data folder; an error when it is not the published one."""
    data = path.read_bytes()
    try:
        table = read_csv_gz(data)
    except Exception as error:  # no gzip, no text, no table: whatever a damaged file can be
        raise DatasetError(f"{path} is damaged: {error}.") from error
    _check(table, file, str(path))
    return table


def _check(table: Table, file: File, where: str) -> None:
    found = fingerprint(table)
    if found != file.fingerprint:
        raise DatasetError(
            f"{where} has other values than the published set: "
            f"their checksum is {found[:12]}…, not {file.fingerprint[:12]}…."
        )


def _fetch(description: Description, cache: Path, failures: Sequence[str]) -> list[Table]:
    """The tables of a set from the first origin that delivers them, verified, and kept in the cache."""
    failures = list(failures)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        scratch = tempfile.TemporaryDirectory(prefix="download-", dir=cache)
    except OSError as error:
        raise DatasetError(
            f"the cache folder {cache} cannot be written ({error.strerror}): make it writable, or set "
            f"{ENVIRONMENT_VARIABLE} to a folder that holds {_paths(description)}."
        ) from error
    with scratch as folder:
        for origin in description.origins:
            try:
                tables = _read_origin(origin, description, cache, Path(folder))
            except DatasetError as error:
                failures.append(str(error))
                continue
            for file, table in zip(description.files, tables, strict=True):
                path = cache / file.path
                path.parent.mkdir(parents=True, exist_ok=True)
                with written_aside(path) as aside:
                    aside.write_bytes(write_csv_gz(table))
            return tables
    first = description.origins[0]
    raise DatasetError(
        f"The data set {description.name} could not be had. {' '.join(failures)} "
        f"Get {first.url} and put it at {_by_hand(first, description, cache)}, or set {ENVIRONMENT_VARIABLE} "
        f"to a folder that holds {_paths(description)}."
    )


def _read_origin(origin: Origin, description: Description, cache: Path, scratch: Path) -> list[Table]:
    """The tables in an original that somebody put into the cache folder by hand, or that is downloaded."""
    path = _by_hand(origin, description, cache)
    where = str(path)
    if not path.exists():
        path, where = scratch / origin.saved_as, origin.url
        download(origin.url, path)
    data = path.read_bytes()
    try:
        tables = [read(data) for read in origin.readers]
    except Exception as error:  # see `originals`: the file is not the one expected
        raise DatasetError(f"{where} is not the file expected: {error}.") from error
    for table, file in zip(tables, description.files, strict=True):
        _check(table, file, where)
    return tables


def _by_hand(origin: Origin, description: Description, cache: Path) -> Path:
    return cache / "originals" / description.name / origin.saved_as


def _paths(description: Description) -> str:
    return " and ".join(file.path for file in description.files)
