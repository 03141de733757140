"""Have the chains forgotten their starts? Split R-hat and effective sample size (Vehtari et al., 2021)."""

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


def convergence(chains: list[Chain], owners: list[int]) -> dict[str, float]:
    """R-hat and effective sample size of the noise within a prior's chains, and how far it drifts between halves.

    The noise is that of the first standardised output.
    """
    rhat, size, drift = [], 0.0, []
    for owner in sorted(set(owners)):
        own = [chain for chain, at in zip(chains, owners, strict=True) if at == owner]
        length = min(len(chain.alpha) - (chain.kept[0] if chain.kept else 0) for chain in own)
        noise = np.array([1.0 / np.sqrt(np.array(chain.alpha)[-length:, 0]) for chain in own])
        rhat.append(split_rhat(noise))
        size += np.nan_to_num(effective_sample_size(noise))
        half = noise.shape[1] // 2
        if half > 0:
            drift.append(float(abs(noise[:, :half].mean() - noise[:, -half:].mean())))
    return {
        "noise_rhat": float(np.max(rhat)),
        "noise_effective_draws": float(size),
        "drift": max(drift, default=0.0),
    }


def _halves(draws: Array) -> Array:
    """Every chain cut in two, the middle of an odd number of draws left out."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])
