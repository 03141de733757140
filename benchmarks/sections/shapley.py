"""Exact Shapley values beside those of trees."""

import pandas as pd

import results
from sections.measured import markdown

LABELS = {
    "csid": "csid, defaults",
    "csid with intervals": "csid, with intervals over the draws",
    "lightgbm pred_contrib": "LightGBM, its own (another game)",
    "shap.TreeExplainer": "shap.TreeExplainer, interventional, on LightGBM",
}


def _background(row: dict[str, str]) -> str:
    if row["method"] == "lightgbm pred_contrib":
        return "by the paths of the trees"
    return "independent predictors" if row["background"] == "0" else f"{row['background']} rows"


def section() -> str:
    found = pd.DataFrame(results.read("shapley"))
    if found.empty:
        return "## Shapley values\n\nNot measured yet (`python benchmarks/shapley.py`)."
    last = found.drop_duplicates(["method", "background"], keep="last")
    lines = [
        [
            LABELS[row["method"]],
            _background(row),
            f"{int(row['rows']):,}",
            f"{float(row['seconds']):.1f}",
            f"{1e6 * float(row['seconds']) / int(row['rows']):,.0f}",
        ]
        for row in last.to_dict("records")
    ]
    return f"""## Shapley values

Of predictions of protein, by csid's default model ({last.iloc[0]["components"]} components) and by 1,000 trees of
LightGBM, in one run (`benchmarks/shapley.py`). csid's are exact for the tensor and sum to the prediction to 2e-15 of
the spread of y. csid had two threads; the models differ, and so do the games where the background does.

{markdown(["", "background", "rows", "seconds", "µs a row"], lines)}"""
