"""What the tests of commands share: a folder with data, and a way to run commands as a shell does."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from csid.cli import app as application

QUICK = ["--set", "rank=3", "--set", "n_chains=2", "--set", "n_burn=20", "--set", "n_draws=10", "--set", "prior=medium"]


@dataclass(frozen=True)
class Outcome:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    notes: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Outcome]


@pytest.fixture
def csid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: Any) -> Run:
    """Runs a command in this process, in a folder of its own; `stdin` is what it reads."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str | Path, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "argv", ["csid", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsysbinary.readouterr()
        with pytest.raises(SystemExit) as ended:
            application.main()
        out, notes = capsysbinary.readouterr()
        code = ended.value.code
        return Outcome(0 if code is None else int(code), out.decode(), notes.decode())

    return run


@pytest.fixture
def shell(tmp_path: Path) -> Run:
    """Runs a command in a process of its own."""

    def run(*arguments: str | Path, stdin: bytes = b"", **environment: str) -> Outcome:
        ended = subprocess.run(
            [sys.executable, "-m", "csid", *map(str, arguments)],
            cwd=tmp_path,
            input=stdin,
            capture_output=True,
            env={**os.environ, **environment},
            check=False,
        )
        return Outcome(ended.returncode, ended.stdout.decode(), ended.stderr.decode())

    return run


def table(rows: int = 200, seed: int = 0) -> pa.Table:
    """Flats with their rent: numbers, words, truth values, dates, words in order, and gaps."""
    rng = np.random.default_rng(seed)
    area = rng.uniform(20.0, 120.0, rows).round(1)
    town = rng.choice(["Ulm", "Aalen", "Kehl, Rhein"], rows)
    state = rng.choice(["poor", "fair", "good"], rows)
    day = np.datetime64("2020-01-01") + rng.integers(0, 900, rows)
    floor = rng.integers(0, 5, rows)
    rent = 9.0 * area * (1.0 + 0.2 * (town == "Ulm")) + 50.0 * (state == "good") + 20.0 * rng.standard_normal(rows)
    gaps = rng.random((rows, 3)) < 0.05
    return pa.table(
        {
            "id": [f"flat {at}" for at in range(rows)],
            "area": pa.array(area, mask=gaps[:, 0]),
            "town": pa.array(town, mask=gaps[:, 1]),
            "state": pa.array(state, mask=gaps[:, 2]),
            "lift": rng.choice([True, False], rows),
            "floor": floor,
            "built": pa.array(day),
            "rent": rent.round(2),
        }
    )


def as_csv(flats: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pa.csv.write_csv(flats, sink)
    return bytes(sink.getvalue())


@pytest.fixture
def flats(tmp_path: Path) -> Path:
    path = tmp_path / "flats.csv"
    path.write_bytes(as_csv(table()))
    return path


@pytest.fixture(scope="session")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a Bayesian model of the flats."""
    folder = tmp_path_factory.mktemp("fitted")
    (folder / "flats.csv").write_bytes(as_csv(table()))
    arguments = [
        "fit",
        str(folder / "flats.csv"),
        "--target",
        "rent",
        "--ordinal",
        "state=poor,fair,good",
        "-q",
        *QUICK,
    ]
    application.app(arguments, standalone_mode=False)
    return (folder / "flats.csid").read_bytes()


@pytest.fixture
def model(fitted: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "flats.csid"
    path.write_bytes(fitted)
    return path
