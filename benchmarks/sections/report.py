"""The HTML report: time to write it, time to open it, and latency of the what-if panel."""

import pandas as pd

import results
from sections.measured import markdown

HEADER = ["rows", "write, s", "size, MB", "open, ms", "what-if, ms: median", "95th percentile", "slowest of 200"]
NUMBERS = ("write_seconds", "bytes", "open_milliseconds", "what_if_median", "what_if_95", "what_if_slowest")


def section() -> str:
    found = pd.DataFrame(results.read("report"))
    if found.empty:
        return "## HTML report\n\nNot measured yet (`python benchmarks/report.py`)."
    last = found.drop_duplicates(["problem", "rows_given"], keep="last").astype(dict.fromkeys(NUMBERS, float))
    lines = [
        [
            f"{int(row['rows_given']):,}",
            f"{row['write_seconds']:.1f}",
            f"{row['bytes'] / 1e6:.2f}",
            f"{row['open_milliseconds']:.0f}",
            *(f"{row[name]:.0f}" for name in ("what_if_median", "what_if_95", "what_if_slowest")),
        ]
        for row in last.to_dict("records")
    ]
    first = last.iloc[0]
    return f"""## HTML report

The report of a default model of bike with two outputs ({first["predictors"]} predictors, {first["rank"]} components),
opened in Chromium {first["chromium"].split(".")[0]} (`benchmarks/report.py`). One what-if update computes a
prediction, its predictive interval and all Shapley values.

{markdown(HEADER, lines)}"""
