"""scikit-learn: the paper's baselines, and more.

As in the paper, missing cells are imputed by the mean or the mode, hidden layers have 10, 50, 100 or 250 nodes, and for
all methods but trees numbers are standardised and categories one-hot encoded. The paper gives no other grids; the ones
here are ours. Targets are standardised for support vector regression and networks; the Gaussian process does it itself.
"""

from functools import partial
from typing import Any

import numpy as np
import optuna
import pandas as pd
from scipy.stats import norm
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from methods.method import PATIENCE, Grid, Method, Settings, Space, plain_names
from methods.method import categories as categories_of
from metrics import QUANTILES
from target_kinds import CLASSES

MOST_ROWS_RBF, MOST_ROWS_NETWORKS = 20_000, 6_000


def categories_as_objects(X: pd.DataFrame) -> pd.DataFrame:
    return plain_names(X).astype(dict.fromkeys(categories_of(plain_names(X)), object))


def standardised(categories: list[str], model: Any) -> Any:
    """Impute by mean and mode, standardise numbers, one-hot encode categories."""
    one_hot = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    )
    ordinal = make_pipeline(SimpleImputer(), StandardScaler())
    return make_pipeline(make_column_transformer((one_hot, categories), remainder=ordinal), model)


def for_tree(categories: list[str], model: Any) -> Any:
    """Impute by mean and mode, and encode categories as integers."""
    numbers = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    modes = make_pipeline(SimpleImputer(strategy="most_frequent"), numbers)
    return make_pipeline(make_column_transformer((modes, categories), remainder=SimpleImputer()), model)


def with_standardised_target(model: Any) -> Any:
    return TransformedTargetRegressor(model, transformer=StandardScaler())


def ridge(settings: Settings, categories: list[str], seed: int, threads: int) -> Any:
    return standardised(categories, Ridge(**settings))


def logistic(settings: Settings, categories: list[str], seed: int, threads: int) -> Any:
    return standardised(categories, LogisticRegression(**settings, max_iter=1000))


def svr(settings: Settings, categories: list[str], seed: int, threads: int, **kernel: Any) -> Any:
    model = SVR(**kernel, **settings, cache_size=1000, max_iter=1_000_000)
    return standardised(categories, with_standardised_target(model))


def tree(settings: Settings, categories: list[str], seed: int, threads: int) -> Any:
    return for_tree(categories, DecisionTreeRegressor(**settings, random_state=seed))


def forest(settings: Settings, categories: list[str], seed: int, threads: int) -> Any:
    return for_tree(categories, RandomForestRegressor(200, **settings, random_state=seed, n_jobs=threads))


def forest_classifier(settings: Settings, categories: list[str], seed: int, threads: int) -> Any:
    return for_tree(categories, RandomForestClassifier(**settings, random_state=seed, n_jobs=threads))


def forest_space(trial: optuna.Trial) -> Settings:
    return {
        "max_features": trial.suggest_float("max_features", 0.1, 1.0),
        "min_samples_leaf": trial.suggest_int("min_samples_leaf", 1, 30, log=True),
    }


def mlp(settings: Settings, categories: list[str], seed: int, threads: int, layers: int) -> Any:
    model = MLPRegressor(
        hidden_layer_sizes=(settings["nodes"],) * layers,
        max_iter=1000,
        early_stopping=True,
        n_iter_no_change=20,
        random_state=seed,
    )
    return standardised(categories, with_standardised_target(model))


def boosting(settings: Settings, categories: list[str], seed: int, threads: int, kind: type) -> Any:
    """Without early stopping if the number of rounds is tuned; by default it depends on the number of rows."""
    stops = False if "max_iter" in settings else "auto"
    return kind(**settings, early_stopping=stops, random_state=seed)


def boosting_space(trial: optuna.Trial) -> Settings:
    return {
        "learning_rate": trial.suggest_float("learning_rate", 0.02, 0.2, log=True),
        "max_leaf_nodes": trial.suggest_int("max_leaf_nodes", 8, 256, log=True),
        "min_samples_leaf": trial.suggest_int("min_samples_leaf", 2, 100, log=True),
        "max_features": trial.suggest_float("max_features", 0.4, 1.0),
        "l2_regularization": trial.suggest_float("l2_regularization", 1e-3, 100.0, log=True),
    }


