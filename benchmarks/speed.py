"""Speed of the fit: accumulation against the machine's dgemm, scaling in rows and predictors, memory, first use.

    python benchmarks/speed.py [name ...]
    # any of: accumulate lanes rows predictors components memory concrete compile threads

Most results are ratios of two measurements from the same run, because absolute times depend on the machine. Operations
are counted as 2 F^2 + (N - 1) F per row and mode. Rows go to benchmarks/results/speed.csv.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numba import njit
from threadpoolctl import threadpool_limits

import problems
import results
from csid import CSIDRegressor
from csid._kernels.threads import Workers
from csid.data.problem import Problem
from csid.data.samples import LocalSamples
from csid.data.statistics import level_sums, partial_products
from csid.encoding import Levels, fit_encoding
from csid.inference import gibbs
from csid.inference.als import ALSOptions, Penalties, fit_als, sweep
from csid.inference.starts import random_factors, random_state
from csid.inference.state import Chain
from csid.likelihoods import likelihood_of
from csid.priors.prior import Prior
from csid.tensor.cells import Cells
from csid.tensor.factors import Factors
from timing import least_seconds

THREADS = os.cpu_count() or 1
LEVELS = 25
GAUSSIAN = likelihood_of("gaussian", "number")


def problem(rows: int, predictors: int, seed: int = 0) -> Problem:
    """Random one-hot samples, as from the paper's encoding."""
    rng = np.random.default_rng(seed)
    levels = np.full(predictors, LEVELS, dtype=np.intp)
    return Problem(
        Cells(
            rng.integers(LEVELS, size=(rows, predictors), dtype=np.uint8), np.zeros((0, predictors), np.float32), levels
        ),
        weights=np.ones(rows),
        targets=rng.standard_normal((rows, 1)),
        ordered=levels,
        marginals=tuple(np.full(LEVELS, 1.0 / LEVELS) for _ in range(predictors)),
    )


def start(samples: Problem, rank: int) -> Factors:
    return random_factors(samples, rank, np.random.default_rng(0))


DGEMM_SIZE = 2000


def accumulate_all_modes(samples: Problem, factors: Factors, workers: Workers) -> None:
    for k, outside, modes in partial_products(samples, factors, workers):
        level_sums(samples, factors, k, outside, modes, workers)


def one_sweep(samples: Problem, factors: Factors, workers: Workers) -> None:
    options = ALSOptions(ridge=1e-4, smoothness=(1e-2,) * samples.n_modes)
    sweep(LocalSamples(samples, workers), options, Penalties.of(samples, options), factors)


def sweep_task(samples: Problem, workers: Workers) -> Callable[[], None]:
    factors = start(samples, 16)
    return lambda: one_sweep(samples, factors, workers)


def accumulate() -> dict[str, float]:
    """Rate of the accumulation relative to dgemm, 1,000,000 x 10, for ranks 8 to 64, on one thread and on all."""
    samples, found = problem(1_000_000, 10), {}
    a = np.random.default_rng(0).standard_normal((DGEMM_SIZE, DGEMM_SIZE))
    for threads in sorted({1, THREADS}):
        for rank in (8, 16, 32, 64):
            factors = start(samples, rank)
            with Workers(threads) as workers, threadpool_limits(threads):
                ours, blas = least_seconds(
                    lambda f=factors, w=workers: accumulate_all_modes(samples, f, w), lambda: a @ a
                )
            rate = 2.0 * DGEMM_SIZE**3 / blas
            operations = samples.n_rows * 10 * (2 * rank**2 + 9 * rank)
            found[f"dgemm GFLOP/s next to rank {rank}, {threads} threads"] = rate / 1e9
            found[f"fraction of the dgemm rate, rank {rank}, {threads} threads"] = operations / ours / rate
    return found


@njit(nogil=True)
def plain_loop(codes, targets, table, offsets, k, F, D, R):
    """The naive fused loop over rows: the product of factor rows, then q q^T added to the block of the row's level."""
    q = np.empty(F)
    for m in range(len(codes)):
        for f in range(F):
            q[f] = 1.0
        for n in range(codes.shape[1]):
            if n != k:
                row = offsets[n] + codes[m, n]
                for f in range(F):
                    q[f] *= table[row, f]
        i = codes[m, k]
        for a in range(F):
            for b in range(F):
                D[i, a, b] += q[a] * q[b]
            R[i, a] += q[a] * targets[m, 0]


