"""Data files: every format gives the same table, and bad files name the line."""

import gzip
import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from cli.conftest import as_csv, table
from cli.nasty_files import NASTY
from csid.cli.columns import predictors
from csid.cli.errors import DataError, UsageError
from csid.cli.options import ColumnOptions
from csid.cli.schema_inference import infer
from csid.cli.tables import Reading, parts, read, writer


def _write(folder: Path, name: str, flats: pa.Table) -> str:
    path = folder / name
    if name.endswith(".parquet"):
        pa.parquet.write_table(flats, path, row_group_size=30)
    elif name.endswith((".arrow", ".feather")):
        pa.feather.write_feather(flats, str(path), chunksize=30)
    elif name.endswith(".tsv"):
        pa.csv.write_csv(flats, path, pa.csv.WriteOptions(delimiter="\t"))
    else:
        path.write_bytes(gzip.compress(as_csv(flats)) if name.endswith(".gz") else as_csv(flats))
    return str(path)


FORMATS = ["a.csv", "a.csv.gz", "a.tsv", "a.parquet", "a.arrow", "a.feather", "a.unknown"]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_columns(name: str, tmp_path: Path) -> None:
    flats = table()
    path = _write(tmp_path, name, flats)
    schema = infer(flats.select(["area", "town", "lift", "floor", "built", "rent"]), ["rent"], ColumnOptions()).schema
    reading = Reading(columns=["area", "town", "lift", "floor", "built"])
    for found in (read(path, reading), pa.concat_tables(parts(path, reading))):
        assert found.column_names == list(reading.columns or ())
        assert predictors(found, schema).equals(predictors(flats, schema))


def test_cells_of_text_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b,c,d\n" + "1,x,2020-01-01,true\n" * 5 + "1.5,y,,?\n")
    found = read(str(path), Reading())
    assert found.schema.types == [pa.string()] * 4
    assert found["a"].to_pylist() == ["1"] * 5 + ["1.5"]
    assert found["d"].null_count == 1


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_the_delimiter_is_found(mark: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f'a{mark}"b, and c"\n1{mark}"two, three"\n')
    assert read(str(path), Reading()).to_pylist() == [{"a": "1", "b, and c": "two, three"}]


def test_a_pattern_stands_for_all_files_that_match(tmp_path: Path) -> None:
    (tmp_path / "part1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "part2.csv").write_text("b,a\n4.5,3\n")
    found = read(str(tmp_path / "part*.csv"), Reading())
    assert found.to_pylist() == [{"a": "1", "b": "2"}, {"a": "3", "b": "4.5"}]
    (tmp_path / "part3.csv").write_text("a,c\n1,2\n")
    with pytest.raises(DataError, match=r"part3.csv and .*part1.csv have different columns: 'b'"):
        read(str(tmp_path / "part*.csv"), Reading())
    for number, a in enumerate([pa.array([1]), pa.array(["x"])]):
        pa.parquet.write_table(pa.table({"a": a}), tmp_path / f"{number}.parquet")
    with pytest.raises(DataError, match="columns of different types"):
        read(str(tmp_path / "*.parquet"), Reading())


@pytest.mark.parametrize("packed", ["zip", "Excel", "JSON lines", "xz", "UTF-16"])
def test_standard_input_can_be_packed(packed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = NASTY[packed]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(_Pipe(file.content))))
    assert read("-", Reading())["b"].to_pylist() == file.columns["b"]


class _Pipe(io.BytesIO):
    """Bytes that can be read only once."""

    def seekable(self) -> bool:
        return False


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet", "a.arrow"])
def test_standard_input_can_be_any_format(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = Path(_write(tmp_path, name, table())).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    rent = read("-", Reading())["rent"].cast(pa.float64())
    assert rent.to_pylist() == table()["rent"].to_pylist()


BAD = {
    "is empty": "",
    "has no rows": "a,b\n",
    "line 3 has 1 value, but the header has 2 columns: '3'": "a,b\n1,2\n3\n",
    "two columns are named 'a'": "a,a\n1,2\n",
    "the first line holds only numbers; expected column names": "1,2\n3,4\n",
    "is not a table": "\0\0\n",
    "no column 'b'": "a,c\n1,2\n",
    "codec can't decode": b"\xe4,b\n1,2\n",
}


@pytest.mark.parametrize("message", BAD)
def test_bad_files_say_what_is_wrong_and_where(message: str, tmp_path: Path) -> None:
    path, content = tmp_path / "a.csv", BAD[message]
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match=message.replace("(", r"\(")):
        read(str(path), Reading(columns=["b"]))


def test_the_line_of_a_bad_row_is_found_in_a_large_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("# comment\na,b\n" + "1,2\n" * 30_000 + "1\n" + "1,2\n" * 30_000)
    reading = Reading(columns=["b"])
    for attempt in (lambda: read(str(path), reading), lambda: list(parts(str(path), reading))):
        with pytest.raises(DataError, match="line 30003 has 1 value"):
            attempt()


def test_damaged_and_absent_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(as_csv(table()))[:-30])
    with pytest.raises(DataError, match="damaged or truncated"):
        read(str(tmp_path / "a.csv.gz"), Reading())
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and nothing more")
    with pytest.raises(DataError, match=r"a\.parquet"):
        read(str(tmp_path / "a.parquet"), Reading())
    with pytest.raises(FileNotFoundError, match="no such file"):
        read(str(tmp_path / "absent.csv"), Reading())
    with pytest.raises(DataError, match="no file matches the pattern"):
        read(str(tmp_path / "absent*.csv"), Reading())
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="is a folder without Parquet files"):
        read(str(tmp_path / "empty"), Reading())


def test_another_encoding_is_read_when_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("Größe,b\nü,1\n".encode("latin1"))
    assert read(str(path), Reading(encoding="latin1")).to_pylist() == [{"Größe": "ü", "b": "1"}]


@pytest.mark.parametrize("name", ["b.csv", "b.tsv", "b.csv.gz", "b.parquet", "b.arrow"])
def test_what_is_written_can_be_read(name: str, tmp_path: Path) -> None:
    flats = table().drop_columns(["built"])
    with writer(str(tmp_path / name)) as write:
        write(flats.slice(0, 50))
        write(flats.slice(50))
    found = read(str(tmp_path / name), Reading())
    assert found.num_rows == 200
    np.testing.assert_array_equal(found["rent"].cast(pa.float64()).to_numpy(), flats["rent"].to_numpy())
    assert found["town"].to_pylist() == flats["town"].to_pylist()


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "b.parquet"
    path.write_text("old")

    def fail() -> None:
        with writer(str(path)) as write:
            write(table())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["b.parquet"]
