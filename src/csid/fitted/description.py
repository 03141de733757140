"""A fitted model as plain data: everything a prediction needs. Exports and the report are made from it."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.encoding import CategoricalMode, Mode
from csid.fitted.model import FittedModel, Model, fitted_model
from csid.likelihoods.calibration import as_noise_calibration
from csid.likelihoods.class_likelihood import ClassLikelihood, as_class_likelihood
from csid.likelihoods.class_predictive import as_probability_calibration
from csid.likelihoods.likelihood import Likelihood
from csid.likelihoods.predictive import PredictiveCalibration
from csid.missing.level_pmf import LEAST_PROBABILITY, LevelPMF, quantiles_of_draws

Array = NDArray[np.float64]
CategoryValue = str | bool | int | float
Label = str | bool | int


@dataclass(frozen=True)
class NumericPredictor:
    """A predictor that is a number.

    grid : (G,) increasing levels. Between two levels, a number takes the nearest or, if `linear`, interpolates between
        both. Beyond the outer levels it takes the outer level.
    rows : (G + 1, R) rows of the factor, one per level; the last is that of a missing cell.
    words : ordered words of a table that stand for 0, 1, …; date : whether the table holds dates, which are days since
        1970 here.
    """

    name: str
    grid: Array
    linear: bool
    rows: Array
    words: tuple[str, ...] = ()
    date: bool = False

    @property
    def edges(self) -> Array:
        """(G - 1,) midpoints, where the nearest level changes. A number on a midpoint takes the lower level."""
        return np.asarray(0.5 * self.grid[1:] + 0.5 * self.grid[:-1])


@dataclass(frozen=True)
class CategoricalPredictor:
    """A predictor that is a category.

    categories : C of them, all strings, all booleans or all numbers.
    rows : (L, R) rows of the factor, those of the categories first; the last is that of an unseen category.
    missing : index of the row of a missing cell.
    """

    name: str
    categories: tuple[CategoryValue, ...]
    rows: Array
    missing: int

    @property
    def unseen(self) -> int:
        """Index of the row of an unseen category."""
        return len(self.rows) - 1

    @property
    def of_strings(self) -> bool:
        """Whether its cells are strings. A column that was never observed counts as strings."""
        return not self.categories or isinstance(self.categories[0], str)


Predictor = NumericPredictor | CategoricalPredictor


@dataclass(frozen=True)
class DescribedDraws:
    """D posterior draws, whose components follow one another in the tensor, and the calibration of their predictions.

    ranks : (D,) components of each draw, R in all; weights : (D,) positive, which sum to one.
    bias : (D, K). The output factor of a draw is its part of the tensor's `V` divided by its weight.
    likelihood, parameters : of the observations, and its own parameters, (D, ...) each.
    """

    ranks: NDArray[np.intp]
    weights: Array
    bias: Array
    likelihood: Likelihood
    parameters: dict[str, Array]
    calibration: PredictiveCalibration

    @property
    def noise(self) -> Array:
        """(D, K) scales of additive noise."""
        return self.parameters["noise"]

    @property
    def knots(self) -> Array:
        """(K, P) predicted means, of models of additive noise."""
        return as_noise_calibration(self.calibration).knots

    @property
    def log_factors(self) -> Array:
        """(K, P) the logarithm of the calibration factor at the knots."""
        return as_noise_calibration(self.calibration).log_factors

    @property
    def owners(self) -> NDArray[np.intp]:
        """(R,) the draw of each component."""
        return np.repeat(np.arange(len(self.ranks)), self.ranks)


@dataclass(frozen=True)
class Classification:
    """The classes that a classifier predicts, of which the values of its tensor are the latent values.

    labels : C of them, all strings, all booleans or all whole numbers.
    likelihood : gives their probabilities, given latent values.
    exponent : calibrated probabilities are proportional to this power of them.
    """

    labels: tuple[Label, ...]
    likelihood: ClassLikelihood
    exponent: float


@dataclass(frozen=True)
class DescribedClasses:
    """Latent classes of rows, which make up the PMF that missing and unseen cells follow.

    pmf : C classes, over the levels of observed cells; one class if predictors are independent.
    conditional : whether predictions average over missing cells given the observed ones. Otherwise factors have rows
        for missing and unseen cells, and the classes only matter for draws.
    least : classes with a lower probability are left out of means.
    quantiles : (D,) the class of a row in a draw is this quantile of its class probabilities.
    drawn : (N, D, C) the level of a missing cell in each draw, given the class of its row.
    imputation_factor : (K,) by which deviations of the draws from their mean are multiplied at rows with such cells.
    """

    pmf: LevelPMF
    conditional: bool
    least: float
    quantiles: Array
    drawn: NDArray[np.intp]
    imputation_factor: Array


@dataclass(frozen=True)
class ModelDescription:
    """The tensor f_j(x) = b_j + sum_r V(j, r) prod_n a_n(x)_r, where a_n(x) is a row of the factor of predictor n.

    V : (K, R); bias : (K,); draws : of a Bayesian model, else None.
    classes : for rows with missing or unseen cells, of a model with draws or a joint PMF; else None.
    classification : of a classifier, else None.
    targets : names of the outputs, if known; missing : words that mark a missing cell in a file.
    normalise_text : whether texts are in lower case, with single blanks and none at the ends.
    """

    predictors: tuple[Predictor, ...]
    V: Array
    bias: Array
    draws: DescribedDraws | None
    targets: tuple[str, ...] = ()
    missing: tuple[str, ...] = ("",)
    classes: DescribedClasses | None = None
    normalise_text: bool = False
    classification: Classification | None = None


def description_of(model: Model) -> ModelDescription:
    """Everything that predictions of a fitted model need."""
    fitted = fitted_model(model)
    if not fitted.likelihood.exported:
        raise NotImplementedError(
            f"report pages and exports do not support likelihood={fitted.likelihood.name!r} yet: keep the model as a "
            "file with model.save(path), and predict in Python after csid.load(path)."
        )
    repeated = next((name for name in fitted.names if fitted.names.count(name) > 1), None)
    if repeated is not None:
        raise ValueError(f"two columns are called {repeated!r}: rename one and fit again.")
    tensor = fitted.tensor
    predictors = tuple(map(_predictor, fitted.encoding.modes, tensor.factors, tensor.marginals))
    plain = ModelDescription(
        predictors,
        tensor.V,
        tensor.bias,
        _draws(fitted),
        fitted.known_targets,
        classes=_classes(fitted),
        classification=_classification(fitted),
    )
    schema = fitted.schema
    return plain if schema is None else replace(plain, missing=schema.missing, normalise_text=schema.normalise_text)


def as_classification(model: ModelDescription) -> Classification:
    """What a described classifier predicts, or an error."""
    if model.classification is None:
        raise TypeError("the model has no classes: it is that of a regressor.")
    return model.classification


def _predictor(mode: Mode, A: Array, p: Array) -> Predictor:
    average = p @ A  # Eq. (12) and (13): the row of a missing cell, and of an unseen category
    if not isinstance(mode, CategoricalMode):
        rows = A if mode.missing_level else np.vstack([A, average])
        return NumericPredictor(mode.name, mode.grid, mode.linear, rows, mode.words, mode.date)
    categories = tuple(_category(value, mode.name) for value in mode.categories)
    return CategoricalPredictor(
        mode.name,
        categories,
        np.vstack([A, average]),
        missing=len(categories) if mode.missing_level else len(A),
    )


def _category(value: Any, name: str) -> CategoryValue:
    """A category as a plain string, boolean or number."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    number = math.nan if isinstance(value, bytes) else float(value)
    if not math.isfinite(number) or number != value:
        raise ValueError(
            f"column {name!r} has the category {value!r} ({type(value).__name__}), which exports do not support: "
            "make its categories strings or ordinary numbers, and fit again."
        )
    return int(number) if number.is_integer() else number


