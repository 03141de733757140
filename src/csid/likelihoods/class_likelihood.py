"""Likelihoods of classes, given by their index: what binary, multinomial and ordinal probit have in common."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from csid.likelihoods.class_predictive import (
    ClassPredictive,
    ProbabilityCalibration,
    fit_probability_calibration,
)
from csid.likelihoods.latent_normal import LatentNormal
from csid.likelihoods.likelihood import Likelihood, TargetKind

Array = NDArray[np.float64]

_MOST_CLASSES = 1000


class OnnxClasses(NamedTuple):
    """Class probabilities in an ONNX graph.

    probabilities : maps latent values (M, K, D) in D draws, and the parameters of the draws, to (M, C, D).
    """

    probabilities: Callable[[Any, Mapping[str, Array]], Any]


class LatentConditions(NamedTuple):
    """Linear conditions on latent values (K,): all of `contrasts @ values + offsets` are negative.

    contrasts : (J, K); offsets : (J,).
    """

    contrasts: Array
    offsets: Array


@dataclass(frozen=True)
class ClassLikelihood(LatentNormal):
    """A likelihood of C classes; targets (M, 1) are their indices, from 0.

    frequencies : of the classes in the training rows, which sum to one.
    """

    target: ClassVar[TargetKind] = "class"

    frequencies: tuple[float, ...] = (0.5, 0.5)

    @property
    def n_classes(self) -> int:
        return len(self.frequencies)

    @abstractmethod
    def class_probabilities(self, values: Array, parameters: Mapping[str, Array]) -> Array:
        """Probabilities (D, M, C) of the classes, given values (D, M, K) and parameters (D, ...) of D draws."""

    def likeliest(self, index: int) -> LatentConditions:
        """When a class, by its index, is the likeliest given the latent values."""
        raise NotImplementedError(f"counterfactuals of a class do not support likelihood={self.name!r}.")

    def predictive(self, values: Array, parameters: Mapping[str, Array], weights: Array) -> ClassPredictive:
        return ClassPredictive(self.class_probabilities(values, parameters), weights)

    def no_calibration(self, outputs: int) -> ProbabilityCalibration:
        return ProbabilityCalibration()

    def fit_calibration(self, predictive: ClassPredictive, truth: Array, weights: Array) -> ProbabilityCalibration:
        return fit_probability_calibration(predictive, truth, weights[:, 0])

    def as_json(self) -> dict[str, Any]:
        return super().as_json() | {"frequencies": list(self.frequencies)}

    @classmethod
    def of_json(cls, entries: Mapping[str, Any]) -> Self:
        return cls(frequencies_of_json(entries.get("frequencies")))


def as_class_likelihood(likelihood: Likelihood) -> ClassLikelihood:
    """A likelihood of classes, or an error."""
    if isinstance(likelihood, ClassLikelihood):
        return likelihood
    raise TypeError(f"likelihood={likelihood.name!r} is not a likelihood of classes.")


def frequencies_of_json(entry: object) -> tuple[float, ...]:
    """Class frequencies from a model file."""
    numbers = entry if isinstance(entry, list) else []
    legal = all(isinstance(each, float) and 0.0 < each < 1.0 for each in numbers)
    if not legal or not 2 <= len(numbers) <= _MOST_CLASSES or abs(sum(numbers) - 1.0) > 1e-6:
        raise ValueError(f"has class frequencies {entry!r}, not two or more positive numbers that sum to one")
    return tuple(numbers)
