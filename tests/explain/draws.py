"""The slow, obvious twin of intervals: a model of its own for every posterior draw."""

from collections.abc import Callable
from copy import copy
from typing import Any


def of_each_draw(model: Any, explain: Callable[[Any], Any]) -> list[Any]:
    """What is said of a model, with each draw in turn in place of the posterior mean."""
    models = [copy(model) for _ in model.posterior_.draws]
    for one, draw in zip(models, model.posterior_.draws, strict=True):
        one.cpd_ = draw
    return [explain(one) for one in models]
