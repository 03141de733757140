"""Gradient boosting libraries, each with the settings that a search may choose and its own way to stop early.

Categories go to each library as it wants them; all of them are told about every category of the task, so that none can
appear at prediction only.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna
import pandas as pd

MOST_TREES, PATIENCE = 2000, 50
Settings = dict[str, Any]


@dataclass(frozen=True)
class Booster:
    """A library.

    make : (settings, categorical columns, seed, threads) to a regressor with the interface of scikit-learn.
    space : the settings of one trial.
    stopped_fit : fit, but stop when the error on further rows no longer falls; returns the number of trees.
    words : whether categories are strings, not pandas' own.
    """

    make: Callable[[Settings, list[str], int, int], Any]
    space: Callable[[optuna.Trial], Settings]
    stopped_fit: Callable[[Any, pd.DataFrame, np.ndarray, pd.DataFrame, np.ndarray], int]
    words: bool = False

    def table(self, X: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
        """The predictors under plain names, and which are categories."""
        table = X.set_axis([f"x{n}" for n in range(X.shape[1])], axis=1)
        categories = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
        return table.astype(dict.fromkeys(categories, str if self.words else "category")), categories


def _make_lightgbm(settings: Settings, categories: list[str], seed: int, threads: int) -> Any:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(**settings, subsample_freq=1, random_state=seed, n_jobs=threads, verbose=-1)


def _lightgbm_space(trial: optuna.Trial) -> Settings:
    return {
        "learning_rate": trial.suggest_float("learning_rate", 0.02, 0.2, log=True),
        "num_leaves": trial.suggest_int("num_leaves", 8, 256, log=True),
        "min_child_samples": trial.suggest_int("min_child_samples", 2, 100, log=True),
        "subsample": trial.suggest_float("subsample", 0.5, 1.0),
        "colsample_bytree": trial.suggest_float("colsample_bytree", 0.4, 1.0),
        "reg_lambda": trial.suggest_float("reg_lambda", 1e-3, 100.0, log=True),
    }


def _stopped_lightgbm(model: Any, X: pd.DataFrame, y: np.ndarray, X_more: pd.DataFrame, y_more: np.ndarray) -> int:
    from lightgbm import early_stopping

    model.fit(X, y, eval_X=(X_more,), eval_y=(y_more,), callbacks=[early_stopping(PATIENCE, verbose=False)])
    return int(model.best_iteration_)


def _make_xgboost(settings: Settings, categories: list[str], seed: int, threads: int) -> Any:
    from xgboost import XGBRegressor

    return XGBRegressor(**settings, tree_method="hist", enable_categorical=True, random_state=seed, n_jobs=threads)


def _xgboost_space(trial: optuna.Trial) -> Settings:
    return {
        "learning_rate": trial.suggest_float("learning_rate", 0.02, 0.2, log=True),
        "max_depth": trial.suggest_int("max_depth", 3, 10),
        "min_child_weight": trial.suggest_float("min_child_weight", 1.0, 50.0, log=True),
        "subsample": trial.suggest_float("subsample", 0.5, 1.0),
        "colsample_bytree": trial.suggest_float("colsample_bytree", 0.4, 1.0),
        "reg_lambda": trial.suggest_float("reg_lambda", 1e-3, 100.0, log=True),
    }


def _stopped_xgboost(model: Any, X: pd.DataFrame, y: np.ndarray, X_more: pd.DataFrame, y_more: np.ndarray) -> int:
    model.set_params(early_stopping_rounds=PATIENCE)
    model.fit(X, y, eval_set=[(X_more, y_more)], verbose=False)
    return int(model.best_iteration) + 1


def _make_catboost(settings: Settings, categories: list[str], seed: int, threads: int) -> Any:
    from catboost import CatBoostRegressor

    settings = {{"n_estimators": "iterations"}.get(name, name): value for name, value in settings.items()}
    quiet = {"verbose": 0, "allow_writing_files": False}
    return CatBoostRegressor(**settings, cat_features=categories, random_seed=seed, thread_count=threads, **quiet)


def _catboost_space(trial: optuna.Trial) -> Settings:
    return {
        "learning_rate": trial.suggest_float("learning_rate", 0.02, 0.2, log=True),
        "depth": trial.suggest_int("depth", 4, 10),
        "l2_leaf_reg": trial.suggest_float("l2_leaf_reg", 0.5, 30.0, log=True),
        "random_strength": trial.suggest_float("random_strength", 0.1, 10.0, log=True),
        "bagging_temperature": trial.suggest_float("bagging_temperature", 0.0, 1.0),
    }


def _stopped_catboost(model: Any, X: pd.DataFrame, y: np.ndarray, X_more: pd.DataFrame, y_more: np.ndarray) -> int:
    model.fit(X, y, eval_set=(X_more, y_more), early_stopping_rounds=PATIENCE)
    return int(model.get_best_iteration()) + 1


BOOSTERS = {
    "lightgbm": Booster(_make_lightgbm, _lightgbm_space, _stopped_lightgbm),
    "xgboost": Booster(_make_xgboost, _xgboost_space, _stopped_xgboost),
    "catboost": Booster(_make_catboost, _catboost_space, _stopped_catboost, words=True),
}
