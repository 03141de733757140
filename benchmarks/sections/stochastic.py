"""Fits by blocks of rows beside those that see all rows at a time."""

import pandas as pd

import results
from sections import drawing
from sections.curves import panels
from sections.measured import markdown

LOOKS = {"als": ("sweeps over all rows", "#0072B2", "o"), "stochastic": ("blocks of rows", "#D55E00", "s")}
NEAR = 1.01


def measured(name: str, words: tuple[str, ...]) -> pd.DataFrame:
    found = pd.DataFrame(results.read(name))
    words = (*words, "csid", "numpy", "numba", "sklearn", "machine")
    return found.assign(**{name: pd.to_numeric(found[name]) for name in found.columns if name not in words})


def figure_of(found: pd.DataFrame) -> str:
    """A panel for each system: error by pass at the largest size."""
    found = found[found["rows"] == found["rows"].max()]
    systems = list(found["system"].unique())
    figure, axes = panels(1, len(systems), (3.75 * len(systems), 3.2))
    for axis, system in zip(axes[0], systems, strict=True):
        for solver, (label, color, marker) in LOOKS.items():
            points = found[(found["system"] == system) & (found["solver"] == solver)].sort_values("pass")
            axis.plot(points["pass"], points["rmse"], color=color, marker=marker, markersize=3.5, label=label)
        axis.axhline(0.5, color="0.5", linestyle=":", label="noise")
        axis.set(xlabel="passes over the rows", title=system)
    axes[0, 0].set_ylabel("held-out RMSE")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    caption = f"Held-out error by passes over {found['rows'].max():,} rows of ten predictors, rank 16, 64 levels."
    return drawing.save(figure, "stochastic", caption)


def passes(found: pd.DataFrame) -> str:
    """How many passes blocks need to come within one percent of what ALS has after its last."""
    lines = []
    for (rows, system), points in found.groupby(["rows", "system"]):
        by_pass = points.pivot(index="pass", columns="solver", values="rmse")
        if not set(LOOKS) <= set(by_pass.columns):
            continue
        als, blocks = by_pass["als"].dropna(), by_pass["stochastic"].dropna()
        near = blocks.index[blocks <= NEAR * als.iloc[-1]]
        needed = f"{near[0]} of {len(als)}" if len(near) else f"more than {len(blocks)}"
        pace = points.groupby("solver")["seconds_per_pass"].first()
        ratio = f"{pace['stochastic'] / pace['als']:.1f}"
        lines.append([f"{system}, {rows:,}", f"{als.iloc[-1]:.4f}", f"{blocks.iloc[-1]:.4f}", needed, ratio])
    last = found.groupby("solver")["pass"].max()
    header = ["system, rows", f"ALS, {last['als']} passes", f"blocks, {last['stochastic']} passes"]
    return markdown([*header, "passes to within 1 % of ALS", "time of a pass / of ALS"], lines)


def posteriors(found: pd.DataFrame) -> str:
    """The sampler by blocks beside the exact one, and that beside itself."""
    lines = []
    for (rows, system), points in found.groupby(["rows", "system"], sort=False):
        exact = points.set_index("sampler").loc["exact"]
        for row in points.to_dict("records"):
            ratios = [f"{row[name] / exact[name]:.4f}" for name in ("rmse", "width", "unknown")]
            off = "" if row["sampler"] == "exact" else f"{row['off'] / exact['unknown']:.2f}"
            lines.append(
                [
                    f"{system}, {rows:,}",
                    row["sampler"],
                    *ratios,
                    f"{row['coverage']:.4f}",
                    off,
                    f"{row['seconds']:.0f} s",
                ]
            )
    header = ["system, rows", "sampler", "RMSE", "width of intervals", "what the model does not know", "coverage"]
    return markdown([*header, "means differ by", "fit"], lines)


def section() -> str:
    curves = measured("stochastic", ("system", "solver"))
    if curves.empty:
        return "## Blocks of rows\n\nNot measured yet (`python benchmarks/stochastic.py`)."
    text = f"""## Blocks of rows

`solver="stochastic"` beside sweeps over all rows (`benchmarks/stochastic.py`). A pass visits each row once for an
update of all factors. Noise is 0.5.

{figure_of(curves)}

{passes(curves)}"""
    draws = measured("stochastic_posterior", ("system", "sampler"))
    if draws.empty:
        return text
    return f"""{text}

The posterior by blocks is an approximation. Beside the exact sampler, under one prior: ratios of error, of the width of
90 % intervals and of the standard deviation of the model alone; by how much means differ, in units of that deviation.

{posteriors(draws)}"""
