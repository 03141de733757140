"""Fits over Dask partitions beside the local fit: time, and bytes between processes beside what they are on paper.

    python benchmarks/cluster.py [--rows 10000000] [--partitions 8] [--tries 1]   # rows in results/dask.csv

Two workers of one thread each, on this machine, against two local threads: least squares, rank 10, 20 sweeps, of the
data of `scale.py`. Both have their table in memory when the clock starts. `sweep_seconds` are those of the 20 sweeps
alone; `cpu_seconds` are those that all processes of a fit spent, which other work on the machine changes less.

Bytes are what workers sent to each other and to the client during the sweeps, by their own count, for each sweep. On
paper they are, for every mode of I levels (one more stands for missing cells), with W workers of one thread:

    8 W (I + 1) (2 F (F + 1) / 2 + K F)          sums: diagonal and neighbouring blocks, right-hand sides, to the client
    8 (W - 1) sum over other modes of (I + 1) S  factors, padded to S lanes, from one worker to the others; in single
                                                 precision half of that

and once a sweep the factors of all modes, for the residuals.

With fewer than 100,000 rows nothing is stored.
"""

import argparse
import os
import time
from typing import Any

import dask
import dask.array as da
import numpy as np
import psutil
from distributed import Client, LocalCluster, wait

import results
from csid import CSIDRegressor
from csid._fit import als
from csid._fit.factors import padded_rank
from csid.dask import DaskCSIDRegressor
from scale import noisy

PREDICTORS, RANK, SWEEPS, WORKERS = 10, 10, 20, 2
PARAMETERS: dict[str, Any] = {"rank": RANK, "tol": 0, "early_stopping": False, "random_state": 0}


def cpu_seconds(processes: list[psutil.Process]) -> float:
    return sum(sum(process.cpu_times()[:2]) for process in processes)


class Timed(CSIDRegressor):
    """Remembers how long its sweeps took."""

    def _fit_members(self, *given: Any) -> Any:
        started = time.perf_counter()
        found = super()._fit_members(*given)
        self.sweep_seconds_ = time.perf_counter() - started
        return found


class TimedOnDask(DaskCSIDRegressor):
    """The same, and the bytes that workers sent meanwhile."""

    def _best(self, *given: Any) -> Any:
        started, before = time.perf_counter(), sent(self.client)
        found = super()._best(*given)
        self.sweep_seconds_, self.bytes_ = time.perf_counter() - started, sent(self.client) - before
        return found


def sent(client: Client) -> int:
    return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())


def bytes_on_paper(model: DaskCSIDRegressor, rows: int) -> float:
    """What workers send in a sweep, on average over the sweeps, of which the first are in single precision."""
    levels = model.encoding_.levels + 1
    sums = 8 * levels * (2 * RANK * (RANK + 1) // 2 + RANK)
    numbers = (levels.sum() - levels) * padded_rank(RANK)
    objective = model.objective_history_[0].tolist()
    known = type("Known", (), {"n_rows": rows})
    single = np.mean([als._still_far(known, objective[:sweep]) for sweep in range(len(objective))])
    broadcast = numbers.sum() * (8 - 4 * single) + levels.sum() * padded_rank(RANK) * 8
    return float(WORKERS * sums.sum() + (WORKERS - 1) * broadcast)


def measured(rows: int, partitions: int) -> dict[str, Any]:
    """Figures of a local fit and of one over partitions, one after another."""
    size = rows // partitions
    made = [dask.delayed(noisy)(size, PREDICTORS, number) for number in range(partitions)]
    X, y = (
        da.concatenate([da.from_delayed(one[part], shape, dtype=float) for one in made])
        for part, shape in ((0, (size, PREDICTORS)), (1, (size,)))
    )
    quiet: dict[str, Any] = {"dashboard_address": ":0", "silence_logs": 50, "memory_limit": 0}
    with LocalCluster(n_workers=WORKERS, threads_per_worker=1, **quiet) as cluster, Client(cluster) as client:
        lazy = client.persist([X, y])
        wait(lazy)
        TimedOnDask(**PARAMETERS, max_iter=1, client=client).fit(*lazy)  # compiles, or reads what was compiled
        family = [psutil.Process(), *map(psutil.Process, client.run(os.getpid).values())]
        started, spent = time.perf_counter(), cpu_seconds(family)
        model = TimedOnDask(**PARAMETERS, max_iter=SWEEPS, client=client).fit(*lazy)
        seconds, cpu = time.perf_counter() - started, cpu_seconds(family) - spent
        table, targets = (np.array(part) for part in client.compute(lazy, sync=True))
    warm = min(rows, 120_000)
    CSIDRegressor(**PARAMETERS, max_iter=1).fit(table[:warm], targets[:warm])
    started, spent = time.perf_counter(), cpu_seconds(family[:1])
    local = Timed(**PARAMETERS, max_iter=SWEEPS, n_jobs=WORKERS).fit(table, targets)
    local_seconds, local_cpu = time.perf_counter() - started, cpu_seconds(family[:1]) - spent
    paper = bytes_on_paper(model, rows)
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
        "bytes_on_paper": round(paper),
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
        found = measured(given.rows, given.partitions)
        print(", ".join(f"{name} {value}" for name, value in found.items()))
        if given.rows >= 100_000:
            results.append("dask", found | results.provenance())


if __name__ == "__main__":
    main()
