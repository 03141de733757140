"""Fit and prediction times, measured one after another."""

import pandas as pd

import problems
import results
from sections.measured import markdown


def section() -> str:
    found = pd.DataFrame(results.read("cost"))
    if found.empty:
        return "## Fit and prediction time\n\nNot measured yet."
    seconds = (
        found.astype({"fit_seconds": float, "predict_seconds": float})
        .groupby(["task", "method"])
        .mean(numeric_only=True)
    )
    methods = list(dict.fromkeys(found["method"]))
    tasks = [task for task in problems.TASKS if task in set(found["task"])]
    lines = [
        [task, *("{fit_seconds:.2f} / {predict_seconds:.2f}".format(**seconds.loc[task, name]) for name in methods)]
        for task in tasks
    ]
    return f"""## Fit and prediction time

Seconds for a fit on the training rows of the first split, and for 100,000 predictions; all in one run on two threads,
mean of two rounds (`benchmarks/cost.py`).

{markdown(["fit / predict, s", *methods], lines)}"""