def _draws(fitted: FittedModel) -> DescribedDraws | None:
    posterior = fitted.posterior
    if posterior is None:
        return None
    return DescribedDraws(
        np.concatenate([group.ranks for group in posterior.groups]),
        posterior.weights,
        np.concatenate([group.bias for group in posterior.groups]),
        posterior.likelihood,
        posterior.parameters,
        fitted.calibration or posterior.likelihood.no_calibration(fitted.n_outputs),
    )


def _classification(fitted: FittedModel) -> Classification | None:
    if fitted.classes is None:
        return None
    likelihood = as_class_likelihood(fitted.likelihood)
    calibration = as_probability_calibration(fitted.calibration or likelihood.no_calibration(fitted.n_outputs))
    return Classification(tuple(map(_label, fitted.classes.labels.tolist())), likelihood, calibration.exponent)


def _label(label: str | bool | int | float) -> Label:
    """A label as a string, boolean or whole number."""
    if isinstance(label, str):
        return str(label)
    return int(label) if isinstance(label, float) else label


def _classes(fitted: FittedModel) -> DescribedClasses | None:
    posterior, factor = fitted.posterior, np.ones(fitted.n_outputs)
    if posterior is not None:
        pmf, factor = posterior.imputation.pmf, factor * posterior.imputation_factor
    elif fitted.level_pmf is not None:
        pmf = fitted.level_pmf
    else:
        return None
    D = 0 if posterior is None else len(posterior.weights)
    quantiles = quantiles_of_draws(D, len(pmf.levels))
    all_missing, certain = np.tile(pmf.levels.astype(np.uint16), (pmf.classes.rank, 1)), np.eye(pmf.classes.rank)
    drawn = [pmf.impute(all_missing, certain, u) for u in quantiles]
    by_predictor = np.array(drawn, dtype=np.intp).reshape(D, *all_missing.shape).transpose(2, 0, 1)
    return DescribedClasses(pmf, fitted.pmf is not None, LEAST_PROBABILITY, quantiles[:, 0], by_predictor, factor)
