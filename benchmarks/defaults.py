"""Default smoothness and early stopping of least squares, by cross-validation on training rows; updates decision 0005.

python benchmarks/defaults.py     # resumes; rows in benchmarks/results/defaults.csv
"""

import itertools
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from sklearn.model_selection import KFold

import pages
import problems
import results
from csid import CSIDRegressor

TASKS = ("energy1", "concrete", "skillcraft", "abalone", "wine", "ccpp", "bike1")
SMOOTHNESS = (0.003, 0.01, 0.03, 0.1, 0.3)
MOST_ROWS = 5000


def run(name: str, smoothness: float, early_stopping: bool) -> dict[str, object]:
    """Cross-validated RMSE of one setting on the training rows of the first split."""
    task = problems.load(name)
    rows = problems.split(task, 0)[0][:MOST_ROWS]
    X, y, errors = task.X.iloc[rows], task.y[rows], []
    for train, test in itertools.islice(KFold(5, shuffle=True, random_state=0).split(X), 3):
        model = CSIDRegressor(
            smoothness=smoothness,
            ridge=1e-4 * np.sqrt(smoothness),
            early_stopping=early_stopping,
            max_iter=100,
            random_state=0,
            n_jobs=1,
        )
        model.fit(X.iloc[train], y[train])
        errors.append(np.mean((model.predict(X.iloc[test]) - y[test]) ** 2))
    return {
        "task": name,
        "smoothness": smoothness,
        "early_stopping": early_stopping,
        "cv_rmse": float(np.sqrt(np.mean(errors))),
        **results.provenance(),
    }


def table(rows: list[dict[str, str]]) -> str:
    """One row per setting, one column per task; RMSE relative to the best of each column."""
    found = {(r["task"], float(r["smoothness"]), r["early_stopping"] == "True"): float(r["cv_rmse"]) for r in rows}
    lines = [f"| smoothness | early stopping | {' | '.join(TASKS)} | mean |", "|---" * (len(TASKS) + 3) + "|"]
    for early_stopping, smoothness in itertools.product((True, False), SMOOTHNESS):
        ratios = [
            found[name, smoothness, early_stopping] / min(value for key, value in found.items() if key[0] == name)
            for name in TASKS
        ]
        mean = np.exp(np.mean(np.log(ratios)))
        cells = " | ".join(f"{ratio:.2f}" for ratio in (*ratios, mean))
        lines.append(f"| {smoothness} | {'yes' if early_stopping else 'no'} | {cells} |")
    return "\n".join(lines)


def main() -> None:
    done = {(r["task"], float(r["smoothness"]), r["early_stopping"] == "True") for r in results.read("defaults")}
    todo = [key for key in itertools.product(TASKS, SMOOTHNESS, (True, False)) if key not in done]
    with ProcessPoolExecutor() as pool:
        for row in pool.map(run, *zip(*todo, strict=True)) if todo else ():
            results.append("defaults", row)
            print(row["task"], row["smoothness"], row["early_stopping"], f"{row['cv_rmse']:.4g}", flush=True)
    pages.fill("docs/decisions/0005-defaults.md", "defaults", table(results.read("defaults")))


if __name__ == "__main__":
    main()
