"""The paper's Table 1: twelve tasks, without hidden cells."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np

import paper
import problems
from comparisons import mean_ranks
from measuring import skipped
from methods import METHODS
from sections import drawing
from sections.compared import searches, significance
from sections.measured import LABELS, Errors, by_split, error_table, markdown, means, rows
from tables import TABLES

ORDER = [method for method in LABELS if method in TABLES[1].methods]
POINT_METHODS = [method for method in ORDER if method != "catboost uncertainty"]
"""Methods that optimise the mean prediction; only their errors are compared."""

TASKS = (*problems.TASKS, problems.SYNTHETIC)


def critical_differences(errors: Errors) -> str:
    """Mean ranks of the methods with all tasks; bars join methods that Nemenyi's test cannot distinguish."""
    mean = means(errors).reindex(index=POINT_METHODS, columns=list(problems.TASKS)).dropna()
    if len(mean) < 3:
        return "The plot of critical differences needs three methods with all tasks."
    ranks, p_value, critical = mean_ranks(mean.to_numpy().T)
    order = np.argsort(ranks)
    figure, axis = plt.subplots(figsize=(7, 0.28 * len(order) + 0.6), layout="constrained")
    for height, method in enumerate(order):
        axis.plot(ranks[method], -height, "ko", markersize=4)
        label = LABELS[mean.index[method]].strip("*")
        axis.annotate(f"{label}  {ranks[method]:.1f}", (ranks[method], -height), (8, -3), textcoords="offset points")
    for height, (first, last) in enumerate(cliques(ranks[order], critical)):
        x = ranks[order][first] - 0.12 - 0.12 * (height % 3)
        axis.plot([x, x], [-first, -last], "k", linewidth=2)
    axis.set(xlabel="mean rank over tasks", yticks=[], ylim=(-len(order) + 0.3, 0.7), xlim=(0.0, len(order) + 3))
    axis.spines[["left", "right", "top"]].set_visible(False)
    caption = (
        f"Mean rank by RMSE over the {mean.shape[1]} tasks, for the {len(mean)} methods that ran on all of them. "
        f"Friedman's test: p = {p_value:.1g}. Nemenyi's critical difference at 5 % is {critical:.2f}: methods joined "
        "by a bar do not differ significantly."
    )
    return drawing.save(figure, "critical_differences", caption)


def cliques(ranks: Sequence[float], critical: float) -> list[tuple[int, int]]:
    """First and last index of each maximal run of sorted ranks within the critical difference."""
    runs: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = max(n for n in range(first, len(ranks)) if ranks[n] - ranks[first] <= critical)
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs


def calibration() -> str:
    """Coverage of 90 % intervals and the CRPS, for the methods that have them."""
    found = rows(1)
    coverage, crps = (by_split(found, metric) for metric in ("coverage", "crps"))
    shown = [task for task in TASKS if any(task == name for name, _ in crps)]
    lines = []
    for method in (method for method in ORDER if found.loc[found["method"] == method, "crps"].notna().any()):
        for label, metric, text in (("coverage", coverage, "{:.0%}"), ("CRPS", crps, "{:.3g}")):
            cells = [text.format(metric[task, method].mean()) if (task, method) in metric else "·" for task in shown]
            lines.append([f"{LABELS[method]}, {label}", *cells])
    return markdown(["", *shown], lines)


def left_out(task: str, method: str) -> bool:
    """Whether a method is skipped on a task, because it takes too long."""
    return skipped(problems.load(task), METHODS[method])


def section() -> str:
    errors = by_split(rows(1))
    if not errors:
        return "## Table 1: no missing cells\n\nNot measured yet."
    limits = "; ".join(f"{LABELS[name]}: {METHODS[name].most_rows:,}" for name in ORDER if METHODS[name].most_rows)
    return f"""## Table 1: no missing cells

Test RMSE, mean ± standard deviation over ten random 80/20 splits. The best method of each task is bold. The paper's
results are below ours where it has the method. All methods except csid with defaults, CatBoost with
RMSEWithUncertainty, EBM and the Gaussian process are tuned once per task, on the training rows of the first split.
"—": skipped, because the task has more training rows than the method can handle in reasonable time ({limits}). "·":
not measured yet. A number in parentheses is the number of splits if it is not ten; networks, EBM and the Gaussian
process have three, to save time.

{error_table(errors, TASKS, ORDER, paper.TABLE1, left_out)}

The table below shows how settings were tuned. A random search has 30 trials of Optuna's TPE sampler. For boosted
trees and least squares, early stopping on the held-out fold sets the number of rounds. The first rows measured, of
CatBoost and csid, have no MAE, seconds and memory.

{searches(ORDER)}

csid with defaults compared with each method, by the corrected resampled t-test (Nadeau and Bengio) over the splits of a
task that both have:

{significance(errors, problems.TASKS, POINT_METHODS)}

{critical_differences(errors)}

Coverage of 90 % predictive intervals, and CRPS (twice the mean pinball loss over 19 quantiles):

{calibration()}"""
