"""The stochastic solver, which updates on blocks of rows, compared with sweeps over all rows."""

import pandas as pd

from sections import drawing
from sections.curves import panels
from sections.measured import markdown, numeric_rows

SOLVERS = {"als": ("ALS, all rows", "#0072B2", "o"), "stochastic": ("stochastic, row blocks", "#D55E00", "s")}
TOLERANCE = 1.01


def plot_of(found: pd.DataFrame) -> str:
    """One panel per system: error by pass at the largest number of rows."""
    found = found[found["rows"] == found["rows"].max()]
    systems = list(found["system"].unique())
    figure, axes = panels(1, len(systems), (3.75 * len(systems), 3.2))
    for axis, system in zip(axes[0], systems, strict=True):
        for solver, (label, color, marker) in SOLVERS.items():
            points = found[(found["system"] == system) & (found["solver"] == solver)].sort_values("pass")
            axis.plot(points["pass"], points["rmse"], color=color, marker=marker, markersize=3.5, label=label)
        axis.axhline(0.5, color="0.5", linestyle=":", label="noise level")
        axis.set(xlabel="passes over the rows", title=system)
    axes[0, 0].set_ylabel("held-out RMSE")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    caption = (
        f"Held-out RMSE after each pass over {found['rows'].max():,} rows with ten predictors, rank 16, 64 levels."
    )
    return drawing.save(figure, "stochastic", caption)


def passes(found: pd.DataFrame) -> str:
    """How many passes the stochastic solver needs to come within one percent of the final error of ALS."""
    lines = []
    for (rows, system), points in found.groupby(["rows", "system"]):
        by_pass = points.pivot(index="pass", columns="solver", values="rmse")
        if not set(SOLVERS) <= set(by_pass.columns):
            continue
        als, stochastic = by_pass["als"].dropna(), by_pass["stochastic"].dropna()
        close = stochastic.index[stochastic <= TOLERANCE * als.iloc[-1]]
        needed = f"{close[0]} of {len(als)}" if len(close) else f"more than {len(stochastic)}"
        seconds = points.groupby("solver")["seconds_per_pass"].first()
        ratio = f"{seconds['stochastic'] / seconds['als']:.1f}"
        lines.append([f"{system}, {rows:,}", f"{als.iloc[-1]:.4f}", f"{stochastic.iloc[-1]:.4f}", needed, ratio])
    last = found.groupby("solver")["pass"].max()
    header = ["system, rows", f"ALS, {last['als']} passes", f"stochastic, {last['stochastic']} passes"]
    return markdown([*header, "passes to within 1 % of ALS", "time per pass / ALS"], lines)


def posteriors(found: pd.DataFrame) -> str:
    """The row-block sampler compared with the exact one, and the exact one with a second seed."""
    lines = []
    for (rows, system), points in found.groupby(["rows", "system"], sort=False):
        exact = points.set_index("sampler").loc["exact"]
        for row in points.to_dict("records"):
            ratios = [f"{row[name] / exact[name]:.4f}" for name in ("rmse", "width", "model_uncertainty")]
            difference = row["mean_difference"] / exact["model_uncertainty"]
            lines.append(
                [
                    f"{system}, {rows:,}",
                    row["sampler"],
                    *ratios,
                    f"{row['coverage']:.4f}",
                    "" if row["sampler"] == "exact" else f"{difference:.2f}",
                    f"{row['seconds']:.0f} s",
                ]
            )
    header = ["system, rows", "sampler", "RMSE", "interval width", "model uncertainty", "coverage"]
    return markdown([*header, "difference of means", "fit"], lines)


def section() -> str:
    curves = numeric_rows("stochastic", "system", "solver")
    if curves.empty:
        return "## Stochastic solver\n\nNot measured yet (`python benchmarks/stochastic.py`)."
    text = f"""## Stochastic solver

`solver="stochastic"`, which updates on blocks of rows, compared with ALS sweeps over all rows
(`benchmarks/stochastic.py`). One pass visits each row once for an update of all factors. The noise level is 0.5.

{plot_of(curves)}

{passes(curves)}"""
    draws = numeric_rows("stochastic_posterior", "system", "sampler")
    if draws.empty:
        return text
    return f"""{text}

The posterior from row blocks is an approximation. The table compares it with the exact sampler, under one prior:
RMSE, width of 90 % predictive intervals and model uncertainty (standard deviation), each relative to the exact
sampler; and the root mean square difference of the predicted means, in units of the exact sampler's model
uncertainty.

{posteriors(draws)}"""
