"""Result rows in CSV files. An interrupted run resumes: every script skips the rows that its file already has.

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
    """Versions and machine, which every row records."""
    return {
        "csid": csid.__version__,
        "numpy": np.__version__,
        "numba": numba.__version__,
        "sklearn": sklearn.__version__,
        "machine": f"{platform.machine()} {platform.system()}",
    }


def read(name: str) -> list[dict[str, str]]:
    """All rows of a result file; an empty list if the file does not exist."""
    path = FOLDER / f"{name}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def append(name: str, row: dict[str, Any]) -> None:
    """Append one row, which must have the columns of the file; the first row also writes the header."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.csv"
    new = not path.exists()
    if not new:
        with path.open(newline="") as file:
            columns = next(csv.reader(file))
        if columns != list(row):
            raise ValueError(f"{path} has the columns {columns}, but the new row has {list(row)}: move the file away.")
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(row))
        if new:
            writer.writeheader()
        writer.writerow(row)


def memory_megabytes(entry: str) -> float:
    """Memory of this process: "VmRSS" is the current value, "VmHWM" the peak. NaN unless the system is Linux."""
    try:
        return int(re.search(rf"{entry}:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024.0
    except OSError:
        return float("nan")


def reset_peak_memory() -> float:
    """Restart the measurement of the peak; returns the memory in use."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return float("nan")
    return memory_megabytes("VmRSS")
