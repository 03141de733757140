"""Fit and predict time and memory against rows, predictors, levels, rank and threads, beside four other libraries.

    python benchmarks/scale.py [--quick] [--methods als ...] [name ...]   # resumes; results/scale.csv; Linux only
    # any of: million rows predictors levels rank threads

The data are Friedman's first function, 10 sin(π x1 x2) + 20 (x3 − ½)² + 10 x4 + 5 x5, of uniform predictors, of which
the others do nothing, plus standard normal noise. Each fit has a fresh process, which first fits a smaller table
briefly, so that nothing is compiled or loaded while the clock runs; then it predicts 100,000 new rows. `rmse` is
against the function without noise.

`peak_megabytes` is the peak of the resident memory while fitting, less that before the data were made: the table, eight
bytes a cell, and all that the fit needs beside it, in the process and in its workers (EBM has some) together.

A fit that takes longer than its limit is stopped: its row has the limit for its seconds and says "over the limit", and
the method is not tried on larger tables. With --quick, on a hundredth of the rows, and nothing is stored.
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


class Fit(NamedTuple):
    """What is fitted, as the result rows have it; levels and rank are "" where a method has none."""

    benchmark: str
    method: str
    rows: int
    predictors: int
    levels: int | str
    rank: int | str
    threads: int


class Method(NamedTuple):
    """A package, how an estimator of it is made, and what makes it brief for the warm-up."""

    package: str
    make: Callable[[Fit], Any]
    brief: dict[str, Any]


def _als(fit: Fit) -> Any:
    sweeps = {"max_iter": 20, "tol": 0, "early_stopping": False}
    return CSIDRegressor(fit.rank, levels=fit.levels, **sweeps, random_state=0, n_jobs=fit.threads)


def _bayesian(fit: Fit) -> Any:
    return BayesianCSIDRegressor(fit.rank, levels=fit.levels, random_state=0, n_jobs=fit.threads)


def _lightgbm(fit: Fit) -> Any:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_estimators=1000, learning_rate=0.05, n_jobs=fit.threads, verbose=-1)


def _catboost(fit: Fit) -> Any:
    from catboost import CatBoostRegressor

    return CatBoostRegressor(iterations=1000, thread_count=fit.threads, verbose=0, allow_writing_files=False)


def _hist(fit: Fit) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(max_iter=1000, early_stopping=False)  # OMP_NUM_THREADS has its threads


def _ebm(fit: Fit) -> Any:
    from interpret.glassbox import ExplainableBoostingRegressor

    return ExplainableBoostingRegressor(n_jobs=fit.threads)


METHODS = {
    "als": Method("csid", _als, {"max_iter": 2}),
    "lightgbm": Method("lightgbm", _lightgbm, {"n_estimators": 10}),
    "hist": Method("scikit-learn", _hist, {"max_iter": 10}),
    "bayesian": Method("csid", _bayesian, {"effort": "fast", "n_burn": 2, "n_draws": 2}),
    "catboost": Method("catboost", _catboost, {"iterations": 10}),
    "ebm": Method("interpret-core", _ebm, {"max_rounds": 10}),
}
DEFAULTS: dict[str, tuple[int | str, int | str]] = {"als": ("auto", 16), "bayesian": ("auto", 32)}


def default(benchmark: str, method: str, rows: int, predictors: int, threads: int = THREADS) -> Fit:
    return Fit(benchmark, method, rows, predictors, *DEFAULTS.get(method, ("", "")), threads)


def million() -> Iterator[Fit]:
    for method in METHODS:
        yield default("million", method, 1_000_000, 10)


def rows() -> Iterator[Fit]:
    """All but a million, which `million` has."""
    for count in (10_000, 30_000, 100_000, 300_000, 3_000_000, 10_000_000):
        for method in METHODS:
            most = {"ebm": 300_000, "bayesian": 300_000, "catboost": 3_000_000}.get(method, count)
            if count <= most:
                yield default("rows", method, count, 10)


def predictors() -> Iterator[Fit]:
    for count in (5, 10, 20, 50, 100, 200, 500):
        for method in METHODS:
            yield default("predictors", method, 20_000, count)


def levels() -> Iterator[Fit]:
    yield default("levels", "lightgbm", 30_000, 10)
    for count in (8, 16, 32, 64, 128, 255, 512, 1024):
        for method in ("als", "bayesian"):
            yield default("levels", method, 30_000, 10)._replace(levels=count)


def rank() -> Iterator[Fit]:
    yield default("rank", "lightgbm", 30_000, 10)
    for count in (1, 2, 4, 8, 16, 32, 64, 128):
        for method in ("als", "bayesian"):
            yield default("rank", method, 30_000, 10)._replace(rank=count)


def threads() -> Iterator[Fit]:
    """From all to one, halving, so that what is over the limit comes last."""
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
    """Predictors, and the function without noise."""
    X = np.random.default_rng(seed).random((rows, predictors))
    a, b, c, d, e = X[:, :5].T
    return X, 10.0 * np.sin(np.pi * a * b) + 20.0 * (c - 0.5) ** 2 + 10.0 * d + 5.0 * e


def noisy(rows: int, predictors: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = friedman(rows, predictors, seed)
    return X, y + np.random.default_rng([seed, 1]).standard_normal(rows)


def family() -> list[Path]:
    """The folders in /proc of this process and of its workers."""
    own = Path("/proc/self")
    workers = [number for task in own.glob("task/*/children") for number in task.read_text().split()]
    return [own, *(Path("/proc", number) for number in workers)]


def megabytes(entry: str) -> float:
    """VmRSS, the resident memory, or VmHWM, its peak, of this process and its workers together."""
    lines = [line for one in family() for line in (one / "status").read_text().splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith(f"{entry}:")) / 1024.0


def forget_peak() -> None:
    for one in family():
        (one / "clear_refs").write_text("5")


def measured(fit: Fit, limit: float, predicted: int) -> dict[str, float]:
    """Figures of one fit, in this process, which an alarm ends at the limit."""
    method = METHODS[fit.method]
    few, some = (min(pair) for pair in zip((fit.rows, fit.predictors), WARM_UP, strict=True))
    X, y = noisy(few, some, 1)
    method.make(fit).set_params(**method.brief).fit(X, y).predict(X[:100])
    before = megabytes("VmRSS")
    X, y = noisy(fit.rows, fit.predictors, 0)
    model = method.make(fit)
    forget_peak()
    signal.setitimer(signal.ITIMER_REAL, limit)
    started = time.perf_counter()
    model.fit(X, y)
    fit_seconds = time.perf_counter() - started
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    peak = megabytes("VmHWM") - before
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


def in_fresh_process(fit: Fit, limit: float, predicted: int) -> dict[str, Any]:
    """The same, with the fit's threads for every library, or what went wrong."""
    command = [sys.executable, __file__, "--measure", json.dumps([fit, limit, predicted])]
    count = str(fit.threads)
    pools = {"OMP_NUM_THREADS": count, "OPENBLAS_NUM_THREADS": count}
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, env=os.environ | pools, stdout=out, start_new_session=True)
        try:
            status = process.wait()
        finally:
            with suppress(ProcessLookupError):  # workers that the process left behind, or itself when interrupted
                os.killpg(process.pid, signal.SIGKILL)
        out.seek(0)
        if status == 0:
            return json.loads(out.read().splitlines()[-1])
    over = status == -signal.SIGALRM
    outcome = "over the limit" if over else f"ended with {status}"
    nothing = dict.fromkeys(("predict_seconds", "peak_megabytes", "rmse"), "")
    return {"fit_seconds": limit if over else "", **nothing, "outcome": outcome}


