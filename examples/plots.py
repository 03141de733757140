"""Plot a fitted model: the figure in the section "Plots" of the guide.

    python examples/plots.py [--picture PATH]

Simulated rents: a smooth effect of the size that differs by district, and ages with many missing values, mostly those
of old houses.
"""

import argparse
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import csid
from csid import plots

DISTRICTS = {"harbour": 14.0, "old town": 16.0, "hillside": 11.0, "mills": 9.0, "station": 10.0}


def town(rows: int, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.Series]:
    """Flats and their monthly rents."""
    size = np.clip(rng.gamma(9.0, 8.0, rows), 18, 180)
    age = rng.uniform(0, 110, rows)
    district = rng.choice(list(DISTRICTS), rows, p=[0.15, 0.25, 0.2, 0.25, 0.15])
    per_metre = np.array([DISTRICTS[name] for name in district])
    worn = 1.0 - 0.25 * np.sin(np.pi * age / 110)
    rent = 90 + per_metre * size**0.93 * worn + 45 * rng.standard_normal(rows)
    known = np.where(rng.random(rows) < 0.004 * age, np.nan, age)
    return pd.DataFrame({"size": size, "age of the house": known, "district": district}), pd.Series(rent, name="rent")


def picture(path: Path) -> None:
    """Top: effects. Bottom: two predictors together, Shapley values of one flat, and calibration of intervals."""
    rng = np.random.default_rng(0)
    X, y = town(2500, rng)
    new, rents = town(1000, rng)
    model = csid.BayesianCSIDRegressor(rank=8, missing="level", effort="fast", random_state=0).fit(X, y)
    figure = plt.figure(figsize=(10.5, 6.0), layout="constrained")
    above, below = figure.subfigures(2)
    plots.effects(model, ["size", "age of the house", "district"], axes=above.subplots(1, 3))
    pair, flat, coverage = below.subplots(1, 3)
    plots.pair(model, "size", "district", ax=pair)
    plots.waterfall(model, new, row=6, ax=flat)
    plots.calibration(model, new, rents, ax=coverage)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--picture", type=Path, default=Path("demo-output/plots.png"))
    picture(parser.parse_args().picture)
