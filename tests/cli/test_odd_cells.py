"""What commands say of cells that they cannot read, in every command that reads files."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import csid as library
from cli.conftest import Run
from csid.cli.cells import OddCells, read_cells
from csid.cli.errors import Exit
from csid.cli.model_schema import schema_of
from csid.cli.options import ColumnOptions, TextFormat
from csid.cli.tables import csv_text
from csid.cli.training import TrainingFile, read_in_memory, read_out_of_core
from csid.fitted.schema import CellFormat

FIT = ("--target", "y", "--estimator", "als", "--set", "rank=2", "--set", "max_iter=3")
SAID = "Column 'flow': 2 of 300 cells are not numbers ('error' in row 51 and 1 more) and were treated as missing."


def pumps(path: Path, odd: dict[int, str], rows: int = 300, mark: str = ",") -> None:
    """Flow, price with decimal `mark` and a unit, day, and a target that is nearly their sum."""
    rng = np.random.default_rng(0)
    flow, price, day = rng.uniform(0.0, 9.0, rows), rng.uniform(1.0, 9.0, rows), rng.integers(1, 28, rows)
    lines = ["flow;price;day;y"]
    for row in range(rows):
        number = odd.get(row + 1, f"{flow[row]:.2f}")
        line = f"{number};{price[row]:.3f} €;{day[row]:02d}/02/2023;{flow[row] + price[row]:.3f}"
        lines.append(line.replace(".", mark))
    path.write_text("\n".join(lines), encoding="utf8")


@pytest.fixture
def pump(csid: Run, tmp_path: Path) -> Path:
    """A model of pumps, fitted to a file without odd cells."""
    pumps(tmp_path / "clean.csv", {})
    assert csid("fit", "clean.csv", *FIT, "-o", "pump.csid").code == 0
    return tmp_path / "pump.csid"


def test_every_command_says_which_cells_it_could_not_read(csid: Run, pump: Path, tmp_path: Path) -> None:
    pumps(tmp_path / "dirty.csv", {51: "error", 52: "error"})
    for line in (
        ("fit", "dirty.csv", *FIT, "--in-memory"),
        ("fit", "dirty.csv", *FIT, "--out-of-core"),
        ("predict", pump, "dirty.csv", "-o", "predicted.csv"),
        ("evaluate", pump, "dirty.csv"),
        ("report", pump, "dirty.csv"),
    ):
        ended = csid(*line)
        assert ended.code == 0
        assert ended.notes.count(SAID) == 1
        refused = csid(*line, "--strict")
        assert refused.code == Exit.DATA
        assert "('error' in row 51 and 1 more), and --strict refuses such cells" in refused.notes
        assert "--missing error" in refused.notes
        assert "not numbers" not in csid(*line, "--missing", "error").notes


def test_formats_are_kept_with_the_model(csid: Run, pump: Path, tmp_path: Path) -> None:
    schema = schema_of(library.load(pump).fitted_)
    formats = {column.name: column.format for column in schema.columns} | dict(schema.formats)
    assert formats == {
        "flow": CellFormat(decimal=","),
        "price": CellFormat("€", ","),
        "day": CellFormat(day_first=True),
        "y": CellFormat(decimal=","),
    }
    (tmp_path / "one.csv").write_text("flow;price;day;y\n1,234;5,678 €;02/02/2023;6,912\n", encoding="utf8")
    (tmp_path / "iso.csv").write_text("flow;price;day;y\n1.234;5.678 €;2023-02-02;6.912\n", encoding="utf8")
    one = csid("predict", pump, "one.csv")
    assert one.notes == ""
    assert csid("predict", pump, "iso.csv", "--decimal", ".").out == one.out
    for line in (("evaluate", pump, "clean.csv"), ("predict", pump, "clean.csv"), ("report", pump, "clean.csv")):
        wrong = csid(*line, "--decimal", ".")
        assert wrong.code == Exit.DATA
        assert "column 'flow': 300 of 300 cells are not numbers" in wrong.notes
        assert "Use --decimal , if , is the decimal mark." in wrong.notes
    assert csid("evaluate", pump, "one.csv", "--json").document["overall"]["y"]["mae"]["value"] < 5.0


def test_cells_are_counted_over_all_parts_of_a_large_file(
    csid: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_text, "_BLOCK_BYTES", 2000)
    monkeypatch.setattr(csv_text, "_BYTES_PER_COLUMN", 1)
    pumps(tmp_path / "late.csv", {250: "off", 251: "off", 299: "-"})
    ended = csid("fit", "late.csv", *FIT, "--out-of-core")
    assert ended.code == 0
    assert "3 of 300 cells are not numbers ('off' in row 250 and 1 more, '-' in row 299)" in ended.notes
    csid("fit", "late.csv", *FIT, "--in-memory", "-o", "whole.csid")
    predicted = csid("predict", "whole.csid", "late.csv", "-o", "predicted.csv")
    assert "3 of 300 cells are not numbers ('off' in row 250 and 1 more, '-' in row 299)" in predicted.notes
    pumps(tmp_path / "changes.csv", {row: f"code {row}" for row in range(150, 301)})
    refused = csid("fit", "changes.csv", *FIT, "--out-of-core")
    assert refused.code == Exit.DATA
    assert "column 'flow': 151 of 300 cells are not numbers" in refused.notes
    assert "Use --categorical flow or --ignore flow" in refused.notes


def test_a_missing_package_for_workbooks_is_named(csid: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cli.nasty_files import NASTY

    monkeypatch.setitem(__import__("sys").modules, "python_calamine", None)
    (tmp_path / "data.xlsx").write_bytes(NASTY["Excel"].content)
    refused = csid("fit", "data.xlsx", *FIT)
    assert refused.code == Exit.USAGE
    assert "pip install 'csid[excel]'" in refused.notes


def test_ten_thousand_columns(tmp_path: Path) -> None:
    names = [f"c{at}" for at in range(10_000)]
    rows = [",".join(str((row * at) % 7) for at in range(10_000)) for row in range(1, 4)]
    (tmp_path / "wide.csv").write_text("\n".join([",".join(names), *rows]))
    file = TrainingFile(str(tmp_path / "wide.csv"), ["c1"], ColumnOptions(), TextFormat())
    for training in (read_in_memory(file), read_out_of_core(file)):
        assert len(training.schema.columns) == 9_999


def test_many_odd_texts_are_counted_without_keeping_all() -> None:
    odd = OddCells()
    cells = pa.chunked_array([[f"word {row}" for row in range(5000)]])
    odd.add("a", "number", CellFormat(), cells, read_cells(cells, "number", CellFormat()), 0)
    (note,) = odd.notes()
    assert note.startswith("Column 'a': 5,000 of 5,000 cells are not numbers ('word 0' in row 1, 'word 1' in row 2,")
