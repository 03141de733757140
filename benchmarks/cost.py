"""Fit and prediction times of several methods, measured in one run so that they can be compared.

    python benchmarks/cost.py [--threads 2] [task ...]     # resumes; rows in benchmarks/results/cost.csv

Fits use the training rows of the first split; predictions are for 100,000 rows, the repeated test rows of that split.
Run it on an idle machine.
"""

import argparse
import time
import warnings

import numpy as np

import problems
import results
from methods import METHODS
from methods.method import Settings, categories
from problems import BenchmarkProblem
from tables import compile_first

MANY_ROWS, ROUNDS = 100_000, 2
CONTENDERS: dict[str, tuple[str, Settings]] = {  # method and settings
    "csid": ("csid", {}),
    "csid fast": ("csid", {"effort": "fast"}),
    "catboost": ("catboost", {}),
    "lightgbm 1000 trees": ("lightgbm", {"n_estimators": 1000, "learning_rate": 0.05}),
}


def fit_and_predict_seconds(problem: BenchmarkProblem, name: str, settings: Settings, threads: int) -> dict[str, float]:
    """Seconds for a fit, and for the prediction of many rows."""
    method = METHODS[name]
    train, test = problems.split(problem, 0)
    X = method.prepare(problem.X)
    X_train, y_train, X_many = X.iloc[train], problem.y[train], X.iloc[np.resize(test, MANY_ROWS)]
    started = time.perf_counter()
    model = method.make(settings, categories(X), 0, threads).fit(X_train, y_train)
    fitted = time.perf_counter()
    model.predict(X_many)
    return {"fit_seconds": fitted - started, "predict_seconds": time.perf_counter() - fitted}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", nargs="*", default=list(problems.TASKS))
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    done = {(row["task"], int(row["split"]), row["method"]) for row in results.read("cost")}
    compile_first()
    for turn in range(ROUNDS):
        for task in chosen.task:
            for name, (method, settings) in CONTENDERS.items():
                if (task, turn, name) in done:
                    continue
                seconds = fit_and_predict_seconds(problems.load(task), method, settings, chosen.threads)
                results.append("cost", {"task": task, "split": turn, "method": name, **seconds} | results.provenance())
                print(f"{task:12} {turn} {name:20} fit {seconds['fit_seconds']:.2f} s", flush=True)


if __name__ == "__main__":
    main()
