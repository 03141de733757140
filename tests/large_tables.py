"""Tables to fit, and the same tables in Parquet files."""

from pathlib import Path

import numpy as np
import pandas as pd


def table(rows: int = 1500, seed: int = 0, missing: float = 0.1) -> pd.DataFrame:
    """Numbers, words and a boolean, with missing cells; two targets and a weight."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.uniform(-1, 1, (rows, 3)), columns=["a", "b", "c"])
    X["word"] = rng.choice(["low", "middle", "high"], rows)
    X["flag"] = rng.random(rows) < 0.4
    X["y"] = np.sin(3 * X.a) * X.b + X.c**2 * (X.word == "low") + 0.3 * X.flag
    X["z"] = X.b - X.c * X.a
    X["weight"] = rng.integers(0, 3, rows).astype(float)
    for name in ("a", "word"):
        X.loc[rng.random(rows) < missing, name] = None
    return X


def written(X: pd.DataFrame, folder: Path, parts: int = 3) -> Path:
    """A folder with the rows in several Parquet files."""
    for number, rows in enumerate(np.array_split(np.arange(len(X)), parts)):
        X.iloc[rows].to_parquet(folder / f"part-{number}.parquet")
    return folder
