"""LightGBM, with its native missing values and categories."""

from functools import partial
from typing import Any

import numpy as np
import optuna
import pandas as pd
from lightgbm import LGBMClassifier, LGBMModel, LGBMRegressor, early_stopping

from methods.method import PATIENCE, Method, Settings, Space, plain_names
from target_kinds import CLASSES


def make(
    settings: Settings, categories: list[str], seed: int, threads: int, kind: type[LGBMModel] = LGBMRegressor
) -> LGBMModel:
    return kind(**settings, subsample_freq=1, random_state=seed, n_jobs=threads, verbose=-1)


def space(trial: optuna.Trial) -> Settings:
    return {
        "learning_rate": trial.suggest_float("learning_rate", 0.02, 0.2, log=True),
        "num_leaves": trial.suggest_int("num_leaves", 8, 256, log=True),
        "min_child_samples": trial.suggest_int("min_child_samples", 2, 100, log=True),
        "subsample": trial.suggest_float("subsample", 0.5, 1.0),
        "colsample_bytree": trial.suggest_float("colsample_bytree", 0.4, 1.0),
        "reg_lambda": trial.suggest_float("reg_lambda", 1e-3, 100.0, log=True),
    }


def stopped_fit(model: Any, X: pd.DataFrame, y: np.ndarray, X_val: pd.DataFrame, y_val: np.ndarray) -> int:
    model.fit(X, y, eval_X=(X_val,), eval_y=(y_val,), callbacks=[early_stopping(PATIENCE, verbose=False)])
    return int(model.best_iteration_)


TREES = {"prepare": plain_names, "search": Space(space), "stopped_fit": stopped_fit}
METHODS = {
    "lightgbm": Method("lightgbm", make, **TREES),
    "lightgbm classifier": Method("lightgbm", partial(make, kind=LGBMClassifier), **TREES, targets=CLASSES),
}
