"""Fits on Parquet files that are encoded once and swept from disk: time, memory, and rate relative to dgemm.

    python benchmarks/out_of_core.py [--fraction 0.1] [--folder /tmp] [name ...]   # results/out_of_core.csv; Linux only
    # any of: wide long

wide : 10,000,000 x 50, rank 10, 20 sweeps of least squares.
long : 100,000,000 x 10, rank 10, 20 sweeps, compared with 1,000,000 of these rows from a file and from memory.

The data are those of `scale.py` (Friedman's first function with irrelevant predictors), in files of a million rows in
a temporary folder: 4 and 9 GB, plus code files of 2 and 5 GB. Each fit runs in a fresh process, which first fits a
small table so that compilation is not timed. `peak_megabytes` is the peak of its resident memory, including pages of
the code file. `sweep_seconds` covers the 20 sweeps only. The rate of dgemm is measured in the same process
afterwards; operations are counted as in `roofline.py`. With --fraction, only that fraction of the rows is used, and
nothing is stored.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import results
import roofline
from csid import ParquetRows
from scale import THREADS, noisy
from timing import SweepTimedRegressor, least_seconds

RANK, SWEEPS, ROWS_PER_FILE, WARM_UP = 10, 20, 1_000_000, 120_000
OTHER_MODES_MULTIPLIED = 6


class FileFit(NamedTuple):
    """The size of the table, and where its rows are: "disk" or "memory"."""

    benchmark: str
    rows: int
    predictors: int
    source: str


BENCHMARKS = {
    "wide": (FileFit("wide", 10_000_000, 50, "disk"),),
    "long": (
        FileFit("long", 1_000_000, 10, "memory"),
        FileFit("long", 1_000_000, 10, "disk"),
        FileFit("long", 100_000_000, 10, "disk"),
    ),
}


def write_files(folder: Path, rows: int, predictors: int) -> None:
    """Write the table with a million rows per file."""
    for number, start in enumerate(range(0, rows, ROWS_PER_FILE)):
        X, y = noisy(min(ROWS_PER_FILE, rows - start), predictors, number)
        columns = {f"x{n}": X[:, n] for n in range(predictors)} | {"y": y}
        pa.parquet.write_table(pa.table(columns), folder / f"{number:04d}.parquet", compression="none")


def measure(fit: FileFit, folder: str) -> dict[str, float]:
    """Measure one fit, in this process."""
    model = SweepTimedRegressor(RANK, max_iter=SWEEPS, tol=0, early_stopping=False, random_state=0, n_jobs=THREADS)
    with tempfile.TemporaryDirectory(dir=folder) as small:
        write_files(Path(small), WARM_UP, fit.predictors)
        model.set_params(max_iter=3).fit(ParquetRows(small, "y"))
        model.fit(*noisy(WARM_UP, fit.predictors, 1)).set_params(max_iter=SWEEPS)
    given = (ParquetRows(folder, "y", folder=folder),)
    if fit.source == "memory":
        table = pa.parquet.read_table(folder)
        given = table.drop_columns("y"), table["y"].to_numpy()
    results.reset_peak_memory()
    started = time.perf_counter()
    model.fit(*given)
    seconds = time.perf_counter() - started
    peak = results.memory_megabytes("VmHWM")
    square = np.random.default_rng(0).random((roofline.GEMM_SIZE, roofline.GEMM_SIZE))
    (gemm,) = least_seconds(lambda: square @ square, rounds=roofline.ROUNDS)
    cells, N = fit.rows * fit.predictors * SWEEPS, fit.predictors
    multiplied = min(N, OTHER_MODES_MULTIPLIED + 1)  # partial products save the rest
    rate = roofline.operations(RANK, "linear", multiplied) * cells / model.sweep_seconds_
    return {
        "fit_seconds": seconds,
        "sweep_seconds": model.sweep_seconds_,
        "peak_megabytes": peak,
        "cells_per_second": cells / model.sweep_seconds_,
        "fraction_of_dgemm": rate / (2.0 * roofline.GEMM_SIZE**3 / gemm),
        "objective": float(model.objective_history_[0][-1]),
    }


def run(name: str, fraction: float, place: str | None) -> None:
    """Run all fits of a benchmark, one after the other."""
    for fit in BENCHMARKS[name]:
        fit = fit._replace(rows=int(fit.rows * fraction))
        with tempfile.TemporaryDirectory(prefix="csid-bench-", dir=place) as folder:
            needed = fit.rows * (11 * fit.predictors + 24)
            if shutil.disk_usage(folder).free < 1.2 * needed:
                print(f"{name} needs {needed / 1e9:.0f} GB in {folder}. Choose another place with --folder.")
                continue
            write_files(Path(folder), fit.rows, fit.predictors)
            command = [sys.executable, __file__, "--measure", json.dumps([fit, folder])]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        metrics = json.loads(done.stdout.splitlines()[-1])
        if fraction == 1.0:
            results.append("out_of_core", fit._asdict() | metrics | {"threads": THREADS} | results.provenance())
        print(*fit, *(f"{key} {value:.4g}" for key, value in metrics.items()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="*", choices=[*BENCHMARKS, []])
    parser.add_argument("--fraction", type=float, default=1.0)
    parser.add_argument("--folder")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        fit, folder = json.loads(chosen.measure)
        print(json.dumps(measure(FileFit(*fit), folder)))
        return
    for name in chosen.name or BENCHMARKS:
        run(name, chosen.fraction, chosen.folder)


if __name__ == "__main__":
    main()
