"""A cluster of processes in which things go wrong: the same answer, or a clear error, and never a hang."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster
from numpy.testing import assert_allclose

from csid import CSIDRegressor
from csid.dask import DaskBayesianCSIDRegressor, DaskCSIDRegressor
from csid.data.cluster.partitions import PartitionError
from csid.data.cluster.samples import ClusterSamples
from csid.inference.gibbs import SampledModel, Sweeps, run_chain
from csid.inference.starts import random_state
from csid.inference.state import Chain
from csid.likelihoods.student_t import StudentT
from csid.priors.prior import Prior
from on_dask.blocks import BlockwiseSamples, samples_of, sums_are_in_double_precision
from on_dask.partitioned import mixed, numbers

PARAMETERS: dict[str, Any] = {"rank": 3, "max_iter": 3, "random_state": 0, "tol": 0.0}


@pytest.fixture(autouse=True)
def _no_hang() -> Iterator[None]:
    """A test that does not end is an error."""

    def give_up(*_: Any) -> None:
        raise TimeoutError("the cluster hangs")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(300)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _local(X: Any, y: Any, **parameters: Any) -> Any:
    return CSIDRegressor(**PARAMETERS | parameters).fit(X, y).predict(X)


@contextmanager
def _at_sum(number: int, event: Callable[[], None]) -> Iterator[None]:
    """Something happens while, or just before, the sums of a mode are made."""
    made, right = iter(range(10**6)), ClusterSamples._sum

    def watched(samples: ClusterSamples, *given: Any) -> Any:
        if next(made) == number:
            event()
        return right(samples, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClusterSamples, "_sum", watched)
        yield


def _no_work_is_left(cluster: LocalCluster) -> bool:
    for _ in range(100):
        if not any(str(key).startswith("csid-") for key in cluster.scheduler.tasks):
            return True
        time.sleep(0.1)
    return False


@pytest.fixture
def doomed() -> Iterator[LocalCluster]:
    """A cluster of one test's own: Dask does not always put a worker in the place of one that was killed."""
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50, memory_limit="1GB"
    ) as cluster:
        yield cluster


@contextmanager
def _worker_killed_at(number: int, client: Client) -> Iterator[None]:
    """One of two workers is killed while, or just after, the sums of a mode are made."""
    victim, *others = sorted(client.run(os.getpid).values())
    assert len(others) == 1
    with _at_sum(number, threading.Timer(0.02, os.kill, (victim, signal.SIGKILL)).start):
        yield
    with suppress(ProcessLookupError):
        while True:  # until it is buried, which the test's alarm bounds
            os.kill(victim, 0)
            time.sleep(0.05)


