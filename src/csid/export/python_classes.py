"""The part of an exported module for classifiers. It is exported from its first class on, after the template."""

# ruff: noqa: B905 (before Python 3.10, zip has no `strict`)

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from csid.export.python_template import Model, _unpacked


class ClassProbabilities(Protocol):
    """Probabilities of the classes, given the latent values and the parameters of a posterior draw."""

    def probabilities(self, values: list[float], parameters: dict[str, list[float]]) -> list[float]: ...


class Classifier:
    """Classes by the latent values that a model predicts.

    document : of the model; likelihood : gives probabilities at latent values.
    """

    least = 1e-12

    def __init__(self, model: Model, document: str, likelihood: ClassProbabilities) -> None:
        classification = json.loads(_unpacked(document))["classification"]
        self.model, self.predictors, self.parse_row = model, model.predictors, model.parse_row
        self.likelihood = likelihood
        self.labels: list[Any] = classification["labels"]
        self.exponent: float = classification["exponent"]
        self.weights: list[float] = [1.0] if model.posterior is None else model.posterior["weights"]
        names, rows = classification["parameters"].keys(), zip(*classification["parameters"].values())
        self.parameters = [dict(zip(names, row)) for row in rows] or [{} for _ in self.weights]

    def predict_proba(self, row: Mapping[str, Any]) -> dict[Any, float]:
        """The probability of each label for a row."""
        mean = [0.0] * len(self.labels)
        for weight, values, parameters in zip(self.weights, self.model.values_of_draws(row), self.parameters):
            of_draw = self.likelihood.probabilities(values, parameters)
            mean = [a + weight * p for a, p in zip(mean, of_draw)]
        powers = [max(p, self.least) ** self.exponent for p in mean]
        total = sum(powers)
        return {label: p / total for label, p in zip(self.labels, powers)}

    def predict(self, row: Mapping[str, Any]) -> Any:
        """The likeliest label for a row."""
        return self._likeliest(self.predict_proba(row))

    def predict_many(self, rows: Iterable[Mapping[str, Any]]) -> list[Any]:
        """The likeliest label for each row."""
        return [self.predict(row) for row in rows]

    def header(self, coverage: float | None) -> list[str]:
        """Names of the columns of a file of predictions."""
        if coverage is not None:
            raise SystemExit("--interval is for models of numbers: this one has classes, with their probabilities.")
        return ["prediction", *(f"probability_{label}" for label in self.labels)]

    def record(self, row: Mapping[str, Any], coverage: float | None) -> list[str]:
        """The cells of a row in a file of predictions."""
        probabilities = self.predict_proba(row)
        return [str(self._likeliest(probabilities)), *map(repr, probabilities.values())]

    def _likeliest(self, probabilities: dict[Any, float]) -> Any:
        return max(probabilities, key=lambda label: probabilities[label])
