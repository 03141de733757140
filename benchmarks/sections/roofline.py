"""Roofline of the accumulation of the normal equations."""

import numpy as np
import pandas as pd

from sections import drawing
from sections.curves import panels
from sections.measured import markdown, numeric_rows

MARKERS = {"constant": "o", "linear": "s"}
COLORS = {"double": "#0072B2", "single": "#D55E00"}
ROOFS = {"double": "-", "single": "--"}


def plot_of(found: pd.DataFrame) -> str:
    """One panel per number of threads: the roofs of memory and of BLAS, and the kernel below them."""
    counts = sorted(found["threads"].unique())
    figure, axes = panels(1, len(counts), (3.75 * len(counts), 3.8), sharey=True)
    for axis, count in zip(axes[0], counts, strict=True):
        here = found[found["threads"] == count]
        intensity = np.geomspace(1.0, 1.5 * here["intensity"].max(), 200)
        bandwidth = here["gigabytes_per_second"].max()
        for precision, line in ROOFS.items():
            mine = here[here["precision"] == precision]
            if mine.empty:
                continue
            roof = np.minimum(bandwidth * intensity, mine["gemm_gigaflops"].max())
            label = f"roof: triad and {'dgemm' if precision == 'double' else 'sgemm'}"
            axis.plot(intensity, roof, color=COLORS[precision], linestyle=line, label=label)
            for interpolation, points in mine.groupby("interpolation"):
                axis.plot(
                    points["intensity"],
                    points["gigaflops"],
                    MARKERS[interpolation],
                    color=COLORS[precision],
                    markerfacecolor="none" if precision == "single" else COLORS[precision],
                    label=f"{interpolation}, {precision}",
                )
        axis.set(xscale="log", yscale="log", xlabel="operations per byte of main memory")
        axis.set_title(f"{count} thread{'s' if count > 1 else ''}", fontsize=9)
    axes[0, 0].set_ylabel("GFLOP/s")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    caption = "Roofline of the accumulation at ranks 8, 16, 32 and 64, from left to right."
    return drawing.save(figure, "roofline", caption)


def relative_rates(found: pd.DataFrame) -> str:
    """Rate relative to BLAS for each rank."""
    relative = found.assign(relative=found["gigaflops"] / found["gemm_gigaflops"])
    ranks = sorted(relative["rank"].unique())
    lines = []
    for (precision, interpolation, count), points in relative.groupby(["precision", "interpolation", "threads"]):
        by_rank = points.groupby("rank")["relative"].median()
        name = f"{interpolation}, {precision}, {count} thread{'s' if count > 1 else ''}"
        lines.append([name, *(f"{100 * by_rank[rank]:.0f} %" if rank in by_rank else "" for rank in ranks)])
    return markdown(["rate / BLAS", *(f"rank {rank}" for rank in ranks)], lines)


def section() -> str:
    found = numeric_rows("roofline", "interpolation", "precision")
    if found.empty:
        return "### Roofline\n\nNot measured yet (`python benchmarks/roofline.py`)."
    return f"""### Roofline

Most of the time of a fit goes into the sums over rows of a mode's normal equations; here for 1,000,000 x 10 on 25
levels (`benchmarks/roofline.py`). Only one triangle of the symmetric matrices counts as operations, although whole
blocks of eight are computed.

{plot_of(found)}

{relative_rates(found)}"""
