"""Have the chains forgotten their starts? Split R-hat and effective sample size (Vehtari et al., 2021)."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from csid._fit.gibbs import Chain

Array = NDArray[np.float64]


def split_rhat(draws: Array) -> float:
    """Of one quantity, draws (chains, sweeps): near 1 when the halves of all chains agree; NaN for too few draws."""
    halves = _halves(draws)
    if halves.shape[1] < 2:
        return float("nan")
    within = halves.var(axis=1, ddof=1).mean()
    between = halves.mean(axis=1).var(ddof=1)
    if within == 0.0:
        return 1.0 if between == 0.0 else float("inf")
    n = halves.shape[1]
    return float(np.sqrt((n - 1) / n + between / within))


def effective_sample_size(draws: Array) -> float:
    """How many independent draws would tell as much of the mean, by autocorrelations up to a first negative pair."""
    halves = _halves(draws)
    m, n = halves.shape
    if n < 4:
        return float("nan")
    centred = halves - halves.mean(axis=1, keepdims=True)
    lagged = np.array([(centred[:, : n - lag] * centred[:, lag:]).sum(axis=1).mean() / n for lag in range(n)])
    within = lagged[0] * n / (n - 1)
    total = lagged[0] + halves.mean(axis=1).var(ddof=1)
    if total == 0.0:
        return float(m * n)
    correlation = 1.0 - (within - lagged) / total
    correlation[0] = 1.0
    pairs = correlation[: n - n % 2].reshape(-1, 2).sum(axis=1)
    cut = int(np.argmax(pairs < 0.0)) if (pairs < 0.0).any() else len(pairs)
    pairs = np.minimum.accumulate(pairs[: max(cut, 1)])
    return float(m * n / max(2.0 * pairs.sum() - 1.0, 1.0 / np.log10(m * n)))


def convergence(chains: list[Chain], owners: list[int], values: list[Array], weights: Array) -> dict[str, float]:
    """Figures of the noise, the smoothness and the predictions, over the chains of all priors.

    owners : the prior of each chain; R-hats are within priors, the largest of them given; effective draws add up.
    values : of each chain, its draws' standardised predictions at some points (draws, points); weights : (chains,).
    Of the smoothness, the mean logarithm over components is looked at for each predictor, since components may swap.
    """
    noise_rhat, smooth_rhat, value_rhat, drift = [], [], [], []
    noise_size, smooth_size, value_size = 0.0, 0.0, 0.0
    for owner in sorted(set(owners)):
        own = [at for at, prior in enumerate(owners) if prior == owner]
        length = min(len(chains[at].alpha) - (chains[at].kept[0] if chains[at].kept else 0) for at in own)
        noise = np.array([1.0 / np.sqrt(np.array(chains[at].alpha)[-length:, 0]) for at in own])
        half = noise.shape[1] // 2
        if half > 0:
            drift.append(float(abs(noise[:, :half].mean() - noise[:, -half:].mean())))
        noise_rhat.append(split_rhat(noise))
        noise_size += np.nan_to_num(effective_sample_size(noise))
        smooth = _stacked([np.log([draw.mu for draw in chains[at].draws]).mean(axis=2) for at in own])
        smooth_rhat.append(_middle(split_rhat, smooth))
        smooth_size += np.nan_to_num(_middle(effective_sample_size, smooth))
        points = _stacked([values[at] for at in own])
        value_rhat.append(_middle(split_rhat, points))
        value_size += np.nan_to_num(_middle(effective_sample_size, points))
    return {
        "noise_rhat": float(np.max(noise_rhat)),
        "noise_effective_draws": float(noise_size),
        "smoothness_rhat": float(np.max(smooth_rhat)),
        "smoothness_effective_draws": float(smooth_size),
        "prediction_rhat": float(np.max(value_rhat)),
        "prediction_effective_draws": float(value_size),
        "prediction_error": monte_carlo_error(np.array([each.mean(axis=0) for each in values]), weights),
        "drift": max(drift, default=0.0),
    }


def monte_carlo_error(means: Array, weights: Array) -> float:
    """By how much (root mean square) the weighted mean of chains would change with other chains; NaN for a single one.

    means : (chains, points), the mean prediction of each; weights : (chains,), which sum to one.
    """
    kept = weights @ weights
    if len(means) < 2 or kept >= 1.0:
        return float("nan")
    between = (weights @ (means - weights @ means) ** 2).mean() / (1.0 - kept)
    return float(np.sqrt(kept * between))


def _stacked(draws: list[Array]) -> Array:
    """Draws of several chains (draws, quantities) as (quantities, chains, draws), the last draws of each."""
    length = min(len(each) for each in draws)
    return np.array([each[len(each) - length :] for each in draws]).transpose(2, 0, 1)


def _middle(figure: Callable[[Array], float], quantities: Array) -> float:
    """The median over quantities of a figure of their draws."""
    return float(np.median([figure(draws) for draws in quantities]))


def _halves(draws: Array) -> Array:
    """Every chain cut in two, the middle of an odd number of draws left out."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])
