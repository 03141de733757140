"""Where the page and its plots are written. Plots are reproducible: the same rows give the same bits."""

import os
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

FOLDER = Path(os.environ.get("CSID_BENCH_RESULTS", Path(__file__).resolve().parents[2] / "docs"))
MARKERS = ("o", "s", "^", "v", "D", "x", "P", "*")
LINES = ("-", "--", "-.", ":")

mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "csid"})


def save(figure: Figure, name: str, caption: str) -> str:
    """Write a plot as SVG into the folder of the page, and return the Markdown that shows it with its caption."""
    folder = FOLDER / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)
    return f"![{caption}](figures/{name}.svg)\n\n*{caption}*"
