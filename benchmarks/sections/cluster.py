"""Fits over Dask partitions beside local threads."""

import pandas as pd

import results
from sections.measured import markdown

TITLE = "## On a cluster"
MOST_TIMES_LOCAL = 1.5


def measured() -> pd.DataFrame:
    """The last row of each size."""
    found = pd.DataFrame(results.read("dask"))
    if found.empty:
        return found
    words = ("csid", "numpy", "numba", "sklearn", "machine")
    numbers = found.assign(**{name: pd.to_numeric(found[name]) for name in found.columns if name not in words})
    return numbers.drop_duplicates("rows", keep="last").sort_values("rows")


def line(row: dict[str, float]) -> list[str]:
    return [
        f"{row['rows']:,.0f} x {row['predictors']:.0f}",
        f"{row['seconds']:,.0f}",
        f"{row['local_seconds']:,.0f}",
        f"{row['seconds'] / row['local_seconds']:.2f}",
        f"{row['cpu_seconds'] / row['local_cpu_seconds']:.2f}",
        f"{row['bytes_per_sweep'] / 1e6:.2f}",
        f"{row['bytes_on_paper'] / 1e6:.2f}",
    ]


def section() -> str:
    found = measured()
    if found.empty:
        return f"{TITLE}\n\nNot measured yet (`python benchmarks/cluster.py`)."
    header = ["", "Dask, s", "local, s", "times local", "times its CPU seconds", "MB a sweep", "on paper"]
    return f"""{TITLE}

Least squares, rank 10, 20 sweeps: two Dask workers of one thread each against two local threads, tables in memory
(`benchmarks/cluster.py`). Aimed at: at most {MOST_TIMES_LOCAL:g} times local at 10,000,000 rows, and the bytes on
paper. What that means for more rows and machines: [scaling](scaling.md).

{markdown(header, [line(row) for row in found.to_dict("records")])}"""