def limit_of(fit: Fit, turn: int, known: list[dict[str, Any]]) -> float:
    """Seconds that a fit may take; EBM on a million rows, as many times those of ALS in the same round."""
    if (fit.benchmark, fit.method) == ("million", "ebm"):
        for row in known:
            if (row["benchmark"], row["method"], int(row["round"])) == ("million", "als", turn) and not row["outcome"]:
                return EBM_TO_ALS * float(row["fit_seconds"])
    return LIMIT_OF_MILLION if fit.benchmark == "million" else LIMIT


def run(name: str, methods: list[str], known: list[dict[str, Any]], quick: bool) -> None:
    """All fits of a benchmark by some methods that are not among the known rows."""
    done = {(*(str(row[key]) for key in Fit._fields), int(row["round"])) for row in known}
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
            figures = [f"{key} {value:.4g}" for key, value in found.items() if isinstance(value, float)]
            print(*fit, *figures, found["outcome"], flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="*", choices=[*BENCHMARKS, []])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--methods", nargs="*", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        fit, limit, predicted = json.loads(chosen.measure)
        print(json.dumps(measured(Fit(*fit), limit, predicted)))
        return
    known: list[dict[str, Any]] = [] if chosen.quick else results.read("scale")
    for name in chosen.name or BENCHMARKS:
        run(name, chosen.methods, known, chosen.quick)


if __name__ == "__main__":
    main()
