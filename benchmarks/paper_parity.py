"""The paper's CSID by the paper's protocol: 25 levels, constant interpolation, ALS, tuned by 5-fold cross-validation.

    python benchmarks/paper_parity.py [task ...]     # resumes; rows in benchmarks/results/paper_parity.csv

Ten random 80/20 splits a task. On the training rows of each split, 5-fold cross-validation chooses the rank, the
smoothness mu (with the ridge tied to it, rho = 1e-4 sqrt(mu)) and the number of sweeps; the model is then fitted to all
training rows and scored once on the test rows. The table goes into the README.
"""

import argparse
import itertools
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from sklearn.model_selection import KFold

import pages
import results
import tasks
from csid import CSIDRegressor

TASKS = ("energy1", "energy2", "concrete", "skillcraft", "abalone", "ccpp", "bike1", "bike2")
SPLITS = 10
RANKS = (5, 10, 20)
SMOOTHNESS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
SWEEPS, PATIENCE = 100, 20


def model(rank: int, smoothness: float, sweeps: int, seed: int, patience: int = SWEEPS) -> CSIDRegressor:
    """The paper's model; one thread, since splits run side by side."""
    return CSIDRegressor(
        rank,
        levels=25,
        interpolation="constant",
        smoothness=smoothness,
        ridge=1e-4 * np.sqrt(smoothness),
        max_iter=sweeps,
        tol=0.0,
        n_iter_no_change=patience,
        early_stopping=False,
        random_state=seed,
        n_jobs=1,
    )


def held_out_curve(rank: int, smoothness: float, X, y, seed: int) -> np.ndarray:
    """Cross-validated squared error after each sweep; a fold that stopped keeps its last value."""
    curves = np.empty((5, SWEEPS))
    for fold, (train, test) in enumerate(KFold(5, shuffle=True, random_state=seed).split(X)):
        fitted = model(rank, smoothness, SWEEPS, seed, PATIENCE).fit(
            X.iloc[train], y[train], X_val=X.iloc[test], y_val=y[test]
        )
        curve = fitted.validation_history_[0] * np.var(y[train])
        curves[fold] = np.pad(curve, (0, SWEEPS - len(curve)), mode="edge")
    return curves.mean(axis=0)


def run(name: str, seed: int) -> dict[str, object]:
    """One split: tune on its training rows, fit, score on its test rows."""
    task = tasks.load(name)
    train, test = tasks.split(task, seed)
    X, y = task.X.iloc[train], task.y[train]
    started = time.perf_counter()
    curves = {setting: held_out_curve(*setting, X, y, seed) for setting in itertools.product(RANKS, SMOOTHNESS)}
    rank, smoothness = min(curves, key=lambda setting: curves[setting].min())
    curve = curves[rank, smoothness]
    sweeps = int(curve.argmin()) + 1
    tuned = time.perf_counter()
    fitted = model(rank, smoothness, sweeps, seed).fit(X, y)
    seconds = time.perf_counter() - tuned
    error = fitted.predict(task.X.iloc[test]) - task.y[test]
    return {
        "task": name,
        "split": seed,
        "rank": rank,
        "smoothness": smoothness,
        "sweeps": sweeps,
        "cv_rmse": float(np.sqrt(curve.min())),
        "rmse": float(np.sqrt(np.mean(error**2))),
        "tune_seconds": round(tuned - started, 2),
        "fit_seconds": round(seconds, 3),
        **results.provenance(),
    }


def report() -> None:
    """The table of the README: ours beside the paper's, and whether we stay within one of its standard deviations."""
    rows = results.read("paper_parity")
    lines = ["| task | ours | paper | at most paper + 1 sd |", "|---|---|---|---|"]
    for name in TASKS:
        errors = [float(row["rmse"]) for row in rows if row["task"] == name]
        if len(errors) == SPLITS:
            mean, spread = tasks.load(name).paper
            ours, bar = np.mean(errors), mean + spread
            verdict = f"{bar:.2f}: {'yes' if ours <= bar else 'no'}"
            lines.append(f"| {name} | {ours:.3f} ± {np.std(errors):.3f} | {mean:.2f} ± {spread:.2f} | {verdict} |")
    pages.fill("README.md", "parity", "\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", nargs="*", default=TASKS)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    done = {(row["task"], int(row["split"])) for row in results.read("paper_parity")}
    todo = [(name, seed) for name in options.task for seed in range(SPLITS) if (name, seed) not in done]
    with ProcessPoolExecutor(options.processes) as pool:
        for row in pool.map(run, *zip(*todo, strict=True)) if todo else ():
            results.append("paper_parity", row)
            print(f"{row['task']} split {row['split']}: RMSE {row['rmse']:.4g} ({row['tune_seconds']} s)", flush=True)
    report()


if __name__ == "__main__":
    main()
