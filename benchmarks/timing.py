"""Timing shared by several benchmarks: interleaved rounds of contenders, and the time of the sweeps of a fit."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from csid import CSIDRegressor
from csid.estimators.progress import OnSweep


def least_seconds(*contenders: Callable[[], object], rounds: int = 5) -> list[float]:
    """Least wall time of each contender, after one untimed run for compilation and warm-up.

    Rounds are interleaved, so that a slow minute of the machine affects all contenders.
    """
    least = [np.inf] * len(contenders)
    for turn in range(rounds + 1):
        for index, contender in enumerate(contenders):
            started = time.perf_counter()
            contender()
            if turn > 0:
                least[index] = min(least[index], time.perf_counter() - started)
    return least


class SweepTimes:
    """Lets a least-squares estimator record how long its sweeps took, without encoding, in `sweep_seconds_`.

    The progress display is called after every sweep, so this takes its place.
    """

    @contextmanager
    def _open_bars(self) -> Iterator[Callable[[str], OnSweep]]:
        times = [time.perf_counter()]
        yield lambda label: lambda objective, held_out: times.append(time.perf_counter())
        self.sweep_seconds_ = times[-1] - times[0]


class SweepTimedRegressor(SweepTimes, CSIDRegressor):
    """Least squares that records how long its sweeps took."""
