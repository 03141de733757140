"""What a method is to the benchmarks: a regressor, the form of the table it wants, and how its settings are found."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import optuna
import pandas as pd

Settings = dict[str, Any]
PATIENCE = 50


@dataclass(frozen=True)
class Grid:
    """All combinations of these values, by cross-validation with this many folds."""

    values: Mapping[str, Sequence[Any]]
    folds: int = 5

    def settings(self) -> list[Settings]:
        return [dict(zip(self.values, chosen, strict=True)) for chosen in itertools.product(*self.values.values())]


@dataclass(frozen=True)
class Space:
    """Trials that Optuna's sampler (TPE) proposes, as many as the problem says."""

    suggest: Callable[[optuna.Trial], Settings]
    folds: int = 3


def as_it_is(X: pd.DataFrame) -> pd.DataFrame:
    return X


def plain_names(X: pd.DataFrame) -> pd.DataFrame:
    """Columns x0, x1, …, since some libraries refuse brackets and the like."""
    return X.set_axis([f"x{n}" for n in range(X.shape[1])], axis=1)


def categories(X: pd.DataFrame) -> list[str]:
    """The columns that are categories, in whatever form they were prepared."""
    return [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]


@dataclass(frozen=True)
class Method:
    """A regressor with the interface of scikit-learn.

    library : whose version goes with its rows.
    make : (settings, categorical columns, seed, threads) to the regressor.
    prepare : the predictors in the form that it wants.
    search : where its settings come from; without one they are `settings`. settings_of : a method whose settings, tuned
        first, go with them.
    stopped_fit : fit, but stop when the error on further rows no longer falls; returns the number of rounds.
    rounds, most_rounds : the setting that takes this number, and its value while searching.
    quantiles : (model, table) to (M, 19), if it has them.
    most_rows : it is left out where there are more training rows, since it takes too long.
    most_splits : of a task, for a method that is slow on all of them.
    tuning_rows : most rows that the search looks at.
    """

    library: str
    make: Callable[[Settings, list[str], int, int], Any]
    prepare: Callable[[pd.DataFrame], pd.DataFrame] = as_it_is
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
