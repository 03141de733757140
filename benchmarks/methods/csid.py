"""This package: least squares as in the paper, the same tuned, and the Bayesian estimators with defaults."""

from typing import Any

import numpy as np
import optuna
import pandas as pd
from sklearn.multioutput import MultiOutputRegressor

from csid import BayesianCSIDClassifier, BayesianCSIDRegressor, CSIDRegressor
from methods.method import Grid, Method, Settings, Space
from metrics import QUANTILES
from target_kinds import CLASSES

SWEEPS, PATIENCE = 100, 20


def least_squares(settings: Settings, categories: list[str], seed: int, threads: int) -> CSIDRegressor:
    """Least squares with a fixed number of sweeps; the ridge follows the smoothness mu: rho = 1e-4 sqrt(mu)."""
    return CSIDRegressor(
        **settings,
        ridge=1e-4 * np.sqrt(settings["smoothness"]),
        tol=0.0,
        n_iter_no_change=SWEEPS,
        early_stopping=False,
        random_state=seed,
        n_jobs=threads,
    )


def as_in_the_paper(settings: Settings, categories: list[str], seed: int, threads: int) -> CSIDRegressor:
    settings = {"levels": 25, "interpolation": "constant", **settings}
    return least_squares(settings, categories, seed, threads)


def space(trial: optuna.Trial) -> Settings:
    return {
        "rank": trial.suggest_int("rank", 4, 40, log=True),
        "levels": trial.suggest_int("levels", 12, 200, log=True),
        "smoothness": trial.suggest_float("smoothness", 1e-4, 10.0, log=True),
        "smoothness_order": trial.suggest_int("smoothness_order", 1, 2),
    }


def stopped_fit(model: Any, X: pd.DataFrame, y: np.ndarray, X_val: pd.DataFrame, y_val: np.ndarray) -> int:
    model.set_params(n_iter_no_change=PATIENCE).fit(X, y, X_val=X_val, y_val=y_val)
    return int(np.argmin(model.validation_history_[0])) + 1


def bayesian(settings: Settings, categories: list[str], seed: int, threads: int) -> BayesianCSIDRegressor:
    return BayesianCSIDRegressor(**settings, random_state=seed, n_jobs=threads)


def classifier(settings: Settings, categories: list[str], seed: int, threads: int) -> BayesianCSIDClassifier:
    return BayesianCSIDClassifier(**settings, random_state=seed, n_jobs=threads)


def one_model_per_target(settings: Settings, categories: list[str], seed: int, threads: int) -> MultiOutputRegressor:
    """One independent model per target."""
    return MultiOutputRegressor(bayesian(settings, categories, seed, threads))


def quantiles(model: BayesianCSIDRegressor, X: pd.DataFrame) -> np.ndarray:
    return np.asarray(model.predict_quantiles(X, QUANTILES))


PAPER_GRID = Grid({"rank": (5, 10, 20), "smoothness": (1e-3, 1e-2, 1e-1, 1.0, 10.0)})
EARLY_STOPPING = {"stopped_fit": stopped_fit, "rounds": "max_iter", "most_rounds": SWEEPS}
RANK_ONE = {"missing": "marginalize", "pmf_rank": 1}
METHODS = {
    "csid als paper": Method("csid", as_in_the_paper, search=PAPER_GRID, **EARLY_STOPPING),
    "csid als tuned": Method("csid", least_squares, search=Space(space), **EARLY_STOPPING, tuning_rows=15_000),
    "csid": Method("csid", bayesian, quantiles=quantiles),
    "csid fast": Method("csid", bayesian, settings={"effort": "fast"}, quantiles=quantiles),
    "csid best": Method("csid", bayesian, settings={"effort": "best"}, quantiles=quantiles),
    "csid rank-one pmf": Method("csid", bayesian, settings=RANK_ONE, quantiles=quantiles),
    "csid one by one": Method("csid", one_model_per_target),
    "csid classifier": Method("csid", classifier, targets=CLASSES),
}
