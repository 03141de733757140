"""The Bayesian estimator with all-default settings beside gradient boosting, tuned and not.

    python benchmarks/tune.py                                                    # first: settings of the boosters
    python benchmarks/bayesian.py [--splits 10] [--threads 2] [--methods csid ...] [task ...]     # resumes
    python benchmarks/bayesian.py --cost           # seconds instead, in one run, method after method on the first split
    python benchmarks/bayesian.py --report                                     # the table of the README, from the rows

Random 80/20 splits; every method sees the same rows. Results are rows of results/bayesian.csv and results/cost.csv.
Accuracy is the RMSE on the test rows; coverage that of 90 % intervals; the CRPS is twice the mean pinball loss over 19
quantiles. The cost of predictions is that of 100,000 rows, drawn again and again from the test rows.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

import pages
import results
import tasks
from boosters import BOOSTERS
from csid import BayesianCSIDRegressor
from tune import tuned

QUANTILES = np.arange(1, 20) / 20.0
MANY_ROWS, ROUNDS = 100_000, 2


@dataclass(frozen=True)
class Method:
    """What to fit; `make` is given the task's name and its categories, a seed and the number of threads.

    booster : whose form of the table it wants, if it is one.
    quantiles : from the fitted model and a table, (M, 19), if it has them.
    """

    make: Callable[[str, list[str], int, int], Any]
    booster: str | None = None
    quantiles: Callable[[Any, pd.DataFrame], np.ndarray] | None = None

    def table(self, X: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
        return (X, []) if self.booster is None else BOOSTERS[self.booster].table(X)


def csid(effort: str) -> Method:
    return Method(
        lambda task, categories, seed, threads: BayesianCSIDRegressor(effort=effort, random_state=seed, n_jobs=threads),
        quantiles=lambda model, X: model.predict_quantiles(X, QUANTILES),
    )


def booster(name: str, **settings: Any) -> Method:
    make = BOOSTERS[name].make
    return Method(lambda task, categories, seed, threads: make(settings, categories, seed, threads), name)


def tuned_booster(name: str) -> Method:
    make = BOOSTERS[name].make
    return Method(lambda task, categories, seed, threads: make(tuned(task, name), categories, seed, threads), name)


def normal_quantiles(model: Any, X: pd.DataFrame) -> np.ndarray:
    """Of a model that predicts a mean and a variance."""
    mean, variance = model.predict(X).T
    return np.asarray(mean[:, None] + np.sqrt(variance)[:, None] * norm.ppf(QUANTILES))


uncertain = booster("catboost", loss_function="RMSEWithUncertainty")
METHODS = {
    "csid": csid("default"),
    "csid fast": csid("fast"),
    "csid best": csid("best"),
    "catboost": booster("catboost"),
    "catboost uncertainty": Method(uncertain.make, "catboost", normal_quantiles),
    "lightgbm 1000 trees": booster("lightgbm", n_estimators=1000, learning_rate=0.05),
    "lightgbm tuned": tuned_booster("lightgbm"),
    "xgboost tuned": tuned_booster("xgboost"),
    "catboost tuned": tuned_booster("catboost"),
}
ACCURACY = [name for name in METHODS if name != "csid best"]
COST = ["csid", "csid fast", "catboost", "lightgbm 1000 trees"]


def rmse(y: np.ndarray, predicted: np.ndarray) -> float:
    return float(np.sqrt(np.mean((y - predicted) ** 2)))


def quantile_figures(y: np.ndarray, quantiles: np.ndarray) -> tuple[float, float]:
    """Coverage of the interval between the outer quantiles (M, 19), and the CRPS."""
    miss = y[:, None] - quantiles
    crps = 2.0 * np.maximum(QUANTILES * miss, (QUANTILES - 1.0) * miss).mean()
    return float(np.mean((quantiles[:, 0] <= y) & (y <= quantiles[:, -1]))), float(crps)


def accuracy(task: tasks.Task, split: int, method: Method, threads: int) -> dict[str, float]:
    """Errors on the test rows of a split."""
    train, test = tasks.split(task, split)
    X, categories = method.table(task.X)
    y_test = task.y[test]
    model = method.make(task.name, categories, split, threads).fit(X.iloc[train], task.y[train])
    figures = {"rmse": np.nan, "coverage": np.nan, "crps": np.nan}
    if method.quantiles is not None:
        quantiles = method.quantiles(model, X.iloc[test])
        figures["coverage"], figures["crps"] = quantile_figures(y_test, quantiles)
    predicted = np.asarray(model.predict(X.iloc[test]))
    figures["rmse"] = rmse(y_test, predicted if predicted.ndim == 1 else predicted[:, 0])
    return figures


def cost(task: tasks.Task, method: Method, threads: int) -> dict[str, float]:
    """Seconds of a fit on the training rows of the first split, and of predictions for many rows."""
    train, test = tasks.split(task, 0)
    X, categories = method.table(task.X)
    X_train, y_train, X_many = X.iloc[train], task.y[train], X.iloc[np.resize(test, MANY_ROWS)]
    started = time.perf_counter()
    model = method.make(task.name, categories, 0, threads).fit(X_train, y_train)
    fitted = time.perf_counter()
    model.predict(X_many)
    return {"fit_seconds": fitted - started, "predict_seconds": time.perf_counter() - fitted}


SHOWN = {
    "csid": "csid",
    "lightgbm tuned": "LightGBM",
    "xgboost tuned": "XGBoost",
    "catboost tuned": "CatBoost",
}


def _mean(rows: pd.DataFrame, task: str, method: str, figure: str, least: int = 1) -> float:
    """The mean over splits; NaN when there are fewer than `least`."""
    of_method = rows.loc[(rows["task"] == task) & (rows["method"] == method), figure].astype(float)
    return float(of_method.mean()) if len(of_method) >= least else float("nan")


def report() -> None:
    """The table of the README: mean RMSE beside tuned boosters and the paper, calibration, and cost.

    A mean over fewer splits than ours is not shown, nor a column without any.
    """
    columns = ["task", "method", "rmse", "coverage", "crps", "fit_seconds"]
    rows, costs = (pd.DataFrame(results.read(name), columns=columns) for name in ("bayesian", "cost"))
    lines = []
    for name in tasks.NAMES:
        splits = int(((rows["task"] == name) & (rows["method"] == "csid")).sum())
        errors = {SHOWN[method]: _mean(rows, name, method, "rmse", splits) for method in SHOWN}
        known = [error for error in errors.values() if not np.isnan(error)]
        best = min(known) if len(known) > 1 else np.nan
        cells = {label: f"**{error:.3g}**" if error == best else f"{error:.3g}" for label, error in errors.items()}
        cells["paper"] = f"{tasks.load(name).paper[0]:.3g}"
        cells["covered"] = f"{100 * _mean(rows, name, 'csid', 'coverage', splits):.0f} %"
        cells["CRPS"] = f"{_mean(rows, name, 'csid', 'crps', splits):.3g}"
        cells["CRPS of CatBoost"] = f"{_mean(rows, name, 'catboost uncertainty', 'crps', splits):.3g}"
        fits = [_mean(costs, name, method, "fit_seconds") for method in ("csid", "catboost")]
        cells["cost"] = f"{fits[0] / fits[1]:.1f} ×"
        lines.append({"task": name} | cells)
    table = pd.DataFrame(lines).map(lambda cell: "" if "nan" in cell else cell)
    table = table.loc[:, (table != "").any()]
    text = [list(table.columns), ["---"] * table.shape[1], *table.to_numpy().tolist()]
    pages.fill("README.md", "bayesian", "\n".join("| " + " | ".join(cells) + " |" for cells in text))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", nargs="*", default=list(tasks.NAMES))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--methods", nargs="*", choices=list(METHODS))
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--report", action="store_true")
    chosen = parser.parse_args()
    if chosen.report:
        report()
        return
    warnings.filterwarnings("ignore", category=UserWarning)
    name_of_results, methods = ("cost", COST) if chosen.cost else ("bayesian", ACCURACY)
    done = {(row["task"], int(row["split"]), row["method"]) for row in results.read(name_of_results)}
    X = np.random.default_rng(0).uniform(size=(100, 2))
    BayesianCSIDRegressor(effort="fast", random_state=0).fit(X, X.sum(axis=1))  # compiles
    for split in range(ROUNDS if chosen.cost else chosen.splits):  # of the cost: rounds on the same split
        for name in chosen.task:
            task = tasks.load(name)
            for method in chosen.methods or methods:
                if (name, split, method) in done:
                    continue
                if chosen.cost:
                    figures = cost(task, METHODS[method], chosen.threads)
                else:
                    figures = accuracy(task, split, METHODS[method], chosen.threads)
                row = {"task": name, "split": split, "method": method, **figures, **results.provenance()}
                results.append(name_of_results, row)
                shown = "  ".join(f"{figure} {value:.4g}" for figure, value in figures.items())
                print(f"{name:12} {split} {method:20} {shown}", flush=True)


if __name__ == "__main__":
    main()
