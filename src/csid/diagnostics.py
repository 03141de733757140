"""Have the chains forgotten their starts? Split R-hat and effective sample size (Vehtari et al., 2021)."""

import numpy as np
from numpy.typing import NDArray

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


def _halves(draws: Array) -> Array:
    """Every chain cut in two, the middle of an odd number of draws left out."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])
