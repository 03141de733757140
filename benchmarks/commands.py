"""Time and memory of the `csid` command: help, fits, and predictions.

    python benchmarks/commands.py [--rows 1000000] [--predicted 10000000] [--folder FOLDER]   # results/commands.csv

A CSV file with ten numeric columns and a target is fitted by least squares, and by the Bayesian estimator with few
sweeps. Predictions are made for a file ten times as long, and for a tenth of that. Reading and encoding are also
timed on their own. Memory is the peak of the process.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import results
from csid.cli.columns import predictors
from csid.cli.options import ColumnOptions
from csid.cli.schema_inference import infer
from csid.cli.tables import Reading, read, writer
from csid.encoding import Levels, fit_encoding

PREDICTORS, PART = 10, 500_000


def write(path: Path, rows: int, seed: int) -> None:
    """A CSV file with ten predictors; the target is a product plus a wave plus noise."""
    rng = np.random.default_rng(seed)
    with writer(str(path)) as add:
        for start in range(0, rows, PART):
            X = rng.uniform(-1.0, 1.0, (min(PART, rows - start), PREDICTORS)).round(6)
            y = X[:, 0] * X[:, 1] + np.sin(3.0 * X[:, 2]) + 0.1 * rng.standard_normal(len(X))
            add(pa.table({**{f"x{n}": X[:, n] for n in range(PREDICTORS)}, "y": y.round(6)}))


def run_command(*line: str) -> dict[str, float]:
    """Run a `csid` command; its seconds and peak memory in MB."""
    started = time.perf_counter()
    process = os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, "-m", "csid", *line])
    _, status, usage = os.wait4(process, 0)
    if status:
        raise SystemExit(f"csid {' '.join(line)} failed with status {status}")
    return {"seconds": time.perf_counter() - started, "megabytes": usage.ru_maxrss / 1024.0}


def store(step: str, costs: dict[str, Any]) -> None:
    results.append("commands", {"step": step, "seconds": "", "megabytes": "", **costs} | results.provenance())
    print(f"{step:40}", "  ".join(f"{name} {value:.4g}" for name, value in costs.items()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--predicted", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as name:
        folder = Path(name)
        for _ in range(2):
            help_costs = run_command("--help")
        store("help", help_costs)
        train = folder / "train.csv"
        write(train, chosen.rows, 0)
        megabytes = train.stat().st_size / 2**20
        store("training file", {"megabytes": megabytes})
        started = time.perf_counter()
        table = read(str(train), Reading())
        store("reading", {"seconds": time.perf_counter() - started})
        X = predictors(table, infer(table, ["y"], ColumnOptions()))
        weights, train_rows = np.ones(chosen.rows), np.arange(chosen.rows)
        levels = Levels(255, "linear", "marginalize")
        started = time.perf_counter()
        fit_encoding(X, chosen.rows, X.column_names, weights, train_rows, levels, [None] * PREDICTORS)
        store("encoding", {"seconds": time.perf_counter() - started})
        few = [flag for each in ("n_burn=1", "n_draws=2", "n_chains=9") for flag in ("--set", each)]
        store("fit, Bayesian, 9 chains, 3 sweeps", run_command("fit", str(train), "--target", "y", "-q", *few))
        als = ["--estimator", "als", "--set", "max_iter=20"]
        store("fit, least squares, 20 sweeps", run_command("fit", str(train), "--target", "y", "-q", *als))
        model = str(train.with_suffix(".csid"))
        for rows in (chosen.predicted // 10, chosen.predicted):
            new = folder / "new.csv"
            write(new, rows, 1)
            costs = run_command("predict", model, str(new), "-o", str(folder / "out.csv"), "-q")
            store(f"predict {rows:,} rows", costs)


if __name__ == "__main__":
    main()
