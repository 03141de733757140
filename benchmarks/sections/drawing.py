"""Where the page and its figures go, and how figures are saved: the same bits from the same rows."""

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
    """Write a figure as SVG beside the page, and give the Markdown that shows it with its caption."""
    folder = FOLDER / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)
    return f"![{caption}](figures/{name}.svg)\n\n*{caption}*"
