"""The predictive distribution of counts: a mixture over posterior draws, and its calibration."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import betainc, betaln, gammaincc, gammaln, logsumexp, xlogy

from csid._kernels.counts import mixture_cdf
from csid.likelihoods.predictive import NumericPredictive, Predictive, PredictiveCalibration

Array = NDArray[np.float64]

_LARGEST_LOG_MEAN = 60.0  # beyond all counts: keeps means and their squares finite
_ADDED_UP = 256.0
_LARGEST_DRAWN = 1e18
_MOST_DOUBLINGS = 200
_LOG_FACTOR_DEVIATION, _LARGEST_LOG_FACTOR, _LOG_FACTOR_TOLERANCE = 0.5, 3.0, 0.01


@dataclass(frozen=True)
class CountPredictive(NumericPredictive):
    """For each row a mixture of D negative binomial or Poisson distributions.

    log_means : (D, M) logarithms of the means of the components.
    dispersions : (D, M) or (D, 1) of the components, whose variances are mean + mean^2 / dispersion; infinite for
        Poisson.
    weights : (D,) of the components, which sum to one.
    """

    log_means: Array
    dispersions: Array
    weights: Array

    @cached_property
    def means(self) -> Array:
        """Means (D, M) of the components."""
        return np.exp(np.clip(self.log_means, -_LARGEST_LOG_MEAN, _LARGEST_LOG_MEAN))

    @property
    def mean(self) -> Array:
        """The expected count (M, 1)."""
        return self._averaged(self.means)

    @property
    def model_variance(self) -> Array:
        """Variance (M, 1) of the component's mean: model uncertainty."""
        return self._averaged((self.means - self.mean[:, 0]) ** 2)

    @property
    def noise_variance(self) -> Array:
        """Mean variance (M, 1) of the components: what remains if the mean is known."""
        return self._averaged(self.means + self.means**2 / self.dispersions)

    def take(self, rows: NDArray[np.intp]) -> "CountPredictive":
        some = self.dispersions if self.dispersions.shape[1] == 1 else self.dispersions[:, rows]
        return CountPredictive(self.log_means[:, rows], some, self.weights)

    def with_exposure(self, exposure: Array) -> "CountPredictive":
        """The distributions of counts over `exposure` (M,) times the time, area or number at risk."""
        return replace(self, log_means=self.log_means + np.log(exposure))

    def log_density(self, y: Array) -> Array:
        """Log probabilities (M,) of counts with the logarithm of their exposure, (M, 2)."""
        return self.with_exposure(np.exp(y[:, 1])).log_pmf(y[:, :1])[:, 0]

    def log_pmf(self, counts: Array) -> Array:
        """Log probabilities (M, 1) of counts (M, 1)."""
        logs = log_probabilities(counts[:, 0], np.log(self.means), self.dispersions)
        return np.asarray(logsumexp(logs, axis=0, b=self.weights[:, None]))[:, None]

    def pmf(self, counts: Array) -> Array:
        """Probabilities (M, 1) of counts (M, 1)."""
        return np.exp(self.log_pmf(counts))

    def cdf(self, y: Array) -> Array:
        """Probability (M, 1) of a count of at most y (M, 1)."""
        counts, found = np.floor(y[:, 0]), np.zeros(len(y))
        few, many = np.flatnonzero(counts <= _ADDED_UP), np.flatnonzero(counts > _ADDED_UP)
        if len(few):
            own, below = self.take(few), np.empty(len(few))
            dispersions = np.ascontiguousarray(np.broadcast_to(own.dispersions, own.log_means.shape))
            mixture_cdf(counts[few], own.means, dispersions, self.weights, below)
            found[few] = below
        if len(many):
            own = self.take(many)
            found[many] = self.weights @ _cdf(counts[many], own.means, own.dispersions)
        return found[:, None]

    def ppf(self, q: float) -> Array:
        """Quantile (M, 1): the smallest count whose `cdf` is at least q, by bisection."""
        low = np.full(len(self.mean), -1.0)
        high = np.ceil((self.mean + 2.0 * np.sqrt(self.variance))[:, 0])
        for _ in range(_MOST_DOUBLINGS):
            beyond = self.cdf(high[:, None])[:, 0] < q
            if not beyond.any():
                break
            low, high = np.where(beyond, high, low), np.where(beyond, 2.0 * high + 1.0, high)
        while True:
            open_rows = np.flatnonzero(high - low > 1.0)
            middle = np.floor(0.5 * (low[open_rows] + high[open_rows]))
            inside = (low[open_rows] < middle) & (middle < high[open_rows])  # floats skip whole numbers beyond 2^53
            open_rows, middle = open_rows[inside], middle[inside]
            if not len(open_rows):
                return high[:, None]
            reached = self.take(open_rows).cdf(middle[:, None])[:, 0] >= q
            high[open_rows[reached]], low[open_rows[~reached]] = middle[reached], middle[~reached]

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """n draws of a new count at each row, (M, n, 1)."""
        D, M = self.log_means.shape
        which, rows = rng.choice(D, size=(M, n), p=self.weights), np.arange(M)[:, None]
        means, r = self.means[which, rows], np.broadcast_to(self.dispersions, (D, M))[which, rows]
        shape = np.where(np.isinf(r), 1.0, r)
        rates = means * np.where(np.isinf(r), 1.0, rng.standard_gamma(shape) / shape)
        large = rates > _LARGEST_DRAWN  # where NumPy's integers end, a Poisson number is normal
        counts = rng.poisson(np.where(large, 0.0, rates)).astype(np.float64)
        return np.where(large, np.rint(rates + np.sqrt(rates) * rng.standard_normal(rates.shape)), counts)[..., None]

    def _averaged(self, values: Array) -> Array:
        return np.asarray(np.tensordot(self.weights, values, 1))[:, None]