def lanes() -> dict[str, float]:
    """Time of the naive Numba loop relative to ours: one mode of 1,000,000 x 10, one thread."""
    samples, found = problem(1_000_000, 10), {}
    for rank in (8, 16, 32):
        factors = start(samples, rank)
        modes = np.arange(1, 10, dtype=np.intp)
        with Workers() as workers:
            D, R = np.zeros((LEVELS, rank, rank)), np.zeros((LEVELS, rank))
            ours, plain = least_seconds(
                lambda f=factors, m=modes, w=workers: level_sums(samples, f, 0, samples.roots[:, None], m, w),
                lambda f=factors, F=rank, D=D, R=R: plain_loop(
                    samples.cells.codes, samples.targets, f.table, f.offsets, 0, F, D, R
                ),
            )
        found[f"plain Numba loop / csid, rank {rank}"] = plain / ours
    return found


def rows() -> dict[str, float]:
    """Time per row of a rank-16 sweep, relative to 100,000 rows."""
    counts = (100_000, 1_000_000, 10_000_000)
    with Workers(THREADS) as workers:
        taken = least_seconds(*(sweep_task(problem(count, 10), workers) for count in counts), rounds=3)
    per_row = [t / count for t, count in zip(taken, counts, strict=True)]
    return {f"time per row at {n:,} rows / at 100,000": t / per_row[0] for n, t in zip(counts, per_row, strict=True)}


def predictors() -> dict[str, float]:
    """Time of a rank-16 sweep over 100,000 rows with 200 predictors, relative to 10."""
    counts = (10, 50, 200)
    with Workers(THREADS) as workers:
        taken = least_seconds(*(sweep_task(problem(100_000, count), workers) for count in counts))
    return {f"sweep with {n} predictors / with 10": t / taken[0] for n, t in zip(counts, taken, strict=True)}


MEMORY_PROBE = """
import json, re, sys
from pathlib import Path
import numpy as np
sys.path.insert(0, {folder!r})
import speed
from csid._kernels.threads import Workers
def peak_bytes():
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
warm = speed.problem(50_000, 10)
with Workers(speed.THREADS) as workers:
    speed.one_sweep(warm, speed.start(warm, 16), workers)
before = peak_bytes()
samples = speed.problem({rows}, {predictors})
with Workers(speed.THREADS) as workers:
    factors = speed.start(samples, 16)
    for _ in range(2):
        speed.one_sweep(samples, factors, workers)
peak = peak_bytes() - before
print(json.dumps([peak, samples.data_bytes]))
"""


def memory() -> dict[str, float]:
    """Peak memory of two sweeps including the samples, minus 200 MB, relative to the encoded samples."""
    found = {}
    for count, width in ((1_000_000, 10), (10_000_000, 10), (1_000_000, 200)):
        probe = MEMORY_PROBE.format(folder=str(Path(__file__).parent), rows=count, predictors=width)
        out = subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True, text=True).stdout
        peak, encoded = json.loads(out)
        found[f"peak memory MB, {count:,} x {width}"] = peak / 1e6
        found[f"encoded data MB, {count:,} x {width}"] = encoded / 1e6
        found[f"(peak memory - 200 MB) / encoded data, {count:,} x {width}"] = (peak - 200e6) / encoded
    return found


