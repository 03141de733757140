"""What the sections of a report are made from: the fitted model, held-out rows, and what several sections need."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.data.checks import check_targets
from csid.data.targets import ClassTargets
from csid.fitted.class_names import class_names
from csid.fitted.description import ModelDescription, description_of
from csid.fitted.metrics import probabilities_below
from csid.fitted.model import FittedModel, Model, SamplingRecord, fitted_model, threads_of
from csid.report.variance_shares import VarianceShares, variance_shares
from csid.tensor.cpd import CPD

Array = NDArray[np.float64]

SEED = 0
"""Of the bootstrap and of the choice of rows: the same model and rows give the same page."""

PAIRS = 6
"""Of predictors, of which the page shows the joint effect, at most."""


@dataclass(frozen=True)
class ReportInputs:
    """A fitted model, with M rows that it has not seen. The outputs of a classifier are its C classes.

    model : as it was given, which says how many threads may be used; name : of what is predicted.
    targets : K names of the outputs; of a classifier, its labels.
    X, predicted : the rows and their predictions (M, K), of a classifier probabilities; or None.
    truth : their targets (M, K), of a classifier 1 for the class seen and 0 for the others; or None.
    """

    model: Model
    fitted: FittedModel
    description: ModelDescription
    name: str
    targets: tuple[str, ...]
    X: Any
    predicted: Array | None
    truth: Array | None

    @classmethod
    def of(cls, model: Model, X: Any, y: Any, targets: tuple[str, ...] | None) -> "ReportInputs":
        """Checked inputs. X and y may be None, and so may y alone."""
        fitted = fitted_model(model)
        known = fitted.target_names if fitted.classes is None else (fitted.class_target,)
        names = targets or known
        if len(names) != len(known):
            raise ValueError(f"targets names {len(names)} output(s), but the model has {len(known)}.")
        if X is None and y is not None:
            raise ValueError("y is given without X: give both, or neither.")
        outputs = names if fitted.classes is None else class_names(fitted.classes.labels, names[0])
        predict = fitted.means if fitted.classes is None else fitted.class_probabilities
        predicted = None if X is None else predict(X, threads_of(model))
        truth = None if predicted is None or y is None else _truth(y, predicted, fitted.classes)
        return cls(model, fitted, description_of(fitted), " and ".join(names), outputs, X, predicted, truth)

    @cached_property
    def shares(self) -> VarianceShares:
        """The variance decomposition of the prediction, of a classifier on the latent scale."""
        return variance_shares(with_output_per_class(self.fitted, self.fitted.tensor), PAIRS)

    @cached_property
    def probabilities_below(self) -> Array | None:
        """(M, K): the predictive distribution functions at numeric targets; None without them or posterior draws."""
        if self.truth is None or self.fitted.posterior is None or self.fitted.classes is not None:
            return None
        return probabilities_below(self.model, self.X, self.truth)

    @property
    def noise_deviation(self) -> Array:
        """(K,) standard deviation of the observation noise; zero for least squares and for classes."""
        posterior = self.fitted.posterior
        if posterior is None:
            return np.zeros(len(self.targets))
        variance = posterior.likelihood.noise_variance(posterior.parameters, posterior.weights)
        return np.asarray(np.sqrt(np.broadcast_to(variance, len(self.targets))))


def with_output_per_class(fitted: FittedModel, cpd: CPD) -> CPD:
    """A tensor of the latent values of all classes: of two classes, the first is minus the second."""
    if fitted.classes is None or cpd.n_outputs > 1:
        return cpd
    return replace(cpd, V=np.vstack([-cpd.V, cpd.V]), bias=np.concatenate([-cpd.bias, cpd.bias]))


def relative_convergence(inputs: ReportInputs) -> dict[str, float]:
    """The convergence metrics of a Bayesian fit; the Monte Carlo error relative to the deviation of the predictions.

    That of a numeric target is relative to the standard deviation of the target already.
    """
    training = inputs.fitted.training
    if not isinstance(training, SamplingRecord):
        return {}
    found = dict(training.convergence)
    if inputs.fitted.classes is not None:
        deviation = float(np.sqrt(inputs.shares.variance.mean()))
        found["prediction_error"] = found["prediction_error"] / deviation if deviation > 0.0 else float("nan")
    return found


def _truth(y: Any, predicted: Array, classes: ClassTargets | None) -> Array:
    """Targets (M, K) that have the shape of predictions."""
    if classes is not None:
        return np.eye(predicted.shape[1])[classes.read(y, len(predicted)).astype(np.intp)]
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
