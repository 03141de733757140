"""What a command writes never costs the user a file."""

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Run
from csid.cli.errors import Exit, FilesError, UsageError
from csid.cli.output_path import Kind, check_output
from csid.files import atomic_file

ALS = ["--estimator", "als", "--set", "rank=2", "--set", "max_iter=2", "-q"]
WRITING = {
    "fit": ["fit", "flats.csv", "--target", "rent", *ALS],
    "tune": ["tune", "flats.csv", "--target", "rent", "--estimator", "als", "--trials", "1", "--folds", "2"],
    "predict": ["predict", "flats.csid", "flats.csv"],
    "report": ["report", "flats.csid", "flats.csv"],
    "export": ["export", "flats.csid", "--to", "json"],
    "datasets": ["datasets", "ccpp"],
}


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("command", ["fit", "tune", "predict", "report", "export"])
@pytest.mark.parametrize("name", ["itself", "symbolic link", "hard link"])
def test_an_input_is_never_replaced(
    command: str, name: str, csid: Run, flats: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = model if command == "export" else flats
    output = given if name == "itself" else tmp_path / "other name"
    if name == "symbolic link":
        output.symlink_to(given)
    elif name == "hard link":
        output.hardlink_to(given)
    before = _contents(tmp_path)
    ended = csid(*WRITING[command], "-o", output, "--force")
    assert ended.code == Exit.USAGE
    assert "is an input of this command, which is never replaced" in ended.notes
    assert _contents(tmp_path) == before


def test_every_file_of_a_pattern_or_a_folder_is_an_input(tmp_path: Path) -> None:
    for name in ("a.parquet", "b.parquet"):
        (tmp_path / name).write_bytes(b"PAR1")
    for data in (tmp_path, tmp_path / "*.parquet"):
        with pytest.raises(UsageError, match="is an input"):
            check_output(tmp_path / "b.parquet", Kind.table, [str(data)], force=True)
    check_output(tmp_path / "c.parquet", Kind.table, [str(tmp_path)])


def test_standard_input_is_an_input(shell: Run, flats: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with flats.open("rb") as given, monkeypatch.context() as patch:
        patch.setattr("sys.stdin", given)
        with pytest.raises(UsageError, match="is an input"):
            check_output(flats, Kind.table, ["-"])


def test_a_config_file_is_an_input(csid: Run, flats: Path, tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("seed = 1\n")
    ended = csid(*WRITING["fit"], "--config", "c.csv", "-o", "c.csv", "--force")
    assert "c.csv is an input of this command" in ended.notes


@pytest.mark.parametrize("command", WRITING)
@pytest.mark.parametrize("special", ["folder", "pipe", "device", "socket", "link to a device"])
def test_special_files_and_folders_are_never_replaced(
    command: str, special: str, csid: Run, flats: Path, model: Path, tmp_path: Path
) -> None:
    output, listening = tmp_path / "x", socket.socket(socket.AF_UNIX)
    if special == "folder":
        output.mkdir()
    elif special == "pipe":
        os.mkfifo(output)
    elif special == "socket":
        os.chdir(tmp_path)
        listening.bind("x")  # a whole path may be too long
    elif special == "device":
        output = Path("/dev/null")
    else:
        output.symlink_to("/dev/null")
    before = output.stat()
    ended = csid(*WRITING[command], "-o", output, "--force")
    listening.close()
    assert ended.code == Exit.FILES
    assert "which a file cannot replace" in ended.notes
    assert output.stat().st_ino == before.st_ino


def test_the_library_does_not_replace_special_files_either() -> None:
    with pytest.raises(OSError, match="a device, which a file cannot replace"), atomic_file("/dev/null"):
        pass


@pytest.mark.parametrize("command", WRITING)
def test_the_folder_is_checked_before_the_work(
    command: str, csid: Run, flats: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(*_: Any) -> None:
        raise AssertionError("the work began")

    for name in ("csid.cli.training.read", "csid.load", "csid.datasets.load"):
        monkeypatch.setattr(name, work)
    ended = csid(*WRITING[command], "-o", tmp_path / "absent" / "x")
    assert ended.code == Exit.FILES
    assert "there is no folder" in ended.notes
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != tmp_path)
    ended = csid(*WRITING[command], "-o", tmp_path / "x")
    assert ended.code == Exit.FILES
    assert "cannot be written to" in ended.notes


KINDS = {
    Kind.table: {"t.csv": b"a,b\n1,2\n", "t": b"a\tb\n", "t.bin": b"PAR1", "t.csv.gz": b"\x1f\x8b\x08"},
    Kind.page: {"p.htm": b"\n<!DOCTYPE html>", "p.csv": b"<html>"},
    Kind.onnx: {"o.onnx": b"\x08\x0a\0"},
    Kind.python: {"m.py": b"import math\n"},
    Kind.json: {"m.json": b"{}"},
    Kind.trials: {"s.csv": b'{"op_code": 0}\n'},
    Kind.other: {"notes.md": b"# notes", "a.tar.gz": b"\x1f\x8b\x08", "a.csv": b"\x7fELF\0", "b.xlsx": b"PK\x03\x04\0"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_another_kind_needs_force(kind: Kind, tmp_path: Path) -> None:
    for name, content in KINDS[kind].items():
        path = tmp_path / name
        path.write_bytes(content)
        for wanted in set(Kind) - {Kind.other}:
            if wanted == kind:
                check_output(path, wanted, [])
            else:
                message = f"is {kind.value}: name another file, or replace it with --force"
                with pytest.raises(UsageError, match=message):
                    check_output(path, wanted, [])
                check_output(path, wanted, [], force=True)


def test_a_model_is_known_by_its_content(csid: Run, flats: Path, model: Path, tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_bytes(model.read_bytes())
    refused = csid("predict", model, flats, "-o", "m.csv")
    assert "m.csv is a model: name another file" in refused.notes
    assert csid("predict", model, flats, "-o", "m.csv", "--force").code == 0
    refused = csid("fit", flats, "--target", "rent", *ALS, "-o", "m.csv")
    assert "m.csv is a table: name another file" in refused.notes
    (tmp_path / "empty.csv").touch()
    assert csid("fit", flats, "--target", "rent", *ALS, "-o", "empty.csv").code == 0


def test_a_damaged_model_may_be_replaced_by_a_model_only(model: Path) -> None:
    model.write_bytes(model.read_bytes()[:5000])
    check_output(model, Kind.model, [])
    with pytest.raises(UsageError, match="is a model"):
        check_output(model, Kind.table, [])


def test_a_file_that_is_read_only_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kept.csv"
    path.write_text("a\n")
    monkeypatch.setattr("os.access", lambda asked, mode: Path(asked) != path)
    with pytest.raises(FilesError, match=r"kept\.csv: the file is read-only"):
        check_output(path, Kind.table, [], force=True)


def test_the_trials_are_not_another_file(csid: Run, flats: Path, model: Path) -> None:
    for study, message in ((flats, "is an input"), ("m.csid", "is also the model file"), (model, "is a model")):
        ended = csid(*WRITING["tune"], "-o", "m.csid", "--study", study)
        assert ended.code == Exit.USAGE
        assert f"--study {study} {message}" in ended.notes
