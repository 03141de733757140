"""Predictors of few whole numbers as numbers, as categories, and as the pilot decides.

    python benchmarks/whole_numbers.py [--splits 2] [task ...]    # resumes; updates decision 0023

All coded categories of a table are given as numbers. "Renumbered" tables have the codes of their hours, months,
weekdays, seasons and weather permuted at random. "Shops" are simulated: forty shops with arbitrary codes and effects,
eight sizes and seven days with smooth ones; their error is that to the true function. Fits use one thread, and seconds
are of its processor time.
"""

import argparse
import time
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd

import pages
import problems
import results
from csid import BayesianCSIDRegressor
from metrics import rmse
from sections.measured import markdown

KINDS = ("number", "category", "auto")
CODES = ("shops 600", "shops 2000", "shops 8000", "bike2 renumbered")
ORDERED = ("bike1", "bike2", "energy1", "energy2", "concrete", "skillcraft", "abalone")
_CYCLES, _NEW_ROWS = ["season", "mnth", "hr", "weekday", "weathersit"], 4_000


class Split(NamedTuple):
    """Rows to fit, and rows to predict: noisy targets y and what the error is taken to."""

    X: pd.DataFrame
    y: np.ndarray
    X_new: pd.DataFrame
    f_new: np.ndarray


def shops(rows: int, seed: int) -> Split:
    """Simulated sales."""
    rng = np.random.default_rng([rows, seed])
    effects = rng.standard_normal(41)
    M = rows + _NEW_ROWS
    X = pd.DataFrame({"price": rng.uniform(-1, 1, M), "shop": rng.integers(1, 41, M)})
    X["size"], X["day"] = rng.integers(1, 9, M), rng.integers(0, 7, M)
    f = np.sin(3.0 * X["price"]) * (1.0 + 0.1 * X["size"]) + effects[X["shop"]] + np.sin(2.0 * np.pi * X["day"] / 7.0)
    f = f.to_numpy()
    y = f + 0.5 * rng.standard_normal(M)
    return Split(X[:rows], y[:rows], X[rows:], f[rows:])


@cache
def coded(name: str) -> problems.BenchmarkProblem:
    """A problem whose coded categories are numbers, as most files have them."""
    problem = problems.load(name.removesuffix(" renumbered"))
    X = problem.X.copy()
    for column in X:
        if isinstance(X[column].dtype, pd.CategoricalDtype) and pd.api.types.is_numeric_dtype(
            X[column].cat.categories.dtype
        ):
            X[column] = X[column].astype(float)
    if name.endswith(" renumbered"):
        rng = np.random.default_rng(0)
        for column in _CYCLES:
            values = np.unique(X[column])
            X[column] = X[column].map(dict(zip(values, rng.permutation(values), strict=True)))
    return replace(problem, X=X)


def split_of(task: str, seed: int) -> Split:
    if task.startswith("shops "):
        return shops(int(task.removeprefix("shops ")), seed)
    problem = coded(task)
    train, test = problems.split(problem, seed)
    return Split(problem.X.iloc[train], problem.y[train], problem.X.iloc[test], problem.y[test])


def update_decision() -> None:
    """Write the table of decision 0023: mean errors over the splits, processor time, and what became a category."""
    rows = pd.DataFrame(results.read("whole_numbers")).astype({"rmse": float, "fit_seconds": float})
    lines = []
    for task in (*CODES, *ORDERED):
        own = rows[rows["task"] == task]
        if set(own["kind"]) != set(KINDS):
            continue
        means = own.groupby("kind")[["rmse", "fit_seconds"]].mean()
        found = "; ".join(own[own["kind"] == "auto"]["categories"].replace("", "none"))
        seconds = [f"{means.loc[kind, 'fit_seconds']:.1f}" for kind in ("number", "auto")]
        lines.append([task, *(f"{means.loc[kind, 'rmse']:.4g}" for kind in KINDS), " to ".join(seconds), found])
    header = ["RMSE", "numbers", "categories", "auto", "seconds, numbers to auto", "categories of each split"]
    pages.fill("docs/decisions/0023-whole-numbers.md", "whole numbers", markdown(header, lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", nargs="*", default=[*CODES, *ORDERED])
    parser.add_argument("--splits", type=int, default=2)
    chosen = parser.parse_args()
    done = {(row["task"], int(row["split"]), row["kind"]) for row in results.read("whole_numbers")}
    BayesianCSIDRegressor(effort="fast", n_jobs=1).fit(*split_of("shops 600", 0)[:2])  # compiles
    for seed in range(chosen.splits):
        for task in chosen.task:
            split = split_of(task, seed)
            for kind in KINDS:
                if (task, seed, kind) in done:
                    continue
                started = time.process_time()
                model = BayesianCSIDRegressor(whole_numbers=kind, random_state=seed, n_jobs=1).fit(split.X, split.y)
                row = {
                    "task": task,
                    "split": seed,
                    "kind": kind,
                    "rmse": rmse(split.f_new, model.predict(split.X_new)),
                    "fit_seconds": time.process_time() - started,
                    "categories": " ".join(name for name, is_ in model.whole_numbers_.items() if is_ == "category"),
                }
                results.append("whole_numbers", row | results.provenance())
                print(f"{task:18} split {seed} {kind:8} {row['rmse']:.4g} ({row['fit_seconds']:.1f} s)", flush=True)
    update_decision()


if __name__ == "__main__":
    main()
