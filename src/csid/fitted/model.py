"""The fitted model, which explanations, plots, reports, model files and exports read."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing

from csid.data.targets import ClassTargets
from csid.encoding import EncodedRows, Encoding, Missing
from csid.fitted.accuracy import AnyAccuracy
from csid.fitted.columns import Columns
from csid.fitted.posterior import Posterior
from csid.fitted.schema import Schema, default_targets
from csid.fitted.unseen import UnseenCounter, UnseenValues
from csid.likelihoods.class_predictive import ClassPredictive, as_class_predictive
from csid.likelihoods.likelihood import Likelihood
from csid.likelihoods.mixture import Mixture, as_mixture
from csid.likelihoods.predictive import Predictive, PredictiveCalibration
from csid.missing.conditional import ConditionalCPD
from csid.missing.joint_pmf import JointPMF
from csid.missing.level_pmf import LevelPMF
from csid.tensor.cpd import CPD

Array = NDArray[np.float64]

_PREDICTED_ROWS, _ROWS_OF_DRAWS, _FEW_OUTPUTS = 1 << 18, 1 << 12, 8


@dataclass(frozen=True)
class LeastSquaresRecord:
    """The record of a least-squares fit.

    members : the tensors of the ensemble, or the only one.
    objective, validation : for each member, the objective and the held-out error after each sweep. `validation` is
        empty without held-out rows.
    """

    members: tuple[CPD, ...]
    objective: tuple[Array, ...]
    validation: tuple[Array, ...]


@dataclass(frozen=True)
class SamplingRecord:
    """The record of a Bayesian fit.

    stacking_weights : of the priors; convergence : diagnostics by name.
    trace : for each chain (sweeps, Q), the monitored quantities, such as the noise scale of each output.
    accuracy : on the held-out rows of the pilot; None without a pilot of the priors, and in the files of csid 0.1.
    whole_numbers : what each predictor of few whole numbers is, "number" or "category".
    """

    stacking_weights: dict[str, float]
    convergence: dict[str, float]
    trace: tuple[Array, ...]
    accuracy: AnyAccuracy | None = None
    whole_numbers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class FittedModel:
    """A fitted system of N predictors and K outputs. Immutable: another fit makes another object.

    columns : of the training table.
    encoding : levels of the predictors and their marginals.
    tensor : the fitted tensor in the units of y; for a Bayesian fit, the posterior mean.
    likelihood : of the fit.
    missing : whether missing cells are averaged over ("marginalize") or have a level of their own ("level").
    pmf : joint PMF of the predictors; None for the product of the marginals.
    one_output : whether y was one-dimensional; predictions then are too.
    n_samples : number of training rows; n_iter : sweeps of the longest run.
    training : the record of the fit.
    posterior, calibration : of a Bayesian fit, else None.
    schema : of the data file, if the model was fitted to one.
    classes : of a classifier, else None.
    """

    columns: Columns
    encoding: Encoding
    tensor: CPD
    likelihood: Likelihood
    missing: Missing
    pmf: JointPMF | None
    one_output: bool
    n_samples: int
    n_iter: int
    training: LeastSquaresRecord | SamplingRecord
    posterior: Posterior | None = None
    calibration: PredictiveCalibration | None = None
    schema: Schema | None = None
    classes: ClassTargets | None = None

    def __repr__(self) -> str:
        return (
            f"FittedModel({self.estimator}: {self.n_samples} rows, {self.columns.count} predictors, "
            f"{self.n_outputs} outputs, rank {self.tensor.rank})"
        )

    @property
    def estimator(self) -> str:
        """Name of the fitted class."""
        return self.columns.estimator

    @property
    def n_outputs(self) -> int:
        return self.tensor.n_outputs

    @property
    def names(self) -> list[str]:
        """Names of the predictors."""
        return [mode.name for mode in self.encoding.modes]

    @property
    def target_names(self) -> tuple[str, ...]:
        """Names of the outputs: of y or of the data file, or y, or y1, y2, …; of several classes, their labels."""
        if self.classes is not None and self.n_outputs > 1:
            return tuple(map(str, self.classes.labels.tolist()))
        return self.known_targets or default_targets(self.n_outputs)

    @property
    def class_target(self) -> str:
        """The name of the target of a classifier, of which the outputs are the classes."""
        names = self.columns.targets if self.schema is None else self.schema.targets
        return names[0] if len(names) == 1 else "y"

    @property
    def known_targets(self) -> tuple[str, ...]:
        """Names of the outputs, if y or the data file has them; else none."""
        names = self.columns.targets if self.schema is None else self.schema.targets
        return names if len(names) == self.n_outputs else ()

    @cached_property
    def level_pmf(self) -> LevelPMF | None:
        """The joint PMF on the levels of the tensor."""
        return None if self.pmf is None else self.pmf.on(self.encoding)

    @cached_property
    def expectation(self) -> CPD | ConditionalCPD:
        """The tensor for predictions, which averages over missing cells given the observed cells of a row."""
        return self.tensor if self.level_pmf is None else ConditionalCPD(self.tensor, self.level_pmf)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("level_pmf", "expectation")}

    def require_posterior(self, what: str) -> Posterior:
        """The posterior, or an error if there is none. what : the feature that needs it, for the error message."""
        if self.posterior is None:
            remedy = "BayesianCSIDRegressor" if self.classes is None else "BayesianCSIDClassifier"
            raise TypeError(f"{what} needs posterior draws, but {self.estimator} has none: fit a {remedy}.")
        return self.posterior

    def squeeze(self, values: Array) -> Array:
        """Values (..., K) without their last axis if y was one-dimensional."""
        return np.asarray(values[..., 0] if self.one_output else values)

    def encoded(self, X: Any) -> EncodedRows:
        """Check and encode the rows of a table."""
        table, n_rows = self.columns.checked(X)
        return self.encoding.encode(table, n_rows)

    def unseen_values(self, X: Any) -> tuple[UnseenValues, ...]:
        """The predictors of which the rows of a table have values that no training row had."""
        counter = UnseenCounter(self.encoding)
        counter.update(*self.columns.checked(X))
        return counter.found()

    def means(self, X: Any, n_threads: int) -> Array:
        """Predictions (M, K) for the rows of a table. Missing and unseen cells are averaged over."""
        X, n_rows = self.columns.checked(X)
        values = np.empty((n_rows, self.n_outputs))
        for rows, encoded in self._encoded_parts(X, n_rows, _PREDICTED_ROWS):
            values[rows] = self.expectation.evaluate(encoded.codes, encoded.fractions, n_threads)
        wrong = ~np.isfinite(values).all(axis=1)
        if wrong.any():
            remedy = "a larger `ridge` or `smoothness`" if self.posterior is None else "a smaller `rank`"
            raise ArithmeticError(
                f"the prediction overflows in row {int(np.argmax(wrong)) + 1:,}: the product of {self.columns.count} "
                f"factors is too large. Fit with {remedy}, or with fewer predictors."
            )
        return values

    def mixtures(self, X: Any, n_threads: int) -> Iterator[tuple[slice, Mixture]]:
        """Calibrated predictive distributions of numeric targets."""
        for rows, predictive in self.predictives(X, n_threads):
            yield rows, as_mixture(predictive)

    def class_predictives(self, X: Any, n_threads: int) -> Iterator[tuple[slice, ClassPredictive]]:
        """Calibrated predictive distributions of classes."""
        for rows, predictive in self.predictives(X, n_threads):
            yield rows, as_class_predictive(predictive)

    def class_probabilities(self, X: Any, n_threads: int) -> Array:
        """Calibrated probabilities (M, C) of the classes."""
        return np.concatenate([each.probabilities for _, each in self.class_predictives(X, n_threads)])

    def predictives(self, X: Any, n_threads: int) -> Iterator[tuple[slice, Predictive]]:
        """Calibrated predictive distributions for the rows of a table, in batches of rows.

        A least-squares fit has them for classes only: those at the fitted tensor.
        """
        if self.posterior is None and self.classes is not None:
            values = self.means(X, n_threads)[None]
            yield slice(0, values.shape[1]), self.likelihood.predictive(values, {}, np.ones(1))
            return
        posterior = self.require_posterior("a predictive distribution")
        X, n_rows = self.columns.checked(X)
        most = _ROWS_OF_DRAWS * _FEW_OUTPUTS // max(_FEW_OUTPUTS, self.n_outputs)
        for rows, encoded in self._encoded_parts(X, n_rows, most):
            predictive = posterior.predictive(posterior.values(encoded.codes, encoded.fractions, n_threads))
            yield rows, predictive if self.calibration is None else self.calibration.of(predictive)

    def _encoded_parts(self, X: Any, n_rows: int, most: int) -> Iterator[tuple[slice, EncodedRows]]:
        """The encoded rows of a checked table, in batches of at most `most` rows."""
        for start in range(0, n_rows, most):
            rows = slice(start, min(start + most, n_rows))
            part = X if n_rows <= most else _safe_indexing(X, np.arange(rows.start, rows.stop))
            yield rows, self.encoding.encode(part, rows.stop - rows.start)


@runtime_checkable
class FittedEstimator(Protocol):
    """A fitted estimator."""

    n_jobs: int | None

    @property
    def fitted_(self) -> FittedModel: ...


Model = FittedEstimator | FittedModel
"""A model that can be explained, plotted and exported."""


def fitted_model(model: object) -> FittedModel:
    """The fitted model of a csid estimator, or an error if it is not fitted or not a csid estimator."""
    if isinstance(model, FittedModel):
        return model
    if isinstance(model, FittedEstimator):
        return model.fitted_
    name = type(model).__name__
    if any(cls.__module__.partition(".")[0] == "csid" for cls in type(model).__mro__):
        raise NotFittedError(f"This {name} instance is not fitted yet. Call 'fit' with appropriate arguments first.")
    raise TypeError(f"a {name} is not a csid estimator: give a fitted CSIDRegressor or BayesianCSIDRegressor.")


def threads_of(model: object) -> int:
    """The number of threads of an estimator; all cores for a `FittedModel`."""
    return int(joblib.effective_n_jobs(model.n_jobs if isinstance(model, FittedEstimator) else -1))