def stopped_boosting(model: Any, X: pd.DataFrame, y: np.ndarray, X_val: pd.DataFrame, y_val: np.ndarray) -> int:
    model.set_params(early_stopping=True, n_iter_no_change=PATIENCE).fit(X, y, X_val=X_val, y_val=y_val)
    rounds = max(int(np.argmax(model.validation_score_)), 1)
    model._predictors = model._predictors[:rounds]  # without the rounds after the best, as other libraries predict
    return rounds


class SubsampledKernelProcess(RegressorMixin, BaseEstimator):
    """A Gaussian process on all rows, with a kernel fitted by marginal likelihood to at most 1,000 of them."""

    def __init__(self, random_state: int | None = None) -> None:
        self.random_state = random_state

    def fit(self, X: np.ndarray, y: np.ndarray) -> "SubsampledKernelProcess":
        subsample = np.random.default_rng(self.random_state).permutation(len(y))[:1000]
        scales = Matern(np.ones(X.shape[1]), (1e-2, 1e4), nu=2.5)
        kernel = ConstantKernel() * scales + WhiteKernel(0.1)
        fitted = GaussianProcessRegressor(kernel, normalize_y=True).fit(X[subsample], y[subsample])
        self.process_ = GaussianProcessRegressor(fitted.kernel_, optimizer=None, normalize_y=True).fit(X, y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.process_.predict(X))


def process(settings: Settings, categories: list[str], seed: int, threads: int) -> Any:
    return standardised(categories, SubsampledKernelProcess(seed))


def process_quantiles(model: Any, X: pd.DataFrame) -> np.ndarray:
    mean, deviation = model[-1].process_.predict(model[:-1].transform(X), return_std=True)
    return np.asarray(mean[:, None] + deviation[:, None] * norm.ppf(QUANTILES))


SKLEARN = partial(Method, "scikit-learn", prepare=categories_as_objects)
ALPHAS, COSTS = tuple(10.0 ** np.arange(-3, 4)), (1.0, 10.0, 100.0)
NODES = Grid({"nodes": (10, 50, 100, 250)}, folds=3)
NETWORK = partial(SKLEARN, search=NODES, most_rows=MOST_ROWS_NETWORKS, most_splits=3, tuning_rows=5000)
HIST_BOOSTING = partial(
    Method,
    "scikit-learn",
    prepare=plain_names,
    search=Space(boosting_space),
    stopped_fit=stopped_boosting,
    rounds="max_iter",
    tuning_rows=5000,
)
METHODS = {
    "ridge": SKLEARN(ridge, search=Grid({"alpha": ALPHAS})),
    "svr rbf": SKLEARN(
        partial(svr, kernel="rbf"),
        search=Grid({"C": COSTS, "gamma": (0.01, 0.03, 0.1, 0.3)}, folds=3),
        most_rows=MOST_ROWS_RBF,
        tuning_rows=3000,
    ),
    "svr polynomial": SKLEARN(
        partial(svr, kernel="poly", coef0=1.0),
        search=Grid({"C": (0.01, 0.1, 1.0), "degree": (2, 3, 4)}, folds=3),
        most_rows=10_000,
        tuning_rows=3000,
    ),
    "tree": SKLEARN(
        tree, search=Grid({"max_depth": (4, 6, 8, 12, 16, None), "min_samples_leaf": (1, 2, 5, 10, 20, 50)})
    ),
    "mlp 1": NETWORK(partial(mlp, layers=1)),
    "mlp 3": NETWORK(partial(mlp, layers=3)),
    "mlp 5": NETWORK(partial(mlp, layers=5)),
    "forest": SKLEARN(
        forest,
        search=Grid({"max_features": (0.33, 0.66, 1.0), "min_samples_leaf": (1, 3)}, folds=3),
        tuning_rows=10_000,
    ),
    "gaussian process": SKLEARN(process, quantiles=process_quantiles, most_rows=8_000, most_splits=3),
    "hist boosting": HIST_BOOSTING(partial(boosting, kind=HistGradientBoostingRegressor)),
    "logistic regression": SKLEARN(
        logistic, search=Grid({"C": tuple(10.0 ** np.arange(-3, 5))}, folds=3), targets=CLASSES
    ),
    "forest classifier": SKLEARN(
        forest_classifier,
        search=Space(forest_space),
        settings={"n_estimators": 200},
        tuning_rows=10_000,
        targets=CLASSES,
    ),
    "hist boosting classifier": HIST_BOOSTING(partial(boosting, kind=HistGradientBoostingClassifier), targets=CLASSES),
}
