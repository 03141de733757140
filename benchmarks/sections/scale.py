"""Time and memory against the size of table and model, compared with other libraries; and the kernel's roofline."""

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


def scale_rows() -> pd.DataFrame:
    columns = ["benchmark", "method", "levels", "rank", "outcome", *NUMBERS]
    found = pd.DataFrame(results.read("scale"), columns=columns)
    return found.assign(**{name: pd.to_numeric(found[name]) for name in NUMBERS})


def of_benchmarks(found: pd.DataFrame, *benchmarks: str) -> pd.DataFrame:
    return found[found["benchmark"].isin(benchmarks)]


def not_yet(name: str) -> str:
    return f"Not measured yet (`python benchmarks/scale.py {name}`)."


def ratio(found: pd.DataFrame, method: str, other: str) -> tuple[float, bool]:
    """Median over rounds of the fit time relative to another method, and whether it is only a lower bound.

    Both times of a ratio come from the same round. NaN if there is none.
    """
    fits = found.drop_duplicates(["method", "round"]).set_index(["method", "round"])
    both = [turn for turn in fits.index.unique("round") if {(method, turn), (other, turn)} <= set(fits.index)]
    both = [turn for turn in both if not fits.loc[(other, turn), "outcome"]]
    ratios = [fits.loc[(method, turn), "fit_seconds"] / fits.loc[(other, turn), "fit_seconds"] for turn in both]
    over = any(fits.loc[(method, turn), "outcome"] for turn in both)
    return float(np.median(ratios)) if ratios else np.nan, over


def growth(found: pd.DataFrame, method: str, size: str, least: int) -> float:
    """The exponent of the fit time as a power of the size, by least squares on the logarithms, from `least` on."""
    mine = found[(found["method"] == method) & (found["outcome"] == "") & (found[size] >= least)]
    if mine[size].nunique() < 2:
        return np.nan
    return float(np.polyfit(np.log(mine[size]), np.log(mine["fit_seconds"]), 1)[0])


def goals(found: pd.DataFrame) -> str:
    """The goals, and what was measured."""
    table = of_benchmarks(found, "million")
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
        text = "" if np.isnan(value) else f"{'> ' if over else ''}{value:.2f}"
        lines.append([label, f"{'at most' if most else 'at least'} {bound:g}", text, verdict])
    exponents = (
        ("rows", of_benchmarks(found, "rows", "million"), "rows", LARGE_ROWS, 1.0),
        ("predictors", of_benchmarks(found, "predictors"), "predictors", MANY_PREDICTORS, 2.0),
    )
    for name, rows_of_size, size, least, bound in exponents:
        for method in ("als", "bayesian"):
            exponent = growth(rows_of_size, method, size, least)
            verdict = "not measured yet" if np.isnan(exponent) else "yes" if exponent <= bound + 0.05 else "no"
            label = f"scaling exponent in {name}, from {least:,} {name} on: {CURVES[method].label}"
            lines.append([label, f"at most {bound:g}", "" if np.isnan(exponent) else f"{exponent:.2f}", verdict])
    return markdown(["fit time, 1,000,000 x 10, all threads", "goal", "measured", "met"], lines)


def million(found: pd.DataFrame) -> str:
    table = of_benchmarks(found, "million")
    if table.empty:
        return not_yet("million")
    lines = []
    for method, curve in CURVES.items():
        mine = table[table["method"] == method]
        if mine.empty:
            lines.append([curve.label, "not measured yet", "", "", "", ""])
            continue
        median = mine[["fit_seconds", "predict_seconds", "peak_megabytes", "rmse"]].median()
        value, over = ratio(table, method, "lightgbm")
        bound = "> " if over else ""
        rest = ["", "", ""]
        if not np.isnan(median["rmse"]):
            microseconds = 10.0 * median["predict_seconds"]
            rest = [f"{microseconds:.2g}", f"{median['peak_megabytes']:,.0f}", f"{median['rmse']:.3f}"]
        relative = "" if np.isnan(value) else f"{bound}{value:.2f}"
        lines.append([curve.label, f"{bound}{median['fit_seconds']:.1f}", relative, *rest])
    header = ["", "fit, s", "fit / LightGBM's", "predict, µs per row", "peak memory, MB", "RMSE to the true function"]
    return markdown(header, lines)


def fixed_sizes(found: pd.DataFrame, *sizes: str) -> str:
    """In words, the sizes that all rows have in common."""
    if found.empty:
        return "not measured yet"
    return ", ".join(f"{found[size].iloc[0]:,.0f} {size}" for size in sizes)


def draw(axis: Axes, found: pd.DataFrame, size: str) -> None:
    """One curve per method: the median over rounds. An open triangle marks a fit that was stopped at its time limit."""
    for method, curve in CURVES.items():
        mine = found[found["method"] == method]
        complete = mine[mine["outcome"] == ""].groupby(size)["fit_seconds"].median()
        if len(complete):
            axis.plot(complete.index, complete, **curve.style)
        over = mine[mine["outcome"] == "over the limit"]
        if len(over):
            axis.plot(over[size], over["fit_seconds"], "^", markersize=8, color=curve.color, markerfacecolor="none")
    axis.set(xscale="log", yscale="log")
    axis.margins(x=0.06)


