"""Classification: log loss, calibration, accuracy and cost, of methods tuned and with their defaults."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

import classes
import problems
import results
from sections.compared import searches, significance
from sections.measured import FEW_SPLITS, LABELS, Errors, by_split, error_table, markdown, within_one_error
from target_kinds import CLASSES

TASKS = tuple(problems.CLASSES)
ORDER = [method for method in LABELS if method in classes.METHODS]
BOOSTERS = ("hist boosting classifier", "lightgbm classifier", "xgboost classifier", "catboost classifier")
UNIT_OF_COST = "catboost classifier defaults"


def rows() -> pd.DataFrame:
    """All rows; a row that was measured again, with times, replaces the first."""
    numbers = ["split", *CLASSES.metrics, "fit_seconds"]
    found = pd.DataFrame(results.read("classes"), columns=["task", "method", *numbers])
    found = found.assign(**{column: pd.to_numeric(found[column]) for column in numbers})
    return found.drop_duplicates(["task", "split", "method"], keep="last")


def splits(task: str) -> int:
    return problems.CLASSES[task].splits


def complete(errors: Errors, *methods: str) -> list[str]:
    """The problems on which all splits of these methods are measured."""
    return [task for task in TASKS if all(len(errors.get((task, name), ())) >= splits(task) for name in methods)]


def verdict(found: pd.DataFrame, suffix: str = "") -> str:
    """On how many problems csid with defaults has the better log loss and calibration; of others with this suffix."""
    loss, calibration = by_split(found, "log_loss"), by_split(found, "calibration_error")
    others, boosters = [f"{name}{suffix}" for name in classes.OTHERS], [f"{name}{suffix}" for name in BOOSTERS]
    tasks = complete(loss, classes.CSID, *boosters)
    if not tasks:
        return "not measured yet."

    def below_boosters(errors: Errors, task: str) -> bool:
        return bool(errors[task, classes.CSID].mean() < min(errors[task, name].mean() for name in boosters))

    close = sum(within_one_error(loss, task, classes.CSID, others) for task in tasks)
    better = sum(below_boosters(loss, task) for task in tasks)
    calibrated = sum(below_boosters(calibration, task) for task in tasks)
    absent = sum(len(loss.get((task, name), ())) < splits(task) for task in TASKS for name in (*others, classes.CSID))
    so_far = f" {absent} pairs of problem and method are not measured yet." if absent else ""
    return (
        f"csid with defaults has the lowest log loss of {len(others) + 1} methods, or is within one standard error of "
        f"it, on {close} of {len(tasks)} problems. Its log loss is below that of every booster on {better}, and its "
        f"expected calibration error on {calibrated}.{so_far}"
    )


def relative_cost(found: pd.DataFrame) -> Errors:
    """Fit time relative to CatBoost with defaults, on the same split."""
    seconds = found.pivot(index=["task", "split"], columns="method", values="fit_seconds")
    if UNIT_OF_COST not in seconds:
        return {}
    relative = seconds.div(seconds[UNIT_OF_COST], axis=0).melt(ignore_index=False, value_name="cost").dropna()
    return by_split(relative.reset_index(), "cost")


def cost_of_csid(found: pd.DataFrame) -> str:
    """Median and maximum over problems of the mean relative fit time."""
    cost = relative_cost(found)
    means = [cost[task, classes.CSID].mean() for task in complete(cost, classes.CSID)]
    if not means:
        return "Fit times are not measured yet."
    return (
        f"A fit of csid takes {np.median(means):.1f} times as long as one of CatBoost with defaults in the median over "
        f"{len(means)} problems, and {np.max(means):.1f} times at most."
    )


def goals() -> str:
    """The line of the page's goals."""
    found = rows()
    return f"- Classification, other methods tuned: {verdict(found)} {cost_of_csid(found)}"


def mean_table(values: Errors, show: Callable[[float], str], best: Callable[..., float]) -> str:
    """One line per method, one column per problem: means over splits, the best of each column bold."""
    shown = [task for task in TASKS if any(task == name for name, _ in values)]
    full = {key: found.mean() for key, found in values.items() if len(found) >= FEW_SPLITS}

    def cell(task: str, method: str) -> str:
        if (task, method) not in values:
            return "·"
        mean = values[task, method].mean()
        is_best = (task, method) in full and mean == best(full[key] for key in full if key[0] == task)
        return f"**{show(mean)}**" if is_best else show(mean)

    with_rows = [method for method in ORDER if any(method == name for _, name in values)]
    return markdown(["", *shown], [[LABELS[name], *(cell(task, name) for task in shown)] for name in with_rows])


def metric_tables(found: pd.DataFrame) -> Sequence[str]:
    described: dict[str, tuple[str, Callable[[float], str], Callable[..., float]]] = {
        "calibration_error": (
            "Expected calibration error, in percentage points (15 equal-width bins of the probability of the likeliest "
            "class):",
            lambda mean: f"{100 * mean:.1f}",
            min,
        ),
        "accuracy": ("Accuracy, in percent:", lambda mean: f"{100 * mean:.1f}", max),
        "brier_score": ("Brier score, summed over classes:", lambda mean: f"{mean:.3f}", min),
        "roc_auc": ("ROC AUC; with several classes, the mean of each against the rest:", "{:.3f}".format, max),
    }
    return [f"{title}\n\n{mean_table(by_split(found, name), *how)}" for name, (title, *how) in described.items()]


def section() -> str:
    found = rows()
    if found.empty:
        return "## Classification\n\nNot measured yet."
    loss = by_split(found, "log_loss")
    cost = relative_cost(found)
    costs = mean_table(cost, "{:.2f}".format, min) if cost else "Not measured yet."
    return f"""## Classification

Test log loss, mean ± standard deviation over five random 80/20 splits, three above 20,000 rows
(`benchmarks/classes.py`). The best method of each problem is bold. csid is `BayesianCSIDClassifier` with defaults.
Other methods have the default parameters of their library, or are tuned once per problem, by the log loss, on the
training rows of the first split. Probabilities of zero count as 2e-16. "·": not measured yet. A number in parentheses
is the number of splits if some are missing.

{error_table(loss, TASKS, ORDER, {}, splits=splits)}

Other methods with defaults: {verdict(found, " defaults")}

Other methods tuned: {verdict(found)}

How settings were tuned, as in Table 1; folds are stratified:

{searches(classes.OTHERS)}

Log loss of csid compared with each method, by the corrected resampled t-test over the splits of a problem that both
have:

{significance(loss, TASKS, ORDER, classes.CSID)}

{(chr(10) * 2).join(metric_tables(found))}

Fit time relative to CatBoost with defaults, on the same two threads, without the search of settings:

{costs}

{cost_of_csid(found)}"""
