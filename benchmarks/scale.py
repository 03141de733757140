"""Time and memory against rows, predictors, levels, rank and threads, compared with four other libraries.

    python benchmarks/scale.py [--quick] [--methods als ...] [name ...]   # resumes; results/scale.csv; Linux only
    # any of: million rows predictors levels rank threads

The target is Friedman's first function, 10 sin(π x1 x2) + 20 (x3 − ½)² + 10 x4 + 5 x5, plus standard normal noise;
all predictors are uniform, and the others are irrelevant. Each fit runs in a fresh process, which first fits a
smaller table briefly, so that compiling and loading are not timed; then it predicts 100,000 new rows. `rmse` is
measured against the function without noise.

`peak_megabytes` is the peak of the resident memory during the fit, minus the memory before the data were generated: the
table, with eight bytes per cell, and everything that the fit allocates, in the process and its workers (EBM has some).

A fit that exceeds its time limit is stopped. Its row has the limit as its seconds and the outcome "over the limit", and
the method is not run on larger tables. With --quick, 1 % of the rows is used, and nothing is stored.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import results
from csid import BayesianCSIDRegressor, CSIDRegressor

THREADS = os.cpu_count() or 1
LIMIT, LIMIT_OF_MILLION, EBM_TO_ALS = 300.0, 3600.0, 12.0
PREDICTED, WARM_UP = 100_000, (40_000, 13)


class ScaleFit(NamedTuple):
    """One fit, as stored in the result rows; levels and rank are "" for methods without them."""

    benchmark: str
    method: str
    rows: int
    predictors: int
    levels: int | str
    rank: int | str
    threads: int


class Library(NamedTuple):
    """A package, how to make its estimator, and the parameters for a short warm-up."""

    package: str
    make: Callable[[ScaleFit], Any]
    warm_up: dict[str, Any]


def _als(fit: ScaleFit) -> Any:
    sweeps = {"max_iter": 20, "tol": 0, "early_stopping": False}
    return CSIDRegressor(fit.rank, levels=fit.levels, **sweeps, random_state=0, n_jobs=fit.threads)


def _bayesian(fit: ScaleFit) -> Any:
    return BayesianCSIDRegressor(fit.rank, levels=fit.levels, random_state=0, n_jobs=fit.threads)


def _lightgbm(fit: ScaleFit) -> Any:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_estimators=1000, learning_rate=0.05, n_jobs=fit.threads, verbose=-1)


def _catboost(fit: ScaleFit) -> Any:
    from catboost import CatBoostRegressor

    return CatBoostRegressor(iterations=1000, thread_count=fit.threads, verbose=0, allow_writing_files=False)


def _hist(fit: ScaleFit) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(max_iter=1000, early_stopping=False)  # OMP_NUM_THREADS sets its threads


def _ebm(fit: ScaleFit) -> Any:
    from interpret.glassbox import ExplainableBoostingRegressor

    return ExplainableBoostingRegressor(n_jobs=fit.threads)


METHODS = {
    "als": Library("csid", _als, {"max_iter": 2}),
    "lightgbm": Library("lightgbm", _lightgbm, {"n_estimators": 10}),
    "hist": Library("scikit-learn", _hist, {"max_iter": 10}),
    "bayesian": Library("csid", _bayesian, {"effort": "fast", "n_burn": 2, "n_draws": 2}),
    "catboost": Library("catboost", _catboost, {"iterations": 10}),
    "ebm": Library("interpret-core", _ebm, {"max_rounds": 10}),
}
DEFAULTS: dict[str, tuple[int | str, int | str]] = {"als": ("auto", 16), "bayesian": ("auto", 32)}


def default(benchmark: str, method: str, rows: int, predictors: int, threads: int = THREADS) -> ScaleFit:
    return ScaleFit(benchmark, method, rows, predictors, *DEFAULTS.get(method, ("", "")), threads)


def million() -> Iterator[ScaleFit]:
    for method in METHODS:
        yield default("million", method, 1_000_000, 10)


def rows() -> Iterator[ScaleFit]:
    """All but a million rows, which `million` measures."""
    for count in (10_000, 30_000, 100_000, 300_000, 3_000_000, 10_000_000):
        for method in METHODS:
            most = {"ebm": 300_000, "bayesian": 300_000, "catboost": 3_000_000}.get(method, count)
            if count <= most:
                yield default("rows", method, count, 10)


def predictors() -> Iterator[ScaleFit]:
    for count in (5, 10, 20, 50, 100, 200, 500):
        for method in METHODS:
            yield default("predictors", method, 20_000, count)


def levels() -> Iterator[ScaleFit]:
    yield default("levels", "lightgbm", 30_000, 10)
    for count in (8, 16, 32, 64, 128, 255, 512, 1024):
        for method in ("als", "bayesian"):
            yield default("levels", method, 30_000, 10)._replace(levels=count)


def rank() -> Iterator[ScaleFit]:
    yield default("rank", "lightgbm", 30_000, 10)
    for count in (1, 2, 4, 8, 16, 32, 64, 128):
        for method in ("als", "bayesian"):
            yield default("rank", method, 30_000, 10)._replace(rank=count)


def threads() -> Iterator[ScaleFit]:
    """From all threads to one, halving, so that fits over the limit come last."""
    count = THREADS
    while count:
        for method in METHODS:
            yield default("threads", method, 100_000, 10, count)
        count //= 2


BENCHMARKS = {
    "million": million,
    "rows": rows,
    "predictors": predictors,
    "levels": levels,
    "rank": rank,
    "threads": threads,
}
ROUNDS = {"million": 3}


def friedman(rows: int, predictors: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Uniform predictors, and Friedman's first function of them without noise."""
    X = np.random.default_rng(seed).random((rows, predictors))
    a, b, c, d, e = X[:, :5].T
    return X, 10.0 * np.sin(np.pi * a * b) + 20.0 * (c - 0.5) ** 2 + 10.0 * d + 5.0 * e


