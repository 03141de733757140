"""Compiled loops over rows for targets that are known through a latent normal value: draws and probabilities.

A row of one latent value is known to be in an interval; for classes, each class has a latent utility, and that of the
class seen is the largest.
"""

import math
from typing import Any

import numpy as np

from csid._kernels.compiled import inner, kernel
from csid._kernels.normal_distribution import inverse_mills, log_cdf
from csid._kernels.random_numbers import normal, start_of_row, uniform

_WIDE = 2.5
_NEWTON_STEPS, _EXACT, _NEAR = 40, 1e-10, 0.03
_LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)


@inner
def _between(low: Any, high: Any, counter: Any) -> Any:
    """A standard normal number given that it is between low and high, by rejection (Robert 1995)."""
    if high < 0.0:
        return -_above_or_around(-high, -low, counter)
    return _above_or_around(low, high, counter)


@inner
def _above_or_around(low: Any, high: Any, counter: Any) -> Any:
    """The same for an interval that reaches above zero."""
    width = high - low
    if not width > 0.0 or low == np.inf:  # one point, or no numbers at all
        return low
    if low <= 0.0 and width > _WIDE:
        while True:
            z = normal(counter)
            if low <= z <= high:
                return z
    nearest = max(low, 0.0)
    rate = 0.5 * (low + np.sqrt(low * low + 4.0))
    if low <= 0.0 or width * rate < 1.0:
        while True:
            z = low + width * uniform(counter)
            if uniform(counter) <= np.exp(0.5 * (nearest * nearest - z * z)):
                return z
    reach = -np.expm1(-rate * width)
    while True:
        z = low - np.log1p(-reach * uniform(counter)) / rate
        if uniform(counter) <= np.exp(-0.5 * (z - rate) ** 2):
            return min(z, high)


@kernel
def draw_between(eta: Any, low: Any, high: Any, seed: Any, out: Any) -> None:
    """Draw z_m ~ N(eta_m, 1) given low_m <= z_m <= high_m, (M,) each. Bounds may be infinite."""
    counter = np.empty(1, np.uint64)
    for m in range(len(eta)):
        counter[0] = start_of_row(seed, m)
        z = eta[m] + _between(low[m] - eta[m], high[m] - eta[m], counter)
        out[m] = min(max(z, low[m]), high[m])


@inner
def _mode_of_largest(eta: Any, m: int, y: int, tolerance: float) -> Any:
    """The mode of the utility z_y of the class seen, log f(z) = -(z - eta_y)^2 / 2 + sum_{k != y} log Phi(z - eta_k).

    Newton's method on a concave function whose second derivative is at most -1. From a point above the mode it cannot
    overshoot to the far side by much, as -log Phi is convex with a decreasing slope; a bracket guards it.
    """
    low = high = eta[m, y]
    for k in range(eta.shape[1]):
        if k != y:
            high += inverse_mills(eta[m, y] - eta[m, k])
    z = low
    for _ in range(_NEWTON_STEPS):
        slope, curvature = eta[m, y] - z, 1.0
        for k in range(eta.shape[1]):
            if k != y:
                mills = inverse_mills(z - eta[m, k])
                slope += mills
                curvature += mills * (mills + z - eta[m, k])
        if slope > 0.0:
            low = z
        else:
            high = z
        step = slope / curvature
        z += step
        if not low <= z <= high:
            z = 0.5 * (low + high)
        if abs(step) < tolerance:
            break
    return z


@inner
def _log_density(eta: Any, m: int, y: int, z: float) -> Any:
    """log f(z)."""
    total = -0.5 * (z - eta[m, y]) ** 2
    for k in range(eta.shape[1]):
        if k != y:
            total += log_cdf(z - eta[m, k])
    return total


@kernel
def draw_utilities(eta: Any, classes: Any, seed: Any, out: Any) -> None:
    """Draw utilities z_mk ~ N(eta_mk, 1), (M, C), given that that of the class seen (M,) is the largest: exactly.

    First z_y from its marginal density f, then the others below it. log f + z^2 / 2 is concave, so with m its mode
    f(z) <= f(m) exp(-(z - m)^2 / 2): normal proposals around the mode are rejected seldom.
    """
    counter = np.empty(1, np.uint64)
    for m in range(len(eta)):
        counter[0] = start_of_row(seed, m)
        y = classes[m]
        mode = _mode_of_largest(eta, m, y, _EXACT)
        highest = _log_density(eta, m, y, mode)
        if not np.isfinite(highest):  # after an overflow, which the sums over rows report
            out[m] = np.nan
            continue
        while True:
            step = normal(counter)
            z = mode + step
            if np.log1p(-uniform(counter)) <= _log_density(eta, m, y, z) - highest + 0.5 * step * step:
                break
        for k in range(eta.shape[1]):
            if k == y:
                out[m, k] = z
            else:
                out[m, k] = min(eta[m, k] + _between(-np.inf, z - eta[m, k], counter), z)


