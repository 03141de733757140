"""The Bayesian estimator with all-default settings beside gradient boosting with default settings.

    python benchmarks/bayesian.py [--splits 10] [--methods csid ...] [task ...]   # resumes; results/bayesian.csv

Random 80/20 splits; every method sees the same rows, and two threads. Accuracy is the RMSE on the test rows; coverage
that of 90 % intervals; the CRPS is twice the mean pinball loss over 19 quantiles. Boosters are not tuned here.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import results
import tasks
from csid import BayesianCSIDRegressor

THREADS = 2
QUANTILES = np.arange(1, 20) / 20.0


def csid_model(effort: str) -> Callable[..., dict[str, float]]:
    def run(X_train: pd.DataFrame, y_train: np.ndarray, X_test: pd.DataFrame, y_test: np.ndarray, seed: int) -> Any:
        started = time.perf_counter()
        model = BayesianCSIDRegressor(effort=effort, random_state=seed, n_jobs=THREADS).fit(X_train, y_train)
        fitted = time.perf_counter()
        predicted = model.predict(X_test)
        done = time.perf_counter()
        lower, upper = model.predict_interval(X_test, 0.9)
        miss = y_test[:, None] - model.predict_quantiles(X_test, QUANTILES)
        return {
            "rmse": rmse(y_test, predicted),
            "coverage": float(np.mean((lower <= y_test) & (y_test <= upper))),
            "crps": float(2.0 * np.maximum(QUANTILES * miss, (QUANTILES - 1.0) * miss).mean()),
            "fit_seconds": fitted - started,
            "predict_seconds": done - fitted,
        }

    return run


def booster(make: Callable[[list[str], int], Any], words: bool) -> Callable[..., dict[str, float]]:
    """A peer; `words` for one that wants categories as strings."""

    def run(X_train: pd.DataFrame, y_train: np.ndarray, X_test: pd.DataFrame, y_test: np.ndarray, seed: int) -> Any:
        both = pd.concat([X_train, X_test]).set_axis([f"x{n}" for n in range(X_train.shape[1])], axis=1)
        categories = [name for name in both if not pd.api.types.is_numeric_dtype(both[name])]
        both[categories] = both[categories].astype(str if words else "category")
        started = time.perf_counter()
        model = make(categories, seed).fit(both.iloc[: len(y_train)], y_train)
        fitted = time.perf_counter()
        predicted = model.predict(both.iloc[len(y_train) :])
        return {
            "rmse": rmse(y_test, predicted),
            "coverage": np.nan,
            "crps": np.nan,
            "fit_seconds": fitted - started,
            "predict_seconds": time.perf_counter() - fitted,
        }

    return run


def catboost(categories: list[str], seed: int) -> Any:
    from catboost import CatBoostRegressor

    quiet = {"verbose": 0, "allow_writing_files": False}
    return CatBoostRegressor(cat_features=categories, random_seed=seed, thread_count=THREADS, **quiet)


def lightgbm(categories: list[str], seed: int) -> Any:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_estimators=1000, learning_rate=0.05, random_state=seed, n_jobs=THREADS, verbose=-1)


def rmse(y: np.ndarray, predicted: np.ndarray) -> float:
    return float(np.sqrt(np.mean((y - predicted) ** 2)))


METHODS: dict[str, Callable[..., dict[str, float]]] = {
    "csid": csid_model("default"),
    "csid fast": csid_model("fast"),
    "catboost": booster(catboost, words=True),
    "lightgbm 1000 trees": booster(lightgbm, words=False),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", nargs="*", default=list(tasks.NAMES))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    chosen = parser.parse_args()
    done = {(row["task"], int(row["split"]), row["method"]) for row in results.read("bayesian")}
    X = np.random.default_rng(0).uniform(size=(100, 2))
    BayesianCSIDRegressor(effort="fast", random_state=0).fit(X, X.sum(axis=1))  # compiles
    for split in range(chosen.splits):
        for name in chosen.task:
            task = tasks.load(name)
            train, test = tasks.split(task, split)
            for method in chosen.methods:
                if (name, split, method) in done:
                    continue
                figures = METHODS[method](task.X.iloc[train], task.y[train], task.X.iloc[test], task.y[test], split)
                row = {"task": name, "split": split, "method": method, **figures, **results.provenance()}
                results.append("bayesian", row)
                print(f"{name:12} split {split} {method:20} RMSE {figures['rmse']:.4g}", flush=True)


if __name__ == "__main__":
    main()
