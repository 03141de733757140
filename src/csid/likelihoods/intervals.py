"""Latent values of which a row tells an interval: two classes, ordered classes, censored values."""

import numpy as np
from numpy.typing import NDArray

from csid._kernels.latent_draws import draw_between
from csid.likelihoods.truncated_normal import log_mass, truncated_mean

Array = NDArray[np.float64]


def values_between(low: Array, high: Array, eta: Array, rng: np.random.Generator | None) -> Array:
    """Latent values (M,) around eta (M,), given that they are between low and high (M,): drawn, or expected."""
    if rng is None:
        return eta + truncated_mean(low - eta, high - eta)
    values = np.empty(len(eta))
    draw_between(np.ascontiguousarray(eta), low, high, np.uint64(rng.integers(2**63)), values)
    return values


def log_probabilities_between(low: Array, high: Array, eta: Array) -> Array:
    """Log probabilities (M,) of the intervals."""
    return log_mass(low - eta, high - eta)