@kernel
def expected_utilities(eta: Any, classes: Any, nodes: Any, log_weights: Any, out: Any) -> None:
    """Means of the utilities that `draw_utilities` draws, and log probabilities of the classes seen.

    Gauss-Hermite quadrature over z_y, centred at its mode with its curvature. nodes, log_weights : (Q,) for integrals
    over the real line, that is log w_i + t_i^2 of the usual weights w_i. out : (M, C + 1), the last column the log
    probability.
    """
    C, Q = eta.shape[1], len(nodes)
    logs, mills = np.empty(Q), np.empty((Q, C))
    for m in range(len(eta)):
        y = classes[m]
        mode, curvature = _mode_of_largest(eta, m, y, _NEAR), 1.0
        for k in range(C):
            if k != y:
                ratio = inverse_mills(mode - eta[m, k])
                curvature += ratio * (ratio + mode - eta[m, k])
        width = np.sqrt(2.0 / curvature)
        largest = -np.inf
        for i in range(Q):
            z = mode + width * nodes[i]
            logs[i] = log_weights[i] + _log_density(eta, m, y, z)
            largest = max(largest, logs[i])
            for k in range(C):
                mills[i, k] = inverse_mills(z - eta[m, k]) if k != y else 0.0
        mass, first = 0.0, 0.0
        for k in range(C):
            out[m, k] = 0.0
        for i in range(Q):
            w = np.exp(logs[i] - largest)
            mass += w
            first += w * (mode + width * nodes[i])
            for k in range(C):
                out[m, k] -= w * mills[i, k]
        for k in range(C):
            out[m, k] = eta[m, k] + out[m, k] / mass if k != y else first / mass
        out[m, C] = largest + np.log(mass * width) - _LOG_ROOT_2PI


@kernel
def log_probabilities(eta: Any, classes: Any, nodes: Any, log_weights: Any, out: Any) -> None:
    """Log probabilities (M,) of the classes seen, by the quadrature of `expected_utilities`."""
    C, Q = eta.shape[1], len(nodes)
    logs = np.empty(Q)
    for m in range(len(eta)):
        y = classes[m]
        mode, curvature = _mode_of_largest(eta, m, y, _NEAR), 1.0
        for k in range(C):
            if k != y:
                ratio = inverse_mills(mode - eta[m, k])
                curvature += ratio * (ratio + mode - eta[m, k])
        width = np.sqrt(2.0 / curvature)
        largest = -np.inf
        for i in range(Q):
            logs[i] = log_weights[i] + _log_density(eta, m, y, mode + width * nodes[i])
            largest = max(largest, logs[i])
        mass = 0.0
        for i in range(Q):
            mass += np.exp(logs[i] - largest)
        out[m] = largest + np.log(mass * width) - _LOG_ROOT_2PI


@kernel
def class_probabilities(eta: Any, step: float, reach: float, out: Any) -> None:
    """Probabilities (M, C) that each class has the largest of the utilities N(eta_mk, 1), by the trapezoidal rule.

    P(k) = integral of phi(z - eta_k) prod_{j != k} Phi(z - eta_j). All classes share the nodes and the product; the
    rule converges faster than any power of the step for such integrands.
    """
    C = eta.shape[1]
    below = np.empty(C)
    for m in range(len(eta)):
        top = eta[m, 0]
        for k in range(1, C):
            top = max(top, eta[m, k])
        for k in range(C):
            out[m, k] = 0.0
        z = top - reach
        while z < top + reach:
            product = 1.0
            for k in range(C):
                below[k] = 0.5 * math.erfc((eta[m, k] - z) * 0.7071067811865476)
                product *= below[k]
            if product > 0.0:
                for k in range(C):
                    out[m, k] += product * np.exp(-0.5 * (z - eta[m, k]) ** 2) / below[k]
            z += step
        mass = 0.0
        for k in range(C):
            mass += out[m, k]
        for k in range(C):
            out[m, k] /= mass