@dataclass(frozen=True)
class DispersionCalibration(PredictiveCalibration):
    """Dispersions are multiplied by a factor."""

    factor: float = 1.0

    def of(self, predictive: CountPredictive) -> CountPredictive:
        return replace(predictive, dispersions=self.factor * predictive.dispersions)

    def in_units(self, centre: Array, scale: Array) -> "DispersionCalibration":
        return self


def fit_dispersion_calibration(predictive: CountPredictive, truth: Array, weights: Array) -> DispersionCalibration:
    """The factor with the highest likelihood of the counts (M, 2) of held-out rows with weights (M,).

    Its logarithm has a normal prior around zero, which decides where rows are few.
    """

    def loss(log_factor: float) -> float:
        scaled = DispersionCalibration(float(np.exp(log_factor))).of(predictive)
        return float(-(weights @ scaled.log_density(truth)) + 0.5 * (log_factor / _LOG_FACTOR_DEVIATION) ** 2)

    bounds, options = (-_LARGEST_LOG_FACTOR, _LARGEST_LOG_FACTOR), {"xatol": _LOG_FACTOR_TOLERANCE}
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options=options)
    return DispersionCalibration(float(np.exp(found.x)))


def log_probabilities(counts: Array, log_means: Array, dispersions: Array) -> Array:
    """Log probabilities of counts under negative binomial distributions, Poisson where the dispersion is infinite."""
    means, finite = np.exp(log_means), np.isfinite(dispersions)
    r, positive = np.where(finite, dispersions, 1.0), np.maximum(counts, 1.0)
    ways = np.where(counts > 0.0, -np.log(positive) - betaln(r, positive), 0.0)  # Gamma(y + r) / (Gamma(r) y!)
    negative_binomial = ways - (counts + r) * np.log1p(means / r) + counts * (log_means - np.log(r))
    return np.asarray(np.where(finite, negative_binomial, counts * log_means - means - gammaln(counts + 1.0)))


def poisson_deviance(counts: Array, means: Array) -> Array:
    """The Poisson deviances of counts from their means, 2 (y log(y / mean) - y + mean)."""
    return np.asarray(2.0 * (xlogy(counts, counts / means) - counts + means))


def explained_deviance(counts: Array, expected: Array, exposure: Array, weights: Array) -> float:
    """D²: the fraction of the Poisson deviance from a constant rate that the expected counts explain, all (M,).

    NaN if all counts are zero, which a constant rate explains in full.
    """
    rate = (weights @ counts) / (weights @ exposure)
    if rate == 0.0:
        return float("nan")
    unexplained, total = (weights @ poisson_deviance(counts, means) for means in (expected, rate * exposure))
    return float(1.0 - unexplained / total) if total > 0.0 else float("nan")


def as_counts(predictive: Predictive) -> CountPredictive:
    """A predictive distribution of counts, or an error."""
    if isinstance(predictive, CountPredictive):
        return predictive
    raise TypeError(f"the predictive distribution is a {type(predictive).__name__}, not that of counts.")


def _cdf(counts: Array, means: Array, dispersions: Array) -> Array:
    """Probabilities (D, M) of at most `counts` (M,) under each component."""
    finite = np.isfinite(dispersions)
    r = np.where(finite, dispersions, 1.0)
    return np.asarray(np.where(finite, betainc(r, counts + 1.0, r / (r + means)), gammaincc(counts + 1.0, means)))
