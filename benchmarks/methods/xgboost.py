"""XGBoost, with its native missing values and categories."""

from functools import partial
from typing import Any

import numpy as np
import optuna
import pandas as pd
from xgboost import XGBClassifier, XGBModel, XGBRegressor

from methods.method import PATIENCE, Method, Settings, Space, plain_names
from target_kinds import CLASSES


def make(
    settings: Settings, categories: list[str], seed: int, threads: int, kind: type[XGBModel] = XGBRegressor
) -> XGBModel:
    return kind(**settings, tree_method="hist", enable_categorical=True, random_state=seed, n_jobs=threads)


def space(trial: optuna.Trial) -> Settings:
    return {
        "learning_rate": trial.suggest_float("learning_rate", 0.02, 0.2, log=True),
        "max_depth": trial.suggest_int("max_depth", 3, 10),
        "min_child_weight": trial.suggest_float("min_child_weight", 1.0, 50.0, log=True),
        "subsample": trial.suggest_float("subsample", 0.5, 1.0),
        "colsample_bytree": trial.suggest_float("colsample_bytree", 0.4, 1.0),
        "reg_lambda": trial.suggest_float("reg_lambda", 1e-3, 100.0, log=True),
    }


def stopped_fit(model: Any, X: pd.DataFrame, y: np.ndarray, X_val: pd.DataFrame, y_val: np.ndarray) -> int:
    model.set_params(early_stopping_rounds=PATIENCE)
    model.fit(X, y, eval_set=[(X_val, y_val)], verbose=False)
    return int(model.best_iteration) + 1


TREES = {"prepare": plain_names, "search": Space(space), "stopped_fit": stopped_fit}
METHODS = {
    "xgboost": Method("xgboost", make, **TREES),
    "xgboost classifier": Method("xgboost", partial(make, kind=XGBClassifier), **TREES, targets=CLASSES),
}
