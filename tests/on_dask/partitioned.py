"""The same rows in memory and cut into partitions."""

from typing import Any, NamedTuple

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd


class Data(NamedTuple):
    """X and y in memory; lazy : both as Dask collections."""

    X: Any
    y: Any
    lazy: tuple[Any, Any]


def mixed(rows: int = 600, missing: float = 0.0, npartitions: int = 4) -> Data:
    """Numbers with few different values and a category, some of them missing, and a smooth target."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 12, (rows, 3)) / 12, columns=list("abc"))
    X["d"] = rng.choice(["u", "v", "w"], rows)
    y = np.sin(3 * X["a"]) * X["b"] + X["c"] ** 2 + (X["d"] == "u") * X["a"] + 0.05 * rng.standard_normal(rows)
    if missing:
        X["b"] = X["b"].mask(rng.random(rows) < missing)
        X["d"] = X["d"].mask(rng.random(rows) < missing)
    lazy = (dd.from_pandas(part, npartitions=npartitions) for part in (X, y.rename("t")))
    return Data(X, y, tuple(lazy))


def numbers(rows: int = 500, predictors: int = 5, chunk: int = 120, outputs: int = 1) -> Data:
    """An array; y is cut otherwise than X, and X also between columns."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 10, (rows, predictors)) / 10
    y = np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2 + 0.05 * rng.standard_normal(rows)
    if outputs > 1:
        y = np.column_stack([y * (1 + j) + j * X[:, 1] for j in range(outputs)])
    return Data(X, y, (da.from_array(X, chunks=(chunk, 3)), da.from_array(y, chunks=200)))
