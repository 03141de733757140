"""Result rows as errors by task and method, as numeric tables, and as Markdown tables."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd

import results
from paper import PaperResults
from problems import SYNTHETIC

SPLITS, FEW_SPLITS = 10, 3
Errors = dict[tuple[str, str], np.ndarray]
"""By task and method: one error per split, in the order of the splits."""

LABELS = {
    "mean": "mean",
    "gpa": "GPA",
    "matrix factorisation": "biased MF (cornac)",
    "matrix factorisation untuned": "biased MF, untuned",
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
    "csid one by one": "csid, one model per output",
    "csid rows": "csid, long format, tuned",
    "csid tuned": "csid, layout and settings tuned",
    "csid": "**csid, defaults**",
    "logistic regression defaults": "logistic regression, defaults",
    "forest classifier defaults": "random forest, defaults",
    "ebm classifier defaults": "EBM, defaults",
    "hist boosting classifier defaults": "hist. boosting, defaults",
    "lightgbm classifier defaults": "LightGBM, defaults",
    "xgboost classifier defaults": "XGBoost, defaults",
    "catboost classifier defaults": "CatBoost, defaults",
    "logistic regression": "logistic regression, tuned",
    "forest classifier": "random forest, tuned",
    "ebm classifier": "EBM, tuned",
    "hist boosting classifier": "hist. boosting, tuned",
    "lightgbm classifier": "LightGBM, tuned",
    "xgboost classifier": "XGBoost, tuned",
    "catboost classifier": "CatBoost, tuned",
    "csid classifier": "**csid, defaults**",
}


def numeric_rows(name: str, *text_columns: str) -> pd.DataFrame:
    """All rows of a result file, with every column numeric but the named ones and the provenance."""
    found = pd.DataFrame(results.read(name))
    text = {*text_columns, *results.provenance()}
    return found.assign(**{column: pd.to_numeric(found[column]) for column in found.columns if column not in text})


def rows(table: int, hidden: str = "none") -> pd.DataFrame:
    """The rows of one of Tables 1 to 4, for one way of hiding cells."""
    columns = ["task", "split", "method", "hidden", "rmse", "mae", "crps", "coverage", "fit_seconds", "peak_megabytes"]
    found = pd.DataFrame(results.read(f"table{table}"), columns=columns)
    numbers = dict.fromkeys(columns[4:], float) | {"split": int}
    return found[found["hidden"] == hidden].astype(numbers).drop_duplicates(["task", "split", "method"])


def by_split(found: pd.DataFrame, metric: str = "rmse") -> Errors:
    """A metric by task and method: one value per split, in the order of the splits."""
    ordered = found.sort_values("split")
    return {key: group[metric].to_numpy() for key, group in ordered.groupby(["task", "method"])}


def means(errors: Errors, splits: int = FEW_SPLITS) -> pd.DataFrame:
    """Mean errors (methods, tasks); NaN where fewer than `splits` splits are measured."""
    complete = {key: values.mean() for key, values in errors.items() if len(values) >= splits}
    index = pd.MultiIndex.from_tuples(list(complete), names=["task", "method"]) if complete else None
    return pd.Series(list(complete.values()), index, dtype=float).unstack("task") if complete else pd.DataFrame()


def within_one_error(errors: Errors, task: str, method: str, others: Iterable[str]) -> bool:
    """Whether the mean error is at most that of the best other method plus its standard error.

    The best is the one with the lowest mean relative to this method's, over the splits that both have.
    """

    def common_splits(other: str) -> tuple[np.ndarray, np.ndarray]:
        common = min(len(errors[task, method]), len(errors[task, other]))
        return errors[task, method][:common], errors[task, other][:common]

    measured = [other for other in others if other != method and len(errors.get((task, other), ())) >= FEW_SPLITS]
    ours, theirs = max(map(common_splits, measured), key=lambda pair: np.mean(pair[0] - pair[1]))
    return bool(ours.mean() <= theirs.mean() + theirs.std(ddof=1) / np.sqrt(len(theirs)))


def error_table(
    errors: Errors,
    tasks: Sequence[str],
    methods: Sequence[str],
    results_of_paper: PaperResults,
    skipped: Callable[[str, str], bool] = lambda task, method: False,
    splits: Callable[[str], int] = lambda task: SPLITS,
) -> str:
    """One line per method, one column per task, and the paper's results below ours; the best of each column is bold.

    Tasks and methods without any row are listed below the table. `splits` is the full number of splits of a task.
    """
    shown = [task for task in tasks if any(task == name for name, _ in errors)]
    with_rows = [method for method in methods if any(method == name for _, name in errors)]
    mean = means(errors).reindex(index=with_rows, columns=shown)
    lines = []
    for method in with_rows:
        best = {task for task in shown if mean.loc[method, task] == mean[task].min()}
        cells = [
            "—"
            if skipped(task, method) and (task, method) not in errors
            else _cell(errors.get((task, method)), task in best, splits(task))
            for task in shown
        ]
        lines.append([LABELS[method], *cells])
        paper = [results_of_paper.get(task, {}).get(method) for task in shown]
        if any(paper):
            lines.append(["*paper*", *("*{:.2f} ± {:.2f}*".format(*pair) if pair else "" for pair in paper)])
    absent = [LABELS[method].strip("*") for method in methods if method not in with_rows]
    absent += [task for task in tasks if task not in shown and task != SYNTHETIC]
    table = markdown(["", *shown], lines)
    return f"{table}\n\nNot measured yet: {'; '.join(absent)}." if absent else table


def _cell(values: np.ndarray | None, best: bool, splits: int) -> str:
    """The mean with three digits ± the standard deviation; with the number of splits if some are missing."""
    if values is None:
        return "·"
    decimals = max(0, 2 - int(np.floor(np.log10(values.mean()))))
    text = f"{values.mean():.{decimals}f} ± {values.std():.{decimals}f}"
    if len(values) == 1:
        return f"{values[0]:.{decimals}f} (1)"
    if len(values) < splits:
        return f"{text} ({len(values)})"
    return f"**{text}**" if best else text


def markdown(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, ["---"] * len(header), *lines))
