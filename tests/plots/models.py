"""Models made by hand, not fitted: their pictures change only when the drawing does."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from csid import BayesianCSIDRegressor, CSIDRegressor
from csid.cpd import CPD
from csid.encoding import CategoricalMode, Encoding, OrdinalMode
from csid.posterior import Draws, Posterior
from csid.schema import ColumnSchema, Schema
from csid.spread import Spread

Array = NDArray[np.float64]

HEAT, LOAD = np.linspace(-3.0, 5.0, 33), np.arange(1.0, 7.0)
CITIES = ("Aachen", "Berlin", "Chemnitz", "Dresden")
LONG = "share of the cost, in $, of all that was ordered"
NAMES = ("heat", "load", "city", LONG)


def modes(linear: bool = True) -> tuple[OrdinalMode | CategoricalMode, ...]:
    return (
        OrdinalMode("heat", HEAT, linear, True),
        OrdinalMode("load", LOAD, linear, False),
        CategoricalMode("city", CITIES, True),
        OrdinalMode(LONG, np.linspace(0.0, 1.0, 20), linear, False),
    )


def encoding(linear: bool = True) -> Encoding:
    bell = np.append(np.exp(-0.5 * (HEAT - 0.5) ** 2), 2.0)
    masses = (bell, np.array([4.0, 6.0, 5.0, 3.0, 2.0, 1.0]), np.array([5.0, 8.0, 3.0, 2.0, 1.0]), np.ones(20))
    return Encoding(modes(linear), tuple(mass / mass.sum() for mass in masses))


def tensor(tilt: float = 0.0, outputs: int = 1, linear: bool = True) -> CPD:
    """Two components; `tilt` sets draws apart."""
    wave = np.append(np.sin(HEAT + tilt), 0.6 + tilt)
    rise = np.append(1.0 + 0.1 * HEAT, 1.2)
    share = np.linspace(0.0, 1.0, 20)
    factors = (
        np.column_stack([wave, rise]),
        np.column_stack([np.ones(6), 1.0 + 0.2 * LOAD + tilt]),
        np.column_stack([[0.8, 1.3, 0.2, 1.0, 0.9], [1.0, 1.1, 0.7, 1.5 + tilt, 0.9]]),
        np.column_stack([np.ones(20), 1.0 + 0.2 * share**2]),
    )
    V = np.array([[2.0, 3.0], [1.0, -2.0]])[:outputs]
    return CPD(factors, V, np.array([10.0, 5.0])[:outputs], encoding(linear).marginals)


def least_squares(outputs: int = 1, linear: bool = True) -> CSIDRegressor:
    model = _with(CSIDRegressor(n_jobs=1), outputs, linear)
    model.cpd_ = model._expectation = tensor(outputs=outputs, linear=linear)
    model.members_ = (model.cpd_,)
    sweeps = np.arange(1, 21)
    model.objective_history_ = [0.1 + 0.9 / sweeps]
    model.validation_history_ = [0.2 + 0.8 / sweeps + 0.0008 * sweeps**1.7]
    return model


def bayesian(outputs: int = 1) -> BayesianCSIDRegressor:
    model = _with(BayesianCSIDRegressor(n_jobs=1), outputs, True)
    tilts = np.linspace(-0.15, 0.15, 9)
    draws = [tensor(tilt, outputs) for tilt in tilts]
    group = Draws.of(model.encoding_.modes, draws, np.full((9, outputs), 0.6), np.full(9, 1.0 / 9.0))
    model.posterior_ = Posterior((group,), model.encoding_)
    model.cpd_, model._expectation = model.posterior_.mean, model.posterior_.expectation
    model.spread_ = Spread.none(outputs)
    sweeps = np.arange(1, 41)[:, None]
    model.history_ = [
        np.tile(0.6 + 2.0 / sweeps**2 + 0.03 * np.sin(sweeps * (chain + 1)), (1, outputs)) for chain in range(3)
    ]
    model.convergence_ = {"noise_rhat": 1.234, "prediction_rhat": 1.01}
    return model


def rows(n: int = 120, seed: int = 0) -> pd.DataFrame:
    """Rows of the four predictors, some cells of the first and third missing."""
    rng = np.random.default_rng(seed)
    heat = np.where(rng.random(n) < 0.1, np.nan, rng.normal(0.5, 1.0, n))
    city = np.where(rng.random(n) < 0.05, None, rng.choice(np.array(CITIES, dtype=object), n))
    return pd.DataFrame(
        {"heat": heat, "load": rng.integers(1, 7, n).astype(float), "city": city, LONG: rng.uniform(size=n)}
    )


def observed(model: Any, X: pd.DataFrame, seed: int = 1) -> Array:
    """What the model predicts, with noise of its size."""
    mean = model.predict(X)
    return mean + 0.6 * np.random.default_rng(seed).standard_normal(mean.shape)


def _with(model: Any, outputs: int, linear: bool) -> Any:
    """An estimator with all that does not depend on the kind of model."""
    model.encoding_ = encoding(linear)
    model.feature_names_in_ = np.array(NAMES, dtype=object)
    model.n_features_in_ = len(NAMES)
    model.pmf_ = None
    model._one_output = outputs == 1
    model.n_samples_, model.n_iter_ = 500, 20
    if outputs == 2:
        columns = tuple(ColumnSchema(name, "number", "number") for name in NAMES)
        model.schema_ = Schema(columns, ("warmth", "wear"), ())
    return model
