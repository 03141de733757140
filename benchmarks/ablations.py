"""Ablations: one parameter at a time is changed from the defaults of both estimators.

    python benchmarks/ablations.py [--quick] [--threads 1] [task ...]      # resumes; results/ablations.csv

The parameters are interpolation, smoothness order, levels, rank, number of chains and ensemble size, on three random
80/20 splits of five of the paper's tasks, with at most 6,000 training rows. For least squares, also the objective
against sweeps and against seconds, for its three update rules. With --quick, one split of one task, and nothing is
stored.
"""

import argparse
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

import problems
import results
from csid import BayesianCSIDRegressor, CSIDRegressor

TASKS = ("energy1", "concrete", "abalone", "ccpp", "bike2")
SPLITS, MOST_ROWS = 3, 6_000
ESTIMATORS = {"als": CSIDRegressor, "bayesian": BayesianCSIDRegressor}
LEVELS, RANKS = (8, 16, 32, 64, 128, 256), (1, 2, 4, 8, 16, 32, 64)
SWEEPS = (1, 2, 3, 5, 10, 20, 50, 100, 200)
UPDATES = {"mode": SWEEPS, "row": SWEEPS, "cg": (1, 5, 20)}  # "cg" takes the same steps as "mode", but slower


class Variant(NamedTuple):
    """An estimator with one change: its name and value as stored in the result rows, and the parameters."""

    estimator: str
    changed: str
    value: str
    parameters: dict[str, Any]


def variants() -> Iterator[Variant]:
    """The defaults first; values that equal the default are not fitted again.

    The number of chains is varied under a single prior, because with several priors every prior with a positive
    stacking weight has at least one chain.
    """
    for estimator in ESTIMATORS:
        yield Variant(estimator, "", "default", {})
        yield Variant(estimator, "interpolation", "constant", {"interpolation": "constant"})
        for levels in LEVELS:
            yield Variant(estimator, "levels", str(levels), {"levels": levels})
        for rank in RANKS:
            if rank != ESTIMATORS[estimator]().rank:
                yield Variant(estimator, "rank", str(rank), {"rank": rank})
    yield Variant("als", "smoothness_order", "2", {"smoothness_order": 2})
    yield Variant("als", "n_estimators", "8", {"n_estimators": 8})
    for order in (1, 2):
        yield Variant("bayesian", "smoothness_order", str(order), {"smoothness_order": order})
    for chains in (1, 2, 4, 8, 16):
        yield Variant("bayesian", "n_chains", str(chains), {"prior": "medium", "n_chains": chains})
    long = {"prior": "medium", "n_chains": 1, "n_burn": 8 * 40, "n_draws": 8 * 48}
    yield Variant("bayesian", "n_chains", "1, 8 times as long", long)
    for update, counts in UPDATES.items():
        for sweeps in counts:
            stop = {"max_iter": sweeps, "tol": 0.0, "n_iter_no_change": sweeps, "early_stopping": False}
            yield Variant("als", "update", f"{update}, {sweeps} sweeps", {"update": update, **stop})


class TrainTest(NamedTuple):
    """Training and test rows of one split."""

    X: pd.DataFrame
    y: np.ndarray
    X_test: pd.DataFrame
    y_test: np.ndarray


def split(task: str, seed: int) -> TrainTest:
    """A random 80/20 split, with at most `MOST_ROWS` training rows."""
    data = problems.load(task)
    train, test = problems.split(data, seed)
    train = train[:MOST_ROWS]
    return TrainTest(data.X.iloc[train], data.y[train], data.X.iloc[test], data.y[test])


def measure(variant: Variant, rows: TrainTest, seed: int, threads: int) -> dict[str, Any]:
    """Test RMSE and fit time; for least squares, also the number of sweeps and the final objective."""
    model = ESTIMATORS[variant.estimator](**variant.parameters, random_state=seed, n_jobs=threads)
    started = time.perf_counter()
    model.fit(rows.X, rows.y)
    seconds = time.perf_counter() - started
    rmse = float(np.sqrt(np.mean((model.predict(rows.X_test) - rows.y_test) ** 2)))
    objective = model.objective_history_[0][-1] if variant.estimator == "als" else ""
    return {"rmse": rmse, "fit_seconds": seconds, "sweeps": model.n_iter_, "objective": objective}


def warm_up() -> None:
    """Compile all kernels, so that compilation is not part of any measured time."""
    X = np.random.default_rng(0).uniform(size=(300, 3))
    for variant in variants():
        small = variant.parameters | ({"max_iter": 2} if variant.estimator == "als" else {"effort": "fast"})
        if variant.changed in ("", "interpolation", "smoothness_order", "update"):
            ESTIMATORS[variant.estimator](**small).fit(X, X.sum(axis=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", nargs="*", choices=[*TASKS, []])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    keys = ("task", "split", "estimator", "changed", "value")
    done = {tuple(row[key] for key in keys) for row in results.read("ablations")} if not chosen.quick else set()
    warm_up()
    names = chosen.task or list(TASKS)
    for seed in range(1 if chosen.quick else SPLITS):
        for task in names[:1] if chosen.quick else names:
            rows = split(task, seed)
            for variant in variants():
                setting = dict(zip(keys, (task, str(seed), *variant[:3]), strict=True))
                if tuple(setting.values()) in done:
                    continue
                metrics = measure(variant, rows, seed, chosen.threads)
                if not chosen.quick:
                    stored = setting | {"threads": chosen.threads} | metrics | results.provenance()
                    results.append("ablations", stored)
                print(*setting.values(), f"RMSE {metrics['rmse']:.4g}, {metrics['fit_seconds']:.2f} s", flush=True)


if __name__ == "__main__":
    main()
