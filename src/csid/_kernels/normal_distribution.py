"""The standard normal distribution in compiled loops, with relative accuracy also far out in the tails."""

import math

import numpy as np

from csid._kernels.compiled import inner

_ROOT_HALF, _LOG_ROOT_2PI = math.sqrt(0.5), 0.5 * math.log(2.0 * math.pi)
_TAIL, _TERMS = 5.0, 24


@inner
def cdf(z: float) -> float:
    """Phi(z)."""
    return 0.5 * math.erfc(-z * _ROOT_HALF)


@inner
def log_cdf(z: float) -> float:
    """log Phi(z)."""
    if z > -_TAIL:
        return float(np.log(0.5 * math.erfc(-z * _ROOT_HALF)))
    return float(-0.5 * z * z - _LOG_ROOT_2PI - np.log(inverse_mills(z)))


@inner
def inverse_mills(z: float) -> float:
    """phi(z) / Phi(z), the derivative of log Phi; in the lower tail by Laplace's continued fraction."""
    if z > -_TAIL:
        return float(np.exp(-0.5 * z * z - _LOG_ROOT_2PI) / (0.5 * math.erfc(-z * _ROOT_HALF)))
    fraction = -z
    for n in range(_TERMS, 0, -1):
        fraction = -z + n / fraction
    return fraction