@pytest.mark.parametrize("likelihood", ["gaussian", "student_t"])
def test_a_worker_that_is_killed_changes_nothing(doomed: LocalCluster, likelihood: str) -> None:
    data, given = numbers(predictors=3), {"likelihood": likelihood}
    with Client(doomed) as client:
        with _worker_killed_at(5, client):
            model = DaskCSIDRegressor(**PARAMETERS | given, client=client).fit(*data.lazy)
        assert _no_work_is_left(doomed)
    assert_allclose(model.predict(data.X), _local(data.X, data.y, **given), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("at", [4, 9, 14])
def test_a_worker_that_is_killed_changes_no_draw(
    doomed: LocalCluster, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks are made again on another worker, and what Student's t draws for their rows is drawn again alike."""
    sums_are_in_double_precision(monkeypatch)
    data, likelihood, chains = numbers(predictors=3), StudentT(), []
    with Client(doomed) as client, samples_of(data, client, merged=False) as found:
        for samples in (found.samples, BlockwiseSamples.of(found, data, 120)):
            chain = Chain(random_state(samples.summary, likelihood, 3, np.random.default_rng(0)))
            model, rng = SampledModel(Prior(), likelihood), np.random.default_rng(1)
            with _worker_killed_at(at, client) if samples is found.samples else nullcontext():
                run_chain(samples, model, chain, rng, Sweeps(0, 4))
            chains.append(chain)
        found.samples.release()
        assert _no_work_is_left(doomed)
    assert_allclose(chains[0].trace, chains[1].trace, rtol=1e-8)
    for one, other in zip(chains[0].draws, chains[1].draws, strict=True):
        assert_allclose(one.factors.table, other.factors.table, rtol=1e-8, atol=1e-8)


def test_blocks_with_working_targets_are_let_go_of(
    client: Client, cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the last sweep only there are some, each where the block is that it was made of; memory does not grow."""
    data, likelihood = numbers(2000, predictors=3, chunk=500), StudentT()
    counts: list[int] = []
    sizes: list[int] = []

    def look(samples: ClusterSamples, *given: Any) -> Any:
        found = [task for key, task in cluster.scheduler.tasks.items() if str(key).startswith("csid-")]
        counts.append(sum(str(task.key).startswith("csid-working") for task in found))
        sizes.append(sum(task.nbytes for task in found if task.state == "memory"))
        held = dict(client.who_has()), [task.key for task in samples.blocks]
        assert all(len(held[0][key]) == 1 for key in held[1])
        return right(samples, *given)

    with samples_of(data, client, merged=False) as found:
        chain = Chain(random_state(found.samples.summary, likelihood, 3, np.random.default_rng(0)))
        right = ClusterSamples.residual_sums
        monkeypatch.setattr(ClusterSamples, "residual_sums", look)
        run_chain(found.samples, SampledModel(Prior(), likelihood), chain, np.random.default_rng(1), Sweeps(0, 12))
        assert 4 <= min(counts) <= max(counts) <= 2 * 4
        assert max(sizes[6:]) < 1.1 * max(sizes[:6])
        found.samples.release()
        assert _no_work_is_left(cluster)


def test_a_fit_of_working_targets_leaves_nothing_behind(client: Client, cluster: LocalCluster) -> None:
    """Also when it goes on, or is interrupted."""
    data = mixed(200)
    given: dict[str, Any] = {"rank": 2, "likelihood": "student_t", "warm_start": True, "random_state": 0}
    sampler = {"effort": "fast", "prior": "medium", "n_chains": 1, "n_draws": 4}
    models = [
        DaskCSIDRegressor(**given, max_iter=4, client=client),
        DaskBayesianCSIDRegressor(**given, **sampler, client=client),
    ]

    def interrupt() -> None:
        raise KeyboardInterrupt

    for model in models:
        for _ in range(2):
            model.fit(*data.lazy)
            assert _no_work_is_left(cluster)
        before, fitted = model.predict(data.X), model.fitted_
        with _at_sum(1, interrupt), pytest.raises(KeyboardInterrupt):
            model.set_params(warm_start=False).fit(*data.lazy)
        assert _no_work_is_left(cluster)
        assert model.fitted_ is fitted
        assert np.array_equal(model.predict(data.X), before)


def test_a_worker_that_joins_late_takes_part() -> None:
    data = numbers(predictors=3, chunk=50)
    quiet: dict[str, Any] = {"dashboard_address": ":0", "silence_logs": 50, "memory_limit": "1GB"}
    with LocalCluster(n_workers=1, threads_per_worker=1, **quiet) as cluster, Client(cluster) as client:
        first = set(client.nthreads())
        client.get_task_stream()

        def join() -> None:
            cluster.scale(2)
            client.wait_for_workers(2, timeout=60)

        with _at_sum(3, join):
            model = DaskCSIDRegressor(**PARAMETERS, client=client).fit(*data.lazy)
        done = {
            record["worker"] for record in client.get_task_stream() if str(record["key"]).startswith("csid-sums-mode")
        }
        assert done > first
    assert_allclose(model.predict(data.X), _local(data.X, data.y), rtol=1e-8, atol=1e-8)


def test_what_exceeds_the_memory_of_a_worker_says_what_to_do() -> None:
    settings = {"distributed.scheduler.allowed-failures": 0}
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50, memory_limit="600MB"
        ) as cluster,
        Client(cluster) as client,
    ):
        X = da.ones((60_000_000, 2), chunks=(30_000_000, 2))
        with pytest.raises(MemoryError, match="Make partitions smaller"):
            DaskCSIDRegressor(client=client, early_stopping=False).fit(X, da.ones(60_000_000, chunks=30_000_000))


def test_blocks_that_are_spilled_to_disk_give_the_same_answer() -> None:
    data = numbers(predictors=3)
    settings = {"distributed.worker.memory.target": 1e-6, "distributed.worker.memory.spill": 0.9}
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50, memory_limit="1GB"
        ) as cluster,
        Client(cluster) as client,
    ):
        spilled: list[int] = []

        def look() -> None:
            spilled.extend(client.run(lambda dask_worker: len(dask_worker.data.slow)).values())

        with _at_sum(5, look):
            model = DaskCSIDRegressor(**PARAMETERS, client=client).fit(*data.lazy)
    assert max(spilled) > 0
    assert_allclose(model.predict(data.X), _local(data.X, data.y), rtol=1e-8, atol=1e-8)


def test_an_interrupt_leaves_no_work_behind(client: Client, cluster: LocalCluster) -> None:
    """As a person has it, who presses the keys again when nothing happens: Python drops an interrupt in a finaliser."""
    data, ended = numbers(predictors=3), threading.Event()

    def press() -> None:
        time.sleep(0.02)
        while not ended.is_set():
            os.kill(os.getpid(), signal.SIGINT)
            ended.wait(5.0)

    model = DaskCSIDRegressor(rank=3, max_iter=10_000, tol=0.0, early_stopping=False, client=client)
    with _at_sum(9, threading.Thread(target=press).start):
        with pytest.raises(KeyboardInterrupt):
            model.fit(*data.lazy)
        ended.set()
    assert not hasattr(model, "cpd_")
    assert _no_work_is_left(cluster)
    again = DaskCSIDRegressor(**PARAMETERS, client=client).fit(*data.lazy)
    assert_allclose(again.predict(data.X), _local(data.X, data.y), rtol=1e-8, atol=1e-8)


def test_a_partition_that_cannot_be_read_is_named_and_leaves_no_work(client: Client, cluster: LocalCluster) -> None:
    def fail(block: Any, block_info: Any = None) -> Any:
        if block_info[0]["chunk-location"][0] == 3:
            raise OSError("disk on fire")
        return block

    X, y = numbers(predictors=3).lazy
    with pytest.raises(PartitionError, match=r"partition 3 .*disk on fire"):
        DaskCSIDRegressor(**PARAMETERS, client=client).fit(X.rechunk({1: -1}).map_blocks(fail, dtype=float), y)
    assert _no_work_is_left(cluster)


def test_a_fit_that_fails_leaves_no_work(client: Client, cluster: LocalCluster) -> None:
    def fail() -> None:
        raise RuntimeError("a bug")

    model = DaskCSIDRegressor(**PARAMETERS, client=client)
    with _at_sum(3, fail), pytest.raises(RuntimeError, match="a bug"):
        model.fit(*numbers(predictors=3).lazy)
    assert not hasattr(model, "fitted_")
    assert _no_work_is_left(cluster)


@pytest.mark.parametrize("given", [True, False], ids=["given", "the current one"])
def test_a_client_that_closes_is_one_error(given: bool, cluster: LocalCluster) -> None:
    client = Client(cluster, set_as_default=not given)
    model = DaskCSIDRegressor(**PARAMETERS, client=client if given else None)
    with (
        _at_sum(3, client.close),
        pytest.raises(ConnectionError, match="lost the Dask cluster: Client is closed") as found,
    ):
        model.fit(*numbers(predictors=3).lazy)
    assert found.value.__suppress_context__
    assert not hasattr(model, "fitted_")
    assert _no_work_is_left(cluster)


@contextmanager
def _process(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-m", *arguments], stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_scheduler_that_dies_is_one_error(tmp_path: Path) -> None:
    where = ["--scheduler-file", str(tmp_path / "scheduler.json")]
    lines = ["--port", "0", "--no-dashboard"], ["--nthreads", "1", "--no-dashboard", "--no-nanny"]
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s", "distributed.comm.retry.count": 0}),
        _process("distributed.cli.dask_scheduler", *where, *lines[0]) as scheduler,
        _process("distributed.cli.dask_worker", *where, *lines[1]),
        Client(scheduler_file=where[1], timeout=60) as client,
    ):
        client.wait_for_workers(1, timeout=60)
        model = DaskCSIDRegressor(**PARAMETERS, client=client)
        with _at_sum(3, scheduler.kill), pytest.raises(ConnectionError, match="lost the Dask cluster") as found:
            model.fit(*numbers(predictors=3).lazy)
        assert found.value.__suppress_context__
        assert not hasattr(model, "fitted_")


def test_two_fits_at_once_are_both_right(client: Client, cluster: LocalCluster) -> None:
    """Of the same rows by two seeds, whose tasks have the same names."""
    data = numbers(predictors=3)
    seeds = [0, 1]

    def fit(seed: int) -> Any:
        return DaskCSIDRegressor(**PARAMETERS | {"random_state": seed}, client=client).fit(*data.lazy)

    with ThreadPoolExecutor(2) as pool:
        models = list(pool.map(fit, seeds))
    for model, seed in zip(models, seeds, strict=True):
        local = CSIDRegressor(**PARAMETERS | {"random_state": seed}).fit(data.X, data.y)
        assert_allclose(model.predict(data.X), local.predict(data.X), rtol=1e-8, atol=1e-8)
    assert _no_work_is_left(cluster)


def test_the_sampler_on_a_cluster(client: Client, cluster: LocalCluster) -> None:
    data = mixed()
    given: dict[str, Any] = {"rank": 2, "effort": "fast", "prior": "medium", "n_chains": 1, "n_draws": 4}
    on_cluster = DaskBayesianCSIDRegressor(**given, random_state=0, client=client).fit(*data.lazy)
    with dask.config.set(scheduler="threads"):
        alone = DaskBayesianCSIDRegressor(**given, random_state=0).fit(*data.lazy)
    spread = np.std(data.y)
    assert np.sqrt(np.mean((on_cluster.predict(data.X) - alone.predict(data.X)) ** 2)) < 0.05 * spread
    assert _no_work_is_left(cluster)
