"""CatBoost, with its native missing values and categories: one target, several, mean with variance, and classes."""

from functools import partial
from typing import Any

import numpy as np
import optuna
import pandas as pd
from catboost import CatBoost, CatBoostClassifier, CatBoostRegressor
from scipy.stats import norm

from methods.method import PATIENCE, Method, Settings, Space
from methods.method import categories as categories_of
from metrics import QUANTILES
from target_kinds import CLASSES


class GaussianCatBoost(CatBoostRegressor):
    """CatBoost fitted with `RMSEWithUncertainty`: predicts the mean; `mean_and_variance` returns the variance too."""

    def predict(self, X: Any) -> np.ndarray:
        return self.mean_and_variance(X)[:, 0]

    def mean_and_variance(self, X: Any) -> np.ndarray:
        return np.asarray(super().predict(X))


def make(
    settings: Settings, categories: list[str], seed: int, threads: int, kind: type = CatBoostRegressor, **options: Any
) -> CatBoost:
    quiet = {"verbose": 0, "allow_writing_files": False}
    return kind(**settings, **options, cat_features=categories, random_seed=seed, thread_count=threads, **quiet)


def categories_as_strings(X: pd.DataFrame) -> pd.DataFrame:
    """Categories as strings, with "missing" as one more category."""
    return X.assign(
        **{name: X[name].astype(object).where(X[name].notna(), "missing").astype(str) for name in categories_of(X)}
    )


def space(trial: optuna.Trial) -> Settings:
    return {
        "learning_rate": trial.suggest_float("learning_rate", 0.02, 0.2, log=True),
        "depth": trial.suggest_int("depth", 4, 10),
        "l2_leaf_reg": trial.suggest_float("l2_leaf_reg", 0.5, 30.0, log=True),
        "random_strength": trial.suggest_float("random_strength", 0.1, 10.0, log=True),
        "bagging_temperature": trial.suggest_float("bagging_temperature", 0.0, 1.0),
    }


def stopped_fit(model: Any, X: pd.DataFrame, y: np.ndarray, X_val: pd.DataFrame, y_val: np.ndarray) -> int:
    model.fit(X, y, eval_set=(X_val, y_val), early_stopping_rounds=PATIENCE)
    return int(model.get_best_iteration()) + 1


def quantiles(model: GaussianCatBoost, X: pd.DataFrame) -> np.ndarray:
    mean, variance = model.mean_and_variance(X).T
    return np.asarray(mean[:, None] + np.sqrt(variance)[:, None] * norm.ppf(QUANTILES))


make_gaussian = partial(make, kind=GaussianCatBoost, loss_function="RMSEWithUncertainty")
make_joint = partial(make, loss_function="MultiRMSE")
make_classifier = partial(make, kind=CatBoostClassifier)
TREES = {
    "prepare": categories_as_strings,
    "search": Space(space),
    "stopped_fit": stopped_fit,
    "rounds": "iterations",
}
METHODS = {
    "catboost": Method("catboost", make, **TREES),
    "catboost uncertainty": Method("catboost", make_gaussian, categories_as_strings, quantiles=quantiles),
    "catboost joint": Method("catboost", make_joint, **TREES),
    "catboost classifier": Method("catboost", make_classifier, **TREES, targets=CLASSES),
}
