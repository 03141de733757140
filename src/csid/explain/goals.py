"""What a counterfactual should reach: a value of an output, or a class."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from csid.encoding import EncodedRows
from csid.explain.outputs import Explained, Output, index_of_label
from csid.explain.probabilities import class_probabilities
from csid.fitted.model import FittedModel
from csid.likelihoods.class_likelihood import LatentConditions, as_class_likelihood

Array = NDArray[np.float64]

_MARGINS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


class Verdict(NamedTuple):
    """What is predicted for a row, and whether the goal is reached.

    probability : of the wanted class, if the goal is one.
    """

    prediction: Any
    reached: bool
    probability: float | None = None


class Goal(Protocol):
    """A goal, which is reached where linear conditions on the values (K,) of the system hold, or nearly so.

    margins : by which all conditions must hold. Larger ones are tried in turn as long as the goal is not reached.
    wanted : the label of the class, if the goal is one.
    """

    @property
    def conditions(self) -> LatentConditions: ...

    @property
    def margins(self) -> tuple[float, ...]: ...

    @property
    def wanted(self) -> Any: ...

    def of_row(self, row: EncodedRows) -> Verdict:
        """The verdict on a row."""


@dataclass(frozen=True)
class ValueGoal:
    """To bring a prediction below a value, or above it.

    coefficients : (K,) of the values of the system, whose sum is the prediction.
    sign : 1 to bring it below the value, -1 to bring it above.
    """

    fitted: FittedModel
    value: float
    sign: float
    coefficients: Array
    margins: tuple[float, ...] = (0.0,)
    wanted: Any = None

    @classmethod
    def of(cls, fitted: FittedModel, below: float | None, above: float | None, output: Output) -> "ValueGoal":
        if output is None and fitted.n_outputs > 1:
            raise ValueError(
                f"output=None: the model has {fitted.n_outputs} outputs; give one of them, such as "
                f"{fitted.target_names[0]!r}."
            )
        value, sign = (float(below), 1.0) if below is not None else (float(above or 0.0), -1.0)
        if not np.isfinite(value):
            raise ValueError(f"{'below' if sign > 0 else 'above'}={value}: give a finite number.")
        return cls(fitted, value, sign, Explained.of(fitted, output).contrast)

    @property
    def conditions(self) -> LatentConditions:
        return LatentConditions(self.sign * self.coefficients[None], np.array([-self.sign * self.value]))

    def of_row(self, row: EncodedRows) -> Verdict:
        prediction = float(self.coefficients @ self.fitted.expectation.evaluate(row.codes, row.fractions)[0])
        return Verdict(prediction, self.sign * (prediction - self.value) < 0.0)


@dataclass(frozen=True)
class ClassGoal:
    """To make a class the likeliest, by its index. The conditions are those of the posterior mean of the latent values.

    The predicted probabilities are means over posterior draws, which may differ a little: hence the margins.
    """

    fitted: FittedModel
    labels: list[Any]
    index: int
    conditions: LatentConditions
    margins: tuple[float, ...] = _MARGINS

    @classmethod
    def of(cls, fitted: FittedModel, to_class: Any) -> "ClassGoal":
        if fitted.classes is None:
            raise ValueError(f"to_class={to_class!r}: {fitted.estimator} has no classes; give below or above.")
        index = index_of_label(fitted.classes, to_class, "to_class")
        conditions = as_class_likelihood(fitted.likelihood).likeliest(index)
        return cls(fitted, fitted.classes.labels.tolist(), index, conditions)

    @property
    def wanted(self) -> Any:
        return self.labels[self.index]

    def of_row(self, row: EncodedRows) -> Verdict:
        (probabilities,) = class_probabilities(self.fitted, row)
        likeliest = int(probabilities.argmax())
        return Verdict(self.labels[likeliest], likeliest == self.index, float(probabilities[self.index]))


def goal_of(
    fitted: FittedModel, below: float | None, above: float | None, to_class: Any, output: Output
) -> ValueGoal | ClassGoal:
    """The goal that is asked for; exactly one of below, above and to_class."""
    given = {"below": below, "above": above}
    wanted = "the value that the prediction must pass"
    if fitted.classes is not None or to_class is not None:
        given, wanted = given | {"to_class": to_class}, "the class that must become the likeliest, or a latent value"
    if sum(each is not None for each in given.values()) != 1:
        listed = ", ".join(f"{name}={each!r}" for name, each in given.items())
        raise ValueError(f"{listed}: give one of them, {wanted}.")
    return ValueGoal.of(fitted, below, above, output) if to_class is None else ClassGoal.of(fitted, to_class)
