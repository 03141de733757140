"""Models made by hand, not fitted: their pictures change only when the drawing does."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from csid.data.targets import ClassTargets
from csid.encoding import CategoricalMode, Encoding, OrdinalMode
from csid.fitted.columns import Columns
from csid.fitted.model import FittedModel, LeastSquaresRecord, SamplingRecord
from csid.fitted.posterior import Draws, Posterior
from csid.fitted.schema import ColumnSchema, Schema
from csid.likelihoods.binary_probit import BinaryProbit
from csid.likelihoods.calibration import Calibration
from csid.likelihoods.class_predictive import ProbabilityCalibration
from csid.likelihoods.gaussian import Gaussian
from csid.likelihoods.multinomial_probit import MultinomialProbit
from csid.tensor.cpd import CPD

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


def least_squares(outputs: int = 1, linear: bool = True) -> FittedModel:
    sweeps = np.arange(1, 21)
    cpd = tensor(outputs=outputs, linear=linear)
    return FittedModel(
        columns=Columns("CSIDRegressor", len(NAMES), NAMES),
        encoding=encoding(linear),
        tensor=cpd,
        likelihood=Gaussian(),
        missing="level",
        pmf=None,
        one_output=outputs == 1,
        n_samples=500,
        n_iter=20,
        training=LeastSquaresRecord((cpd,), (0.1 + 0.9 / sweeps,), (0.2 + 0.8 / sweeps + 0.0008 * sweeps**1.7,)),
        schema=schema(outputs),
    )


def bayesian(outputs: int = 1) -> FittedModel:
    draws = [tensor(tilt, outputs) for tilt in np.linspace(-0.15, 0.15, 9)]
    noise = {"noise": np.full(outputs, 0.6)}
    levels, likelihood = encoding(), Gaussian()
    posterior = Posterior((Draws.of(levels.modes, draws, [noise] * 9, np.full(9, 1.0 / 9.0)),), levels, likelihood)
    sweeps = np.arange(1, 41)[:, None]
    traces = [0.6 + 2.0 / sweeps**2 + 0.03 * np.sin(sweeps * (chain + 1)) for chain in range(3)]
    return FittedModel(
        columns=Columns("BayesianCSIDRegressor", len(NAMES), NAMES),
        encoding=levels,
        tensor=posterior.mean,
        likelihood=likelihood,
        missing="level",
        pmf=None,
        one_output=outputs == 1,
        n_samples=500,
        n_iter=40,
        training=SamplingRecord(
            {"medium": 1.0},
            {"noise_rhat": 1.234, "prediction_rhat": 1.01},
            tuple(np.tile(trace, (1, outputs)) for trace in traces),
        ),
        posterior=posterior,
        calibration=Calibration.identity(outputs),
        schema=schema(outputs),
    )


def classifier(classes: int = 2, draws: bool = True) -> FittedModel:
    """Two classes, 0 and 1, or three with texts as labels."""
    several = classes > 2
    V = np.array([[1.0, -0.3], [-0.5, 0.6], [-0.5, -0.3]]) if several else np.array([[1.2, 0.5]])
    bias = np.array([0.2, -0.6, 0.4]) if several else np.array([-0.6])
    of_draws = [replace(tensor(tilt), V=V, bias=bias) for tilt in (np.linspace(-0.3, 0.3, 9) if draws else [0.0])]
    levels, labels = encoding(), np.array(["bus", "$van", "saab"], dtype=object) if several else np.array([0, 1])
    likelihood = MultinomialProbit((0.5, 0.3, 0.2)) if several else BinaryProbit((0.6, 0.4))
    groups = (Draws.of(levels.modes, of_draws, [{}] * 9, np.full(9, 1.0 / 9.0)),) if draws else ()
    cpd = CPD.average(tuple(of_draws), np.full(len(of_draws), 1.0 / len(of_draws)))
    sweeps = np.arange(1, 41)[:, None]
    traces = tuple(0.4 + 0.3 / sweeps + 0.02 * np.sin(sweeps * (chain + 1)) for chain in range(3))
    sampled = SamplingRecord({"medium": 1.0}, {"noise_rhat": 1.234, "prediction_rhat": 1.01}, traces)
    return replace(
        bayesian() if draws else least_squares(),
        columns=Columns("BayesianCSIDClassifier" if draws else "CSIDClassifier", len(NAMES), NAMES, ("fate",)),
        tensor=cpd,
        likelihood=likelihood,
        one_output=not several,
        training=sampled if draws else LeastSquaresRecord((cpd,), (0.5 + 0.3 / np.arange(1, 21),), (np.zeros(0),)),
        posterior=Posterior(groups, levels, likelihood) if draws else None,
        calibration=ProbabilityCalibration(0.8) if draws else None,
        classes=ClassTargets(labels, np.array(likelihood.frequencies) * 500),
    )


def seen(model: FittedModel, X: pd.DataFrame, seed: int = 1) -> NDArray[Any]:
    """Classes drawn from the probabilities of a classifier."""
    assert model.classes is not None
    below = model.class_probabilities(X, 1).cumsum(axis=1)[:, :-1]
    u = np.random.default_rng(seed).uniform(size=(len(X), 1))
    return np.asarray(model.classes.labels[(below < u).sum(axis=1)])


def schema(outputs: int) -> Schema | None:
    """With names of targets, if there are several."""
    columns = tuple(ColumnSchema(name, "number", "number") for name in NAMES)
    return Schema(columns, ("warmth", "wear"), ()) if outputs == 2 else None


def rows(n: int = 120, seed: int = 0) -> pd.DataFrame:
    """Rows of the four predictors, some cells of the first and third missing."""
    rng = np.random.default_rng(seed)
    heat = np.where(rng.random(n) < 0.1, np.nan, rng.normal(0.5, 1.0, n))
    city = np.where(rng.random(n) < 0.05, None, rng.choice(np.array(CITIES, dtype=object), n))
    return pd.DataFrame(
        {"heat": heat, "load": rng.integers(1, 7, n).astype(float), "city": city, LONG: rng.uniform(size=n)}
    )


def predicted(model: FittedModel, X: pd.DataFrame) -> Array:
    """What `predict` of an estimator returns."""
    return model.squeeze(model.means(X, n_threads=1))


def quantiles(model: FittedModel, X: pd.DataFrame, q: float) -> Array:
    """(M,) predictive quantiles of the first output."""
    return np.concatenate([one.ppf(q)[:, 0] for _, one in model.predictives(X, n_threads=1)])


def observed(model: FittedModel, X: pd.DataFrame, seed: int = 1) -> Array:
    """What the model predicts, with noise of its size."""
    mean = predicted(model, X)
    return mean + 0.6 * np.random.default_rng(seed).standard_normal(mean.shape)