def curves_of_size(found: pd.DataFrame) -> str:
    rows, predictors = of_benchmarks(found, "rows", "million"), of_benchmarks(found, "predictors")
    if rows.empty and predictors.empty:
        return not_yet("rows predictors")
    figure, axes = panels(1, 2, (7.5, 3.6))
    for axis, part, size in zip(axes[0], (rows, predictors), ("rows", "predictors"), strict=True):
        draw(axis, part, size)
        axis.set(xlabel=size, ylabel="fit time, s")
    axes[0, 0].set_title(fixed_sizes(rows, "predictors"), fontsize=9)
    axes[0, 1].set_title(fixed_sizes(predictors, "rows"), fontsize=9)
    legend_below(figure, axes[0], 3)
    caption = (
        "Fit time against rows and against predictors, on all threads. An open triangle: stopped at the time limit."
    )
    return drawing.save(figure, "scale_size", caption)


def curves_of_model(found: pd.DataFrame) -> str:
    levels, rank = of_benchmarks(found, "levels"), of_benchmarks(found, "rank")
    if levels.empty and rank.empty:
        return not_yet("levels rank")
    figure, axes = panels(1, 2, (7.5, 3.4), sharey=True)
    for axis, part, size in zip(axes[0], (levels, rank), ("levels", "rank"), strict=True):
        ours = part[part[size] != ""]
        draw(axis, ours.assign(**{size: pd.to_numeric(ours[size])}), size)
        reference = part.loc[part[size] == "", "fit_seconds"].median()
        if not np.isnan(reference):
            lightgbm = CURVES["lightgbm"]
            axis.axhline(reference, color=lightgbm.color, linestyle=lightgbm.line, label=lightgbm.label)
        values = sorted({int(value) for value in ours[size]})
        axis.set_xticks(values, [str(value) for value in values], minor=False)
        axis.set_xticks([], minor=True)
        axis.set(xlabel=size)
        axis.set_title(fixed_sizes(part, "rows", "predictors"), fontsize=9)
    axes[0, 0].set_ylabel("fit time, s")
    legend_below(figure, axes[0], 3)
    return drawing.save(figure, "scale_model", "Fit time against levels and against rank, on all threads.")


def memory(found: pd.DataFrame) -> str:
    complete = of_benchmarks(found, "rows", "million")
    complete = complete[complete["outcome"] == ""]
    if complete.empty:
        return not_yet("rows")
    median = complete.groupby(["method", "rows"])["peak_megabytes"].median()
    lines = [["the table itself", *(f"{count * 11 * 8 / 2**20:,.0f}" for count in MEMORY_SHOWN)]]
    for method, curve in CURVES.items():
        cells = [median.get((method, count), np.nan) for count in MEMORY_SHOWN]
        lines.append([curve.label, *("" if np.isnan(cell) else f"{cell:,.0f}" for cell in cells)])
    return markdown(["peak memory of a fit, MB", *(f"{count:,} rows" for count in MEMORY_SHOWN)], lines)


def threads(found: pd.DataFrame) -> str:
    complete = of_benchmarks(found, "threads")
    complete = complete[complete["outcome"] == ""]
    if complete.empty:
        return not_yet("threads")
    seconds = complete.groupby(["method", "threads"])["fit_seconds"].median()
    counts = sorted({int(count) for count in complete["threads"]})
    lines = []
    for method, curve in CURVES.items():
        times = [seconds.get((method, count), np.nan) for count in counts]
        cells = ["" if np.isnan(taken) else f"{taken:.1f}" for taken in times]
        speedup = times[0] / times[-1]
        lines.append([curve.label, *cells, "" if np.isnan(speedup) else f"{speedup:.2f}"])
    header = ["fit, s", *(f"{count} thread{'s' if count > 1 else ''}" for count in counts), "speedup"]
    return markdown(header, lines)


def section() -> str:
    found = scale_rows()
    return f"""## Speed and scale

All fits are of Friedman's first function: a smooth function of five of the predictors, with an interaction, plus
noise. Each fit runs in a fresh process after a warm-up (`benchmarks/scale.py`). Least squares uses rank 16 and 20
sweeps. The Bayesian estimator, CatBoost and EBM use their defaults; LightGBM and scikit-learn use 1,000 trees without
early stopping. Ratios compare fits of the same round; the table shows their median over rounds. The goal for an
exponent is met within 0.05. Fits over their time limit were stopped. Rank and threads were measured on a slower
machine than the rest; [decision 0013](decisions/0013-many-rows.md) gives its result for a million rows.

### Goals for speed

{goals(found)}

### A million rows

{million(found)}

Memory is the peak during the fit minus the memory before the data were generated: the table plus everything that the
fit allocates, in its process and its worker processes.

### Rows and predictors

{curves_of_size(found)}

{memory(found)}

### Levels and rank

{curves_of_model(found)}

### Threads

{threads(found)}

{roofline.section()}"""
