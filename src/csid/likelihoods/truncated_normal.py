"""The standard normal distribution between two bounds: probability, mean and variance, accurate in both tails."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

Array = NDArray[np.float64]

_LOG_ROOT_2PI = 0.5 * np.log(2.0 * np.pi)
_NARROW = 1e-5
"""Below this width the density is nearly constant between the bounds, and differences would lose their digits."""


def log_mass(low: Array, high: Array) -> Array:
    """log(Phi(high) - Phi(low)); -inf where high <= low."""
    upper = low > 0.0  # in the upper tail by symmetry
    a, b = np.where(upper, -high, low), np.where(upper, -low, high)
    larger, smaller = log_ndtr(b), log_ndtr(a)
    with np.errstate(divide="ignore", invalid="ignore"):
        wide = larger + np.log1p(-np.exp(np.minimum(smaller - larger, 0.0)))
        narrow = _log_density(0.5 * (a + b)) + np.log(b - a)
    return np.asarray(np.where(high - low > _NARROW, wide, np.where(high > low, narrow, -np.inf)))


def truncated_mean(low: Array, high: Array) -> Array:
    """The mean given that the value is between low and high."""
    mass = log_mass(low, high)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.exp(_log_density(low) - mass) - np.exp(_log_density(high) - mass)
        middle = 0.5 * (low + high)
    return np.asarray(np.where(high - low > _NARROW, np.clip(mean, low, high), middle))


def truncated_variance(low: Array, high: Array) -> Array:
    """The variance given that the value is between low and high."""
    mass, mean = log_mass(low, high), truncated_mean(low, high)
    with np.errstate(over="ignore", invalid="ignore"):
        ends = [np.where(np.isfinite(z), z * np.exp(_log_density(z) - mass), 0.0) for z in (low, high)]
        found, square = 1.0 + ends[0] - ends[1] - mean**2, (high - low) ** 2
    return np.asarray(np.where(high - low > _NARROW, np.clip(found, 0.0, np.minimum(1.0, square / 4.0)), square / 12.0))


def _log_density(z: Array) -> Array:
    return np.asarray(-0.5 * np.minimum(np.abs(z), 1e150) ** 2 - _LOG_ROOT_2PI)
