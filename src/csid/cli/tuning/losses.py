"""What csid tune minimises by cross-validation: how folds are split, and the loss of predictions."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

from csid.cli.labelled_rows import LabelledRows
from csid.likelihoods.class_predictive import LEAST_PROBABILITY

Rows = NDArray[np.intp]


class Loss(Protocol):
    """A loss of predictions of some rows."""

    def splits(self, folds: int, seed: int) -> Iterator[tuple[Rows, Rows]]:
        """The rows to train on, and those held out, of each fold. Groups stay whole."""

    def of(self, model: Any, held_out: Rows) -> float:
        """The mean loss of a fitted model on held-out rows."""

    def total(self, losses: Sequence[float]) -> float:
        """The loss of several folds."""


class SquaredError:
    """Root of the mean squared error, of each target in units of its standard deviation."""

    def __init__(self, rows: LabelledRows) -> None:
        self._rows = rows
        self._y = rows.y.reshape(len(rows.y), -1)
        deviation = self._y.std(axis=0)
        self._scale = np.where(deviation > 0.0, deviation, 1.0)

    def splits(self, folds: int, seed: int) -> Iterator[tuple[Rows, Rows]]:
        splitter = KFold if self._rows.groups is None else GroupKFold
        yield from splitter(folds, shuffle=True, random_state=seed).split(self._y, groups=self._rows.groups)

    def of(self, model: Any, held_out: Rows) -> float:
        predicted = np.reshape(model.predict(self._rows.X.take(held_out)), (len(held_out), -1))
        return float(np.mean(((self._y[held_out] - predicted) / self._scale) ** 2))

    def total(self, losses: Sequence[float]) -> float:
        return float(np.sqrt(np.mean(losses)))


class LogLoss:
    """Mean of -log p(class seen). Each fold has rows of all classes, as far as possible."""

    def __init__(self, rows: LabelledRows) -> None:
        self._rows = rows

    def splits(self, folds: int, seed: int) -> Iterator[tuple[Rows, Rows]]:
        splitter = StratifiedKFold if self._rows.groups is None else StratifiedGroupKFold
        labels = np.unique(self._rows.y, return_inverse=True)[1]
        yield from splitter(folds, shuffle=True, random_state=seed).split(labels, labels, self._rows.groups)

    def of(self, model: Any, held_out: Rows) -> float:
        """A class without training rows has the least probability."""
        p = model.predict_proba(self._rows.X.take(held_out))
        column = {label: c for c, label in enumerate(model.classes_.tolist())}
        at = np.array([column.get(label, -1) for label in self._rows.y[held_out].tolist()])
        seen = np.where(at >= 0, p[np.arange(len(p)), at], 0.0)
        return float(-np.log(np.maximum(seen, LEAST_PROBABILITY)).mean())

    def total(self, losses: Sequence[float]) -> float:
        return float(np.mean(losses))
