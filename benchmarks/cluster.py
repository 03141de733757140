"""Fits on Dask partitions compared with local fits: time, and bytes sent compared with the expected number.

    python benchmarks/cluster.py [--rows 10000000] [--partitions 8] [--tries 1]   # rows in results/dask.csv

Two workers with one thread each, on this machine, are compared with two local threads: least squares, rank 10, 20
sweeps, on the data of `scale.py`. Both have their table in memory when the clock starts. `sweep_seconds` covers the 20
sweeps only. `cpu_seconds` is the CPU time of all processes of a fit, which depends less on other work on the machine.

`bytes_per_sweep` is what workers sent to each other and to the client during the sweeps, by their own count.
`bytes_expected` is, for every mode with I levels (plus one for missing cells) and W workers with one thread:

    8 W (I + 1) (2 F (F + 1) / 2 + K F)          sums: diagonal and neighbouring blocks, right-hand sides, to the client
    8 (W - 1) sum over other modes of (I + 1) S  factors, padded to S lanes, from one worker to the others; half of
                                                 that in single precision

plus, once per sweep, the factors of all modes, for the residuals.

With fewer than 100,000 rows nothing is stored.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import dask
import dask.array as da
import numpy as np
import psutil
from distributed import Client, LocalCluster, wait

import results
from csid import CSIDRegressor
from csid.dask import DaskCSIDRegressor
from csid.estimators.progress import OnSweep
from csid.tensor.factors import padded_rank
from scale import noisy
from timing import SweepTimedRegressor, SweepTimes

PREDICTORS, RANK, SWEEPS, WORKERS = 10, 10, 20, 2
PARAMETERS: dict[str, Any] = {"rank": RANK, "tol": 0, "early_stopping": False, "random_state": 0}


def cpu_seconds(processes: list[psutil.Process]) -> float:
    return sum(sum(process.cpu_times()[:2]) for process in processes)


class SweepTimedDaskRegressor(SweepTimes, DaskCSIDRegressor):
    """Records the time of its sweeps, and the bytes that workers sent meanwhile."""

    @contextmanager
    def _open_bars(self) -> Iterator[Callable[[str], OnSweep]]:
        before = bytes_sent(self.client)
        with super()._open_bars() as open_bar:
            yield open_bar
        self.bytes_ = bytes_sent(self.client) - before


def bytes_sent(client: Client) -> int:
    return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())


def single_precision(rows: int, objective: Sequence[float]) -> bool:
    """Whether the sweep after these objectives is in single precision, by the rule of `csid.inference.als`.

    It is over many rows, until a sweep gains less than a part in ten thousand.
    """
    return rows >= 100_000 and (len(objective) < 2 or objective[-1] < (1.0 - 1e-4) * objective[-2])


def bytes_expected(model: DaskCSIDRegressor, rows: int) -> float:
    """Bytes that workers send per sweep, on average over the sweeps."""
    levels = model.encoding_.levels + 1
    sums = 8 * levels * (2 * RANK * (RANK + 1) // 2 + RANK)
    numbers = (levels.sum() - levels) * padded_rank(RANK)
    objective = model.objective_history_[0].tolist()
    single = np.mean([single_precision(rows, objective[:sweep]) for sweep in range(len(objective))])
    broadcast = numbers.sum() * (8 - 4 * single) + levels.sum() * padded_rank(RANK) * 8
    return float(WORKERS * sums.sum() + (WORKERS - 1) * broadcast)


def measure(rows: int, partitions: int) -> dict[str, Any]:
    """Measure a fit on partitions and a local fit, one after the other."""
    size = rows // partitions
    chunks = [dask.delayed(noisy)(size, PREDICTORS, number) for number in range(partitions)]
    X, y = (
        da.concatenate([da.from_delayed(chunk[part], shape, dtype=float) for chunk in chunks])
        for part, shape in ((0, (size, PREDICTORS)), (1, (size,)))
    )
    quiet: dict[str, Any] = {"dashboard_address": ":0", "silence_logs": 50, "memory_limit": 0}
    with LocalCluster(n_workers=WORKERS, threads_per_worker=1, **quiet) as cluster, Client(cluster) as client:
        lazy = client.persist([X, y])
        wait(lazy)
        SweepTimedDaskRegressor(**PARAMETERS, max_iter=1, client=client).fit(*lazy)  # compile, or load the cache
        processes = [psutil.Process(), *map(psutil.Process, client.run(os.getpid).values())]
        started, spent = time.perf_counter(), cpu_seconds(processes)
        model = SweepTimedDaskRegressor(**PARAMETERS, max_iter=SWEEPS, client=client).fit(*lazy)
        seconds, cpu = time.perf_counter() - started, cpu_seconds(processes) - spent
        table, targets = (np.array(part) for part in client.compute(lazy, sync=True))
    warm = min(rows, 120_000)
    CSIDRegressor(**PARAMETERS, max_iter=1).fit(table[:warm], targets[:warm])
    started, spent = time.perf_counter(), cpu_seconds(processes[:1])
    local = SweepTimedRegressor(**PARAMETERS, max_iter=SWEEPS, n_jobs=WORKERS).fit(table, targets)
    local_seconds, local_cpu = time.perf_counter() - started, cpu_seconds(processes[:1]) - spent
    expected = bytes_expected(model, rows)
    return {
        "rows": rows,
        "predictors": PREDICTORS,
        "levels": int(model.encoding_.levels.max()),
        "rank": RANK,
        "sweeps": SWEEPS,
        "workers": WORKERS,
        "partitions": partitions,
        "seconds": round(seconds, 2),
        "sweep_seconds": round(model.sweep_seconds_, 2),
        "cpu_seconds": round(cpu, 2),
        "local_seconds": round(local_seconds, 2),
        "local_sweep_seconds": round(local.sweep_seconds_, 2),
        "local_cpu_seconds": round(local_cpu, 2),
        "bytes_per_sweep": round(model.bytes_ / SWEEPS),
        "bytes_expected": round(expected),
        "train_r2": round(model.score(table[:warm], targets[:warm]), 6),
        "local_train_r2": round(local.score(table[:warm], targets[:warm]), 6),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--tries", type=int, default=1)
    given = parser.parse_args()
    for _ in range(given.tries):
        found = measure(given.rows, given.partitions)
        print(", ".join(f"{name} {value}" for name, value in found.items()))
        if given.rows >= 100_000:
            results.append("dask", found | results.provenance())


if __name__ == "__main__":
    main()
