"""Compiled loops over rows with counts: negative binomial, or Poisson in the limit of an infinite dispersion r."""

import math
from typing import Any

import numpy as np

from csid._kernels.compiled import inner, kernel
from csid._kernels.random_numbers import normal, start_of_row, uniform

_NEWTON_STEPS, _EXACT = 60, 1e-10


@inner
def _log_density(y: float, r: float, psi: float) -> Any:
    """The terms with psi of the log density of a count, y psi - (y + r) log(1 + exp(psi))."""
    return y * psi - (y + r) * (max(psi, 0.0) + np.log1p(np.exp(-abs(psi))))


@inner
def _mode_of_deviation(y: float, r: float, psi: float, variance: float) -> Any:
    """The mode of a deviation d ~ N(0, variance) given a count at psi + d, by Newton's method inside a bracket."""
    low, high, d = -variance * (y + r), variance * (y + r), 0.0
    for _ in range(_NEWTON_STEPS):
        p = 1.0 / (1.0 + np.exp(-(psi + d)))
        slope = y - (y + r) * p - d / variance
        if slope > 0.0:
            low = d
        else:
            high = d
        step = slope / ((y + r) * p * (1.0 - p) + 1.0 / variance)
        d += step
        if not low <= d <= high:
            d = 0.5 * (low + high)
        if abs(step) < _EXACT:
            break
    return d


@kernel
def draw_deviations(counts: Any, shapes: Any, psi: Any, variances: Any, seed: Any, out: Any) -> None:
    """Draw d_m ~ N(0, variances_m) given that the count of a row is negative binomial with log odds psi_m + d_m.

    All (M,); shapes : the dispersion of each row. The log density plus d^2 / (2 variance) is concave. So around the
    mode it is at most that of a normal distribution with this variance, and rejection from it is exact.
    """
    counter = np.empty(1, np.uint64)
    for m in range(len(counts)):
        counter[0] = start_of_row(seed, m)
        y, r, variance = counts[m], shapes[m], variances[m]
        if not variance > 0.0:
            out[m] = 0.0
            continue
        mode = _mode_of_deviation(y, r, psi[m], variance)
        highest = _log_density(y, r, psi[m] + mode) - 0.5 * mode * mode / variance
        while True:
            step = math.sqrt(variance) * normal(counter)
            d = mode + step
            log_ratio = _log_density(y, r, psi[m] + d) - 0.5 * (d * d - step * step) / variance - highest
            if np.log1p(-uniform(counter)) <= log_ratio:
                break
        out[m] = d


@kernel
def mixture_cdf(counts: Any, means: Any, dispersions: Any, weights: Any, out: Any) -> None:
    """Probabilities (M,) of at most `counts` (M,), by adding up probabilities from zero: for counts that are not large.

    means, dispersions : (D, M) of the components; an infinite dispersion is Poisson's. weights : (D,).
    """
    for m in range(len(counts)):
        out[m] = 0.0
        if counts[m] < 0.0:
            continue
        for d in range(len(weights)):
            mean, r = means[d, m], dispersions[d, m]
            poisson = np.isinf(r)
            p = np.exp(-mean) if poisson else np.exp(-r * np.log1p(mean / r))
            odds, total = mean if poisson else mean / (r + mean), p
            for k in range(1, int(counts[m]) + 1):
                p *= odds / k if poisson else odds * (r + k - 1.0) / k
                total += p
            out[m] += weights[d] * min(total, 1.0)
