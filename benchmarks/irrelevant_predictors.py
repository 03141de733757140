"""Tables with many irrelevant predictors: csid with all priors and without its sparse priors, and boosted trees.

    python benchmarks/irrelevant_predictors.py [--seeds 1]     # resumes; results/irrelevant_predictors.csv

The functions are Friedman's three, among uniform predictors without effect (noise with standard deviation 1 for the
first, 0.3 times that of the function for the others); and, for comparison, a linear function and a sum of sines in
which all thirty predictors have an effect. Errors are measured against the true function, on 4,000 new rows. The table
of decision 0018 is updated.
"""

import argparse
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
from catboost import CatBoostRegressor
from lightgbm import LGBMRegressor

import pages
import results
from csid import BayesianCSIDRegressor
from csid.priors import CATALOGUE
from metrics import rmse
from sections.measured import markdown

NEW_ROWS = 4_000
OTHER_PRIORS = [name for name in CATALOGUE if name not in ("mildly_sparse", "sparse")]
METHODS = {
    "csid, defaults": lambda shape, seed: BayesianCSIDRegressor(random_state=seed),
    "csid, without the sparse priors": lambda shape, seed: BayesianCSIDRegressor(
        prior=[name for name in OTHER_PRIORS if CATALOGUE[name].suits(*shape)], random_state=seed
    ),
    "CatBoost": lambda shape, seed: CatBoostRegressor(random_seed=seed, verbose=0, allow_writing_files=False),
    "LightGBM, 1,000 trees": lambda shape, seed: LGBMRegressor(
        n_estimators=1000, learning_rate=0.05, random_state=seed, verbose=-1
    ),
}


def friedman1(X: np.ndarray) -> np.ndarray:
    return 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]


def circuit(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Resistance and reactance, from Friedman's four uniform predictors."""
    frequency = np.pi * (40 + 520 * X[:, 1])
    return 100 * X[:, 0], frequency * X[:, 2] - 1 / (frequency * (1 + 10 * X[:, 3]))


def friedman2(X: np.ndarray) -> np.ndarray:
    return np.hypot(*circuit(X))


def friedman3(X: np.ndarray) -> np.ndarray:
    resistance, reactance = circuit(X)
    return np.arctan2(reactance, resistance)


def line(X: np.ndarray) -> np.ndarray:
    return (X - 0.5) @ np.linspace(-3.0, 3.0, X.shape[1])


def sines(X: np.ndarray) -> np.ndarray:
    return np.sin(7.0 * X) @ np.linspace(-2.0, 2.0, X.shape[1])


class SimulatedTable(NamedTuple):
    """A function of the first predictors, the size of the table, and the noise."""

    function: Callable[[np.ndarray], np.ndarray]
    rows: int
    predictors: int
    noise: float

    @property
    def name(self) -> str:
        return f"{self.function.__name__}, {self.rows:,} x {self.predictors}"

    def draw(self, seed: int) -> tuple[np.ndarray, ...]:
        """Predictors and noisy targets to fit; new predictors, and the true function on them."""
        rng = np.random.default_rng(seed)
        X = rng.uniform(size=(self.rows + NEW_ROWS, self.predictors))
        f = self.function(X)
        noisy = f + self.noise * rng.standard_normal(len(f)) * (1.0 if self.function is friedman1 else f.std())
        return X[: self.rows], noisy[: self.rows], X[self.rows :], f[self.rows :]


TABLES = (
    SimulatedTable(friedman1, 300, 10, 1.0),
    SimulatedTable(friedman1, 1_000, 30, 1.0),
    SimulatedTable(friedman1, 4_000, 50, 1.0),
    SimulatedTable(friedman1, 4_000, 100, 1.0),
    SimulatedTable(friedman2, 2_000, 15, 0.3),
    SimulatedTable(friedman3, 2_000, 15, 0.3),
    SimulatedTable(line, 1_500, 30, 0.3),
    SimulatedTable(sines, 2_500, 30, 0.3),
)


def update_decision() -> None:
    """Write the table of decision 0018: means over seeds."""
    rows = pd.DataFrame(results.read("irrelevant_predictors")).astype({"rmse": float})
    means = rows.pivot_table(index="task", columns="method", values="rmse")
    lines = [[table.name, *(f"{means.loc[table.name, method]:.3g}" for method in METHODS)] for table in TABLES]
    header = ["RMSE to the true function", *METHODS]
    pages.fill("docs/decisions/0018-irrelevant-predictors.md", "irrelevant predictors", markdown(header, lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1)
    done = {(row["task"], int(row["seed"]), row["method"]) for row in results.read("irrelevant_predictors")}
    for seed in range(parser.parse_args().seeds):
        for table in TABLES:
            X, y, X_new, f_new = table.draw(seed)
            for name, make in METHODS.items():
                if (table.name, seed, name) in done:
                    continue
                started = time.perf_counter()
                model = make(X.shape, seed).fit(X, y)
                seconds, error = time.perf_counter() - started, rmse(f_new, model.predict(X_new))
                row = {"task": table.name, "seed": seed, "method": name, "rmse": error, "fit_seconds": seconds}
                results.append("irrelevant_predictors", row | results.provenance())
                print(f"{table.name:24} {seed} {name:30} {error:.4g} ({seconds:.1f} s)", flush=True)
    update_decision()


if __name__ == "__main__":
    main()
