"""Fits on Dask partitions compared with local threads."""

import pandas as pd

from sections.measured import markdown, numeric_rows

TITLE = "## Dask cluster"
MOST_TIMES_LOCAL = 1.5


def cluster_rows() -> pd.DataFrame:
    """The last row of each size."""
    found = numeric_rows("dask")
    return found if found.empty else found.drop_duplicates("rows", keep="last").sort_values("rows")


def line(row: dict[str, float]) -> list[str]:
    return [
        f"{row['rows']:,.0f} x {row['predictors']:.0f}",
        f"{row['seconds']:,.0f}",
        f"{row['local_seconds']:,.0f}",
        f"{row['seconds'] / row['local_seconds']:.2f}",
        f"{row['cpu_seconds'] / row['local_cpu_seconds']:.2f}",
        f"{row['bytes_per_sweep'] / 1e6:.2f}",
        f"{row['bytes_expected'] / 1e6:.2f}",
    ]


def section() -> str:
    found = cluster_rows()
    if found.empty:
        return f"{TITLE}\n\nNot measured yet (`python benchmarks/cluster.py`)."
    header = ["", "Dask, s", "local, s", "time / local", "CPU time / local", "MB per sweep", "expected"]
    return f"""{TITLE}

Least squares, rank 10, 20 sweeps: two Dask workers with one thread each compared with two local threads, with tables
in memory (`benchmarks/cluster.py`). The goals are at most {MOST_TIMES_LOCAL:g} times the local time at 10,000,000
rows, and the expected number of bytes sent. [Scaling](scaling.md) extrapolates to more rows and machines.

{markdown(header, [line(row) for row in found.to_dict("records")])}"""
