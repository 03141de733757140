"""Roofline of the accumulation of the normal equations: its rate compared with the limits of the machine.

    python benchmarks/roofline.py [--quick]      # resumes; rows in benchmarks/results/roofline.csv

All modes of 1,000,000 x 10, 25 levels, for ranks 8 to 64, on levels ("constant") and between levels ("linear"), in
double and single precision, on one thread and on all. The rate of BLAS on square matrices of the same precision, and
the bandwidth of a triad a = b + s c on arrays larger than the cache, are measured in the same interleaved rounds.
Each result is the best of its rounds.

Operations are the ones that the sums need, per row and mode, with one triangle of the symmetric q qᵀ. Bytes are those
read from main memory: codes, positions, roots of weights and targets; factors, products and sums stay in the cache.
With
--quick, a tenth of the rows is used, and nothing is stored.
"""

import argparse
import itertools
import os

import numpy as np
from numba import njit
from threadpoolctl import threadpool_limits

import results
from csid._kernels.threads import Workers, row_parts
from csid.data.problem import Problem
from csid.data.statistics import level_sums, partial_products
from csid.inference.starts import random_factors
from csid.tensor.cells import Cells
from csid.tensor.factors import Factors
from timing import least_seconds

THREADS = os.cpu_count() or 1
ROWS, PREDICTORS, LEVELS = 1_000_000, 10, 25
RANKS, INTERPOLATIONS, PRECISIONS = (8, 16, 32, 64), ("constant", "linear"), ("double", "single")
GEMM_SIZE, TRIAD_SIZE, ROUNDS = 2_000, 32_000_000, 3


def problem(rows: int, interpolation: str) -> Problem:
    """Random samples on the levels, or between levels."""
    rng = np.random.default_rng(0)
    levels = np.full(PREDICTORS, LEVELS, dtype=np.intp)
    between = rows if interpolation == "linear" else 0
    return Problem(
        Cells(
            rng.integers(LEVELS - 1, size=(rows, PREDICTORS), dtype=np.uint8),
            rng.random((between, PREDICTORS), np.float32),
            levels,
        ),
        weights=np.ones(rows),
        targets=rng.standard_normal((rows, 1)),
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


def measure(samples: Problem, rank: int, interpolation: str, precision: str, threads: int) -> dict[str, float]:
    factors = random_factors(samples, rank, np.random.default_rng(0))
    if precision == "single":
        factors = factors.rounded()
    square = np.random.default_rng(0).random((GEMM_SIZE, GEMM_SIZE)).astype(factors.table.dtype)
    streams = [np.zeros(TRIAD_SIZE) for _ in range(3)]
    with Workers(threads) as workers, threadpool_limits(threads):
        ours, gemm, stream = least_seconds(
            lambda: accumulate(samples, factors, workers),
            lambda: square @ square,
            lambda: triad(*streams, workers),
            rounds=ROUNDS,
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
            setting = dict(zip(keys, (rank, interpolation, precision, threads), strict=True))
            if tuple(map(str, setting.values())) in done:
                continue
            metrics = measure(samples, **setting)
            if not quick:
                results.append("roofline", setting | metrics | results.provenance())
            print(*setting.values(), *(f"{key} {value:.4g}" for key, value in metrics.items()), flush=True)


if __name__ == "__main__":
    main()
