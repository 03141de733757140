"""What the command `csid` costs: time to show help, memory and seconds of a fit, memory of predictions.

    python benchmarks/commands.py [--rows 1000000] [--predicted 10000000] [--folder FOLDER]   # results/commands.csv

A CSV of ten numeric columns and a target is written, fitted by least squares and by the Bayesian estimator with few
sweeps, and rows are predicted from a file ten times as long and from its first tenth. Reading and encoding are timed
beside one sweep; memory is the peak of the process.
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
from csid.cli.frames import infer, predictors
from csid.cli.tables import MISSING, Reading, read, writer
from csid.encoding import fit_encoding

PREDICTORS, PART = 10, 500_000


def write(path: Path, rows: int, seed: int) -> None:
    """A product, a wave and noise."""
    rng = np.random.default_rng(seed)
    with writer(str(path)) as add:
        for start in range(0, rows, PART):
            X = rng.uniform(-1.0, 1.0, (min(PART, rows - start), PREDICTORS)).round(6)
            y = X[:, 0] * X[:, 1] + np.sin(3.0 * X[:, 2]) + 0.1 * rng.standard_normal(len(X))
            add(pa.table({**{f"x{n}": X[:, n] for n in range(PREDICTORS)}, "y": y.round(6)}))


def measured(*line: str) -> dict[str, float]:
    """Seconds and peak memory, in MB, of a command."""
    started = time.perf_counter()
    process = os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, "-m", "csid", *line])
    _, status, usage = os.wait4(process, 0)
    if status:
        raise SystemExit(f"csid {' '.join(line)} ended with {status}")
    return {"seconds": time.perf_counter() - started, "megabytes": usage.ru_maxrss / 1024.0}


def report(what: str, figures: dict[str, Any]) -> None:
    results.append("commands", {"what": what, "seconds": "", "megabytes": "", **figures} | results.provenance())
    print(f"{what:40}", "  ".join(f"{name} {value:.4g}" for name, value in figures.items()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--predicted", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as name:
        folder = Path(name)
        for _ in range(2):
            help_costs = measured("--help")
        report("help", help_costs)
        train = folder / "train.csv"
        write(train, chosen.rows, 0)
        megabytes = train.stat().st_size / 2**20
        report("the file", {"megabytes": megabytes})
        started = time.perf_counter()
        table = read(str(train), Reading(MISSING))
        report("reading", {"seconds": time.perf_counter() - started})
        X = predictors(table, infer(table, ["y"], MISSING))
        started = time.perf_counter()
        given = (np.ones(chosen.rows), np.arange(chosen.rows), 255, "linear", "marginalize", [None] * PREDICTORS)
        fit_encoding(X, chosen.rows, X.column_names, *given)
        report("encoding", {"seconds": time.perf_counter() - started})
        few = [flag for each in ("n_burn=1", "n_draws=2", "n_chains=9") for flag in ("--set", each)]
        report("fit, Bayesian, 9 chains, 3 sweeps", measured("fit", str(train), "--target", "y", "-q", *few))
        als = ["--estimator", "als", "--set", "max_iter=20"]
        report("fit, least squares, 20 sweeps", measured("fit", str(train), "--target", "y", "-q", *als))
        model = str(train.with_suffix(".csid"))
        for rows in (chosen.predicted // 10, chosen.predicted):
            new = folder / "new.csv"
            write(new, rows, 1)
            costs = measured("predict", model, str(new), "-o", str(folder / "out.csv"), "-q")
            report(f"predict {rows:,} rows", costs)


if __name__ == "__main__":
    main()
