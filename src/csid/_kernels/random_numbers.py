"""Random numbers for compiled loops, from a counter: each row has its own, so threads do not change any draw."""

from typing import Any

import numpy as np

from csid._kernels.compiled import inner


@inner
def mixed(z: Any) -> Any:
    """SplitMix64 (Steele, Lea and Flood 2014): random bits from a counter."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inner
def start_of_row(seed: Any, m: int) -> Any:
    """The counter from which row m draws."""
    return mixed(seed + np.uint64(m) * np.uint64(0xD1342543DE82EF95))


@inner
def uniform(counter: Any) -> float:
    """A number from [0, 1); the counter (1,) is advanced."""
    counter[0] += np.uint64(0x9E3779B97F4A7C15)
    return float(mixed(counter[0]) >> np.uint64(11)) * 2.0**-53


@inner
def normal(counter: Any) -> float:
    """A standard normal number, by the polar method of Marsaglia."""
    while True:
        u, v = 2.0 * uniform(counter) - 1.0, 2.0 * uniform(counter) - 1.0
        s = u * u + v * v
        if 0.0 < s < 1.0:
            return float(u * np.sqrt(-2.0 * np.log(s) / s))
