"""Names and cells of a file cannot control the terminal, nor run in a spreadsheet."""

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.conftest import Run
from csid.cli.printable import printable, printable_cell, printable_json
from csid.cli.tables import writer
from csid.cli.tables.formulas import without_formulas

CLEAR = "\x1b[2J\x1b]0;owned\x07\x9b1m\u202e"


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Names, categories and groups with terminal sequences, rich markup and formulas."""
    rows = 60
    table = pa.table(
        {
            f"size{CLEAR}[bold]": [float(row % 7) for row in range(rows)],
            "=kind": [("=1+1", f"a{CLEAR}", "[red]b[/red]")[row % 3] for row in range(rows)],
            f"note{CLEAR}": [f"{row}{CLEAR}" for row in range(rows)],
            f"none{CLEAR}": pa.nulls(rows, pa.float64()),
            "y": [float(row % 7 + row % 3) for row in range(rows)],
        }
    )
    path = tmp_path / "hostile.parquet"
    pa.parquet.write_table(table, path)
    return path


def test_no_command_shows_control_sequences(csid: Run, hostile: Path, tmp_path: Path) -> None:
    fit = ("fit", hostile, "--target", "y", "--estimator", "als", "--set", "rank=2", "--set", "max_iter=3", "-o", "m")
    (tmp_path / "short.csv").write_text(f"a{CLEAR},y\n1,2\n")
    lines = [
        fit,
        ("info", "m"),
        ("explain", "m", "--predictor", "=kind"),
        ("evaluate", "m", hostile, "--group", "=kind"),
        ("evaluate", "m", hostile, "--group", "=kind", "--json"),
        ("info", "m", "--json"),
        ("explain", "m", "--predictor", f"a{CLEAR}"),
        ("predict", "m", "short.csv"),
        ("fit", "short.csv", "--target", f"x{CLEAR}", "-o", "n"),
    ]
    for line in lines:
        ended = csid(*line)
        assert ended.code in (0, 2, 3)
        shown = ended.out + ended.notes
        assert not set(CLEAR) & set(shown) - set("[]0;owned2J1m"), line
        assert "\\x1b" in shown or "\\u001b" in shown
        assert "Traceback" not in shown
    assert json.loads(csid("info", "m", "--json").out)["predictors"][0]["predictor"] == f"size{CLEAR}[bold]"
    assert "[red]b[/red]" in csid("explain", "m", "--predictor", "=kind").out  # markup is text


def test_messages_keep_their_lines_and_cells_have_one() -> None:
    assert printable("a\n\tb\r") == "a\n\tb\\r"
    assert printable_cell("a\n\tb\r") == "a\\n\\tb\\r"
    assert printable("Zoë → 東京 ½") == "Zoë → 東京 ½"


@given(st.text())
def test_json_is_the_same_document(text: str) -> None:
    assert json.loads(printable_json(json.dumps({text: text}, ensure_ascii=False))) == {text: text}


FORMULAS = ["=1+1", "+cmd|'/C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "=", "@", "\uff1d1+1"]
HARMLESS = ["-1.5", "+3", "-1,234.50", "-5 %", "-", "1e-3", "-1e9", "a=b", "'=1", "", None, "x@y.z"]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_formulas_become_text(kind: pa.DataType) -> None:
    table = pa.table({"=name": pa.array([*FORMULAS, *HARMLESS]).cast(kind), "value": [-1.0] * 22})
    found = without_formulas(table)
    assert found.column_names == ["'=name", "value"]
    assert found["'=name"].to_pylist() == [*(f"'{text}" for text in FORMULAS), *HARMLESS]
    assert found["value"] == table["value"]


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.csv.gz", "p.parquet", "p.arrow"])
def test_files_for_spreadsheets_only(name: str, tmp_path: Path) -> None:
    with writer(str(tmp_path / name)) as write:
        for text in ("a", "=1"):
            write(pa.table({"=n": [text], "x": [-1.0]}))
    from csid.cli.tables import Reading, read

    found = read(str(tmp_path / name), Reading())
    mark = "" if name in ("p.parquet", "p.arrow") else "'"
    assert found.column_names == [f"{mark}=n", "x"]
    assert found[0].to_pylist() == ["a", f"{mark}=1"]
    assert found["x"].cast(pa.float64()).to_pylist() == [-1.0, -1.0]


def test_predictions_keep_formulas_as_text(csid: Run, hostile: Path) -> None:
    assert csid("fit", hostile, "--target", "y", "--estimator", "als", "--set", "rank=2", "-o", "m", "-q").code == 0
    rows = list(csv.reader(csid("predict", "m", hostile, "--keep", "=kind").out.splitlines()))
    assert rows[0] == ["'=kind", "prediction"]
    assert rows[1][0] == "'=1+1"
