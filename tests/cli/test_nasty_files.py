"""Every nasty file gives the columns it must give, and the command says what it must say."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli.nasty_files import NASTY, ROWS, Nasty
from csid.cli.cells import OddCells
from csid.cli.columns import predictors
from csid.cli.errors import CommandError
from csid.cli.options import ColumnOptions
from csid.cli.tables import Reading, parts
from csid.cli.training import Training, TrainingFile, read_in_memory, read_out_of_core

READ = {name: file for name, file in NASTY.items() if not file.refused}


def written(file: Nasty, folder: Path, monkeypatch: pytest.MonkeyPatch) -> TrainingFile:
    monkeypatch.chdir(folder)
    Path(file.name).write_bytes(file.content)
    columns = ColumnOptions(categorical=list(file.categorical) or None, ordinal=list(file.ordinal) or None)
    return TrainingFile(file.name, ["y"], columns, file.text)


def listed(X: pa.Table) -> dict[str, list[Any]]:
    return {name: X[name].to_pylist() for name in X.column_names}


def target(file: Nasty) -> list[float]:
    n = len(next(iter(file.columns.values())))
    return file.columns.get("y") or [float(row) for row in range(1, n + 1)]


def expected(file: Nasty) -> dict[str, list[Any]]:
    return {name: values for name, values in file.columns.items() if name != "y"}


@pytest.mark.parametrize("name", READ)
def test_columns_come_out_right(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = NASTY[name]
    training = read_in_memory(written(file, tmp_path, monkeypatch))
    assert listed(training.rows.X) == expected(file)
    assert training.rows.y.tolist() == target(file)
    notes = "\n".join(training.notes)
    assert [text for text in file.says if text not in notes] == []
    assert [text for text in file.silent if text in notes] == []


@pytest.mark.parametrize("name", READ)
def test_a_stream_and_new_rows_are_read_alike(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Out of core, and by predict, which has only the schema."""
    file = NASTY[name]
    given = written(file, tmp_path, monkeypatch)
    training: Training[Any] = read_out_of_core(given)
    batches = list(training.rows.batches())
    assert listed(pa.concat_tables(batch.X for batch in batches)) == expected(file)
    assert [value for batch in batches for value in batch.y] == target(file)
    assert sum(n for n, _ in training.rows.counts()) == len(target(file))
    schema, odd = training.schema, OddCells()
    names = [column.name for column in schema.columns]
    reading = Reading(schema.missing, given.text.delimiter, given.text.encoding, given.text.sheet, names)
    X = pa.concat_tables(predictors(part, schema, odd) for part in parts(given.data, reading))
    in_memory = read_in_memory(given)
    if "y" not in file.columns:
        assert listed(X) == expected(file)
        assert set(odd.notes()) <= set(in_memory.notes)
    assert set(training.rows.odd.notes()) <= set(in_memory.notes)


@pytest.mark.parametrize("name", sorted(NASTY.keys() - READ))
def test_refusals_say_why(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = NASTY[name]
    with pytest.raises(CommandError) as refused:
        read_in_memory(written(file, tmp_path, monkeypatch))
    assert file.refused in str(refused.value)


@given(st.sampled_from(sorted(NASTY)), st.data())
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_files_are_read_or_refused(tmp_path: Path, name: str, data: st.DataObject) -> None:
    """A few bytes are changed, added or cut off; commands turn other errors than these into one message as well."""
    content = bytearray(NASTY[name].content)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content)))
        content[at : at + data.draw(st.integers(0, 9))] = data.draw(
            st.sampled_from([b"", b'"', b";", b"\n", b"\r", b"#", b"\0", b"\xff", b"$", b"99/99/9999", b"9" * 400])
            | st.binary()
        )
    (tmp_path / "damaged").write_bytes(content)
    file = TrainingFile(str(tmp_path / "damaged"), ["y"], ColumnOptions(), NASTY[name].text)
    for read in (read_in_memory, lambda file: list(read_out_of_core(file).rows.batches())):
        with suppress(CommandError, pa.ArrowInvalid, MemoryError):
            read(file)


def test_there_are_many() -> None:
    assert len(NASTY) >= 60
    assert ROWS == 20
