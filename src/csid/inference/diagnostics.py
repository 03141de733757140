"""Have the chains converged? Rank-normalised split R-hat and bulk effective sample size (ESS) of their draws.

Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), Bayesian Analysis 16(2), 667-718. W is the variance within chains,
var_plus the estimate of the total variance, rho_t the autocorrelation at lag t and tau the autocorrelation time.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

Array = NDArray[np.float64]

# Rank-normalised draws have variance near one, so a variance below this is rounding error: the draws are constant.
_CONSTANT = 1e-20


def split_rhat(draws: Array) -> Array:
    """The larger of the bulk and the folded R-hat, near 1 if the halves of all chains agree in location and scale.

    draws : (..., chains, sweeps); returns (...). NaN below 4 sweeps or if a draw is not finite. Constant draws have
    R-hat 1, as a fixed quantity has converged; chains stuck at different constants have R-hat infinity.
    """
    halves = _halves(draws)
    if halves.shape[-1] < 2 or not halves.size:
        return np.full(halves.shape[:-2], np.nan)
    folded = np.abs(halves - np.median(halves, axis=(-2, -1), keepdims=True))
    return np.maximum(_rhat(_rank_normalised(halves)), _rhat(_rank_normalised(folded)))


def effective_sample_size(draws: Array) -> Array:
    """Bulk ESS: how many independent draws would estimate the mean of the rank-normalised draws as precisely.

    draws : (..., chains, sweeps); returns (...). NaN below 10 sweeps, where halves are too short to estimate any
    autocorrelation, or if a draw is not finite. Constant draws count in full.
    """
    z = _rank_normalised(_halves(draws))
    m, n = z.shape[-2:]
    if n < 5:
        return np.full(z.shape[:-2], np.nan)
    covariance = _autocovariance(z)
    W = covariance[..., :1] * n / (n - 1)
    var_plus = covariance[..., :1] + z.mean(axis=-1).var(axis=-1, ddof=1)[..., None]
    gap = W - covariance
    gap[..., 0] = 0.0
    rho = 1.0 - gap / np.where(var_plus <= _CONSTANT, 1.0, var_plus)
    even = rho[..., : n - n % 2 : 2]
    pairs = even + rho[..., 1::2]
    # Geyer (1992): sums of adjacent autocorrelations are positive and decrease in theory. They are added up to the
    # first that is not positive, none larger than the one before. Of the pair that ends the sum, Stan keeps the even
    # lag if it or the pair is positive.
    last = (n - 3) // 2
    positive = np.logical_and.accumulate(pairs[..., :last] > 0.0, axis=-1)
    ending = np.where(pairs >= 0.0, even, np.maximum(even, 0.0))
    ending = np.take_along_axis(ending, positive.sum(axis=-1, keepdims=True), axis=-1)[..., 0]
    monotone = np.minimum.accumulate(pairs[..., :last], axis=-1)
    tau = -1.0 + 2.0 * np.where(positive, monotone, 0.0).sum(axis=-1) + ending
    # Antithetic draws can be worth more than independent ones, up to this bound of the paper.
    tau = np.maximum(tau, 1.0 / np.log10(m * n))
    size: Array = m * n / np.where(var_plus[..., 0] <= _CONSTANT, 1.0, tau)
    return size


def convergence(
    traces: list[Array], owners: list[int], smoothness: list[Array], values: list[Array], weights: Array
) -> dict[str, float]:
    """Convergence metrics of the noise, the smoothness and the predictions, over the chains of all priors.

    traces : of each chain (sweeps after burn-in, quantities), what its likelihood monitors: for Gaussian noise, the
        standardised noise scale of each output. There may be no quantities.
    owners : the prior of each chain. The largest R-hat within a prior is returned; ESS is summed over priors.
    smoothness : of each chain (draws, predictors), the log smoothness averaged over components, as those may swap.
    values : of each chain (draws, points), standardised predictions. weights : (chains,), which sum to one.

    `noise_rhat`, `noise_ess` and `drift` (of the mean, between the halves of the traces) are of the worst quantity.
    Smoothness and predictions are summarised by the median over quantities. NaN: undefined for all of them.
    """
    priors = [[at for at, owner in enumerate(owners) if owner == prior] for prior in sorted(set(owners))]
    noise = [_stacked(traces, chains) for chains in priors]
    noise_sizes = np.array([effective_sample_size(each) for each in noise])
    metrics = {
        "noise_rhat": _over_defined(np.max, np.array([split_rhat(each) for each in noise])),
        "noise_ess": _over_defined(np.min, np.array([_over_defined(np.sum, sizes) for sizes in noise_sizes.T])),
    }
    for name, draws in (("smoothness", smoothness), ("prediction", values)):
        stacked = [_stacked(draws, chains) for chains in priors]
        rhats = np.array([_over_defined(np.median, split_rhat(each)) for each in stacked])
        sizes = np.array([_over_defined(np.median, effective_sample_size(each)) for each in stacked])
        metrics |= {f"{name}_rhat": _over_defined(np.max, rhats), f"{name}_ess": _over_defined(np.sum, sizes)}
    metrics["prediction_error"] = monte_carlo_error(np.array([each.mean(axis=0) for each in values]), weights)
    drifts = [_drift(each) for each in noise if each.shape[-1] > 1]
    metrics["drift"] = float(np.max(drifts, initial=0.0))
    return metrics


def monte_carlo_error(means: Array, weights: Array) -> float:
    """By how much (root mean square) the weighted mean of chains would change with other chains; NaN for a single one.

    means : (chains, points), the mean prediction of each; weights : (chains,), which sum to one.
    """
    kept = weights @ weights
    if len(means) < 2 or kept >= 1.0:
        return float("nan")
    between = (weights @ (means - weights @ means) ** 2).mean() / (1.0 - kept)
    return float(np.sqrt(kept * between))


def _halves(draws: Array) -> Array:
    """Every chain cut in two, the middle of an odd number of draws left out; all NaN if a draw is not finite."""
    half = draws.shape[-1] // 2
    halves = np.concatenate([draws[..., :half], draws[..., draws.shape[-1] - half :]], axis=-2)
    return np.where(np.isfinite(halves).all(axis=(-2, -1), keepdims=True), halves, np.nan)


def _rank_normalised(draws: Array) -> Array:
    """Normal scores of the ranks among the draws of all chains, z = Phi^-1((r - 3/8) / (S + 1/4))."""
    flat = draws.reshape(*draws.shape[:-2], draws.shape[-2] * draws.shape[-1])
    z: Array = ndtri((rankdata(flat, axis=-1) - 0.375) / (flat.shape[-1] + 0.25))
    return z.reshape(draws.shape)


def _rhat(z: Array) -> Array:
    """The square root of var_plus / W."""
    n = z.shape[-1]
    W = z.var(axis=-1, ddof=1).mean(axis=-1)
    between = z.mean(axis=-1).var(axis=-1, ddof=1)
    rhat = np.sqrt((n - 1) / n + between / np.where(W <= _CONSTANT, 1.0, W))
    return np.where(W <= _CONSTANT, np.where(between <= _CONSTANT, 1.0, np.inf), rhat)


def _autocovariance(z: Array) -> Array:
    """The autocovariance of chains (..., chains, sweeps) at each lag, averaged over chains: (..., lags)."""
    n = z.shape[-1]
    padded = next_fast_len(2 * n, real=True)
    power = np.abs(rfft(z - z.mean(axis=-1, keepdims=True), padded, axis=-1)) ** 2
    covariance: Array = irfft(power.mean(axis=-2), padded, axis=-1)[..., :n] / n
    return covariance


def _stacked(draws: list[Array], chains: list[int]) -> Array:
    """Draws of some chains (draws, quantities) as (quantities, chains, draws), the last draws of each."""
    length = min(len(draws[at]) for at in chains)
    return np.array([draws[at][len(draws[at]) - length :] for at in chains]).transpose(2, 0, 1)


def _drift(draws: Array) -> Array:
    """The change of the mean over chains between the halves of the sweeps, for each quantity."""
    halves = _halves(draws)
    first, second = (half.mean(axis=(-2, -1)) for half in np.split(halves, 2, axis=-2))
    return np.asarray(np.abs(first - second))


def _over_defined(summary: Callable[[Array], np.float64], metric: Array) -> float:
    """A summary of the entries that are not NaN; NaN if there is none."""
    defined = metric[~np.isnan(metric)]
    return float(summary(defined)) if defined.size else float("nan")
