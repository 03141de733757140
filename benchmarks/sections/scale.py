"""Time and memory against the size of the table and of the model, beside other libraries; and the kernel's roofline."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

import results
from sections import drawing, roofline
from sections.curves import CURVES, legend_below, panels
from sections.measured import markdown

NUMBERS = ("rows", "predictors", "threads", "fit_seconds", "predict_seconds", "peak_megabytes", "rmse", "round")
MEMORY_SHOWN = (10_000, 100_000, 1_000_000, 10_000_000)
LARGE_ROWS, MANY_PREDICTORS = 100_000, 50


def measured() -> pd.DataFrame:
    columns = ["benchmark", "method", "levels", "rank", "outcome", *NUMBERS]
    found = pd.DataFrame(results.read("scale"), columns=columns)
    return found.assign(**{name: pd.to_numeric(found[name]) for name in NUMBERS})


def of(found: pd.DataFrame, *benchmarks: str) -> pd.DataFrame:
    return found[found["benchmark"].isin(benchmarks)]


def not_yet(name: str) -> str:
    return f"Not measured yet (`python benchmarks/scale.py {name}`)."


def ratio(found: pd.DataFrame, method: str, other: str) -> tuple[float, bool]:
    """Median over rounds of the time of one method to that of another, and whether it is only a lower bound.

    Both times of a ratio are of the same round. NaN when there is none.
    """
    fits = found.drop_duplicates(["method", "round"]).set_index(["method", "round"])
    both = [turn for turn in fits.index.unique("round") if {(method, turn), (other, turn)} <= set(fits.index)]
    both = [turn for turn in both if not fits.loc[(other, turn), "outcome"]]
    ratios = [fits.loc[(method, turn), "fit_seconds"] / fits.loc[(other, turn), "fit_seconds"] for turn in both]
    over = any(fits.loc[(method, turn), "outcome"] for turn in both)
    return float(np.median(ratios)) if ratios else np.nan, over


def growth(found: pd.DataFrame, method: str, size: str, least: int) -> float:
    """The power of the size that the time grows with, by least squares of the logarithms, from some size on."""
    mine = found[(found["method"] == method) & (found["outcome"] == "") & (found[size] >= least)]
    if mine[size].nunique() < 2:
        return np.nan
    return float(np.polyfit(np.log(mine[size]), np.log(mine["fit_seconds"]), 1)[0])


def targets(found: pd.DataFrame) -> str:
    """What was aimed at beside what was measured."""
    table = of(found, "million")
    bounds = (
        ("Bayesian, defaults / LightGBM, 1,000 trees", "bayesian", "lightgbm", 3.0, True),
        ("least squares, rank 16, 20 sweeps / LightGBM, 1,000 trees", "als", "lightgbm", 0.5, True),
        ("EBM / least squares, rank 16, 20 sweeps", "ebm", "als", 10.0, False),
    )
    lines = []
    for label, method, other, bound, most in bounds:
        value, over = ratio(table, method, other)
        met = (value <= bound and not over) if most else value >= bound
        verdict = "not measured yet" if np.isnan(value) else "yes" if met else "no"
        figure = "" if np.isnan(value) else f"{'> ' if over else ''}{value:.2f}"
        lines.append([label, f"{'at most' if most else 'at least'} {bound:g}", figure, verdict])
    powers = (
        ("rows", of(found, "rows", "million"), "rows", LARGE_ROWS, 1.0),
        ("predictors", of(found, "predictors"), "predictors", MANY_PREDICTORS, 2.0),
    )
    for name, some, size, least, bound in powers:
        for method in ("als", "bayesian"):
            power = growth(some, method, size, least)
            verdict = "not measured yet" if np.isnan(power) else "yes" if power <= bound + 0.05 else "no"
            label = f"power of the {name} that the time grows with, from {least:,} on: {CURVES[method].label}"
            lines.append([label, f"at most {bound:g}", "" if np.isnan(power) else f"{power:.2f}", verdict])
    return markdown(["1,000,000 x 10, all threads, time of a fit", "aimed at", "measured", "met"], lines)


def million(found: pd.DataFrame) -> str:
    table = of(found, "million")
    if table.empty:
        return not_yet("million")
    lines = []
    for method, curve in CURVES.items():
        mine = table[table["method"] == method]
        if mine.empty:
            lines.append([curve.label, "not measured yet", "", "", "", ""])
            continue
        middle = mine[["fit_seconds", "predict_seconds", "peak_megabytes", "rmse"]].median()
        value, over = ratio(table, method, "lightgbm")
        more = "> " if over else ""
        rest = ["", "", ""]
        if not np.isnan(middle["rmse"]):
            microseconds = 10.0 * middle["predict_seconds"]
            rest = [f"{microseconds:.2g}", f"{middle['peak_megabytes']:,.0f}", f"{middle['rmse']:.3f}"]
        times = "" if np.isnan(value) else f"{more}{value:.2f}"
        lines.append([curve.label, f"{more}{middle['fit_seconds']:.1f}", times, *rest])
    header = ["", "fit, s", "/ LightGBM", "predict, µs a row", "peak memory, MB", "RMSE to the function"]
    return markdown(header, lines)


def held(found: pd.DataFrame, *sizes: str) -> str:
    """In words, the sizes that all rows have in common."""
    if found.empty:
        return "not measured yet"
    return ", ".join(f"{found[size].iloc[0]:,.0f} {size}" for size in sizes)


def draw(axis: Axes, found: pd.DataFrame, size: str) -> None:
    """A curve for each method of the median over rounds; a fit over its limit is an open triangle at the limit."""
    for method, curve in CURVES.items():
        mine = found[found["method"] == method]
        whole = mine[mine["outcome"] == ""].groupby(size)["fit_seconds"].median()
        if len(whole):
            axis.plot(whole.index, whole, **curve.style)
        over = mine[mine["outcome"] == "over the limit"]
        if len(over):
            axis.plot(over[size], over["fit_seconds"], "^", markersize=8, color=curve.color, markerfacecolor="none")
    axis.set(xscale="log", yscale="log")
    axis.margins(x=0.06)


def curves_of_size(found: pd.DataFrame) -> str:
    rows, predictors = of(found, "rows", "million"), of(found, "predictors")
    if rows.empty and predictors.empty:
        return not_yet("rows predictors")
    figure, axes = panels(1, 2, (7.5, 3.6))
    for axis, some, size in zip(axes[0], (rows, predictors), ("rows", "predictors"), strict=True):
        draw(axis, some, size)
        axis.set(xlabel=size, ylabel="seconds of a fit")
    axes[0, 0].set_title(held(rows, "predictors"), fontsize=9)
    axes[0, 1].set_title(held(predictors, "rows"), fontsize=9)
    legend_below(figure, axes[0], 3)
    caption = "Time of a fit against rows and against predictors, on all threads. An open triangle: stopped there."
    return drawing.save(figure, "scale_size", caption)


def curves_of_model(found: pd.DataFrame) -> str:
    levels, rank = of(found, "levels"), of(found, "rank")
    if levels.empty and rank.empty:
        return not_yet("levels rank")
    figure, axes = panels(1, 2, (7.5, 3.4), sharey=True)
    for axis, some, size in zip(axes[0], (levels, rank), ("levels", "rank"), strict=True):
        ours = some[some[size] != ""]
        draw(axis, ours.assign(**{size: pd.to_numeric(ours[size])}), size)
        beside = some.loc[some[size] == "", "fit_seconds"].median()
        if not np.isnan(beside):
            lightgbm = CURVES["lightgbm"]
            axis.axhline(beside, color=lightgbm.color, linestyle=lightgbm.line, label=lightgbm.label)
        values = sorted({int(value) for value in ours[size]})
        axis.set_xticks(values, [str(value) for value in values], minor=False)
        axis.set_xticks([], minor=True)
        axis.set(xlabel=size)
        axis.set_title(held(some, "rows", "predictors"), fontsize=9)
    axes[0, 0].set_ylabel("seconds of a fit")
    legend_below(figure, axes[0], 3)
    return drawing.save(figure, "scale_model", "Time of a fit against levels and against rank, on all threads.")


def memory(found: pd.DataFrame) -> str:
    some = of(found, "rows", "million")
    some = some[some["outcome"] == ""]
    if some.empty:
        return not_yet("rows")
    middle = some.groupby(["method", "rows"])["peak_megabytes"].median()
    lines = [["the table itself", *(f"{count * 11 * 8 / 2**20:,.0f}" for count in MEMORY_SHOWN)]]
    for method, curve in CURVES.items():
        cells = [middle.get((method, count), np.nan) for count in MEMORY_SHOWN]
        lines.append([curve.label, *("" if np.isnan(cell) else f"{cell:,.0f}" for cell in cells)])
    return markdown(["peak memory of a fit, MB", *(f"{count:,} rows" for count in MEMORY_SHOWN)], lines)


def threads(found: pd.DataFrame) -> str:
    some = of(found, "threads")
    some = some[some["outcome"] == ""]
    if some.empty:
        return not_yet("threads")
    seconds = some.groupby(["method", "threads"])["fit_seconds"].median()
    counts = sorted({int(count) for count in some["threads"]})
    lines = []
    for method, curve in CURVES.items():
        times = [seconds.get((method, count), np.nan) for count in counts]
        cells = ["" if np.isnan(one) else f"{one:.1f}" for one in times]
        gain = times[0] / times[-1]
        lines.append([curve.label, *cells, "" if np.isnan(gain) else f"{gain:.2f}"])
    header = ["fit, s", *(f"{count} thread{'s' if count > 1 else ''}" for count in counts), "times faster"]
    return markdown(header, lines)


def section() -> str:
    found = measured()
    return f"""## Speed and scale

Fits of a smooth function of five of the predictors, with an interaction and noise (Friedman's first), each in a fresh
process after a warm-up (`benchmarks/scale.py`). Least squares is rank 16 and 20 sweeps; the Bayesian estimator,
CatBoost and EBM have their defaults, LightGBM and scikit-learn 1,000 trees without early stopping. Ratios are of fits
in the same round, and their medians over rounds; a power is met within 0.05. A fit over its limit was stopped. Rank and
threads were measured on a slower machine than the rest; what it says of a million rows is in decision 0013.

### What was aimed at

{targets(found)}

### A million rows

{million(found)}

Memory is the peak while fitting, less that before the data were made: the table and all that the fit needs beside it,
in its process and its workers.

### Rows and predictors

{curves_of_size(found)}

{memory(found)}

### Levels and rank

{curves_of_model(found)}

### Threads

{threads(found)}

{roofline.section()}"""
