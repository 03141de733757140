"""What a user gives as y, as the numbers (M, T) that a likelihood reads: numbers as they are, classes by index."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from csid.data.checks import check_targets
from csid.data.labels import ClassCounts, Labels, as_array_of_labels, check_labels, check_one_for_each_row, in_order
from csid.data.weights import WeightMeaning

Array = NDArray[np.float64]
ClassWeight = Mapping[Any, float] | Literal["balanced"] | None

_MOST_SHOWN = 5
_FEWEST_ROWS_OF_A_CLASS = 0.5


class TargetReader(Protocol):
    """Checks the targets of some rows and turns them into numbers."""

    @property
    def width(self) -> int | None:
        """The number T of columns that stand for one target; None if each column is an output."""

    def units(self, centre: Array, scale: Array) -> tuple[Array, Array]:
        """Centre and scale (T,) of the targets of a fit, from the mean and standard deviation of their columns."""

    def read(self, y: Any, n_rows: int, names: tuple[str, str] = ("X", "y")) -> Array:
        """Targets (M,) or (M, T). names : of X and y in error messages."""

    def factors(self, targets: Array) -> Array | None:
        """Factors (M,) of the weights of rows with these targets; None for ones."""


class NumericTargets:
    """Numbers, of one output or several."""

    width = None

    def units(self, centre: Array, scale: Array) -> tuple[Array, Array]:
        return centre, scale

    def read(self, y: Any, n_rows: int, names: tuple[str, str] = ("X", "y")) -> Array:
        return check_targets(y, n_rows, names)

    def factors(self, targets: Array) -> Array | None:
        return None


@dataclass(frozen=True)
class ClassTargets:
    """Classes, read as their index among the known labels.

    labels : (C,) in ascending order, or in their own order if it is known.
    counts : (C,) training rows of each class; with sample weights, the sums of these in their unit. Zero for a class
        of which all rows have weight zero.
    ordered : whether the order of the labels is known.
    class_factors : (C,) by which the weights of the rows of each class are multiplied; None for ones.
    """

    labels: Labels
    counts: Array
    ordered: bool = False
    class_factors: Array | None = None

    width = 1

    def units(self, centre: Array, scale: Array) -> tuple[Array, Array]:
        """Classes are not standardised."""
        return np.zeros(1), np.ones(1)

    @property
    def frequencies(self) -> tuple[float, ...]:
        """Frequencies (C,) of the classes, above zero, with the weights of a user."""
        counts = np.maximum(self.counts, _FEWEST_ROWS_OF_A_CLASS)
        counts = counts if self.class_factors is None else counts * self.class_factors
        return tuple((counts / counts.sum()).tolist())

    @classmethod
    def of(cls, counts: ClassCounts, order: Sequence[Any] | None = None) -> "ClassTargets":
        """The classes of all training rows. order : of the labels, if known."""
        declared = counts.order if order is None else check_labels(order, "class_order").tolist()
        labels, totals = sorted(counts.totals), counts.totals
        seen = [label for label in labels if totals[label] > 0.0]
        if len(seen) < 2:
            found = f"one class, {seen[0]!r}" if seen else "no class"
            rows = "" if len(labels) == len(seen) else ", in the rows of positive weight"
            raise ValueError(
                f"y has {found}{rows}: a classifier needs rows of at least two classes. Add rows of another class."
            )
        if declared is not None:
            labels = in_order(labels, declared)
        sums = np.array([totals[label] for label in labels], np.float64)
        return cls(as_array_of_labels(labels), sums, declared is not None)

    def weighted(self, class_weight: ClassWeight, meaning: WeightMeaning) -> "ClassTargets":
        """The same classes with the weights of a user, see `class_weight` of the classifiers.

        Relative weights keep their mean over the rows.
        """
        if class_weight is None:
            return replace(self, class_factors=None)
        counts = np.maximum(self.counts, _FEWEST_ROWS_OF_A_CLASS)
        if class_weight == "balanced":
            return replace(self, class_factors=counts.sum() / (len(counts) * counts))
        labels = self.labels.tolist()
        for label, weight in class_weight.items():
            if label not in labels:
                raise ValueError(
                    f"class_weight names {label!r}, which is not a class of y: the classes are {self._shown()}."
                )
            if not isinstance(weight, int | float | np.number) or not 0.0 < weight < np.inf:
                raise ValueError(
                    f"class_weight is {weight!r} for the class {label!r}: give a positive number. To leave "
                    "a class out, leave out its rows."
                )
        factors = np.array([class_weight.get(label, 1.0) for label in labels], np.float64)
        if meaning == "relative":
            factors /= factors.max()
            factors *= counts.sum() / (factors @ counts)
        return replace(self, class_factors=factors)

    def read(self, y: Any, n_rows: int, names: tuple[str, str] = ("X", "y")) -> Array:
        """The index of each row's class (M,)."""
        values = check_labels(y, names[1])
        check_one_for_each_row(len(values), n_rows, names)
        different, places = np.unique(values, return_inverse=True)
        known = {label: index for index, label in enumerate(self.labels.tolist())}
        indices = np.array([known.get(label, -1) for label in different.tolist()], np.float64)[places]
        unknown = indices < 0.0
        if unknown.any():
            row = int(np.argmax(unknown))
            raise ValueError(
                f"{names[1]} holds {values.tolist()[row]!r} in row {row + 1:,}, which no training row had: the "
                f"classes are {self._shown()}. Leave such rows out, or fit anew with them."
            )
        return indices

    def factors(self, targets: Array) -> Array | None:
        return None if self.class_factors is None else self.class_factors[targets.ravel().astype(np.intp)]

    def _shown(self) -> str:
        more = f" and {len(self.labels) - _MOST_SHOWN} more" if len(self.labels) > _MOST_SHOWN else ""
        return ", ".join(map(repr, self.labels[:_MOST_SHOWN].tolist())) + more


def is_one_output(reader: TargetReader, targets: Array) -> bool:
    """Whether targets that a reader has read are of one output, whose predictions are then one-dimensional."""
    return targets.ndim == 1 or reader.width is not None
