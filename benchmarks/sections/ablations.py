"""Ablations: the effect of each modelling choice, one changed at a time."""

import numpy as np
import pandas as pd
from matplotlib.ticker import NullFormatter

import results
from sections import drawing
from sections.curves import CURVES, Curve, legend_below, panels
from sections.measured import markdown

NUMBERS = ("split", "rmse", "fit_seconds", "sweeps", "objective")
DEFAULT_RANKS = {"als": 10, "bayesian": 32}
CHANGES = {
    ("als", "interpolation", "constant"): "interpolation: constant instead of linear",
    ("als", "smoothness_order", "2"): "second instead of first differences",
    ("als", "n_estimators", "8"): "ensemble of eight instead of one model",
    ("bayesian", "interpolation", "constant"): "interpolation: constant instead of linear",
    ("bayesian", "smoothness_order", "1"): "first differences in all priors",
    ("bayesian", "smoothness_order", "2"): "second differences in all priors",
}
CHAINS = ("1", "2", "4", "8", "16", "1, 8 times as long")
UPDATES = {
    "mode": Curve("mode updates (default)", "#0072B2", "o", "-"),
    "row": Curve("row updates", "#D55E00", "s", "--"),
}


def ablation_rows() -> pd.DataFrame:
    columns = ["task", "estimator", "changed", "value", *NUMBERS]
    found = pd.DataFrame(results.read("ablations"), columns=columns)
    return found.assign(**{name: pd.to_numeric(found[name]) for name in NUMBERS})


def relative(found: pd.DataFrame, base: pd.DataFrame) -> pd.Series:
    """RMSE relative to the base on the same split, by task, estimator, change and value: geometric mean over splits."""
    base_rmse = base.set_index(["task", "split"])["rmse"]
    base_rmse = base_rmse[~base_rmse.index.duplicated()].rename("base")
    logs = found.join(base_rmse, on=["task", "split"], how="inner").assign(
        log=lambda rows: np.log(rows.rmse / rows.base)
    )
    return np.exp(logs.groupby(["task", "estimator", "changed", "value"])["log"].mean())


def default_of(found: pd.DataFrame, estimator: str) -> pd.DataFrame:
    return found[(found["estimator"] == estimator) & (found["value"] == "default")]


def cells(ratios: pd.Series, tasks: list[str], *key: str) -> list[str]:
    """One cell per task, and the geometric mean over the measured tasks."""
    values = np.array([ratios.get((task, *key), np.nan) for task in tasks])
    if np.isnan(values).all():
        return [""] * (len(tasks) + 1)
    mean = np.exp(np.nanmean(np.log(values)))
    return [*("" if np.isnan(value) else f"{value:.3f}" for value in values), f"**{mean:.3f}**"]


def changes(found: pd.DataFrame, tasks: list[str]) -> str:
    lines = []
    for key, label in CHANGES.items():
        ratios = relative(found, default_of(found, key[0]))
        lines.append([f"{CURVES[key[0]].label}: {label}", *cells(ratios, tasks, *key)])
    return markdown(["RMSE relative to the same estimator's defaults", *tasks, "mean"], lines)


def inference(found: pd.DataFrame, tasks: list[str]) -> str:
    """Least squares compared with sampling, and one chain with several, under a single prior."""
    ratios = relative(found, default_of(found, "bayesian"))
    lines = [["least squares, defaults", *cells(ratios, tasks, "als", "", "default")]]
    lines.append(["least squares, ensemble of eight", *cells(ratios, tasks, "als", "n_estimators", "8")])
    for chains in CHAINS:
        lines.append([f"one prior, number of chains: {chains}", *cells(ratios, tasks, "bayesian", "n_chains", chains)])
    return markdown(["RMSE relative to the Bayesian defaults", *tasks, "mean"], lines)


