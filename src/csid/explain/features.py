"""Predictors by name or position."""

from collections.abc import Sequence

import numpy as np

from csid.fitted.model import FittedModel

Feature = int | str
"""A predictor, by position or name."""


def positions(fitted: FittedModel, features: Feature | Sequence[Feature]) -> tuple[int, ...]:
    """The positions of predictors that are given by name or position."""
    known = fitted.names
    given = [features] if isinstance(features, int | np.integer | str) else list(features)
    wrong = [item for item in given if item not in (known if isinstance(item, str) else range(len(known)))]
    if wrong:
        raise ValueError(
            f"there is no predictor {wrong[0]!r}: give names, such as {known[0]!r}, "
            f"or positions from 0 to {len(known) - 1}."
        )
    return tuple(known.index(item) if isinstance(item, str) else int(item) for item in given)
