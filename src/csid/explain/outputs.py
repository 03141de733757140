"""The values of a model that are explained: all of its outputs, or one, which are latent values for a classifier."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid.data.targets import ClassTargets
from csid.fitted.model import FittedModel, Model, fitted_model
from csid.tensor.cpd import CPD

Array = NDArray[np.float64]
Scale = Literal["target", "latent", "probability"]
Output = Any
"""An output, by position or name; of a classifier, a label."""

_MOST_SHOWN = 5


class Outputs(NamedTuple):
    """What explained values are of, for the headings of tables.

    names : of the outputs, labels for a classifier; empty for an unnamed output or several.
    scale : that of the targets; of a classifier, that of latent values or of probabilities.
    """

    names: tuple[str, ...] = ()
    scale: Scale = "target"

    def headings(self, what: str, count: int) -> list[str]:
        """A heading for each of the outputs.

        >>> Outputs().headings("mean", 2), Outputs(("cat", "dog"), "latent").headings("mean", 2)
        (['mean of output 1', 'mean of output 2'], ['mean of cat', 'mean of dog'])
        """
        if count == 1:
            return [what]
        return [f"{what} of {name}" for name in self.names or [f"output {j + 1}" for j in range(count)]]

    @property
    def note(self) -> str:
        """A sentence on the scale of a classifier; nothing for other models."""
        if self.scale != "latent":
            return ""
        return (
            f"Latent scale: of class {self.names[0]}." if len(self.names) == 1 else "Latent scale: a value per class."
        )


OF_THE_TARGETS = Outputs()
"""Of outputs without names."""


class _Selected(NamedTuple):
    """An output, and the sign with which it is taken."""

    position: int
    sign: float


@dataclass(frozen=True)
class Explained:
    """The tensor of a fitted model and of its draws, with all outputs or a selected one."""

    fitted: FittedModel
    outputs: Outputs
    selected: _Selected | None = None

    @classmethod
    def of(cls, model: Model, output: Output = None) -> "Explained":
        """All outputs, or one of them if it is given."""
        fitted = fitted_model(model)
        if fitted.classes is not None:
            return cls._of_classes(fitted, fitted.classes, output)
        if output is None:
            return cls(fitted, OF_THE_TARGETS)
        position = _position(fitted, output)
        return cls(fitted, Outputs((fitted.target_names[position],)), _Selected(position, 1.0))

    @classmethod
    def _of_classes(cls, fitted: FittedModel, classes: ClassTargets, output: Output) -> "Explained":
        """With one latent value, that of the first of two classes is its negative."""
        labels, one = tuple(map(str, classes.labels.tolist())), fitted.n_outputs == 1
        if output is None:
            return cls(fitted, Outputs(labels[-1:] if one else labels, "latent"))
        index = index_of_label(classes, output, "output")
        selected = _Selected(0, 1.0 if index else -1.0) if one else _Selected(index, 1.0)
        return cls(fitted, Outputs((labels[index],), "latent"), selected)

    @cached_property
    def tensor(self) -> CPD:
        return self._of(self.fitted.tensor)

    @property
    def contrast(self) -> Array:
        """The coefficients (K,) of the values of the model, whose sum is the only explained value."""
        position, sign = self.selected or _Selected(0, 1.0)
        return np.asarray(sign * np.eye(self.fitted.n_outputs)[position])

    def draws(self) -> list[CPD]:
        """The tensor of each posterior draw; none without a posterior."""
        posterior = self.fitted.posterior
        return [] if posterior is None else [self._of(draw) for draw in posterior.draws]

    def squeeze(self, values: Array) -> Array:
        """Values (..., K) without their last axis, if there is one output only."""
        return np.asarray(values[..., 0]) if self.selected is not None else self.fitted.squeeze(values)

    def _of(self, cpd: CPD) -> CPD:
        if self.selected is None:
            return cpd
        position, sign = self.selected
        return CPD(cpd.factors, sign * cpd.V[[position]], sign * cpd.bias[[position]], cpd.marginals)


def index_of_label(classes: ClassTargets, label: Any, parameter: str) -> int:
    """The index of a class by its label. parameter : that has the label, for an error message."""
    labels = classes.labels.tolist()
    if label in labels:
        return int(labels.index(label))
    shown = ", ".join(map(repr, labels[:_MOST_SHOWN]))
    more = f" and {len(labels) - _MOST_SHOWN} more" if len(labels) > _MOST_SHOWN else ""
    raise ValueError(f"{parameter}={label!r}: give a label of the model, which are {shown}{more}.")


def _position(fitted: FittedModel, output: Output) -> int:
    K, names = fitted.n_outputs, fitted.target_names
    if isinstance(output, str) and output in names:
        return names.index(output)
    if isinstance(output, int | np.integer) and 0 <= output < K:
        return int(output)
    raise ValueError(
        f"output={output!r}: the model has {K} output(s); give a number from 0 to {K - 1}, or a name: "
        f"{', '.join(map(repr, names))}."
    )
