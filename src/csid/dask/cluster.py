"""Where work is done: on the cluster of a client, or by whatever scheduler Dask has without one."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from itertools import count
from types import TracebackType
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np
from dask.base import annotate, compute, get_scheduler, persist
from dask.delayed import Delayed, delayed
from dask.system import CPU_COUNT
from distributed import Client, Future, KilledWorker, futures_of, wait

T = TypeVar("T")

_BRANCHES = 4


class Cluster:
    """The tasks of one fit. What they keep on the workers is let go when the fit ends, however it ends.

    Keys of tasks belong to one fit alone, so that fits on the same data do not get into each other's way. Without a
    client, Dask decides: its current client, or else the scheduler that it is set to.
    """

    def __init__(self, client: Client | None) -> None:
        self._client = client
        self._key = uuid4().hex
        self._numbers = count()
        self._kept: dict[str, Future[Any]] = {}
        self._workers: set[str] = set()
        self._context = ExitStack()

    def __enter__(self) -> "Cluster":
        if self._client is not None:
            self._context.enter_context(self._client.as_current())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._cancel(list(self._kept))
        self._context.close()

    def task(self, name: str, function: Callable[..., Any], *arguments: Any, worker: str = "") -> Delayed:
        """A call to be made, under a name that Dask's dashboard shows, and by a worker if that is there."""
        key = f"csid-{name}-{self._key}-{next(self._numbers)}"
        where = {"workers": [worker], "allow_other_workers": True} if worker else {}
        with annotate(**where):
            made: Delayed = delayed(function, pure=False, traverse=False)(*arguments, dask_key_name=key)
        return made

    def value(self, name: str, value: Any) -> Delayed:
        """What many tasks read: it travels to each worker once."""
        return self.task(name, _itself, value)

    def reduced(self, name: str, merge: Callable[[Sequence[T]], T], tasks: Sequence[Delayed]) -> Delayed:
        """The results of tasks, merged neighbours first and some at a time until one is left."""
        while True:
            groups = [list(tasks[start : start + _BRANCHES]) for start in range(0, len(tasks), _BRANCHES)]
            tasks = [self.task(name, merge, group) for group in groups]
            if len(tasks) == 1:
                return tasks[0]

    def compute(self, task: Delayed) -> Any:
        """The result of a task."""
        try:
            return compute(task)[0]
        except KilledWorker as error:
            raise MemoryError(
                f"the workers that ran {error.task!r} died, one after another: most often their memory does not hold "
                "what a partition needs. Make partitions smaller (X.repartition), or give workers more memory."
            ) from error

    def keep(self, tasks: Iterable[Delayed]) -> list[Delayed]:
        """The tasks, whose results from now on stay where they are made; one that is lost is made again."""
        kept = list(persist(*tasks))
        self._kept |= {future.key: future for future in futures_of(kept)}
        return kept

    def release(self, kept: Iterable[Delayed]) -> None:
        """Let go of what was kept, and of what is still to be done for it."""
        self._cancel([task.key for task in kept if task.key in self._kept])

    def _cancel(self, keys: list[str]) -> None:
        futures = [self._kept.pop(key) for key in keys]
        if futures:
            futures[0].client.cancel(futures)

    def n_threads(self) -> int:
        """How many tasks run at a time."""
        client = _client_of(self._client)
        return CPU_COUNT if client is None else sum(client.nthreads().values())

    def shares(self, kept: Sequence[Delayed]) -> list[tuple[str, list[int]]]:
        """For each thread its worker, and the numbers of what is kept there; newcomers are given some first."""
        client = _client_of(self._client)
        if client is None:
            return [("", part) for part in _split(list(range(len(kept))), CPU_COUNT)]
        futures = [self._kept[task.key] for task in kept]
        threads = client.nthreads()
        newcomers, self._workers = set(threads) - self._workers if self._workers else set(), set(threads)
        for worker in sorted(newcomers):
            share = len(futures) * threads[worker] // sum(threads.values())
            client.replicate(_from_the_fullest(futures, client.who_has(futures), share), n=1, workers=[worker])
        who_has = client.who_has(futures)
        holders = [list(who_has.get(future.key, ())) for future in futures]
        held = _one_place_each(holders)
        return [(worker, part) for worker, numbers in held.items() for part in _split(numbers, threads.get(worker, 1))]

    def first_failure(self, tasks: Sequence[Delayed]) -> tuple[int, BaseException] | None:
        """Which of some tasks is the first that cannot be done, and why."""
        if _client_of(self._client) is not None:
            futures = [self._kept[task.key] for task in self.keep(tasks)]
            wait(futures)
            failed = ((at, future.exception()) for at, future in enumerate(futures) if future.status == "error")
            return next(failed, None)
        for at, task in enumerate(tasks):
            try:
                compute(task)
            except Exception as error:  # whatever a graph of the user's raises
                return at, error
        return None


def _client_of(given: Client | None) -> Client | None:
    """The client that Dask works with, if any."""
    if given is not None:
        return given
    get = get_scheduler()
    return getattr(get, "__self__", None) if isinstance(getattr(get, "__self__", None), Client) else None


def _split(numbers: list[int], parts: int) -> list[list[int]]:
    return [part.tolist() for part in np.array_split(numbers, min(parts, len(numbers)))]


def _one_place_each(holders: Sequence[Sequence[str]]) -> dict[str, list[int]]:
    """For each worker the numbers of what it has; of several that have the same, the one with the least so far."""
    held: dict[str, list[int]] = {}
    for at in sorted(range(len(holders)), key=lambda at: len(holders[at])):
        worker = min(holders[at], key=lambda one: len(held.get(one, ())), default="")
        held.setdefault(worker, []).append(at)
    return {worker: sorted(numbers) for worker, numbers in held.items()}


def _from_the_fullest(futures: Sequence[Future[Any]], who_has: dict[Any, Any], share: int) -> list[Future[Any]]:
    """Some futures, one after another from the worker that has the most left."""
    held: dict[str, list[Future[Any]]] = {}
    for future in futures:
        for worker in list(who_has.get(future.key, ()))[:1]:
            held.setdefault(worker, []).append(future)
    return [max(held.values(), key=len).pop() for _ in range(share) if any(held.values())]


def _itself(value: T) -> T:
    return value
