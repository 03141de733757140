"""Result rows as errors by task and method, and as tables of Markdown."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd

import results
from paper import Figures
from problems import SYNTHETIC

SPLITS, FEW_SPLITS = 10, 3
Errors = dict[tuple[str, str], np.ndarray]
"""By task and method, split after split."""

LABELS = {
    "mean": "mean",
    "gpa": "GPA",
    "matrix factorisation": "biased MF (cornac)",
    "matrix factorisation untuned": "biased MF, not tuned",
    "ridge": "ridge",
    "svr rbf": "SVR, RBF",
    "svr polynomial": "SVR, polynomial",
    "tree": "decision tree",
    "mlp 1": "MLP, 1 layer",
    "mlp 3": "MLP, 3 layers",
    "mlp 5": "MLP, 5 layers",
    "forest": "random forest",
    "gaussian process": "Gaussian process",
    "ebm": "EBM",
    "hist boosting": "hist. boosting",
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
    "catboost": "CatBoost",
    "catboost joint": "CatBoost, MultiRMSE",
    "catboost uncertainty": "CatBoost, RMSEWithUncertainty",
    "csid als paper": "csid, least squares as in the paper",
    "csid als tuned": "csid, least squares, tuned",
    "csid rank-one pmf": "csid, rank-one PMF",
    "csid one by one": "csid, a model for each output",
    "csid rows": "csid, a row for each grade, tuned",
    "csid tuned": "csid, form tuned too",
    "csid": "**csid, defaults**",
}


def rows(table: int, hidden: str = "none") -> pd.DataFrame:
    """The rows of a table with the same cells hidden."""
    columns = ["task", "split", "method", "hidden", "rmse", "mae", "crps", "coverage", "fit_seconds", "peak_megabytes"]
    found = pd.DataFrame(results.read(f"table{table}"), columns=columns)
    numbers = dict.fromkeys(columns[4:], float) | {"split": int}
    return found[found["hidden"] == hidden].astype(numbers).drop_duplicates(["task", "split", "method"])


def by_split(found: pd.DataFrame, figure: str = "rmse") -> Errors:
    """The figures of each task and method, split after split."""
    ordered = found.sort_values("split")
    return {key: group[figure].to_numpy() for key, group in ordered.groupby(["task", "method"])}


def means(errors: Errors, splits: int = FEW_SPLITS) -> pd.DataFrame:
    """Mean error, a line a method and a column a task; NaN unless so many splits are there."""
    whole = {key: values.mean() for key, values in errors.items() if len(values) >= splits}
    index = pd.MultiIndex.from_tuples(list(whole), names=["task", "method"]) if whole else None
    return pd.Series(list(whole.values()), index, dtype=float).unstack("task") if whole else pd.DataFrame()


def within_one_error(errors: Errors, task: str, method: str, others: Iterable[str]) -> bool:
    """Whether the mean is at most that of the strongest other method, plus the standard error of the latter.

    Strongest is the one whose mean is lowest beside this one's, over the splits that both have.
    """

    def beside(other: str) -> tuple[np.ndarray, np.ndarray]:
        common = min(len(errors[task, method]), len(errors[task, other]))
        return errors[task, method][:common], errors[task, other][:common]

    some = [one for one in others if one != method and len(errors.get((task, one), ())) >= FEW_SPLITS]
    ours, theirs = max(map(beside, some), key=lambda pair: np.mean(pair[0] - pair[1]))
    return bool(ours.mean() <= theirs.mean() + theirs.std(ddof=1) / np.sqrt(len(theirs)))


def error_table(
    errors: Errors,
    tasks: Sequence[str],
    methods: Sequence[str],
    figures_of_paper: Figures,
    skipped: Callable[[str, str], bool] = lambda task, method: False,
) -> str:
    """A line a method, a column a task, the paper's figures beneath ours; the best of each column is bold.

    Tasks and methods without any row are named below.
    """
    shown = [task for task in tasks if any(task == one for one, _ in errors)]
    with_rows = [method for method in methods if any(method == one for _, one in errors)]
    mean = means(errors).reindex(index=with_rows, columns=shown)
    lines = []
    for method in with_rows:
        best = {task for task in shown if mean.loc[method, task] == mean[task].min()}
        cells = [_cell(errors.get((task, method)), task in best, skipped(task, method)) for task in shown]
        lines.append([LABELS[method], *cells])
        of_paper = [figures_of_paper.get(task, {}).get(method) for task in shown]
        if any(of_paper):
            lines.append(["*in the paper*", *("*{:.2f} ± {:.2f}*".format(*one) if one else "" for one in of_paper)])
    absent = [LABELS[method].strip("*") for method in methods if method not in with_rows]
    absent += [task for task in tasks if task not in shown and task != SYNTHETIC]
    whole = markdown(["", *shown], lines)
    return f"{whole}\n\nNot measured yet: {'; '.join(absent)}." if absent else whole


def _cell(values: np.ndarray | None, best: bool, skipped: bool) -> str:
    """Three digits of the mean and as many decimals of the deviation; the number of splits when they are not all."""
    if values is None:
        return "—" if skipped else "·"
    decimals = max(0, 2 - int(np.floor(np.log10(values.mean()))))
    text = f"{values.mean():.{decimals}f} ± {values.std():.{decimals}f}"
    if len(values) == 1:
        return f"{values[0]:.{decimals}f} (1)"
    if len(values) < SPLITS:
        return f"{text} ({len(values)})"
    return f"**{text}**" if best else text


def markdown(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table."""
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, ["---"] * len(header), *lines))
