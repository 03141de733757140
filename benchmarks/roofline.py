"""How near the accumulation of the normal equations comes to what the machine can do: its roofline.

    python benchmarks/roofline.py [--quick]      # resumes; rows in benchmarks/results/roofline.csv

All modes of 1,000,000 x 10, 25 levels, for ranks 8 to 64, on levels ("constant") and between them ("linear"), in double
and single precision, on one thread and on all. Beside each, in turns with it, the rate of BLAS on square matrices of
the same precision and the bandwidth of a triad a = b + s c on arrays beyond the cache. Each figure is the best of its
rounds.

Operations are those the sums need, per row and mode: of the symmetric q qᵀ one triangle. Bytes are those read from main
memory: codes, positions, roots of weights and targets; factors, products and sums stay in the cache. With --quick, on a
tenth of the rows, and nothing is stored.
"""

import argparse
import itertools
import os
import time
from collections.abc import Callable

import numpy as np
from numba import njit
from threadpoolctl import threadpool_limits

import results
from csid._fit.factors import Factors, random_factors
from csid._fit.problem import Problem
from csid._fit.statistics import Workers, level_sums, partial_products, row_parts

THREADS = os.cpu_count() or 1
ROWS, PREDICTORS, LEVELS = 1_000_000, 10, 25
RANKS, INTERPOLATIONS, PRECISIONS = (8, 16, 32, 64), ("constant", "linear"), ("double", "single")
GEMM_SIZE, TRIAD_SIZE, ROUNDS = 2_000, 32_000_000, 3


def problem(rows: int, interpolation: str) -> Problem:
    """Random samples on the levels, or between them."""
    rng = np.random.default_rng(0)
    levels = np.full(PREDICTORS, LEVELS, dtype=np.intp)
    between = rows if interpolation == "linear" else 0
    return Problem(
        codes=rng.integers(LEVELS - 1, size=(rows, PREDICTORS), dtype=np.uint8),
        fractions=rng.random((between, PREDICTORS), np.float32),
        weights=np.ones(rows),
        targets=rng.standard_normal((rows, 1)),
        levels=levels,
        ordered=levels,
        marginals=tuple(np.full(LEVELS, 1.0 / LEVELS) for _ in range(PREDICTORS)),
    )


def operations(F: int, interpolation: str, predictors: int = PREDICTORS) -> int:
    """Per row and mode: products of the other factors' rows, a triangle of q qᵀ, and q (y - b)."""
    others, triangle = predictors - 1, F * (F + 1)
    if interpolation == "constant":
        return others * F + triangle + 2 * F
    # each row of a factor is a + t (b - a); three Gram matrices of scaled q
    return 4 * others * F + 3 * F + 3 * triangle + 4 * F


def bytes_read(interpolation: str, precision: str) -> int:
    """Per row and mode: a code of each predictor, root and target; positions; the rounded root in single precision."""
    return PREDICTORS + 16 + (4 * PREDICTORS if interpolation == "linear" else 0) + (4 if precision == "single" else 0)


def accumulate(samples: Problem, factors: Factors, workers: Workers) -> None:
    for k, outside, modes in partial_products(samples, factors, workers):
        level_sums(samples, factors, k, outside, modes, workers)


@njit(nogil=True, fastmath=True)
def add_scaled(a, b, c, start, stop):
    for i in range(start, stop):
        a[i] = b[i] + 3.0 * c[i]


def triad(a: np.ndarray, b: np.ndarray, c: np.ndarray, workers: Workers) -> None:
    workers.map(lambda part: add_scaled(a, b, c, *part), row_parts(len(a)))


def least_seconds(*contenders: Callable[[], object]) -> list[float]:
    """Least wall time of each, after one run that compiles and warms up; they take turns."""
    least = [np.inf] * len(contenders)
    for turn in range(ROUNDS + 1):
        for at, contender in enumerate(contenders):
            started = time.perf_counter()
            contender()
            if turn > 0:
                least[at] = min(least[at], time.perf_counter() - started)
    return least


def measured(samples: Problem, rank: int, interpolation: str, precision: str, threads: int) -> dict[str, float]:
    factors = random_factors(samples, rank, np.random.default_rng(0))
    if precision == "single":
        factors = factors.rounded()
    square = np.random.default_rng(0).random((GEMM_SIZE, GEMM_SIZE)).astype(factors.table.dtype)
    streams = [np.zeros(TRIAD_SIZE) for _ in range(3)]
    with Workers(threads) as workers, threadpool_limits(threads):
        ours, gemm, stream = least_seconds(
            lambda: accumulate(samples, factors, workers), lambda: square @ square, lambda: triad(*streams, workers)
        )
    needed, read = operations(rank, interpolation), bytes_read(interpolation, precision)
    return {
        "operations_per_row": needed,
        "bytes_per_row": read,
        "intensity": needed / read,
        "gigaflops": needed * samples.n_rows * PREDICTORS / ours / 1e9,
        "gemm_gigaflops": 2.0 * GEMM_SIZE**3 / gemm / 1e9,
        "gigabytes_per_second": 24.0 * TRIAD_SIZE / stream / 1e9,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    keys = ("rank", "interpolation", "precision", "threads")
    done = set() if quick else {tuple(row[key] for key in keys) for row in results.read("roofline")}
    for interpolation in INTERPOLATIONS:
        samples = problem(ROWS // 10 if quick else ROWS, interpolation)
        for threads, precision, rank in itertools.product(sorted({1, THREADS}), PRECISIONS, RANKS):
            what = dict(zip(keys, (rank, interpolation, precision, threads), strict=True))
            if tuple(map(str, what.values())) in done:
                continue
            figures = measured(samples, **what)
            if not quick:
                results.append("roofline", what | figures | results.provenance())
            print(*what.values(), *(f"{key} {value:.4g}" for key, value in figures.items()), flush=True)


if __name__ == "__main__":
    main()