def concrete() -> dict[str, float]:
    """A complete fit on concrete compared with the NumPy reference of the tests: same problem, start and sweeps."""
    sys.path.insert(0, str(problems.REPOSITORY / "tests"))
    from naive import naive_als

    task = problems.load("concrete")
    M = len(task.y)
    encoding, encoded = fit_encoding(
        task.X,
        M,
        list(task.X.columns),
        np.ones(M),
        np.arange(M),
        Levels(LEVELS, "constant", "marginalize"),
        [False] * task.X.shape[1],
    )
    y = ((task.y - task.y.mean()) / task.y.std())[:, None]
    samples = Problem(
        Cells(encoded.codes, encoded.fractions, encoding.levels),
        np.ones(M),
        y,
        encoding.ordered,
        encoding.marginals,
    )
    sweeps = 20
    options = ALSOptions(1e-4, (1e-2,) * samples.n_modes, max_iter=sweeps, tol=0.0, n_iter_no_change=sweeps)
    with Workers(1) as workers, threadpool_limits(1):
        ours, naive = least_seconds(
            lambda: fit_als(LocalSamples(samples, workers), options, start(samples, 10), GAUSSIAN),
            lambda: naive_als(samples, options, start(samples, 10), sweeps),
            rounds=20,
        )
    return {
        "NumPy reference / csid, concrete, rank 10, one thread": naive / ours,
        "csid ms per sweep": 1e3 * ours / sweeps,
    }


def components() -> dict[str, float]:
    """Time of a sampler sweep at rank 64 relative to rank 32: components in groups of 32, and as one group."""
    rng, found, usual = np.random.default_rng(0), {}, gibbs.COMPONENTS_AT_ONCE
    model, four_sweeps = gibbs.SampledModel(Prior(), GAUSSIAN), gibbs.Sweeps(burn=4, draws=0)
    for levels in (32, 200):
        n_levels = np.full(9, levels, dtype=np.intp)
        samples = Problem(
            Cells(
                rng.integers(levels - 1, size=(20_000, 9), dtype=np.uint8),
                rng.random((20_000, 9), np.float32),
                n_levels,
            ),
            weights=np.ones(20_000),
            targets=rng.standard_normal((20_000, 1)),
            ordered=n_levels,
            marginals=tuple(np.full(levels, 1.0 / levels) for _ in range(9)),
        )

        def sweeps(rank: int, group: int, samples: Problem = samples) -> None:
            gibbs.COMPONENTS_AT_ONCE = group
            rng = np.random.default_rng(0)
            chain = Chain(random_state(samples, GAUSSIAN, rank, rng))
            gibbs.run_chain(LocalSamples(samples), model, chain, rng, four_sweeps)

        base, grouped, one_group = least_seconds(lambda: sweeps(32, 32), lambda: sweeps(64, 32), lambda: sweeps(64, 64))
        found[f"rank 64 in groups of 32 / rank 32, {levels} levels"] = grouped / base
        found[f"rank 64 as one group / rank 32, {levels} levels"] = one_group / base
    gibbs.COMPONENTS_AT_ONCE = usual
    return found


FIRST_USE = """
import time, numpy as np
from csid import CSIDRegressor
rng = np.random.default_rng(0)
X = rng.uniform(size=(300, 4)); y = X.sum(axis=1)
started = time.perf_counter()
model = CSIDRegressor(max_iter=3).fit(X, y); model.predict(X)
print(time.perf_counter() - started)
"""


def compile_() -> dict[str, float]:
    """Seconds for a first default fit and prediction with an empty cache, and for the same in a second process."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        command = [sys.executable, "-c", FIRST_USE]
        first, second = (
            float(subprocess.run(command, env=environment, check=True, capture_output=True).stdout) for _ in range(2)
        )
    return {"first use with an empty cache, seconds": first, "second process with the cache, seconds": second}


def threads() -> dict[str, float]:
    """Whether predictions with 1 and 2 threads are bit-identical (1 for yes)."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(100_000, 8))
    y = np.sin(4.0 * X).prod(axis=1) + X[:, 0]
    one, two = (CSIDRegressor(max_iter=10, random_state=0, n_jobs=n).fit(X, y).predict(X) for n in (1, 2))
    return {"identical bits": float(np.array_equal(one, two))}


BENCHMARKS = {
    "accumulate": accumulate,
    "lanes": lanes,
    "rows": rows,
    "predictors": predictors,
    "components": components,
    "memory": memory,
    "concrete": concrete,
    "compile": compile_,
    "threads": threads,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="*", default=list(BENCHMARKS), choices=[*BENCHMARKS, []])
    for name in parser.parse_args().name:
        for metric, value in BENCHMARKS[name]().items():
            print(f"{name:12} {metric:58} {value:10.3f}", flush=True)
            results.append("speed", {"benchmark": name, "metric": metric, "value": value, **results.provenance()})


if __name__ == "__main__":
    main()