def noisy(rows: int, predictors: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = friedman(rows, predictors, seed)
    return X, y + np.random.default_rng([seed, 1]).standard_normal(rows)


def process_folders() -> list[Path]:
    """The folders in /proc of this process and of its workers."""
    own = Path("/proc/self")
    workers = [number for task in own.glob("task/*/children") for number in task.read_text().split()]
    return [own, *(Path("/proc", number) for number in workers)]


def total_megabytes(entry: str) -> float:
    """Memory of this process and its workers: "VmRSS" is the current value, "VmHWM" the peak."""
    lines = [line for folder in process_folders() for line in (folder / "status").read_text().splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith(f"{entry}:")) / 1024.0


def reset_peak_memory() -> None:
    """Restart the measurement of the peak of this process and its workers."""
    for folder in process_folders():
        (folder / "clear_refs").write_text("5")


def measure(fit: ScaleFit, limit: float, predicted: int) -> dict[str, float]:
    """Measure one fit in this process; an alarm ends the process at the limit."""
    method = METHODS[fit.method]
    rows_warm, predictors_warm = (min(pair) for pair in zip((fit.rows, fit.predictors), WARM_UP, strict=True))
    X, y = noisy(rows_warm, predictors_warm, 1)
    method.make(fit).set_params(**method.warm_up).fit(X, y).predict(X[:100])
    before = total_megabytes("VmRSS")
    X, y = noisy(fit.rows, fit.predictors, 0)
    model = method.make(fit)
    reset_peak_memory()
    signal.setitimer(signal.ITIMER_REAL, limit)
    started = time.perf_counter()
    model.fit(X, y)
    fit_seconds = time.perf_counter() - started
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    peak = total_megabytes("VmHWM") - before
    X, truth = friedman(predicted, fit.predictors, 2)
    started = time.perf_counter()
    values = model.predict(X)
    predict_seconds = time.perf_counter() - started
    return {
        "fit_seconds": fit_seconds,
        "predict_seconds": predict_seconds,
        "peak_megabytes": peak,
        "rmse": float(np.sqrt(np.mean((values - truth) ** 2))),
        "outcome": "",
    }


def in_fresh_process(fit: ScaleFit, limit: float, predicted: int) -> dict[str, Any]:
    """Measure one fit in a fresh process with the fit's number of threads; or report why it failed."""
    command = [sys.executable, __file__, "--measure", json.dumps([fit, limit, predicted])]
    count = str(fit.threads)
    threads = {"OMP_NUM_THREADS": count, "OPENBLAS_NUM_THREADS": count}
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, env=os.environ | threads, stdout=out, start_new_session=True)
        try:
            status = process.wait()
        finally:
            with suppress(ProcessLookupError):  # remaining workers, or the process itself after an interrupt
                os.killpg(process.pid, signal.SIGKILL)
        out.seek(0)
        if status == 0:
            return json.loads(out.read().splitlines()[-1])
    over = status == -signal.SIGALRM
    outcome = "over the limit" if over else f"exit status {status}"
    empty = dict.fromkeys(("predict_seconds", "peak_megabytes", "rmse"), "")
    return {"fit_seconds": limit if over else "", **empty, "outcome": outcome}


def limit_of(fit: ScaleFit, turn: int, known: list[dict[str, Any]]) -> float:
    """Time limit of a fit in seconds; for EBM on a million rows, a multiple of the time of ALS in the same round."""
    if (fit.benchmark, fit.method) == ("million", "ebm"):
        for row in known:
            if (row["benchmark"], row["method"], int(row["round"])) == ("million", "als", turn) and not row["outcome"]:
                return EBM_TO_ALS * float(row["fit_seconds"])
    return LIMIT_OF_MILLION if fit.benchmark == "million" else LIMIT


def run(name: str, methods: list[str], known: list[dict[str, Any]], quick: bool) -> None:
    """Run the fits of a benchmark that are not among the known rows."""
    done = {(*(str(row[key]) for key in ScaleFit._fields), int(row["round"])) for row in known}
    stopped = {(row["benchmark"], row["method"]) for row in known if row["outcome"]}
    for turn in range(1 if quick else ROUNDS.get(name, 1)):
        for fit in BENCHMARKS[name]():
            if fit.method not in methods or (*map(str, fit), turn) in done or (name, fit.method) in stopped:
                continue
            if quick:
                fit = fit._replace(rows=max(1000, fit.rows // 100), predictors=min(fit.predictors, 20))
            found = in_fresh_process(fit, limit_of(fit, turn, known), 1000 if quick else PREDICTED)
            package = METHODS[fit.method].package
            row = {**fit._asdict(), **found, "round": turn, "version": f"{package} {version(package)}"}
            known.append(row)
            if found["outcome"]:
                stopped.add((name, fit.method))
            if not quick:
                results.append("scale", row | results.provenance())
            metrics = [f"{key} {value:.4g}" for key, value in found.items() if isinstance(value, float)]
            print(*fit, *metrics, found["outcome"], flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="*", choices=[*BENCHMARKS, []])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--methods", nargs="*", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        fit, limit, predicted = json.loads(chosen.measure)
        print(json.dumps(measure(ScaleFit(*fit), limit, predicted)))
        return
    known: list[dict[str, Any]] = [] if chosen.quick else results.read("scale")
    for name in chosen.name or BENCHMARKS:
        run(name, chosen.methods, known, chosen.quick)


if __name__ == "__main__":
    main()
