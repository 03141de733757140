"""The two tables of the README, from the rows of Table 1 and of the fit times."""

import numpy as np
import pandas as pd

import pages
import paper
import problems
import results
from sections.measured import SPLITS, by_split, markdown, rows

SHOWN = {"csid": "csid", "lightgbm": "LightGBM", "xgboost": "XGBoost", "catboost": "CatBoost"}


def compared_with_boosters() -> str:
    """Mean RMSE of csid, tuned boosters and the paper; coverage and CRPS; fit time relative to CatBoost."""
    found = rows(1)
    errors, coverage, crps = (by_split(found, metric) for metric in ("rmse", "coverage", "crps"))
    times = pd.DataFrame(results.read("cost")).astype({"fit_seconds": float})
    seconds = times.groupby(["task", "method"])["fit_seconds"].mean()
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
    header = ["task", *SHOWN.values(), "paper", "coverage", "CRPS", "CatBoost's CRPS", "fit time / CatBoost's"]
    return markdown(header, lines)


def paper_parity() -> str:
    """RMSE of our least squares and of the paper's, and whether ours is within one of its standard deviations."""
    errors = by_split(rows(1))
    lines = []
    for task in problems.TASKS:
        mean, deviation = paper.TABLE1[task][paper.CSID]
        ours, limit = errors[task, paper.CSID], mean + deviation
        verdict = f"{limit:.2f}: {'yes' if ours.mean() <= limit else 'no'}"
        cells = [f"{ours.mean():.3f} ± {np.std(ours):.3f}", f"{mean:.2f} ± {deviation:.2f}", verdict]
        lines.append([task, *cells])
    return markdown(["task", "csid", "paper", "at most paper + 1 sd"], lines)


def fill_readme() -> None:
    """Write both tables, each as soon as all splits of all its methods are measured."""
    errors = by_split(rows(1))
    needed = {
        "bayesian": ((*SHOWN, "catboost uncertainty"), compared_with_boosters),
        "parity": ((paper.CSID,), paper_parity),
    }
    for mark, (methods, make_table) in needed.items():
        counts = [len(errors.get((task, method), ())) for task in problems.TASKS for method in methods]
        if min(counts) == SPLITS:
            pages.fill("README.md", mark, make_table())
        else:
            missing = sum(count < SPLITS for count in counts)
            print(f"README.md: table {mark} is unchanged, because {missing} of its cells are not measured yet")
