"""The standard normal distribution in compiled loops: cubic interpolation of tables, to about 1e-9, and its lower tail.

A call of the library's error function would take ten times as long, and rows of many classes need millions of them.
"""

from typing import Any

import numpy as np
from scipy.special import log_ndtr

from csid._kernels.compiled import inner

_LOG_ROOT_2PI = float(0.5 * np.log(2.0 * np.pi))
_REACH, _PER_UNIT, _TERMS = 8.0, 32.0, 24

_GRID = np.arange(-_REACH, _REACH + 1.5 / _PER_UNIT, 1.0 / _PER_UNIT)
_LOGS = log_ndtr(_GRID)
_RATIOS = np.exp(-0.5 * _GRID**2 - _LOG_ROOT_2PI - _LOGS)
_SLOPES = -_RATIOS * (_RATIOS + _GRID) / _PER_UNIT
_RISES = _RATIOS / _PER_UNIT


@inner
def log_cdf(z: float) -> Any:
    """log Phi(z)."""
    if z >= _REACH:
        return 0.0
    if z > -_REACH:
        return _interpolated(_LOGS, _RISES, z)
    return -0.5 * z * z - _LOG_ROOT_2PI - np.log(inverse_mills(z))


@inner
def inverse_mills(z: float) -> Any:
    """phi(z) / Phi(z), the derivative of log Phi; in the lower tail by Laplace's continued fraction."""
    if z >= _REACH:
        return 0.0
    if z > -_REACH:
        return _interpolated(_RATIOS, _SLOPES, z)
    fraction = -z
    for n in range(_TERMS, 0, -1):
        fraction = -z + n / fraction
    return fraction


@inner
def _interpolated(values: Any, slopes: Any, z: float) -> Any:
    """Cubic Hermite interpolation. slopes : times the distance between grid points."""
    x = (z + _REACH) * _PER_UNIT
    i = int(x)
    t = x - i
    u = 1.0 - t
    return u * u * ((1.0 + 2.0 * t) * values[i] + t * slopes[i]) + t * t * (
        (1.0 + 2.0 * u) * values[i + 1] - u * slopes[i + 1]
    )
