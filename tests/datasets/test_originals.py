"""Originals in the formats of their publishers become tables."""

import base64
import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Mapping

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
"""A factor with a missing cell, words, integers, and numbers with one missing; the Python package rdata wrote it."""

SHEET = """<?xml version="1.0"?>
<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>
<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>Y1</t></is></c><c r="C1"/></row>
<row r="2"><c r="A2"><v>0.98</v></c><c r="B2"><v>6.3659999999999997</v></c><c r="C2"/></row>
<row r="3"><c r="B3"><f>2+3</f><v>5</v></c></row>
<row r="4"><c r="A4" s="1"/></row>
</sheetData></worksheet>"""
WORDS = """<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><r><t>X</t></r><r><t>1</t></r></si>
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
def test_an_archive_without_the_one_file_is_refused(files: dict[str, str], number: int) -> None:
    with pytest.raises(ValueError, match=f"holds {number} files called data.csv: "):
        from_zip("data.csv", from_csv())(packed(files))


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(originals, "_MOST_UNPACKED", 10**5)
    with pytest.raises(ValueError, match=r"data.csv unpacks to more than 100000 bytes"):
        from_zip("data.csv", from_csv())(packed({"data.csv": bytes(10**7)}))
    with pytest.raises(ValueError, match="the R file unpacks to more than 100000 bytes"):
        from_rda(gzip.compress(bytes(10**7)))
    with pytest.raises(ValueError, match=r"sheet1.xml unpacks to more than 100000 bytes"):
        from_xlsx(packed({"xl/worksheets/sheet1.xml": bytes(10**7)}))


def test_the_first_sheet_of_a_workbook_is_read() -> None:
    table = from_xlsx(packed({"xl/worksheets/sheet1.xml": SHEET, "xl/sharedStrings.xml": WORDS}))
    assert list(table) == ["X1", "Y1"]
    assert_array_equal(table["X1"], [0.98, np.nan])
    assert_array_equal(table["Y1"], [6.366, 5.0])


def test_a_workbook_without_shared_words_is_read() -> None:
    table = from_xlsx(packed({"xl/worksheets/sheet1.xml": SHEET.replace(' t="s"', "")}))
    assert list(table) == ["0", "Y1"]


def test_vectors_of_a_matlab_file_are_read() -> None:
    data = io.BytesIO()
    savemat(data, {"V1": np.array([[0.1, 0.2]]), "V2": np.array([[1], [2]]), "other": "word"})
    table = from_mat(("V1", "V2"))(data.getvalue())
    assert_array_equal(table["V1"], [0.1, 0.2])
    assert_array_equal(table["V2"], [1.0, 2.0])


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, bytes])
def test_a_data_frame_of_r_is_read(compress: type[bytes]) -> None:
    table = from_rda(compress(gzip.decompress(RDA)))
    assert_array_equal(table["grade"], ["A", "B+", ""])
    assert_array_equal(table["name"], ["x", "y", "z"])
    assert_array_equal(table["level"], [100.0, 200.0, 300.0])
    assert_array_equal(table["point"], [4.0, 3.33, np.nan])


def test_other_files_of_r_are_refused() -> None:
    data = gzip.decompress(RDA)
    with pytest.raises(ValueError, match="does not begin as an R file of format 2"):
        from_rda(data.replace(b"RDX2", b"RDX3"))
    with pytest.raises(ValueError, match="the R file ends early"):
        from_rda(data[:200])
    with pytest.raises(ValueError, match="an object of type 4, which no plain data frame has"):
        from_rda(data[:19] + b"\0\0\0\4")
    with pytest.raises(ValueError, match="holds 0 data frames where one is expected"):
        from_rda(data.replace(b"names", b"nomes"))