def levels_and_rank(found: pd.DataFrame, tasks: list[str]) -> str:
    ratios = relative(found, default_of(found, "bayesian"))
    figure, axes = panels(2, len(tasks), (1.7 * len(tasks) + 0.4, 4.2), sharex="row", sharey="row")
    for line, changed in zip(axes, ("levels", "rank"), strict=True):
        for axis, task in zip(line, tasks, strict=True):
            for estimator in ("als", "bayesian"):
                mine = ratios[[key[:3] == (task, estimator, changed) for key in ratios.index]]
                points = {int(key[3]): value for key, value in mine.items()}
                if changed == "rank" and (task, estimator, "", "default") in ratios.index:
                    points[DEFAULT_RANKS[estimator]] = ratios[task, estimator, "", "default"]
                axis.plot(*zip(*sorted(points.items()), strict=True) if points else ([], []), **CURVES[estimator].style)
            axis.axhline(1.0, color="0.6", linewidth=0.8)
            axis.set(xscale="log", yscale="log", xlabel=changed)
            values = (8, 32, 128) if changed == "levels" else (1, 4, 16, 64)
            axis.set_xticks(values, [str(value) for value in values])
            axis.set_xticks([], minor=True)
        line[0].set_ylabel("relative RMSE")
        low, high = line[0].get_ylim()
        marks = [mark for mark in (0.9, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0) if low <= mark <= high]
        line[0].set_yticks(marks, [f"{mark:g}" for mark in marks])
        line[0].set_yticks([], minor=True)
    for axis, task in zip(axes[0], tasks, strict=True):
        axis.set_title(task, fontsize=9)
    legend_below(figure, axes[0], 2)
    caption = (
        "RMSE relative to the Bayesian estimator with defaults, against the maximum number of levels and against the "
        "rank; geometric mean over splits, all other parameters at their defaults."
    )
    return drawing.save(figure, "ablations_levels_rank", caption)


def updates(found: pd.DataFrame, tasks: list[str]) -> str:
    """How far the objective is above the lowest value reached, against sweeps and against seconds."""
    mine = found[found["changed"] == "update"]
    if mine.empty:
        return "Not measured yet."
    tasks = [task for task in tasks if (mine["task"] == task).any()]
    mine = mine.assign(update=mine["value"].str.split(",").str[0])
    lowest = mine.groupby(["task", "split"])["objective"].transform("min")
    mine = mine.assign(above=mine["objective"] / lowest - 1.0)
    figure, axes = panels(2, len(tasks), (1.7 * len(tasks) + 0.4, 4.2), sharey=True)
    for line, against in zip(axes, ("sweeps", "seconds"), strict=True):
        for axis, task in zip(line, tasks, strict=True):
            for update, curve in UPDATES.items():
                rows = mine[(mine["task"] == task) & (mine["update"] == update)]
                by_sweeps = rows.groupby("sweeps")[["above", "fit_seconds"]].mean()
                by_sweeps = by_sweeps[by_sweeps["above"] > 0.0]
                x = by_sweeps.index if against == "sweeps" else by_sweeps["fit_seconds"]
                axis.plot(x, by_sweeps["above"], **curve.style)
            axis.set(xscale="log", yscale="log", xlabel=against)
            axis.xaxis.set_minor_formatter(NullFormatter())
        line[0].set_ylabel("relative excess objective")
    for axis, task in zip(axes[0], tasks, strict=True):
        axis.set_title(task, fontsize=9)
    legend_below(figure, axes[0], 2)
    caption = (
        "Least squares: the relative excess of the objective over the lowest value that any update reached in 200 "
        "sweeps, against sweeps and against seconds on one thread; mean over splits."
    )
    return drawing.save(figure, "ablations_updates", caption)


def section() -> str:
    found = ablation_rows()
    if found.empty:
        return "## Ablations\n\nNot measured yet (`python benchmarks/ablations.py`)."
    tasks = list(dict.fromkeys(found["task"]))
    each = found.groupby(["task", "split"]).size()
    splits = (each == each.max()).groupby("task").sum().min()
    return f"""## Ablations

One parameter is changed from its default at a time, on random 80/20 splits of {len(tasks)} tasks with at most 6,000
training rows (`benchmarks/ablations.py`); {splits} of 3 splits are measured. Below 1, the change improves on the
default.

### Levels and rank

{levels_and_rank(found, tasks)}

### Interpolation, smoothness order and ensembles

{changes(found, tasks)}

### Least squares compared with sampling, and the number of chains

The rows by number of chains use the prior "medium" alone, without a pilot; each chain has 48 sweeps after a burn-in of
40. (With several priors, every prior with a positive stacking weight has at least one chain.)

{inference(found, tasks)}

### Row and mode updates

{updates(found, tasks)}"""
