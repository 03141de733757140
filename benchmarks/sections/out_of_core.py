"""Out-of-core fits: files that are encoded once and swept from disk."""

import pandas as pd

from sections.measured import markdown, numeric_rows

TITLE = "## Larger than memory (out of core)"
MOST_MEGABYTES, MOST_TIME_RATIO = 8 * 1024, 1.5


def line(row: dict[str, float]) -> list[str]:
    return [
        f"{row['rows']:,.0f} x {row['predictors']:.0f}, {row['source']}",
        f"{row['fit_seconds']:,.0f}",
        f"{row['fit_seconds'] - row['sweep_seconds']:,.0f}",
        f"{1e6 * row['fit_seconds'] / row['rows']:.1f}",
        f"{row['cells_per_second'] / 1e6:.1f}",
        f"{100 * row['fraction_of_dgemm']:.0f} %",
        f"{row['peak_megabytes']:,.0f}",
    ]


def goals(last: pd.DataFrame) -> str:
    """The goals, and what was measured."""
    lines = []
    for row in last[last["benchmark"] == "wide"].to_dict("records"):
        met = "yes" if row["peak_megabytes"] <= MOST_MEGABYTES else "no"
        name = f"{row['rows']:,} x {row['predictors']}: peak memory, MB"
        lines.append([name, f"at most {MOST_MEGABYTES:,}", f"{row['peak_megabytes']:,.0f}", met])
    per_row = (last["fit_seconds"] / last["rows"]).set_axis(pd.MultiIndex.from_frame(last[["rows", "source"]]))
    long = last[last["benchmark"] == "long"]["rows"]
    if not long.empty and (long.min(), "memory") in per_row.index and long.max() > long.min():
        ratio = per_row[long.max(), "disk"] / per_row[long.min(), "memory"]
        name = f"time per row: {long.max():,} rows on disk / {long.min():,} rows in memory"
        met = "yes" if ratio <= MOST_TIME_RATIO else "no"
        lines.append([name, f"at most {MOST_TIME_RATIO:g}", f"{ratio:.2f}", met])
    return markdown(["", "goal", "measured", "met"], lines)


def section() -> str:
    found = numeric_rows("out_of_core", "benchmark", "source")
    if found.empty:
        return f"{TITLE}\n\nNot measured yet (`python benchmarks/out_of_core.py`)."
    last = found.drop_duplicates(["benchmark", "rows", "source"], keep="last")
    header = ["", "fit, s", "reading and encoding, s", "µs per row", "million cells per s", "rate / dgemm", "peak MB"]
    return f"""{TITLE}

Least squares, rank 10, 20 sweeps, on Parquet files that are encoded once and swept from disk, compared with a table
in memory (`benchmarks/out_of_core.py`). A cell is one predictor of one row in one sweep. Peak memory is that of the
process, including the cached pages of the code file. Operations are counted as for the roofline, but with products
over at most six other predictors, because partial products save the rest; dgemm ran in the same process.

{goals(last)}

{markdown(header, [line(row) for row in last.to_dict("records")])}"""
