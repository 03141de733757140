"""Exact Shapley values beside those of trees, and beside sampling."""

import numpy as np
import pandas as pd

import results
from sections.measured import markdown

LABELS = {
    "csid": "csid, defaults",
    "csid with intervals": "csid, with intervals over the draws",
    "lightgbm pred_contrib": "LightGBM, its own (another game)",
    "shap.TreeExplainer": "shap.TreeExplainer, interventional, on LightGBM",
    "shapiq.ExactComputer": "shapiq.ExactComputer, all coalitions",
}
ACCURACY = 1e-3
"""Relative error at which sampling is compared."""


def _background(row: dict[str, str]) -> str:
    if row["method"] == "lightgbm pred_contrib":
        return "by the paths of the trees"
    return "independent predictors" if row["background"] == "0" else f"{row['background']} rows"


def _seconds_a_row(found: pd.DataFrame) -> pd.Series:
    return found["seconds"].astype(float) / found["rows"].astype(int)


def section() -> str:
    found = pd.DataFrame(results.read("shapley"))
    if found.empty:
        return "## Shapley values\n\nNot measured yet (`python benchmarks/shapley.py`)."
    last = found.drop_duplicates(["method", "background"], keep="last")
    last = last.assign(a_row=_seconds_a_row(last))
    a_row = last.set_index(["method", "background"])["a_row"]
    trees = last[last["method"] == "shap.TreeExplainer"].iloc[0]
    alone, beside = (trees["a_row"] / a_row["csid", background] for background in ("0", trees["background"]))
    lines = [
        [
            LABELS[row["method"]],
            _background(row),
            f"{int(row['rows']):,}",
            f"{float(row['seconds']):.1f}",
            f"{1e6 * row['a_row']:,.0f}",
        ]
        for row in last.to_dict("records")
    ]
    return f"""## Shapley values

Of predictions of protein, by csid's default model ({last.iloc[0]["components"]} components) and by 1,000 trees of
LightGBM, in one run (`benchmarks/shapley.py`). csid's are exact for the tensor and sum to the prediction to
{float(last.iloc[0]["largest_gap"]):.0e} of the spread of y. csid had two threads; the models differ, and so do the
games where the background does. What goes over a background was measured on part of the rows. A row takes
shap.TreeExplainer {alone:,.0f} times as long as csid with independent predictors, and {beside:,.1f} times as long as
csid over the same background.

{markdown(["", "background", "rows", "seconds", "µs a row"], lines)}

{_sampling(a_row["csid", "0"])}"""


def _sampling(exact_seconds: float) -> str:
    """What explainers that sample coalitions of csid's own game take for the same accuracy."""
    found = pd.DataFrame(results.read("shapley_sampling"))
    if found.empty:
        return "Sampling is not measured yet."
    last = found.drop_duplicates(["method", "evaluations"], keep="last")
    last = last.assign(a_row=_seconds_a_row(last)).astype({"evaluations": int, "error": float})
    lines = []
    for method, runs in last.groupby("method", sort=False):
        largest = runs.loc[runs["evaluations"].idxmax()]
        errors = ", ".join(
            f"{error:.1e} with {n:,}" for n, error in zip(runs["evaluations"], runs["error"], strict=True)
        )
        # squared errors of means fall as 1 / n; the law through all runs, in the middle of their logarithms
        n = np.exp(np.mean(np.log(runs["evaluations"] * (runs["error"] / ACCURACY) ** 2)))
        needed = n * largest["a_row"] / largest["evaluations"] if len(runs) > 1 else largest["a_row"]
        lines.append([LABELS.get(method, method), errors, f"{1e3 * needed:,.0f}", f"{needed / exact_seconds:,.0f}"])
    return f"""Explainers that sample play the same game with csid's own model: a predictor outside of a coalition is
missing, so that a coalition is one prediction, and those of a row are predicted together. Their squared error falls as
one over the number of predictions. By that law, a relative error of {ACCURACY:g} (root mean square, to that of the
values) would take them as long as is said here. With the 9 predictors of protein, to predict all 512 coalitions is
cheaper than sampling, and exact; their number doubles with each predictor.

{markdown(["", "relative error, with predictions a row", f"ms a row for {ACCURACY:g}", "times csid"], lines)}"""
