"""Files as people have them: the bytes of each, what its columns must come out as, and what the command must say."""

import bz2
import datetime
import gzip
import io
import lzma
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from csid.cli.options import CellOptions, DecimalMark, TextFormat

ROWS = 20
NUMBERS = [float(row) for row in range(1, ROWS + 1)]
WORDS = ["red", "blue"] * (ROWS // 2)


_DEFAULT = TextFormat()


@dataclass(frozen=True)
class Nasty:
    """A file with a target `y`, the numbers 1, 2, 3 …, or as `columns` says.

    columns : the values of its columns, None where a cell is missing; columns that are not listed are not predictors.
    says, silent : parts of what the command must say, and must not.
    refused : part of the error, of a file that cannot be read.
    """

    content: bytes
    columns: dict[str, list[Any]] = field(default_factory=dict)
    says: tuple[str, ...] = ()
    silent: tuple[str, ...] = ("not a number", "not numbers")
    refused: str = ""
    text: TextFormat = _DEFAULT
    name: str = "data.csv"
    categorical: tuple[str, ...] = ()
    ordinal: tuple[str, ...] = ()


def csv(mark: str = ",", end: str = "\n", **columns: Sequence[object]) -> bytes:
    """A CSV file of these columns and `y`; cells that hold the delimiter or quotes are quoted."""
    columns = {**columns, "y": columns.get("y") or range(1, 1 + len(next(iter(columns.values()))))}

    def cell(value: object) -> str:
        text = str(value)
        return '"' + text.replace('"', '""') + '"' if mark in text or '"' in text or "\n" in text else text

    lines = [mark.join(map(cell, columns)), *(mark.join(map(cell, row)) for row in zip(*columns.values(), strict=True))]
    return "".join(line + end for line in lines).encode()


def put(values: Sequence[object], **at: object) -> list[Any]:
    """Values with some replaced: `put(values, _3="error")` changes that of row 3."""
    changed = list(values)
    for row, value in at.items():
        changed[int(row[1:]) - 1] = value
    return changed


def moments(*texts: str) -> list[datetime.datetime]:
    return [datetime.datetime.fromisoformat(text) for text in texts]


def parquet(**columns: Any) -> bytes:
    sink = io.BytesIO()
    n = len(next(iter(columns.values())))
    pa.parquet.write_table(pa.table({**columns, "y": [float(row) for row in range(1, n + 1)]}), sink)
    return sink.getvalue()


def arrow(**columns: Any) -> bytes:
    sink = io.BytesIO()
    n = len(next(iter(columns.values())))
    pa.feather.write_feather(pa.table({**columns, "y": [float(row) for row in range(1, n + 1)]}), sink)
    return sink.getvalue()


def zipped(**members: bytes) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return sink.getvalue()


def workbook(*sheets: Sequence[Sequence[object]]) -> bytes:
    """An Excel workbook, written as the format asks for, without a library."""
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    related = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    packaged = "http://schemas.openxmlformats.org/package/2006"
    numbers = range(1, len(sheets) + 1)
    sheet_type = f"{related}/worksheet"

    def cell(value: object) -> str:
        if value is None:
            return "<c/>"
        if isinstance(value, bool):
            return f'<c t="b"><v>{int(value)}</v></c>'
        if isinstance(value, datetime.datetime):
            return f'<c s="1"><v>{(value - datetime.datetime(1899, 12, 30)).total_seconds() / 86_400}</v></c>'
        if isinstance(value, str) and value.startswith("#"):
            return f'<c t="e"><v>{value}</v></c>'
        return f'<c t="str"><v>{value}</v></c>' if isinstance(value, str) else f"<c><v>{value}</v></c>"

    def sheet(rows: Sequence[Sequence[object]]) -> str:
        lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
        return f'<worksheet xmlns="{main}"><sheetData>{lines}</sheetData></worksheet>'

    listed = "".join(f'<sheet name="sheet{n}" sheetId="{n}" r:id="r{n}"/>' for n in numbers)
    targets = "".join(f'<Relationship Id="r{n}" Type="{sheet_type}" Target="sheet{n}.xml"/>' for n in numbers)
    types = "".join(f'<Override PartName="/xl/sheet{n}.xml" ContentType="{kind}.worksheet+xml"/>' for n in numbers)
    members = {
        "[Content_Types].xml": f'<Types xmlns="{packaged}/content-types"><Default Extension="rels" ContentType='
        '"application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" '
        f'ContentType="{kind}.sheet.main+xml"/>{types}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{packaged}/relationships"><Relationship Id="r1" '
        f'Type="{related}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{related}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{packaged}/relationships">{targets}<Relationship Id="s" '
        f'Type="{related}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": f'<styleSheet xmlns="{main}"><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="22"/>'
        "</cellXfs></styleSheet>",
        **{f"xl/sheet{n}.xml": sheet(rows) for n, rows in zip(numbers, sheets, strict=True)},
    }
    return zipped(**{name: text.encode() for name, text in members.items()})


def json_lines(**columns: Sequence[object]) -> bytes:
    import json

    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return "\n".join(json.dumps({**row, "y": at}) for at, row in enumerate(rows, 1)).encode()


def asked(**options: Any) -> TextFormat:
    return TextFormat(cells=CellOptions(**options))


PLAIN = csv(a=NUMBERS, b=WORDS)
BOTH = {"a": NUMBERS, "b": WORDS}
PRICES = [1200.0 + row for row in range(ROWS)]
HALVES = [row + 0.5 for row in range(ROWS)]
COMMAS = [f"{value:.1f}".replace(".", ",") for value in HALVES]
IDENTIFIERS = [f"1234567890123456{row:02d}" for row in range(ROWS)]

NASTY: dict[str, Nasty] = {
    # cells that are not numbers
    "one error among numbers": Nasty(
        csv(a=put(NUMBERS, _5="error")),
        {"a": put(NUMBERS, _5=None)},
        ("Column 'a': 1 of 20 cells is not a number ('error' in row 5) and was treated as missing.",),
        (),
    ),
    "41 integers and one off": Nasty(
        csv(a=[*range(41), "off"]),
        {"a": [*map(float, range(41)), None]},
        ("1 of 42 cells is not a number ('off' in row 42)",),
        (),
    ),
    "failed formulas": Nasty(
        csv(a=put(NUMBERS, _2="#DIV/0!", _3="#DIV/0!", _4="#N/A", _5="#VALUE!", _6="#REF!")),
        {"a": put(NUMBERS, _2=None, _3=None, _4=None, _5=None, _6=None)},
        ("5 of 20 cells are not numbers ('#DIV/0!' in row 2 and 1 more, '#N/A' in row 4, '#VALUE!' in row 5, …)",),
        (),
    ),
    "half of the cells are dashes": Nasty(
        csv(a=["-", 1, "-", 2, "-", 3]),
        {"a": [None, 1.0, None, 2.0, None, 3.0]},
        ("3 of 6 cells are not numbers ('-' in row 1 and 2 more)",),
        (),
    ),
    "numbers and infinity": Nasty(
        csv(a=put(NUMBERS, _1="inf", _2="1e999")),
        {"a": put(NUMBERS, _1=None, _2=None)},
        ("'inf' in row 1, '1e999' in row 2",),
        (),
    ),
    "blanks around numbers": Nasty(csv(a=[f" {value} " for value in NUMBERS]), {"a": NUMBERS}),
    "cells of blanks": Nasty(csv(a=put(NUMBERS, _3="  ")), {"a": put(NUMBERS, _3=None)}),
    "usual words for missing cells": Nasty(
        csv(a=put(NUMBERS, _1="NA", _2="", _3="null", _4="?")), {"a": put(NUMBERS, _1=None, _2=None, _3=None, _4=None)}
    ),
    "a category that has a few numbers": Nasty(csv(a=["A1", "B2", "7", "C3"] * 5), {"a": ["A1", "B2", "7", "C3"] * 5}),
    "a category of mostly numbers": Nasty(
        csv(a=["1", "2", "3", "4+"] * 5),
        {"a": ["1", "2", "3", "4+"] * 5},
        ("Column 'a': 15 of 20 cells are numbers, but too many are not, so it is read as text",),
    ),
    "a category of numbers and a word, as asked for": Nasty(
        csv(a=put(NUMBERS, _5="other")),
        {"a": put([str(value) for value in NUMBERS], _5="other")},
        categorical=("a",),
    ),
    "an error in the target": Nasty(
        csv(a=NUMBERS[:6], y=[1, 2, "error", 4, 5, 6]),
        {"a": [1.0, 2.0, 4.0, 5.0, 6.0], "y": [1.0, 2.0, 4.0, 5.0, 6.0]},
        ("Column 'y': 1 of 6 cells is not a number ('error' in row 3)", "Rows skipped because a target is missing: 1."),
        (),
    ),
    "terminal control sequences in a cell": Nasty(
        csv(a=put(NUMBERS, _5="\x1b[31mred")), {"a": put(NUMBERS, _5=None)}, (r"'\x1b[31mred' in row 5",), ("\x1b",)
    ),
    "strict": Nasty(
        csv(a=put(NUMBERS, _5="error")),
        refused="column 'a': 1 of 20 cells is not a number ('error' in row 5), and --strict refuses such cells",
        text=asked(strict=True),
    ),
    "strict, and nothing to refuse": Nasty(PLAIN, BOTH, text=asked(strict=True)),
    # numbers as people write them
    "dollars": Nasty(csv(a=[f"${value:,.0f}" for value in PRICES]), {"a": PRICES}, ("Column 'a': numbers in $",)),
    "euros behind": Nasty(csv(a=[f"{value:.2f} €" for value in PRICES]), {"a": PRICES}, ("numbers in €",)),
    "a currency code": Nasty(csv(a=[f"EUR {value:.0f}" for value in PRICES]), {"a": PRICES}, ("numbers in EUR",)),
    "negative amounts in brackets": Nasty(csv(a=["(1,200)", "3,400.50"] * 3), {"a": [-1200.0, 3400.5] * 3}),
    "thousands separators": Nasty(
        csv(a=[f"{value:,.0f}" for value in PRICES]),
        {"a": PRICES},
        ("'1,200' is read as 1200.0; use --decimal , if , is the decimal mark",),
    ),
    "thousands of millions": Nasty(
        csv(a=[f"{value * 1e6:,.0f}" for value in PRICES]), {"a": [v * 1e6 for v in PRICES]}
    ),
    "thousands with blanks": Nasty(csv(a=[f"{value:,.0f}".replace(",", " ") for value in PRICES]), {"a": PRICES}),
    "thousands with apostrophes": Nasty(csv(a=[f"{v:,.1f}".replace(",", "'") for v in PRICES]), {"a": PRICES}),
    "thousands in lakhs": Nasty(csv(a=["1,00,000", "12,34,567"] * 3), {"a": [100_000.0, 1_234_567.0] * 3}),
    "percent": Nasty(csv(a=[f"{value} %" for value in range(ROWS)]), {"a": [*map(float, range(ROWS))]}, ("in %",)),
    "a unit": Nasty(csv(a=[f"{value} kg" for value in HALVES]), {"a": HALVES}, ("Column 'a': numbers in kg.",)),
    "a unit with a slash": Nasty(csv(a=[f"{value}km/h" for value in HALVES]), {"a": HALVES}, ("numbers in km/h",)),
    "degrees below zero": Nasty(csv(a=["−3.5 °C", "-4 °C", "5 °C"]), {"a": [-3.5, -4.0, 5.0]}, ("numbers in °C",)),
    "another unit in one cell": Nasty(
        csv(a=put([f"{value} kg" for value in HALVES], _4="3500 g")),
        {"a": put(HALVES, _4=None)},
        ("1 of 20 cells is not a number in kg ('3500 g' in row 4)",),
        (),
    ),
    "cells without the unit": Nasty(
        csv(a=put([f"{value} kg" for value in HALVES], _4="3.5")), {"a": HALVES}, ("1 of its cells have no unit",)
    ),
    "codes with a letter are no units": Nasty(csv(a=["A1", "A2"] * 5), {"a": ["A1", "A2"] * 5}),
    "exponents": Nasty(csv(a=["1e-3", "2.5E+02", "-1e0"]), {"a": [0.001, 250.0, -1.0]}),
    # decimal commas
    "semicolons and decimal commas": Nasty(
        csv(";", a=COMMAS, b=WORDS), {"a": HALVES, "b": WORDS}, ("Column 'a': numbers with decimal commas.",)
    ),
    "decimal commas in quotes": Nasty(csv(a=COMMAS), {"a": HALVES}),
    "decimal commas and points for thousands": Nasty(
        csv(";", a=["1.234,5", "12.345,75"] * 3), {"a": [1234.5, 12345.75] * 3}
    ),
    "thousands by points, beside a column with decimal commas": Nasty(
        csv(";", a=["1.234", "2.345"] * 3, b=["1,5", "2,25"] * 3), {"a": [1234.0, 2345.0] * 3, "b": [1.5, 2.25] * 3}
    ),
    "decimal commas as asked for": Nasty(
        csv(";", a=["1,234", "2,345"] * 3), {"a": [1.234, 2.345] * 3}, text=asked(decimal=DecimalMark.comma)
    ),
    "decimal points beside semicolons": Nasty(csv(";", a=HALVES), {"a": HALVES}),
    "euros with decimal commas": Nasty(csv(";", a=["3,40 €", "12,99 €"] * 3), {"a": [3.4, 12.99] * 3}),
    # dates and times
    "dates with the day first": Nasty(
        csv(a=["02/11/2023", "25/11/2023"]),
        {"a": moments("2023-11-02", "2023-11-25")},
        ("Column 'a': dates with the day first, as 1 of its cells must be.",),
    ),
    "dates with the month first": Nasty(
        csv(a=["11/02/2023", "11/25/2023"]), {"a": moments("2023-11-02", "2023-11-25")}, ("month first",)
    ),
    "dates that do not tell": Nasty(
        csv(a=["02/11/2023", "03/11/2023"]), {"a": moments("2023-02-11", "2023-03-11")}, ("use --day-first",)
    ),
    "dates as asked for": Nasty(
        csv(a=["02/11/2023", "03/11/2023"]), {"a": moments("2023-11-02", "2023-11-03")}, text=asked(day_first=True)
    ),
    "German dates": Nasty(
        csv(a=["11.02.2023", "12.02.2023"]), {"a": moments("2023-02-11", "2023-02-12")}, ("day first",)
    ),
    "dates with short years": Nasty(csv(a=["1/25/23", "12/31/99"]), {"a": moments("2023-01-25", "1999-12-31")}),
    "dates with names of months": Nasty(
        csv(a=["2-Nov-2023", "Nov 3, 2023", "4 November 2023"]),
        {"a": moments("2023-11-02", "2023-11-03", "2023-11-04")},
    ),
    "ISO dates with a zone": Nasty(
        csv(a=["2023-11-02T14:30:00Z", "2023-11-02T14:30:00+02:00", "2023-11-02 14:30"]),
        {"a": moments("2023-11-02T14:30:00", "2023-11-02T12:30:00", "2023-11-02T14:30:00")},
    ),
    "dates with times of twelve hours": Nasty(
        csv(a=["1/25/2023 3:30 PM", "1/26/2023 12:05 AM"]), {"a": moments("2023-01-25T15:30:00", "2023-01-26T00:05:00")}
    ),
    "a day that does not exist": Nasty(
        csv(a=put([f"2023-01-{day:02d}" for day in range(1, 21)], _4="2023-02-30")),
        {"a": put(moments(*(f"2023-01-{day:02d}" for day in range(1, 21))), _4=None)},
        ("1 of 20 cells is not a date ('2023-02-30' in row 4)",),
    ),
    "times": Nasty(csv(a=["14:30", "6:15:00"]), {"a": [14.5, 6.25]}, ("Column 'a': times, in hours.",)),
    # text files
    "UTF-16": Nasty(PLAIN.decode().encode("utf-16"), BOTH),
    "UTF-16 without a byte-order mark": Nasty(PLAIN.decode().encode("utf-16-le"), BOTH),
    "UTF-16 of the other order": Nasty(b"\xfe\xff" + PLAIN.decode().encode("utf-16-be"), BOTH),
    "a byte-order mark": Nasty(b"\xef\xbb\xbf" + PLAIN, BOTH),
    "another encoding": Nasty(
        csv(a=["Köln", "Ulm"] * 3).decode().encode("cp1252"),
        {"a": ["Köln", "Ulm"] * 3},
        text=TextFormat(encoding="cp1252"),
    ),
    "another encoding, not named": Nasty(
        csv(a=["Köln", "Ulm"] * 3).decode().encode("cp1252"), refused="such as --encoding latin1"
    ),
    "an encoding that does not exist": Nasty(PLAIN, refused="no encoding 'utf9'", text=TextFormat(encoding="utf9")),
    "line ends of Windows": Nasty(csv(end="\r\n", a=NUMBERS, b=WORDS), BOTH),
    "line ends of the old Macintosh": Nasty(csv(end="\r", a=NUMBERS, b=WORDS), BOTH),
    "no line end at the end": Nasty(PLAIN.rstrip(b"\n"), BOTH),
    "blank lines": Nasty(b"\n\n" + PLAIN.replace(b"\n5.0", b"\n\n5.0") + b"\n\n", BOTH),
    "comments above": Nasty(b"# exported by a logger\n# unit: m\n" + PLAIN, BOTH),
    "comments between": Nasty(PLAIN.replace(b"\n5.0", b"\n# restart\n5.0"), BOTH),
    "a comment that is the header": Nasty(
        b"# a,y\n" + b"".join(b"%d,%d\n" % (row, row) for row in range(1, ROWS + 1)), {"a": NUMBERS}
    ),
    "values that look like comments": Nasty(csv(a=["#1", "#2"] * 5), {"a": ["#1", "#2"] * 5}),
    "a line that names the separator": Nasty(b"sep=;\n" + csv(";", a=NUMBERS, b=WORDS), BOTH),
    "tabs": Nasty(csv("\t", a=NUMBERS, b=WORDS), BOTH),
    "a comma in the header of a file with semicolons": Nasty(
        b"a, in m;y\n" + b"".join(b"%d;%d\n" % (row, row) for row in range(1, ROWS + 1)), {"a, in m": NUMBERS}
    ),
    "quotes, delimiters and line breaks in cells": Nasty(
        csv(a=['a "b"', "c, d", "e\nf"] * 3), {"a": ['a "b"', "c, d", "e\nf"] * 3}
    ),
    "blanks around names": Nasty(PLAIN.replace(b"a,b,y", b" a , b,y "), BOTH),
    "an index without a name": Nasty(
        b"".join((b"%d," % (at - 1) if at else b",") + line + b"\n" for at, line in enumerate(PLAIN.splitlines())),
        BOTH,
        ("Dropped column 1: it has no name. Name it in the header to use it.",),
    ),
    "a delimiter at the end of each line": Nasty(
        PLAIN.replace(b"\n", b",\n"), BOTH, ("Dropped column 4: it has no name",)
    ),
    "an empty column": Nasty(csv(a=NUMBERS, b=WORDS, c=[""] * ROWS), BOTH, ("'c': all its values are missing",)),
    "a constant column": Nasty(csv(a=NUMBERS, c=[7] * ROWS), {"a": NUMBERS, "c": [7.0] * ROWS}),
    "identifiers of 18 digits": Nasty(csv(a=IDENTIFIERS), {"a": IDENTIFIERS}, categorical=("a",)),
    "truth values": Nasty(csv(a=["true", "FALSE", "True"]), {"a": [True, False, True]}),
    "truth values and a word": Nasty(csv(a=["true", "false", "maybe"] * 3), {"a": ["true", "false", "maybe"] * 3}),
    "a ragged line": Nasty(
        PLAIN.replace(b"\n5.0,red,5\n", b"\n5.0\n"), refused="line 6 has 1 value, but the header has 3 columns"
    ),
    "two columns of one name": Nasty(b"a,a,y\n1,2,3\n", refused="two columns are named 'a'"),
    "no header": Nasty(b"1,2,3\n4,5,6\n", refused="the first line holds only numbers; expected column names"),
    "nothing": Nasty(b"", refused="is empty"),
    "only comments": Nasty(b"# 1\n\n", refused="expected column names"),
    "bytes": Nasty(b"\0\x01\x02\x03" * 10, refused="is not a table"),
    # packed text
    "gzip": Nasty(gzip.compress(PLAIN), BOTH),
    "gzip, cut off": Nasty(gzip.compress(PLAIN)[:-20], refused="damaged or truncated"),
    "a name that looks like zip": Nasty(csv(PKW=NUMBERS), {"PKW": NUMBERS}),
    "a name that looks like bzip2": Nasty(csv(BZh=NUMBERS), {"BZh": NUMBERS}),
    "bzip2": Nasty(bz2.compress(PLAIN), BOTH),
    "xz": Nasty(lzma.compress(PLAIN), BOTH),
    "zip": Nasty(zipped(**{"__MACOSX/._data.csv": b"\0", "data.csv": PLAIN}), BOTH),
    "zip of UTF-16": Nasty(zipped(**{"data.csv": PLAIN.decode().encode("utf-16")}), BOTH),
    "zip of two files": Nasty(zipped(**{"a.csv": PLAIN, "b.csv": PLAIN}), refused="holds 2 files ('a.csv', 'b.csv')"),
    "zip, cut off": Nasty(zipped(**{"a.csv": PLAIN})[:-30], refused="damaged or truncated"),
    "zip with a password": Nasty(
        zipped(**{"a.csv": PLAIN})
        .replace(b"PK\x03\x04\x14\x00\x00", b"PK\x03\x04\x14\x00\x01")
        .replace(b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01"),
        refused="cannot be unzipped",
    ),
    # JSON lines
    "JSON lines": Nasty(json_lines(a=NUMBERS, b=WORDS), BOTH),
    "JSON lines with an error": Nasty(
        json_lines(a=put(NUMBERS, _5="error")), {"a": put(NUMBERS, _5=None)}, ("'error' in row 5",), ()
    ),
    "JSON lines with absent keys": Nasty(
        b'{"a": 1, "y": 1}\n{"y": 2, "b": "red"}\n\n{"a": 3, "y": 3}',
        {"a": [1.0, None, 3.0], "b": [None, "red", None]},
    ),
    "JSON lines, gzipped": Nasty(gzip.compress(json_lines(a=NUMBERS, b=WORDS)), BOTH),
    "an array of JSON": Nasty(b"[" + b",\n".join(json_lines(a=NUMBERS, b=WORDS).splitlines()) + b"]", BOTH),
    "JSON with a line that is not": Nasty(json_lines(a=NUMBERS) + b"\n{oops\n", refused="line 21 is not JSON"),
    # workbooks
    "Excel": Nasty(workbook([["a", "b", "y"], *zip(NUMBERS, WORDS, NUMBERS, strict=True)]), BOTH, name="data.xlsx"),
    "Excel with failed formulas, words and dates": Nasty(
        workbook(
            [
                ["a", "d", "e", "y"],
                [1.5, datetime.datetime(2023, 1, 1), True, 1],
                ["#DIV/0!", datetime.datetime(2023, 1, 2), False, 2],
                ["n.a.", datetime.datetime(2023, 1, 3, 12), True, 3],
                [2.5, None, True, 4],
                [3.5, datetime.datetime(2023, 1, 5), True, 5],
            ]
        ),
        {
            "a": [1.5, None, None, 2.5, 3.5],
            "d": [*moments("2023-01-01", "2023-01-02", "2023-01-03T12:00:00"), None, *moments("2023-01-05")],
            "e": [True, False, True, True, True],
        },
        ("Column 'a': 1 of 5 cells is not a number ('n.a.' in row 3)",),
        (),
    ),
    "Excel with blank rows and an empty sheet": Nasty(
        workbook([], [[], ["a", "b", "y"], *zip(NUMBERS, WORDS, NUMBERS, strict=True), [None, None, None]]), BOTH
    ),
    "a sheet of a workbook": Nasty(
        workbook([["x"], [1]], [["a", "b", "y"], *zip(NUMBERS, WORDS, NUMBERS, strict=True)]),
        BOTH,
        text=TextFormat(sheet="sheet2"),
    ),
    "a sheet that does not exist": Nasty(
        workbook([["a"], [1]]), refused="--sheet none: data.csv has the sheets 'sheet1'", text=TextFormat(sheet="none")
    ),
    # Parquet and Arrow
    "Parquet with dictionaries": Nasty(
        parquet(a=pa.array(WORDS).dictionary_encode(), b=pa.array(NUMBERS)), {"a": WORDS, "b": NUMBERS}
    ),
    "Parquet with dictionaries of numbers": Nasty(parquet(a=pa.array(NUMBERS).dictionary_encode()), {"a": NUMBERS}),
    "Parquet with an empty column": Nasty(
        parquet(a=NUMBERS, n=pa.nulls(ROWS), t=pa.nulls(ROWS, pa.string())),
        {"a": NUMBERS},
        ("'n': all its values are missing", "'t': all its values are missing"),
    ),
    "Parquet with numbers as text": Nasty(
        parquet(a=put([str(value) for value in NUMBERS], _5="error")), {"a": put(NUMBERS, _5=None)}, ("'error'",), ()
    ),
    "Parquet with dates, times and decimals": Nasty(
        parquet(
            d=pa.array([datetime.date(2023, 1, 1), None]),
            z=pa.array([datetime.datetime(2023, 1, 1, 12, 0, 0, 5), None], pa.timestamp("us", "Europe/Berlin")),
            t=pa.array([datetime.time(6, 30), None]),
            c=pa.array([1, 2]).cast(pa.decimal128(30, 2)),
        ),
        {
            "d": [*moments("2023-01-01"), None],
            "z": [*moments("2023-01-01T12:00:00"), None],
            "t": [6.5, None],
            "c": [1.0, 2.0],
        },
    ),
    "Parquet with identifiers": Nasty(
        parquet(a=[int(each) for each in IDENTIFIERS]), {"a": IDENTIFIERS}, categorical=("a",)
    ),
    "Parquet, damaged": Nasty(parquet(a=NUMBERS).replace(b"\x15\x04", b"\x15\x05"), refused="damaged or truncated"),
    "Parquet with lists": Nasty(parquet(a=[[1], [2]]), refused="'a' has the unsupported type"),
    "Arrow with views and large strings": Nasty(
        arrow(a=pa.array(WORDS, pa.large_string()), b=pa.array(NUMBERS)), {"a": WORDS, "b": NUMBERS}
    ),
}
