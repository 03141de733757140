"""The part of an exported module for missing cells, which follow a PMF of the predictors.

It is exported from its first class on, after the template.
"""

# ruff: noqa: B905 (before Python 3.10, zip has no `strict`)

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Mapping
from operator import mul
from typing import Any

from csid.export.python_template import Category, Model, Number, UnitNoise, _unpacked


class PredictorInClasses:
    """The levels of a predictor in the latent classes.

    predictor : that has the rows; entries, in_classes : of it and of its levels in the JSON document.
    """

    def __init__(self, predictor: Number | Category, entries: dict[str, Any], in_classes: dict[str, Any]) -> None:
        rows = predictor.rows
        self.rows = [*rows.values(), predictor.missing] if isinstance(rows, dict) else rows
        self.places = type(predictor)(entries, [array("d", [level]) for level in range(entries["rows"])])
        self.places.normalise_text = predictor.normalise_text
        self.n_levels: int = entries["missing"]
        self.bins: list[int] = in_classes["bins"]
        self.lifts: list[list[float]] = in_classes["lifts"]
        self.logs = [[math.log(lift) for lift in lifts] for lifts in self.lifts]
        self.marginal: list[float] = in_classes["marginal"]
        self.drawn: list[list[int]] = in_classes["drawn"]
        self._means: dict[int, array[float]] = {}

    def level(self, value: Any) -> int | None:
        """The nearest level, the lower one at a midpoint; None for a missing cell or an unseen category."""
        (place,) = self.places.row(value)
        level = math.ceil(place - 0.5)
        return level if level < self.n_levels else None

    def mean(self, c: int) -> array[float]:
        """The row of the factor for a missing cell in a row of class c."""
        if c not in self._means:
            masses = [p * self.lifts[at][c] for p, at in zip(self.marginal, self.bins)]
            mean, mass = [0.0] * len(self.rows[0]), sum(masses)
            for part, row in zip(masses, self.rows):
                mean = [a + part / mass * b for a, b in zip(mean, row)]
            self._means[c] = array("d", mean)
        return self._means[c]


class ConditionalModel(Model):
    """A model whose missing cells follow a PMF, given the other cells of their row.

    The PMF is a mixture of latent classes, in each of which the predictors are independent.
    conditional : whether predictions use it; otherwise only intervals do.
    """

    def __init__(self, document: str, rows: str, noise: UnitNoise | None = None) -> None:
        super().__init__(document, rows, noise)
        entries = json.loads(_unpacked(document))
        classes = entries["classes"]
        self.modes = list(map(PredictorInClasses, self.predictors, entries["predictors"], classes["predictors"]))
        self.log_weights = [math.log(weight) for weight in classes["weights"]]
        self.conditional: bool = classes["conditional"]
        self.least: float = classes["least"]
        self.factors: list[float] = classes["imputation_factor"]
        self.quantiles: list[float] = classes["quantiles"]

    def values_of_draws(self, row: Mapping[str, Any]) -> list[list[float]]:
        """The values of the outputs at a row in each posterior draw; missing cells are imputed differently in each.

        Deviations from the mean of the draws are multiplied by a factor, and that mean becomes the value of the model.
        """
        levels = self._levels(row)
        if self.posterior is None or None not in levels:
            return super().values_of_draws(row)
        weights: list[float] = self.posterior["weights"]
        draws = self._of_draws(self.posterior, self._completed(self.posterior["ranks"], row, levels))
        means = [sum(map(mul, weights, column)) for column in zip(*draws)]
        shifts = list(zip(self.values(row), means, self.factors))
        return [[value + c * (v - mean) for v, (value, mean, c) in zip(values, shifts)] for values in draws]

    def _components(self, row: Mapping[str, Any]) -> list[float]:
        """The components at a row, given its observed cells."""
        levels = self._levels(row)
        if not self.conditional or None not in levels:
            return super()._components(row)
        observed, missing = self._observed(row, levels), self._missing_in(levels)
        probabilities = [p if p >= self.least else 0.0 for p in self._probabilities(levels)]
        expected, mass = [0.0] * len(observed), sum(probabilities)
        for c, p in enumerate(probabilities):
            if p > 0.0:
                product = observed
                for mode in missing:
                    product = list(map(mul, product, mode.mean(c)))
                expected = [a + p / mass * b for a, b in zip(expected, product)]
        return expected

    def _completed(self, ranks: list[int], row: Mapping[str, Any], levels: list[int | None]) -> list[float]:
        """The components at a row whose missing cells are imputed in each draw."""
        product, probabilities = self._observed(row, levels), self._probabilities(levels)
        classes = [_class_at(u, probabilities) for u in self.quantiles]
        for mode in self._missing_in(levels):
            filled: list[float] = []
            for rank, c, drawn in zip(ranks, classes, mode.drawn):
                filled += mode.rows[drawn[c]][len(filled) : len(filled) + rank]
            product = list(map(mul, product, filled))
        return product

    def _levels(self, row: Mapping[str, Any]) -> list[int | None]:
        return [mode.level(row.get(mode.places.name)) for mode in self.modes]

    def _missing_in(self, levels: list[int | None]) -> list[PredictorInClasses]:
        return [mode for mode, level in zip(self.modes, levels) if level is None]

    def _observed(self, row: Mapping[str, Any], levels: list[int | None]) -> list[float]:
        """The product, over the observed predictors, of the rows of their factors."""
        product = [1.0] * len(self.V[0])
        for predictor, level in zip(self.predictors, levels):
            if level is not None:
                product = list(map(mul, product, predictor.row(row.get(predictor.name))))
        return product

    def _probabilities(self, levels: list[int | None]) -> list[float]:
        """Those of the classes, given the observed cells."""
        logits = self.log_weights
        for mode, level in zip(self.modes, levels):
            if level is not None:
                logits = [a + b for a, b in zip(logits, mode.logs[mode.bins[level]])]
        largest = max(logits)
        likelihoods = [math.exp(logit - largest) for logit in logits]
        total = sum(likelihoods)
        return [likelihood / total for likelihood in likelihoods]


def _class_at(u: float, probabilities: list[float]) -> int:
    """The first class at which the cumulative probability reaches u."""
    reached = 0.0
    for c, p in enumerate(probabilities):
        reached += p
        if reached >= u:
            return c
    return len(probabilities) - 1
