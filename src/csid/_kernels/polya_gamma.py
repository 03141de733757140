"""Pólya-Gamma random numbers PG(b, c), for any b > 0, in compiled loops (Polson, Scott and Windle 2013).

    PG(b, c) = sum_k a_k g_k,    g_k ~ Gamma(b, 1),    1 / a_k = 2 pi^2 (k - 1/2)^2 + c^2 / 2,    k = 1, 2, …

The first terms are drawn as they are: 8, or 4 for b >= 2, or 2 for b >= 20. The rest is drawn as one Gamma number with
its mean and variance, so mean and variance of a draw are exact. The distribution function then differs from the exact
one by less than 1e-4 for b >= 0.5 and |c| <= 6 (`tests/likelihoods/test_polya_gamma.py`).
"""

import math
from typing import Any

import numpy as np

from csid._kernels.compiled import inner, kernel
from csid._kernels.random_numbers import normal, start_of_row, uniform

_SMALL = 0.05
_SQUEEZE = 0.0331


@inner
def gamma(shape: float, counter: Any) -> float:
    """A Gamma number with scale one (Marsaglia and Tsang 2000)."""
    if shape < 1.0:
        return float(gamma_above_one(shape + 1.0, counter) * (1.0 - uniform(counter)) ** (1.0 / shape))
    return float(gamma_above_one(shape, counter))


@inner
def gamma_above_one(shape: float, counter: Any) -> float:
    """The same for a shape of at least one."""
    d = shape - 1.0 / 3.0
    width = 1.0 / np.sqrt(9.0 * d)
    while True:
        x = normal(counter)
        v = 1.0 + width * x
        if v > 0.0:
            v, u = v * v * v, 1.0 - uniform(counter)
            if u < 1.0 - _SQUEEZE * x**4 or np.log(u) < 0.5 * x * x + d * (1.0 - v + np.log(v)):
                return float(d * v)


@inner
def mean_of_one(c: float) -> float:
    """The mean of PG(1, c), tanh(c / 2) / (2 c)."""
    if abs(c) < _SMALL:
        return 0.25 - c * c / 48.0 + c**4 / 480.0
    return math.tanh(0.5 * c) / (2.0 * c)


@inner
def variance_of_one(c: float) -> float:
    """The variance of PG(1, c), (sinh c - c) / (4 c^3 cosh^2(c / 2))."""
    if abs(c) < _SMALL:
        return 1.0 / 24.0 - c * c / 120.0 + 17.0 * c**4 / 13440.0
    t = math.tanh(0.5 * c)
    return (2.0 * t - c * (1.0 - t * t)) / (4.0 * c**3)


@inner
def polya_gamma(b: float, c: float, counter: Any) -> float:
    """A PG(b, c) number."""
    drawn, mean, variance = 0.0, mean_of_one(c), variance_of_one(c)
    for k in range(8 if b < 2.0 else 4 if b < 20.0 else 2):
        a = 1.0 / (2.0 * math.pi**2 * (k + 0.5) ** 2 + 0.5 * c * c)
        drawn += a * gamma(b, counter)
        mean -= a
        variance -= a * a
    scale = variance / mean
    return float(drawn + scale * gamma(b * mean / scale, counter))


@kernel
def draw_polya_gamma(b: Any, c: Any, seed: Any, out: Any) -> None:
    """Draw PG(b_m, c_m) numbers, (M,) each."""
    counter = np.empty(1, np.uint64)
    for m in range(len(b)):
        counter[0] = start_of_row(seed, m)
        out[m] = polya_gamma(b[m], c[m], counter)


@kernel
def expected_polya_gamma(b: Any, c: Any, out: Any) -> None:
    """The means of PG(b_m, c_m), (M,) each."""
    for m in range(len(b)):
        out[m] = b[m] * mean_of_one(c[m])
