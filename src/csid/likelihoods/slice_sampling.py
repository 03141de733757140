"""Slice sampling of a number: Neal (2003), "Slice sampling", Annals of Statistics 31(3), by shrinkage."""

from collections.abc import Callable

import numpy as np

_NARROWEST, _WIDEST = 0.03, 2.0
_MOST_SHRINKAGES = 100


def slice_sample(log_density: Callable[[float], float], now: float, rng: np.random.Generator) -> tuple[float, float]:
    """A draw that leaves the density invariant, and its log density. now : the present value.

    An interval of random width around the present value shrinks towards it until a point of it is in the slice. Its
    width does not depend on the density: from 0.03 to 2, evenly in its logarithm. If the density is not a number, the
    present value stays.
    """
    here = log_density(now)
    level = here - rng.standard_exponential()
    width = np.exp(rng.uniform(np.log(_NARROWEST), np.log(_WIDEST)))
    low = now - width * rng.random()
    high = low + width
    for _ in range(_MOST_SHRINKAGES):
        drawn = rng.uniform(low, high)
        density = log_density(drawn)
        if density > level:
            return drawn, density
        if drawn < now:
            low = drawn
        else:
            high = drawn
    return now, here
