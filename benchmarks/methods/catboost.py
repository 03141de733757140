"""CatBoost, with its own missing values and categories; for one target, for several, and with a variance."""

from functools import partial
from typing import Any

import numpy as np
import optuna
import pandas as pd
from catboost import CatBoostRegressor
from scipy.stats import norm

from methods.method import PATIENCE, Method, Settings, Space
from methods.method import categories as categories_of
from scores import QUANTILES


class MeanOfNormal(CatBoostRegressor):
    """Fitted with `RMSEWithUncertainty`, it predicts the mean; `normal` has the variance too."""

    def predict(self, X: Any) -> np.ndarray:
        return self.normal(X)[:, 0]

    def normal(self, X: Any) -> np.ndarray:
        return np.asarray(super().predict(X))


def make(
    settings: Settings, categories: list[str], seed: int, threads: int, kind: type = CatBoostRegressor, **more: Any
) -> CatBoostRegressor:
    quiet = {"verbose": 0, "allow_writing_files": False}
    return kind(**settings, **more, cat_features=categories, random_seed=seed, thread_count=threads, **quiet)


def words(X: pd.DataFrame) -> pd.DataFrame:
    """Categories as strings, a missing one among them."""
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


def stopped_fit(model: Any, X: pd.DataFrame, y: np.ndarray, X_more: pd.DataFrame, y_more: np.ndarray) -> int:
    model.fit(X, y, eval_set=(X_more, y_more), early_stopping_rounds=PATIENCE)
    return int(model.get_best_iteration()) + 1


def quantiles(model: MeanOfNormal, X: pd.DataFrame) -> np.ndarray:
    mean, variance = model.normal(X).T
    return np.asarray(mean[:, None] + np.sqrt(variance)[:, None] * norm.ppf(QUANTILES))


uncertain = partial(make, kind=MeanOfNormal, loss_function="RMSEWithUncertainty")
several = partial(make, loss_function="MultiRMSE")
METHODS = {
    "catboost": Method("catboost", make, words, Space(space), stopped_fit=stopped_fit, rounds="iterations"),
    "catboost uncertainty": Method("catboost", uncertain, words, quantiles=quantiles),
    "catboost joint": Method("catboost", several, words, Space(space), stopped_fit=stopped_fit, rounds="iterations"),
}
