"""Run tasks on the cluster of a Dask client, or on Dask's current scheduler."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, suppress
from itertools import count
from types import TracebackType
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np
from dask.base import annotate, compute, get_scheduler, persist
from dask.delayed import Delayed, delayed
from dask.system import CPU_COUNT
from distributed import Client, Future, KilledWorker, futures_of, wait
from distributed.comm.core import CommClosedError

T = TypeVar("T")

_BRANCHES = 4

LOST = (CancelledError, CommClosedError)
"""Errors of a client whose scheduler has died. If the client itself is closed, there are others."""


class Cluster:
    """The tasks of one fit. Results kept on the workers are released when the fit ends or fails.

    A client that closes or loses its scheduler ends the fit with one `ConnectionError`.

    Task keys are unique to a fit, so fits to the same data do not interfere. Without a client, Dask's current client is
    used, or else its configured scheduler.
    """

    def __init__(self, client: Client | None) -> None:
        self._client = _client_of(client)
        self._key = uuid4().hex
        self._numbers = count()
        self._kept: dict[str, Future[Any]] = {}
        self._workers: set[str] = set()
        self._context = ExitStack()

    def __enter__(self) -> "Cluster":
        if self._client is not None and self._client is not _client_of(None):  # a current one may close meanwhile
            self._context.enter_context(self._client.as_current())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        connected = self._client is None or self._client.status == "running"
        with suppress(*LOST):
            if connected:
                self._cancel(list(self._kept))
        self._context.close()
        if isinstance(error, LOST) or (isinstance(error, Exception) and not connected):
            reason = " ".join(str(error).split())
            raise ConnectionError(
                f"the fit lost the Dask cluster: {reason} The estimator is as it was before. "
                "Connect a new Client, and fit again."
            ) from None

    def task(self, name: str, function: Callable[..., Any], *arguments: Any, worker: str = "") -> Delayed:
        """A delayed call with a name for Dask's dashboard, preferably on `worker`."""
        key = f"csid-{name}-{self._key}-{next(self._numbers)}"
        where = {"workers": [worker], "allow_other_workers": True} if worker else {}
        with annotate(**where):
            made: Delayed = delayed(function, pure=False, traverse=False)(*arguments, dask_key_name=key)
        return made

    def value(self, name: str, value: Any) -> Delayed:
        """A value that many tasks read. It is sent to each worker once."""
        return self.task(name, _itself, value)

    def tree_reduce(self, name: str, merge: Callable[[Sequence[T]], T], tasks: Sequence[Delayed]) -> Delayed:
        """Merge the results of tasks along a tree, neighbours first."""
        while True:
            groups = [list(tasks[start : start + _BRANCHES]) for start in range(0, len(tasks), _BRANCHES)]
            tasks = [self.task(name, merge, group) for group in groups]
            if len(tasks) == 1:
                return tasks[0]

    def compute(self, task: Delayed) -> Any:
        """The result of a task."""
        self._check_connected()
        try:
            return compute(task)[0]
        except KilledWorker as error:
            raise MemoryError(
                f"every worker that ran {error.task!r} died. The usual cause is that a partition does not fit into its "
                "memory. Make partitions smaller (X.repartition), or give workers more memory."
            ) from error

    def keep(self, tasks: Iterable[Delayed]) -> list[Delayed]:
        """The tasks, with their results kept on the workers. Dask computes a lost result again."""
        self._check_connected()
        kept = list(persist(*tasks))
        self._kept |= {future.key: future for future in futures_of(kept)}
        return kept

    def release(self, kept: Iterable[Delayed]) -> None:
        """Release kept results, and cancel those not yet computed."""
        self._cancel([task.key for task in kept if task.key in self._kept])

    def _cancel(self, keys: list[str]) -> None:
        futures = [self._kept.pop(key) for key in keys]
        if futures:
            futures[0].client.cancel(futures)

    def _check_connected(self) -> None:
        """Without its client, Dask would go on in this process."""
        if self._client is not None and self._client.status == "closed":
            raise CommClosedError("Client is closed.")

    def n_threads(self) -> int:
        """How many tasks run at a time."""
        client = self._client
        return CPU_COUNT if client is None else sum(client.nthreads().values())

    def assignments(self, kept: Sequence[Delayed]) -> list[tuple[str, list[int]]]:
        """For each thread its worker and the indices of the blocks that it sums over.

        Workers that joined since the last call are first given copies of some blocks.
        """
        client = self._client
        if client is None:
            return [("", part) for part in _split(list(range(len(kept))), CPU_COUNT)]
        futures = [self._kept[task.key] for task in kept]
        threads = client.nthreads()
        new_workers, self._workers = set(threads) - self._workers if self._workers else set(), set(threads)
        for worker in sorted(new_workers):
            count = len(futures) * threads[worker] // sum(threads.values())
            client.replicate(_from_fullest_workers(futures, client.who_has(futures), count), n=1, workers=[worker])
        who_has = client.who_has(futures)
        holders = [list(who_has.get(future.key, ())) for future in futures]
        held = _assign_to_holders(holders)
        return [(worker, part) for worker, numbers in held.items() for part in _split(numbers, threads.get(worker, 1))]

    def first_failure(self, tasks: Sequence[Delayed]) -> tuple[int, BaseException] | None:
        """The index and the error of the first task that fails, if any."""
        if self._client is not None:
            futures = [self._kept[task.key] for task in self.keep(tasks)]
            wait(futures)
            failed = ((at, future.exception()) for at, future in enumerate(futures) if future.status == "error")
            return next(failed, None)
        for at, task in enumerate(tasks):
            try:
                compute(task)
            except Exception as error:  # the user's graph may raise anything
                return at, error
        return None


def _client_of(given: Client | None) -> Client | None:
    """The given client, or Dask's current one, if any."""
    if given is not None:
        return given
    get = get_scheduler()
    return getattr(get, "__self__", None) if isinstance(getattr(get, "__self__", None), Client) else None


def _split(numbers: list[int], parts: int) -> list[list[int]]:
    return [part.tolist() for part in np.array_split(numbers, min(parts, len(numbers)))]


def _assign_to_holders(holders: Sequence[Sequence[str]]) -> dict[str, list[int]]:
    """Assign each block to one worker that holds it, the one with the fewest blocks so far."""
    held: dict[str, list[int]] = {}
    for at in sorted(range(len(holders)), key=lambda at: len(holders[at])):
        worker = min(holders[at], key=lambda one: len(held.get(one, ())), default="")
        held.setdefault(worker, []).append(at)
    return {worker: sorted(numbers) for worker, numbers in held.items()}


def _from_fullest_workers(futures: Sequence[Future[Any]], who_has: dict[Any, Any], count: int) -> list[Future[Any]]:
    """`count` futures, each taken from the worker with the most futures left."""
    held: dict[str, list[Future[Any]]] = {}
    for future in futures:
        for worker in list(who_has.get(future.key, ()))[:1]:
            held.setdefault(worker, []).append(future)
    return [max(held.values(), key=len).pop() for _ in range(count) if any(held.values())]


def _itself(value: T) -> T:
    return value
