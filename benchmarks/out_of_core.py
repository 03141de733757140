"""Fits to Parquet files that are encoded once and swept from disk: time, memory, and the share of the machine's rate.

    python benchmarks/out_of_core.py [--share 0.1] [--folder /tmp] [name ...]   # rows in results/out_of_core.csv; Linux
    # any of: wide long

wide : 10,000,000 x 50, rank 10, 20 sweeps of least squares.
long : 100,000,000 x 10, rank 10, 20 sweeps, beside 1,000,000 rows of the same, from a file and from memory.

The data are those of `scale.py` (Friedman's first function and predictors that do nothing), in files of a million rows,
made in a temporary folder and removed afterwards: 4 and 9 GB, and codes of 2 and 5 GB beside them. Each fit has a fresh
process, which first fits a small table so that nothing is compiled while the clock runs. `peak_megabytes` is the peak
of its resident memory, pages of the code file among it. `sweep_seconds` are those of the 20 sweeps alone. The rate of
dgemm is measured in the same process afterwards; operations are counted as in `roofline.py`. With --share, on that
share of the rows, and nothing is stored.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import results
import roofline
from csid import CSIDRegressor, ParquetRows
from scale import THREADS, noisy

RANK, SWEEPS, ROWS_PER_FILE, WARM_UP = 10, 20, 1_000_000, 120_000
MULTIPLIED_ANEW = 6


class Fit(NamedTuple):
    """What is fitted, and where its rows are: "disk" or "memory"."""

    benchmark: str
    rows: int
    predictors: int
    source: str


BENCHMARKS = {
    "wide": (Fit("wide", 10_000_000, 50, "disk"),),
    "long": (
        Fit("long", 1_000_000, 10, "memory"),
        Fit("long", 1_000_000, 10, "disk"),
        Fit("long", 100_000_000, 10, "disk"),
    ),
}


def write_files(folder: Path, rows: int, predictors: int) -> None:
    """The table, a million rows a file."""
    for number, start in enumerate(range(0, rows, ROWS_PER_FILE)):
        X, y = noisy(min(ROWS_PER_FILE, rows - start), predictors, number)
        columns = {f"x{n}": X[:, n] for n in range(predictors)} | {"y": y}
        pa.parquet.write_table(pa.table(columns), folder / f"{number:04d}.parquet", compression="none")


class Timed(CSIDRegressor):
    """Remembers how long its sweeps took."""

    def _fit_members(self, *given: Any) -> Any:
        started = time.perf_counter()
        found = super()._fit_members(*given)
        self.sweep_seconds_ = time.perf_counter() - started
        return found


def measured(fit: Fit, folder: str) -> dict[str, float]:
    """Figures of one fit, in this process."""
    model = Timed(RANK, max_iter=SWEEPS, tol=0, early_stopping=False, random_state=0, n_jobs=THREADS)
    with tempfile.TemporaryDirectory(dir=folder) as small:
        write_files(Path(small), WARM_UP, fit.predictors)
        model.set_params(max_iter=3).fit(ParquetRows(small, "y"))
        model.fit(*noisy(WARM_UP, fit.predictors, 1)).set_params(max_iter=SWEEPS)
    given = (ParquetRows(folder, "y", folder=folder),)
    if fit.source == "memory":
        table = pa.parquet.read_table(folder)
        given = table.drop_columns("y"), table["y"].to_numpy()
    results.forget_peak()
    started = time.perf_counter()
    model.fit(*given)
    seconds = time.perf_counter() - started
    peak = results.memory("VmHWM")
    square = np.random.default_rng(0).random((roofline.GEMM_SIZE, roofline.GEMM_SIZE))
    (gemm,) = roofline.least_seconds(lambda: square @ square)
    cells, N = fit.rows * fit.predictors * SWEEPS, fit.predictors
    anew = min(N, MULTIPLIED_ANEW + 1)  # partial products spare the others
    rate = roofline.operations(RANK, "linear", anew) * cells / model.sweep_seconds_
    return {
        "fit_seconds": seconds,
        "sweep_seconds": model.sweep_seconds_,
        "peak_megabytes": peak,
        "cells_per_second": cells / model.sweep_seconds_,
        "share_of_dgemm": rate / (2.0 * roofline.GEMM_SIZE**3 / gemm),
        "objective": float(model.objective_history_[0][-1]),
    }


def run(name: str, share: float, place: str | None) -> None:
    """All fits of a benchmark, one after the other."""
    for fit in BENCHMARKS[name]:
        fit = fit._replace(rows=int(fit.rows * share))
        with tempfile.TemporaryDirectory(prefix="csid-bench-", dir=place) as folder:
            needed = fit.rows * (11 * fit.predictors + 24)
            if shutil.disk_usage(folder).free < 1.2 * needed:
                print(f"{name}: {needed / 1e9:.0f} GB are needed in {folder}; --folder names another place.")
                continue
            write_files(Path(folder), fit.rows, fit.predictors)
            command = [sys.executable, __file__, "--measure", json.dumps([fit, folder])]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        figures = json.loads(done.stdout.splitlines()[-1])
        if share == 1.0:
            results.append("out_of_core", fit._asdict() | figures | {"threads": THREADS} | results.provenance())
        print(*fit, *(f"{key} {value:.4g}" for key, value in figures.items()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="*", choices=[*BENCHMARKS, []])
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--folder")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        fit, folder = json.loads(chosen.measure)
        print(json.dumps(measured(Fit(*fit), folder)))
        return
    for name in chosen.name or BENCHMARKS:
        run(name, chosen.share, chosen.folder)


if __name__ == "__main__":
    main()
