"""Threads over parts of the rows, which depend on the rows alone: the number of threads never changes a result."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import TracebackType
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

T = TypeVar("T")

_ROWS_PER_PART = 131_072

FEWEST_ROWS_IN_PART, EASY_PARTS, _MOST_PARTS = 16_384, 8, 64

_PARTIAL_SUM_BYTES = 64 << 20


class Workers:
    """A pool of threads; with a single thread, the caller's own."""

    def __init__(self, n_threads: int = 1) -> None:
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None

    def parts(self, rows: int, bytes_per_part: int = 0) -> list[tuple[int, int]]:
        """Parts of the rows, each a start and a stop, which threads may sum over at the same time."""
        return row_parts(rows, bytes_per_part)

    def map(self, task: Callable[[tuple[int, int]], T], parts: Sequence[tuple[int, int]]) -> list[T]:
        """Results of `task` on every part, in the order of the parts."""
        if self._pool is None or len(parts) == 1:
            return [task(part) for part in parts]
        return list(self._pool.map(task, parts))

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


class InOnePart(Workers):
    """All rows as one part, without threads, for rows that are a part of more.

    Every part has sums of its own. Dask's workers return freed memory to the system at once, so allocating sums anew
    for every part would take as long as summing.
    """

    def parts(self, rows: int, bytes_per_part: int = 0) -> list[tuple[int, int]]:
        return [(0, rows)]


def row_parts(rows: int, bytes_per_part: int = 0) -> list[tuple[int, int]]:
    """Parts of equal length, as many for each of a few threads; fewer when the sums of a part take much memory."""
    wanted = max(min(rows // FEWEST_ROWS_IN_PART, EASY_PARTS), EASY_PARTS * (rows // (EASY_PARTS * _ROWS_PER_PART)))
    count = max(1, min(_MOST_PARTS, wanted, _PARTIAL_SUM_BYTES // max(1, bytes_per_part)))
    edges = [part * rows // count for part in range(count + 1)]
    return list(pairwise(edges))
