"""What the sections of a report are made from: the fitted model, held-out rows, and what several sections need."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.data.checks import check_targets
from csid.fitted.description import ModelDescription, description_of
from csid.fitted.metrics import probabilities_below
from csid.fitted.model import FittedModel, Model, fitted_model, threads_of
from csid.report.variance_shares import VarianceShares, variance_shares

Array = NDArray[np.float64]

SEED = 0
"""Of the bootstrap and of the choice of rows: the same model and rows give the same page."""

PAIRS = 6
"""Of predictors, of which the page shows the joint effect, at most."""


@dataclass(frozen=True)
class ReportInputs:
    """A fitted model of K outputs, with M rows that it has not seen.

    model : as it was given, which says how many threads may be used; targets : K names of the outputs.
    X, predicted : the rows and their predictions (M, K), or None; truth : their targets (M, K), or None.
    """

    model: Model
    fitted: FittedModel
    description: ModelDescription
    targets: tuple[str, ...]
    X: Any
    predicted: Array | None
    truth: Array | None

    @classmethod
    def of(cls, model: Model, X: Any, y: Any, targets: tuple[str, ...] | None) -> "ReportInputs":
        """Checked inputs. X and y may be None, and so may y alone."""
        fitted = fitted_model(model)
        names = targets or fitted.target_names
        if len(names) != fitted.n_outputs:
            raise ValueError(f"targets names {len(names)} output(s), but the model has {fitted.n_outputs}.")
        if X is None and y is not None:
            raise ValueError("y is given without X: give both, or neither.")
        predicted = None if X is None else fitted.means(X, threads_of(model))
        truth = None if predicted is None or y is None else _truth(y, predicted)
        return cls(model, fitted, description_of(fitted), names, X, predicted, truth)

    @cached_property
    def shares(self) -> VarianceShares:
        """The variance decomposition of the prediction."""
        return variance_shares(self.fitted.tensor, PAIRS)

    @cached_property
    def probabilities(self) -> Array | None:
        """(M, K): the predictive distribution functions at the targets; None without targets or posterior draws."""
        if self.truth is None or self.fitted.posterior is None:
            return None
        return probabilities_below(self.model, self.X, self.truth)

    @property
    def noise_deviation(self) -> Array:
        """(K,) standard deviation of the observation noise; zero for least squares."""
        posterior = self.fitted.posterior
        if posterior is None:
            return np.zeros(self.fitted.n_outputs)
        variance = posterior.likelihood.noise_variance(posterior.parameters, posterior.weights)
        return np.asarray(np.sqrt(np.broadcast_to(variance, self.fitted.n_outputs)))


def _truth(y: Any, predicted: Array) -> Array:
    """Targets (M, K) that have the shape of predictions."""
    truth = check_targets(y, len(predicted)).reshape(len(predicted), -1)
    if truth.shape != predicted.shape:
        raise ValueError(f"y has {truth.shape[1]} output(s), but the model predicts {predicted.shape[1]}.")
    return truth


def rounded(values: Array) -> list[list[float]]:
    """Numbers (N, K), or (K,) as (K, 1), with as many digits as a page shows."""
    return [[float(f"{each:.6g}") for each in np.atleast_1d(row)] for row in values]


def finite(value: float) -> float | None:
    """JSON has no number for what is undefined, such as R² of a single row."""
    return value if np.isfinite(value) else None
