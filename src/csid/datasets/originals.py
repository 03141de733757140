"""Readers of original files as published: CSV, Excel, MATLAB and R files, zipped or not.

A reader takes the bytes of a file and returns a table. If it raises an exception other than `ImportError`, the file is
not the expected one.
"""

import bz2
import gzip
import importlib
import io
import lzma
import re
import warnings
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from csid.datasets.tables import Column, Table, column_of, parse_csv

Reader = Callable[[bytes], Table]

_MAX_UNPACKED = 100 * 2**20
_SHEET = "xl/worksheets/sheet1.xml"
_STRINGS = "xl/sharedStrings.xml"
_SPREADSHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def from_zip(member: str, read: Reader) -> Reader:
    """A reader of one file in an archive, found by its name in any folder."""

    def reader(data: bytes) -> Table:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            found = [name for name in archive.namelist() if PurePosixPath(name).name == member]
            if len(found) != 1:
                raise ValueError(f"the archive contains {len(found)} files named {member}: {archive.namelist()[:8]}")
            with archive.open(found[0]) as file:
                return read(_bounded(file.read, member))

    return reader


def from_csv(*, separator: str = ",", header: bool = True, names: Sequence[str] = ()) -> Reader:
    """A reader of delimited text, see `parse_csv`."""
    return lambda data: parse_csv(data.decode("utf-8-sig"), separator=separator, header=header, names=names)


def from_xlsx(data: bytes) -> Table:
    """The first sheet of an Excel workbook, with a header row; empty rows and columns are dropped."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        strings: list[str] = []
        if _STRINGS in archive.namelist():
            with archive.open(_STRINGS) as file:
                entries = ElementTree.fromstring(_bounded(file.read, _STRINGS))
            strings = ["".join(text.text or "" for text in entry.iter(f"{_SPREADSHEET}t")) for entry in entries]
        with archive.open(_SHEET) as file:
            sheet = ElementTree.fromstring(_bounded(file.read, _SHEET))
    rows = [_sheet_row(row, strings) for row in sheet.iter(f"{_SPREADSHEET}row")]
    header, *body = [row for row in rows if row]
    return {name: column_of(row.get(letters, "") for row in body) for letters, name in header.items()}


def from_mat(names: Sequence[str]) -> Reader:
    """A reader of vectors in a MATLAB file."""

    def reader(data: bytes) -> Table:
        from scipy.io import loadmat

        variables = loadmat(io.BytesIO(data), variable_names=names)
        return {name: np.asarray(variables[name], dtype=np.float64).ravel() for name in names}

    return reader


def from_rda(data: bytes) -> Table:
    """The data frame in a file written by R's `save`, compressed or not. Needs the package rdata."""
    try:
        rdata = importlib.import_module("rdata")
    except ImportError as error:
        raise ImportError("its original is an R file. To read it: pip install rdata.") from error
    for magic, opened in ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ", lzma.open)):
        if data.startswith(magic):
            with opened(io.BytesIO(data)) as file:
                data = _bounded(file.read, "the R file")
            break
    if not data.startswith((b"RDX2\n", b"RDX3\n")):  # rdata would unpack once more, without a limit
        raise ValueError("the file is not in R's binary format")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # classes such as tbl_df are read as the data frames they are
        objects = rdata.conversion.convert(rdata.parser.parse_data(data), default_encoding="utf-8")
    frames = [value for value in objects.values() if hasattr(value, "columns")]
    if len(frames) != 1:
        raise ValueError(f"the R file contains {len(frames)} data frames, expected one")
    (frame,) = frames
    return {str(name): _r_column(frame[name]) for name in frame.columns}


def _r_column(series: Any) -> Column:
    """A pandas column as numbers, or a factor or strings as strings."""
    if series.dtype.kind in "iufb":
        return np.asarray(series.to_numpy(np.float64, na_value=np.nan))
    return column_of("" if missing else str(cell) for cell, missing in zip(series, series.isna(), strict=True))


def _sheet_row(row: ElementTree.Element, strings: Sequence[str]) -> dict[str, str]:
    """The cells of a row that are not empty, by the letters of their column."""
    cells = {}
    for cell in row.iter(f"{_SPREADSHEET}c"):
        text = "".join(part.text or "" for part in cell.iter() if part.tag in (f"{_SPREADSHEET}v", f"{_SPREADSHEET}t"))
        if text:
            letters = re.sub(r"\d", "", cell.attrib["r"])
            cells[letters] = strings[int(text)] if cell.get("t") == "s" else text
    return cells


def _bounded(read: Callable[[int], bytes], name: str) -> bytes:
    """All of an unpacked file, unless it is larger than any original here: it may be a decompression bomb."""
    data = read(_MAX_UNPACKED + 1)
    if len(data) > _MAX_UNPACKED:
        raise ValueError(f"{name} unpacks to more than {_MAX_UNPACKED} bytes")
    return data
