"""The slow, obvious twin of intervals: a model of its own for every posterior draw."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from csid.fitted.model import FittedModel, Model, fitted_model


def of_each_draw(model: Model, explain: Callable[[FittedModel], Any]) -> list[Any]:
    """The explanations of each draw in turn, in place of the posterior mean."""
    fitted = fitted_model(model)
    return [explain(replace(fitted, tensor=draw)) for draw in fitted.require_posterior("a test").draws]
