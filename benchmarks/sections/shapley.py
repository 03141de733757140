"""Exact Shapley values compared with those of trees, and with sampling."""

import numpy as np
import pandas as pd

import results
from sections.measured import markdown

LABELS = {
    "csid": "csid, defaults",
    "csid with intervals": "csid, with credible intervals",
    "lightgbm pred_contrib": "LightGBM pred_contrib (different game)",
    "shap.TreeExplainer": "shap.TreeExplainer, interventional, on LightGBM",
    "shapiq.ExactComputer": "shapiq.ExactComputer, all coalitions",
}
ACCURACY = 1e-3
"""The relative error at which sampling is compared."""


def _background(row: dict[str, str]) -> str:
    if row["method"] == "lightgbm pred_contrib":
        return "tree paths"
    return "independent predictors" if row["background"] == "0" else f"{row['background']} rows"


def _seconds_per_row(found: pd.DataFrame) -> pd.Series:
    return found["seconds"].astype(float) / found["rows"].astype(int)


def section() -> str:
    found = pd.DataFrame(results.read("shapley"))
    if found.empty:
        return "## Shapley values\n\nNot measured yet (`python benchmarks/shapley.py`)."
    last = found.drop_duplicates(["method", "background"], keep="last")
    last = last.assign(per_row=_seconds_per_row(last))
    per_row = last.set_index(["method", "background"])["per_row"]
    trees = last[last["method"] == "shap.TreeExplainer"].iloc[0]
    speedup, speedup_background = (trees["per_row"] / per_row["csid", key] for key in ("0", trees["background"]))
    lines = [
        [
            LABELS[row["method"]],
            _background(row),
            f"{int(row['rows']):,}",
            f"{float(row['seconds']):.1f}",
            f"{1e6 * row['per_row']:,.0f}",
        ]
        for row in last.to_dict("records")
    ]
    return f"""## Shapley values

Shapley values of predictions on protein, for csid's default model ({last.iloc[0]["components"]} components) and for
1,000 trees of LightGBM, in one run (`benchmarks/shapley.py`). csid's values are exact for its tensor, and sum to the
prediction up to {float(last.iloc[0]["largest_gap"]):.0e} standard deviations of y. csid used two threads. The models
differ, and the games differ where the backgrounds differ. Methods with background rows were measured on fewer rows. Per
row, shap.TreeExplainer takes {speedup:,.0f} times as long as csid with independent predictors, and
{speedup_background:,.1f} times as long as csid with the same background.

{markdown(["", "background", "rows", "seconds", "µs per row"], lines)}

{_sampling(per_row["csid", "0"])}"""


def _sampling(exact_seconds: float) -> str:
    """How long explainers that sample coalitions take for a given accuracy, on csid's own game."""
    found = pd.DataFrame(results.read("shapley_sampling"))
    if found.empty:
        return "Sampling is not measured yet."
    last = found.drop_duplicates(["method", "evaluations"], keep="last")
    last = last.assign(per_row=_seconds_per_row(last)).astype({"evaluations": int, "error": float})
    lines = []
    for method, runs in last.groupby("method", sort=False):
        largest = runs.loc[runs["evaluations"].idxmax()]
        errors = ", ".join(
            f"{error:.1e} with {n:,}" for n, error in zip(runs["evaluations"], runs["error"], strict=True)
        )
        # squared errors of means fall as 1 / n: fit that law to the logarithms of all runs
        n = np.exp(np.mean(np.log(runs["evaluations"] * (runs["error"] / ACCURACY) ** 2)))
        needed = n * largest["per_row"] / largest["evaluations"] if len(runs) > 1 else largest["per_row"]
        lines.append([LABELS.get(method, method), errors, f"{1e3 * needed:,.0f}", f"{needed / exact_seconds:,.0f}"])
    return f"""Sampling explainers were run on the same game with csid's own model. A predictor outside the coalition is
missing, so that a coalition costs one prediction; all coalitions of a row are predicted together. The squared error
is inversely proportional to the number of predictions. The table extrapolates with this law to a relative error of
{ACCURACY:g} (root mean square, relative to that of the exact values). With the 9 predictors of protein, predicting
all 512 coalitions is cheaper than sampling, and exact; the number of coalitions doubles with each predictor.

{markdown(["", "relative error, with predictions per row", f"ms per row for {ACCURACY:g}", "time / csid's"], lines)}"""
