"""Fitted classifiers of every kind, and what they should predict."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from csid import BayesianCSIDClassifier
from csid.fitted.model import FittedModel
from csid.fitted.posterior import Posterior
from csid.likelihoods.class_likelihood import as_class_likelihood
from csid.likelihoods.class_predictive import ProbabilityCalibration
from export.systems import mixed_table, related_table

Array = NDArray[np.float64]

BAYES = partial(
    BayesianCSIDClassifier,
    rank=3,
    n_chains=2,
    n_burn=3,
    n_draws=4,
    prior="medium",
    whole_numbers="number",
    random_state=0,
    n_jobs=1,
)


def _labels(table: pd.DataFrame, labels: list[Any]) -> NDArray[Any]:
    """Labels that depend on all columns but the last."""
    x, count, word, flag, _ = (table[name] for name in table)
    value = x.fillna(0) * flag.eq(True) + 0.5 * count.fillna(4) * (word == "u")
    ranks = value.rank(method="first").to_numpy() - 1.0
    return np.array(labels)[(ranks * len(labels) / len(table)).astype(int)]


def _fitted(
    labels: list[Any], exponent: float = 1.0, table_of: Callable[[int], pd.DataFrame] = mixed_table, **options: Any
) -> FittedModel:
    table = table_of(150)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = BAYES(categorical_features=["prediction"], **options).fit(table, _labels(table, labels))
    factor = np.linspace(1.5, 0.7, model.cpd_.n_outputs)
    posterior = replace(weighted(model.posterior_), imputation_factor=factor)
    calibration = ProbabilityCalibration(exponent)
    return replace(model.fitted_, tensor=posterior.mean, posterior=posterior, calibration=calibration)


def weighted(posterior: Posterior) -> Posterior:
    """The same draws with different weights."""
    weights = np.arange(1.0, len(posterior.weights) + 1.0)
    parts = np.split(weights / weights.sum(), np.cumsum([len(group.weights) for group in posterior.groups])[:-1])
    groups = tuple(replace(group, weights=part) for group, part in zip(posterior.groups, parts, strict=True))
    return replace(posterior, groups=groups)


def _without_draws(*args: Any, **options: Any) -> FittedModel:
    return replace(_fitted(*args, **options), posterior=None)


_THREE = ["one", "größer 'x'", "label"]
_KINDS: dict[str, Callable[[], FittedModel]] = {
    "two strings": partial(_fitted, ["no", "yes"], exponent=0.4, missing="marginalize"),
    "two booleans": partial(_fitted, [False, True], missing="level"),
    "three strings": partial(_fitted, _THREE, exponent=2.3, missing="marginalize"),
    "four numbers": partial(_fitted, [7, -2, 2**60, 0], missing="marginalize", interpolation="constant"),
    "three, joint": partial(_fitted, _THREE, exponent=0.7, table_of=related_table, missing="marginalize", pmf_rank=4),
    "two, without draws": partial(_without_draws, [1.0, 2.0], exponent=1.5, missing="marginalize"),
    "three, without draws, joint": partial(
        _without_draws, _THREE, table_of=related_table, missing="marginalize", pmf_rank=4
    ),
}
KINDS = tuple(_KINDS)


@cache
def fitted(kind: str) -> FittedModel:
    """A model of this kind; do not change it. Draws are calibrated at rows with missing cells."""
    return _KINDS[kind]()


def labels_of(model: FittedModel) -> list[Any]:
    assert model.classes is not None
    return model.classes.labels.tolist()


def probabilities(model: FittedModel, table: Any) -> Array:
    """Probabilities (M, C), as the estimator predicts them; without draws, those at the latent values."""
    if model.posterior is not None:
        return np.concatenate([each.probabilities for _, each in model.class_predictives(table, 1)])
    plain = as_class_likelihood(model.likelihood).predictive(model.means(table, 1)[None], {}, np.ones(1))
    assert model.calibration is not None
    return model.calibration.of(plain).probabilities
