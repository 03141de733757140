"""The paper's Table 1: twelve tasks, nothing hidden."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np

import paper
import problems
from comparisons import corrected_t, mean_ranks
from methods import METHODS
from methods.method import Space
from sections import drawing
from sections.measured import LABELS, Errors, by_split, error_table, markdown, means, rows
from tables import TABLES, skipped

ORDER = [method for method in LABELS if method in TABLES[1].methods]
POINTS = [method for method in ORDER if method != "catboost uncertainty"]
"""Methods that aim at the mean alone, whose errors are compared."""

TASKS = (*problems.TASKS, problems.SYNTHETIC)


def tests(errors: Errors) -> str:
    """For each other method, on how many tasks csid is better or worse, and on how many of those significantly."""
    lines = []
    for method in POINTS:
        pairs = [(errors.get((task, "csid")), errors.get((task, method))) for task in problems.TASKS]
        pairs = [(ours, theirs) for ours, theirs in pairs if ours is not None and theirs is not None]
        if method == "csid" or not pairs:
            continue
        gaps = [ours[: len(theirs)] - theirs[: len(ours)] for ours, theirs in pairs]
        signs = [(np.mean(gap), corrected_t(gap) < 0.05) for gap in gaps if len(gap) > 1]
        counts = [sum(d < 0 for d, _ in signs), sum(d < 0 and sure for d, sure in signs)]
        counts += [sum(d > 0 for d, _ in signs), sum(d > 0 and sure for d, sure in signs)]
        lines.append([LABELS[method], str(len(signs)), *map(str, counts)])
    return markdown(["csid beside", "tasks", "better", "of these p < 0.05", "worse", "of these p < 0.05"], lines)


def critical_differences(errors: Errors) -> str:
    """Mean ranks of the methods that have all tasks; a bar joins those that Nemenyi's test does not tell apart."""
    mean = means(errors).reindex(index=POINTS, columns=list(problems.TASKS)).dropna()
    if len(mean) < 3:
        return "The figure of critical differences needs three methods with all tasks."
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
        f"Mean rank of RMSE over the {mean.shape[1]} tasks, of the {len(mean)} methods that ran on all of them. "
        f"Friedman's test: p = {p_value:.1g}. Nemenyi's critical difference at 5 % is {critical:.2f}: methods beside "
        "the same bar are not told apart."
    )
    return drawing.save(figure, "critical_differences", caption)


def cliques(ranks: Sequence[float], critical: float) -> list[tuple[int, int]]:
    """First and last of each longest run of ordered ranks that lie within the critical difference."""
    runs: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = max(n for n in range(first, len(ranks)) if ranks[n] - ranks[first] <= critical)
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs


def calibration() -> str:
    """Coverage of 90 % intervals and the CRPS, for the methods that have them."""
    found = rows(1)
    coverage, crps = (by_split(found, figure) for figure in ("coverage", "crps"))
    shown = [task for task in TASKS if any(task == one for one, _ in crps)]
    lines = []
    for method in (method for method in ORDER if found.loc[found["method"] == method, "crps"].notna().any()):
        for label, figures, text in (("covered", coverage, "{:.0%}"), ("CRPS", crps, "{:.3g}")):
            cells = [text.format(figures[task, method].mean()) if (task, method) in figures else "·" for task in shown]
            lines.append([f"{LABELS[method]}, {label}", *cells])
    return markdown(["", *shown], lines)


def left_out(task: str, method: str) -> bool:
    """Whether a method takes too long on a task."""
    return skipped(problems.load(task), METHODS[method])


def searches() -> str:
    """How the settings of each method are found."""
    lines = []
    for one in ORDER:
        method = METHODS[one]
        if method.search is None:
            given = ", ".join(f"{name} {value}" for name, value in method.settings.items())
            lines.append([LABELS[one], given or "its defaults", "", ""])
            continue
        found = "random search" if isinstance(method.search, Space) else "grid"
        most = f"{method.tuning_rows:,}" if method.tuning_rows else "all"
        lines.append([LABELS[one], found, str(method.search.folds), most])
    return markdown(["method", "settings", "folds", "rows of the search, at most"], lines)


def section() -> str:
    errors = by_split(rows(1))
    if not errors:
        return "## Table 1: no missing cells\n\nNot measured yet."
    limits = "; ".join(f"{LABELS[one]}: {METHODS[one].most_rows:,}" for one in ORDER if METHODS[one].most_rows)
    return f"""## Table 1: no missing cells

Test RMSE, mean ± standard deviation over ten random 80/20 splits, the best of each task bold, and the paper's figures
beneath ours where it has the method. Every method but csid's defaults, EBM and the Gaussian process is tuned once a
task, on the training rows of the first split. "—": left out, since the task has more training rows than the method is
given ({limits}). "·": not measured yet; a number in brackets says how many splits there are when not ten; networks,
EBM and the Gaussian process are given three, for time.

{error_table(errors, TASKS, ORDER, paper.TABLE1, left_out)}

How settings were found; a random search has 30 trials of Optuna's sampler, and boosters, least squares and their rounds
stop early on the held-out fold. Rows of CatBoost and csid that were measured before the others have no MAE, seconds and
memory.

{searches()}

Beside csid's defaults, by the corrected resampled t-test (Nadeau and Bengio) over the splits of a task that both have:

{tests(errors)}

{critical_differences(errors)}

90 % intervals and the CRPS (twice the mean pinball loss over 19 quantiles):

{calibration()}"""
