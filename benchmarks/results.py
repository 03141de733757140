"""Result rows in CSV files: a run that was cut off goes on where it stopped.

The folder is `results` beside this file, or `$CSID_BENCH_RESULTS`.
"""

import csv
import os
import platform
import re
from pathlib import Path
from typing import Any

import numba
import numpy as np
import sklearn

import csid

FOLDER = Path(os.environ.get("CSID_BENCH_RESULTS", Path(__file__).parent / "results"))


def provenance() -> dict[str, str]:
    """Versions and machine, for every row."""
    return {
        "csid": csid.__version__,
        "numpy": np.__version__,
        "numba": numba.__version__,
        "sklearn": sklearn.__version__,
        "machine": f"{platform.machine()} {platform.system()}",
    }


def read(name: str) -> list[dict[str, str]]:
    """All rows of a result file; none when it does not exist."""
    path = FOLDER / f"{name}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def append(name: str, row: dict[str, Any]) -> None:
    """Add one row, which has the columns of those before it; the header is written with the first."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.csv"
    new = not path.exists()
    if not new:
        with path.open(newline="") as file:
            there = next(csv.reader(file))
        if there != list(row):
            raise ValueError(f"{path} has the columns {there}, but a new row has {list(row)}: move the file away.")
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(row))
        if new:
            writer.writeheader()
        writer.writerow(row)


def memory(figure: str) -> float:
    """Megabytes of this process: "VmRSS" in use, "VmHWM" at their peak. NaN where the system is not Linux."""
    try:
        return int(re.search(rf"{figure}:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024.0
    except OSError:
        return float("nan")


def forget_peak() -> float:
    """Let the peak start anew; returns the memory in use."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return float("nan")
    return memory("VmRSS")
