"""Originals as their publishers keep them, read into tables: CSV, workbooks, MATLAB and R files, zipped or not.

A reader takes the bytes of a file. Whatever it raises means that the file is not the one expected.
"""

import bz2
import gzip
import io
import lzma
import re
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

import numpy as np

from csid.datasets import rda
from csid.datasets.tables import Table, column_of, parse_csv

Reader = Callable[[bytes], Table]

_MOST_UNPACKED = 100 * 2**20
_SHEET = "xl/worksheets/sheet1.xml"
_WORDS = "xl/sharedStrings.xml"
_SPREADSHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def from_zip(member: str, read: Reader) -> Reader:
    """A reader of the file of that name in an archive, in whatever folder it lies there."""

    def reader(data: bytes) -> Table:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            found = [name for name in archive.namelist() if PurePosixPath(name).name == member]
            if len(found) != 1:
                raise ValueError(f"the archive holds {len(found)} files called {member}: {archive.namelist()[:8]}")
            with archive.open(found[0]) as file:
                return read(_bounded(file.read, member))

    return reader


def from_csv(*, separator: str = ",", header: bool = True, names: Sequence[str] = ()) -> Reader:
    """A reader of text; see `parse_csv`."""
    return lambda data: parse_csv(data.decode("utf-8-sig"), separator=separator, header=header, names=names)


def from_xlsx(data: bytes) -> Table:
    """The first sheet of a workbook, its first row a header; empty rows and columns are left out."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        words: list[str] = []
        if _WORDS in archive.namelist():
            with archive.open(_WORDS) as file:
                entries = ElementTree.fromstring(_bounded(file.read, _WORDS))
            words = ["".join(text.text or "" for text in entry.iter(f"{_SPREADSHEET}t")) for entry in entries]
        with archive.open(_SHEET) as file:
            sheet = ElementTree.fromstring(_bounded(file.read, _SHEET))
    rows = [_sheet_row(row, words) for row in sheet.iter(f"{_SPREADSHEET}row")]
    header, *body = [row for row in rows if row]
    return {name: column_of(row.get(letters, "") for row in body) for letters, name in header.items()}


def from_mat(names: Sequence[str]) -> Reader:
    """A reader of vectors from a MATLAB file."""

    def reader(data: bytes) -> Table:
        from scipy.io import loadmat

        variables = loadmat(io.BytesIO(data), variable_names=names)
        return {name: np.asarray(variables[name], dtype=np.float64).ravel() for name in names}

    return reader


def from_rda(data: bytes) -> Table:
    """The data frame in a file written by R's `save`, compressed as R can."""
    for magic, opened in ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ", lzma.open)):
        if data.startswith(magic):
            with opened(io.BytesIO(data)) as file:
                return rda.parse(_bounded(file.read, "the R file"))
    return rda.parse(data)


def _sheet_row(row: ElementTree.Element, words: Sequence[str]) -> dict[str, str]:
    """The cells of a row that hold something, by the letters of their column."""
    cells = {}
    for cell in row.iter(f"{_SPREADSHEET}c"):
        text = "".join(part.text or "" for part in cell.iter() if part.tag in (f"{_SPREADSHEET}v", f"{_SPREADSHEET}t"))
        if text:
            letters = re.sub(r"\d", "", cell.attrib["r"])
            cells[letters] = words[int(text)] if cell.get("t") == "s" else text
    return cells


def _bounded(read: Callable[[int], bytes], name: str) -> bytes:
    """All of an unpacked file, unless it is larger than any original here: then it was made to fill the memory."""
    data = read(_MOST_UNPACKED + 1)
    if len(data) > _MOST_UNPACKED:
        raise ValueError(f"{name} unpacks to more than {_MOST_UNPACKED} bytes")
    return data
