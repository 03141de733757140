"""Original files, in the formats in which they are published, become tables."""

import base64
import bz2
import gzip
import io
import lzma
import sys
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.io import savemat

from csid.datasets import originals
from csid.datasets.originals import from_csv, from_mat, from_rda, from_xlsx, from_zip

RDA = base64.b64decode(
    "H4sICHMf+2oC/3NfMl9nemlwLnJkYQBtUEsKwjAQnSZRaEARPIbiwr1QxRO4chv6ESG2JS3+Nh5GD+MNvIordZJ2xBYDyXvzf5PVcj2VawkADATz"
    "gHGkguHjgQAfsVPslNYAfGgjiD1E7hJskTuNgq6O97EukA2qts7rzWvCFqP2hFCrgvK/XRIVlplB9qojnDodiZyInPEhWRHeO/rGiH3rCwaVyEBe"
    "H3KW3y5PgD+yO6naxaRCkHNjVBTXhrAZFHBLkpFn27Ss+vF3axEZqVJNEmNrmxN9kx0mNJXkw8/P2s1fH0u1r32iAQAA"
)
"""A data frame in R's format 2: a factor, strings, integers, and numbers with one missing value. Written by rdata."""

_FACTOR = b"\0\0\0\1\0\0\0\2"
UNPACKED_RDA = gzip.decompress(RDA).replace(_FACTOR + b"\0\0\0\0", _FACTOR + b"\x80\0\0\0")
"""The same with a missing value in the factor, as R writes it: the smallest integer, where rdata 1.1 writes 0."""

SHEET = """<?xml version="1.0"?>
<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>
<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>Y1</t></is></c><c r="C1"/></row>
<row r="2"><c r="A2"><v>0.98</v></c><c r="B2"><v>6.3659999999999997</v></c><c r="C2"/></row>
<row r="3"><c r="B3"><f>2+3</f><v>5</v></c></row>
<row r="4"><c r="A4" s="1"/></row>
</sheetData></worksheet>"""
STRINGS = """<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><r><t>X</t></r><r><t>1</t></r></si>
</sst>"""


def packed(files: Mapping[str, bytes | str]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def test_semicolons_quotes_and_a_byte_order_mark_are_read() -> None:
    table = from_csv(separator=";")('\ufeff"fixed acidity";"quality"\r\n7.4;5\r\n7.8;?\r\n'.encode())
    assert_array_equal(table["fixed acidity"], [7.4, 7.8])
    assert_array_equal(table["quality"], [5.0, np.nan])


def test_a_file_is_found_in_any_folder_of_an_archive() -> None:
    archive = packed({"set/data.csv": "a\n1\n", "__MACOSX/._data.csv": "junk", "set/data.csv.txt": "junk"})
    assert_array_equal(from_zip("data.csv", from_csv())(archive)["a"], [1.0])


@pytest.mark.parametrize(("files", "number"), [({"readme": ""}, 0), ({"a/data.csv": "", "b/data.csv": ""}, 2)])
def test_an_archive_without_exactly_one_such_file_is_rejected(files: dict[str, str], number: int) -> None:
    with pytest.raises(ValueError, match=f"contains {number} files named data.csv: "):
        from_zip("data.csv", from_csv())(packed(files))


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(originals, "_MAX_UNPACKED", 10**5)
    with pytest.raises(ValueError, match=r"data.csv unpacks to more than 100000 bytes"):
        from_zip("data.csv", from_csv())(packed({"data.csv": bytes(10**7)}))
    with pytest.raises(ValueError, match=r"sheet1.xml unpacks to more than 100000 bytes"):
        from_xlsx(packed({"xl/worksheets/sheet1.xml": bytes(10**7)}))


def test_the_first_sheet_of_a_workbook_is_read() -> None:
    table = from_xlsx(packed({"xl/worksheets/sheet1.xml": SHEET, "xl/sharedStrings.xml": STRINGS}))
    assert list(table) == ["X1", "Y1"]
    assert_array_equal(table["X1"], [0.98, np.nan])
    assert_array_equal(table["Y1"], [6.366, 5.0])


def test_a_workbook_without_shared_strings_is_read() -> None:
    table = from_xlsx(packed({"xl/worksheets/sheet1.xml": SHEET.replace(' t="s"', "")}))
    assert list(table) == ["0", "Y1"]


def test_vectors_of_a_matlab_file_are_read() -> None:
    data = io.BytesIO()
    savemat(data, {"V1": np.array([[0.1, 0.2]]), "V2": np.array([[1], [2]]), "other": "word"})
    table = from_mat(("V1", "V2"))(data.getvalue())
    assert_array_equal(table["V1"], [0.1, 0.2])
    assert_array_equal(table["V2"], [1.0, 2.0])


# --- R files, read by the optional package rdata ------------------------------------------------------------------


@pytest.fixture
def rdata() -> Any:
    return pytest.importorskip("rdata")


@pytest.mark.usefixtures("rdata")
@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, bytes])
def test_a_data_frame_of_r_is_read(compress: type[bytes]) -> None:
    table = from_rda(compress(UNPACKED_RDA))
    assert_array_equal(table["grade"], ["A", "B+", ""])
    assert_array_equal(table["name"], ["x", "y", "z"])
    assert_array_equal(table["level"], [100.0, 200.0, 300.0])
    assert_array_equal(table["point"], [4.0, 3.33, np.nan])


def test_a_file_written_by_r_is_read(rdata: Any) -> None:
    table = from_rda((rdata.TESTDATA_PATH / "test_dataframe.rda").read_bytes())
    assert_array_equal(table["class"], ["a", "b", "b"])
    assert_array_equal(table["value"], [1.0, 2.0, 3.0])


@pytest.mark.usefixtures("rdata")
def test_the_classes_of_a_tibble_are_a_data_frame() -> None:
    r_class = b"\0\0\0\x10\0\0\0\1\0\4\0\t\0\0\0\ndata.frame"
    tibble = b"\0\0\0\x10\0\0\0\2\0\4\0\t\0\0\0\6tbl_df\0\4\0\t\0\0\0\ndata.frame"
    assert r_class in UNPACKED_RDA
    assert list(from_rda(UNPACKED_RDA.replace(r_class, tibble))) == ["grade", "name", "level", "point"]


@pytest.mark.usefixtures("rdata")
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<html>please log in</html>", "not in R's binary format"),
        (gzip.compress(gzip.compress(UNPACKED_RDA)), "not in R's binary format"),
        (UNPACKED_RDA.replace(b"data.frame", b"data.flame"), "contains 0 data frames, expected one"),
    ],
    ids=["page", "packed twice", "no data frame"],
)
def test_other_files_of_r_are_rejected(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_rda(data)


@pytest.mark.usefixtures("rdata")
def test_a_bomb_in_an_r_file_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(originals, "_MAX_UNPACKED", 10**5)
    with pytest.raises(ValueError, match="the R file unpacks to more than 100000 bytes"):
        from_rda(gzip.compress(bytes(10**7)))


def test_without_rdata_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdata", None)
    with pytest.raises(ImportError, match=r"its original is an R file\. To read it: pip install rdata"):
        from_rda(UNPACKED_RDA)
