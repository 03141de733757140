"""The two tables of the README, from the rows of Table 1 and of the cost."""

import numpy as np
import pandas as pd

import pages
import paper
import problems
import results
from sections.measured import SPLITS, by_split, markdown, rows

SHOWN = {"csid": "csid", "lightgbm": "LightGBM", "xgboost": "XGBoost", "catboost": "CatBoost"}


def beside_boosters() -> str:
    """Mean RMSE beside tuned boosters and the paper, calibration, and the cost of a fit in fits of CatBoost."""
    found = rows(1)
    errors, coverage, crps = (by_split(found, figure) for figure in ("rmse", "coverage", "crps"))
    costs = pd.DataFrame(results.read("cost")).astype({"fit_seconds": float})
    seconds = costs.groupby(["task", "method"])["fit_seconds"].mean()
    lines = []
    for task in problems.TASKS:
        mean = {label: errors[task, method].mean() for method, label in SHOWN.items()}
        best = min(mean.values())
        lines.append(
            [
                task,
                *(f"**{error:.3g}**" if error == best else f"{error:.3g}" for error in mean.values()),
                f"{paper.TABLE1[task][paper.CSID][0]:.3g}",
                f"{100 * coverage[task, 'csid'].mean():.0f} %",
                f"{crps[task, 'csid'].mean():.3g}",
                f"{crps[task, 'catboost uncertainty'].mean():.3g}",
                f"{seconds[task, 'csid'] / seconds[task, 'catboost']:.1f} ×",
            ]
        )
    return markdown(["task", *SHOWN.values(), "paper", "covered", "CRPS", "CRPS of CatBoost", "cost"], lines)


def as_in_the_paper() -> str:
    """Our least squares beside the paper's, and whether ours stay within one of its standard deviations."""
    errors = by_split(rows(1))
    lines = []
    for task in problems.TASKS:
        mean, spread = paper.TABLE1[task][paper.CSID]
        ours, bar = errors[task, paper.CSID], mean + spread
        verdict = f"{bar:.2f}: {'yes' if ours.mean() <= bar else 'no'}"
        cells = [f"{ours.mean():.3f} ± {np.std(ours):.3f}", f"{mean:.2f} ± {spread:.2f}", verdict]
        lines.append([task, *cells])
    return markdown(["task", "ours", "paper", "at most paper + 1 sd"], lines)


def fill() -> None:
    """Both tables, each once all splits of all its methods are there."""
    errors = by_split(rows(1))
    needed = {
        "bayesian": ((*SHOWN, "catboost uncertainty"), beside_boosters),
        "parity": ((paper.CSID,), as_in_the_paper),
    }
    for mark, (methods, made) in needed.items():
        there = [len(errors.get((task, method), ())) for task in problems.TASKS for method in methods]
        if min(there) == SPLITS:
            pages.fill("README.md", mark, made())
        else:
            print(f"README.md: the table {mark} stays as it is, {sum(n < SPLITS for n in there)} of its cells to do")
