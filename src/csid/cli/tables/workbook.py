"""Sheets of Excel and OpenDocument workbooks (.xlsx, .xlsb, .xls, .ods), read by python-calamine."""

import io
import zipfile
from datetime import date, datetime, time
from typing import Any

from csid.cli.errors import DataError, UsageError
from csid.cli.tables.text_stream import ZIP

_OLD_EXCEL = b"\xd0\xcf\x11\xe0"


def is_workbook(stream: io.BufferedReader) -> bool:
    start = stream.peek(8)
    if start.startswith(_OLD_EXCEL):
        return True
    if not start.startswith(ZIP):
        return False
    try:
        names = zipfile.ZipFile(stream).namelist()
    except (zipfile.BadZipFile, OSError, NotImplementedError):
        return False
    finally:
        stream.seek(0)
    return "[Content_Types].xml" in names or ("mimetype" in names and "content.xml" in names)


def sheet_columns(stream: io.BufferedReader, label: str, sheet: str | None) -> tuple[list[str], list[list[Any]]]:
    """The names in the first row that is not blank, and the cells below each; sheet : None for the first with cells.

    A formula that failed, such as #DIV/0!, gives an empty cell.
    """
    rows = [row for row in _cells(stream, label, sheet) if any(cell != "" for cell in row)]
    if not rows:
        raise DataError(f"{label} has no cells.")
    names = [str(int(name)) if isinstance(name, float) and name.is_integer() else str(name).strip() for name in rows[0]]
    return names, [[_value(row[at]) for row in rows[1:]] for at in range(len(names))]


def _value(cell: Any) -> Any:
    """A cell; dates become times at midnight, as those of the same column may have a time of day."""
    if cell == "":
        return None
    is_day = isinstance(cell, date) and not isinstance(cell, datetime)
    return datetime.combine(cell, time.min) if is_day else cell


def _cells(stream: io.BufferedReader, label: str, sheet: str | None) -> list[list[Any]]:
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ModuleNotFoundError:
        raise UsageError(f"{label} is a workbook, which needs python-calamine: pip install 'csid[excel]'.") from None
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(stream.read()))
        if sheet is not None and sheet not in book.sheet_names:
            raise UsageError(f"--sheet {sheet}: {label} has the sheets {', '.join(map(repr, book.sheet_names))}.")
        sheets = (book.get_sheet_by_name(name).to_python() for name in ([sheet] if sheet else book.sheet_names))
        return next((cells for cells in sheets if cells), [])
    except CalamineError as error:
        raise DataError(f"{label} is a damaged workbook: {error}.") from None
