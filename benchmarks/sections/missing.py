"""The paper's Table 2: a fraction of the predictors' cells is hidden."""

import matplotlib.pyplot as plt
import numpy as np

import paper
from sections import drawing
from sections.measured import FEW_SPLITS, LABELS, Errors, by_split, error_table, means, rows
from sections.single_output import TASKS, left_out
from tables import TABLES

ORDER = [method for method in LABELS if method in TABLES[2].methods]
PROTOCOLS = {"train": "hidden in training rows only", "both": "hidden in training and test rows"}
SHOWN = ("ridge", "tree", "lightgbm", "catboost", "csid rank-one pmf", "csid")


def errors_of(case: str, protocol: str) -> Errors:
    return by_split(rows(2, f"{case} {protocol}"))


def plot_of_cases() -> str:
    """Error relative to the best method, geometric mean over tasks, against the fraction of hidden cells."""
    cases = [case.name for case in sorted(TABLES[2].cases, key=lambda case: (case.by_value, case.fraction))]
    figure, axes = plt.subplots(1, 2, figsize=(7.5, 3.4), sharey=True, layout="constrained")
    drawn = False
    for axis, protocol in zip(axes, PROTOCOLS, strict=True):
        ratios = {method: [np.nan] * len(cases) for method in SHOWN}
        for number, case in enumerate(cases):
            first = {key: values[:FEW_SPLITS] for key, values in errors_of(case, protocol).items()}
            if not first:
                continue
            table = means(first, FEW_SPLITS).reindex(SHOWN).dropna(how="all")
            table = table.dropna(axis=1)  # only tasks that all methods have
            relative = np.exp(np.log(table / table.min()).mean(axis=1)) if table.size else table.mean(axis=1)
            for method, value in relative.dropna().items():
                ratios[method][number] = value
                drawn = True
        for method, marker, line in zip(SHOWN, drawing.MARKERS, drawing.LINES * 2, strict=False):
            label = LABELS[method].strip("*")
            axis.plot(cases, ratios[method], marker=marker, linestyle=line, label=label)
        axis.set(title=PROTOCOLS[protocol], xlabel="cells hidden")
    axes[0].set_ylabel("RMSE relative to the best")
    axes[0].legend(frameon=False, fontsize=7)
    if not drawn:
        plt.close(figure)
        return "Other fractions of hidden cells are not measured yet."
    caption = (
        "RMSE relative to the best of these methods against the fraction of hidden cells; geometric mean over the "
        "tasks that all of these methods have, 3 splits. By value: the higher a value, the more likely it is hidden."
    )
    return drawing.save(figure, "missing", caption)


def section() -> str:
    tables = []
    for protocol, label in PROTOCOLS.items():
        errors = errors_of("30 %", protocol)
        shown = error_table(errors, TASKS, ORDER, paper.TABLE2, left_out) if errors else "Not measured yet."
        tables.append(f"Cells {label}:\n\n{shown}")
    return f"""## Table 2: 30 % of the cells hidden

Test RMSE as in Table 1, with 30 % of the predictors' cells hidden at random. The paper does not say whether cells of
test rows are hidden too, so both cases are shown, each with the paper's results. The paper's baselines impute hidden
cells by the mean or the mode; boosted trees use their native handling of missing values. Settings are those of Table
1.

{(chr(10) * 2).join(tables)}

{plot_of_cases()}"""
