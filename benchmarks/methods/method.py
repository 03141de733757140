"""A benchmarked method: an estimator, how it needs the table prepared, and how its settings are tuned."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import optuna
import pandas as pd

from target_kinds import NUMBERS, TargetKind

Settings = dict[str, Any]
PATIENCE = 50


@dataclass(frozen=True)
class Grid:
    """A grid search over all combinations of these values, by cross-validation with this many folds."""

    values: Mapping[str, Sequence[Any]]
    folds: int = 5

    def settings(self) -> list[Settings]:
        return [dict(zip(self.values, chosen, strict=True)) for chosen in itertools.product(*self.values.values())]


@dataclass(frozen=True)
class Space:
    """A random search by Optuna's TPE sampler; `Problem.trials` is its number of trials."""

    suggest: Callable[[optuna.Trial], Settings]
    folds: int = 3


def unchanged(X: pd.DataFrame) -> pd.DataFrame:
    return X


def plain_names(X: pd.DataFrame) -> pd.DataFrame:
    """Rename the columns to x0, x1, …, because some libraries reject brackets and similar characters."""
    return X.set_axis([f"x{n}" for n in range(X.shape[1])], axis=1)


def categories(X: pd.DataFrame) -> list[str]:
    """The categorical columns of a prepared table."""
    return [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]


@dataclass(frozen=True)
class Method:
    """A scikit-learn compatible regressor or classifier, and how to run it.

    library : the package whose version is recorded with the results.
    make : (settings, categorical columns, seed, threads) -> estimator.
    prepare : transforms the predictors for this estimator.
    search : how settings are tuned.
    settings : fixed settings.
    settings_of : another method, tuned first, whose settings are used too.
    stopped_fit : fits with early stopping on further rows; returns the number of rounds.
    rounds, most_rounds : the name of the setting for the number of rounds, and its value during the search.
    quantiles : (model, table) -> (M, 19) predicted quantiles, if the method has them.
    most_rows : the method is skipped on tasks with more training rows, because it takes too long.
    most_splits : the most splits per task, for methods that are slow everywhere.
    tuning_rows : the most rows used in the search.
    targets : the kind of target that it predicts.
    """

    library: str
    make: Callable[[Settings, list[str], int, int], Any]
    prepare: Callable[[pd.DataFrame], pd.DataFrame] = unchanged
    search: Grid | Space | None = None
    settings: Settings = field(default_factory=dict)
    settings_of: str | None = None
    stopped_fit: Callable[[Any, pd.DataFrame, np.ndarray, pd.DataFrame, np.ndarray], int] | None = None
    rounds: str = "n_estimators"
    most_rounds: int = 2000
    quantiles: Callable[[Any, pd.DataFrame], np.ndarray] | None = None
    most_rows: int | None = None
    most_splits: int = 10
    tuning_rows: int | None = None
    targets: TargetKind = NUMBERS

    def with_defaults(self) -> "Method":
        """The same estimator with the default parameters of its library."""
        return replace(self, search=None, settings={}, stopped_fit=None)
