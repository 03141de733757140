"""Fits to files that are encoded once and swept from disk."""

import pandas as pd

import results
from sections.measured import markdown

TITLE = "## Larger than memory"
MOST_MEGABYTES, MOST_TIMES_A_ROW = 8 * 1024, 1.5


def measured() -> pd.DataFrame:
    found = pd.DataFrame(results.read("out_of_core"))
    words = ("benchmark", "source", "csid", "numpy", "numba", "sklearn", "machine")
    return found.assign(**{name: pd.to_numeric(found[name]) for name in found.columns if name not in words})


def line(row: dict[str, float]) -> list[str]:
    return [
        f"{row['rows']:,.0f} x {row['predictors']:.0f}, {row['source']}",
        f"{row['fit_seconds']:,.0f}",
        f"{row['fit_seconds'] - row['sweep_seconds']:,.0f}",
        f"{1e6 * row['fit_seconds'] / row['rows']:.1f}",
        f"{row['cells_per_second'] / 1e6:.1f}",
        f"{100 * row['share_of_dgemm']:.0f} %",
        f"{row['peak_megabytes']:,.0f}",
    ]


def targets(last: pd.DataFrame) -> str:
    """What was aimed at beside what was measured."""
    lines = []
    for row in last[last["benchmark"] == "wide"].to_dict("records"):
        met = "yes" if row["peak_megabytes"] <= MOST_MEGABYTES else "no"
        name = f"{row['rows']:,} x {row['predictors']}: peak memory, MB"
        lines.append([name, f"at most {MOST_MEGABYTES:,}", f"{row['peak_megabytes']:,.0f}", met])
    a_row = (last["fit_seconds"] / last["rows"]).set_axis(pd.MultiIndex.from_frame(last[["rows", "source"]]))
    long = last[last["benchmark"] == "long"]["rows"]
    if not long.empty and (long.min(), "memory") in a_row.index and long.max() > long.min():
        times = a_row[long.max(), "disk"] / a_row[long.min(), "memory"]
        name = f"time a row of {long.max():,} rows on disk / of {long.min():,} in memory"
        met = "yes" if times <= MOST_TIMES_A_ROW else "no"
        lines.append([name, f"at most {MOST_TIMES_A_ROW:g}", f"{times:.2f}", met])
    return markdown(["", "aimed at", "measured", "met"], lines)


def section() -> str:
    found = measured()
    if found.empty:
        return f"{TITLE}\n\nNot measured yet (`python benchmarks/out_of_core.py`)."
    last = found.drop_duplicates(["benchmark", "rows", "source"], keep="last")
    header = ["", "fit, s", "of it reading, s", "µs a row", "million cells a second", "of dgemm's rate", "peak MB"]
    return f"""{TITLE}

Least squares, rank 10, 20 sweeps, from Parquet files that are encoded once and swept from disk, beside a table in
memory (`benchmarks/out_of_core.py`). A cell is one predictor of one row in one sweep. Peak memory is that of the
process, with the pages of the code file that the system keeps for it. Operations are counted as for the roofline, with
products over six other predictors at most, as partial products spare the rest; dgemm ran in the same process.

{targets(last)}

{markdown(header, [line(row) for row in last.to_dict("records")])}"""
