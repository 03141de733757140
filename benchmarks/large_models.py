"""Two tables whose models are large: fit time, bytes of the model and of the page, error and coverage.

python benchmarks/large_models.py predictors      200 rows, 300 predictors
python benchmarks/large_models.py categories      16,000 rows, 2 predictors, one of 5,000 words
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from csid import BayesianCSIDRegressor

Array = np.ndarray
Table = Callable[[int], tuple[Any, Array]]


def predictors(rng: np.random.Generator) -> Table:
    def rows(count: int) -> tuple[Any, Array]:
        X = rng.standard_normal((count, 300))
        return X, X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3] + 0.3 * rng.standard_normal(count)

    return rows


def categories(rng: np.random.Generator) -> Table:
    words, effects = [f"word {c}" for c in range(5000)], rng.standard_normal(5000)

    def rows(count: int) -> tuple[Any, Array]:
        at, x = rng.integers(0, 5000, count), rng.uniform(-1, 1, count)
        X = pd.DataFrame({"word": pd.Categorical([words[c] for c in at], categories=words), "x": x})
        return X, effects[at] + np.sin(3 * x) + 0.1 * rng.standard_normal(count)

    return rows


def main(name: str) -> None:
    table, n_rows = {"predictors": (predictors, 200), "categories": (categories, 16_000)}[name]
    rows = table(np.random.default_rng(0))
    train, (X, y) = rows(n_rows), rows(1000)
    start = time.process_time()
    model = BayesianCSIDRegressor(random_state=0).fit(*train)
    print(f"fit: {time.process_time() - start:.1f} CPU s; {model.cpd_}")
    predicted, (lower, upper) = model.predict(X), model.predict_interval(X)
    error, coverage = np.sqrt(np.mean((predicted - y) ** 2)), np.mean((lower <= y) & (y <= upper))
    print(f"RMSE {error:.4f}, 90 % intervals cover {100 * coverage:.1f} %")
    with tempfile.TemporaryDirectory() as folder:
        for suffix, write in (("csid", model.save), ("html", model.report)):
            start, path = time.process_time(), Path(folder) / f"model.{suffix}"
            write(path)
            print(f"{suffix}: {path.stat().st_size / 1e6:.1f} MB, {time.process_time() - start:.1f} CPU s")


if __name__ == "__main__":
    main(sys.argv[1])
