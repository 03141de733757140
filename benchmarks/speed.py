"""Speed of the fit: accumulation against the machine's dgemm, linearity in rows, many predictors, memory, first use.

    python benchmarks/speed.py [name ...]
    # any of: accumulate lanes rows predictors components memory concrete compile threads

Every figure is a ratio of two measurements made in the same run, since absolute times differ from machine to machine.
Operations are counted as 2 F^2 + (N - 1) F per row and mode. Rows go to benchmarks/results/speed.csv.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numba import njit
from threadpoolctl import threadpool_limits

import problems
import results
from csid import CSIDRegressor
from csid._fit import gibbs
from csid._fit.als import ALSOptions, Penalties, sweep
from csid._fit.factors import Factors, random_factors
from csid._fit.problem import Problem
from csid._fit.samples import LocalSamples
from csid._fit.statistics import Workers, level_sums, partial_products

THREADS = os.cpu_count() or 1
LEVELS = 25


def problem(rows: int, predictors: int, seed: int = 0) -> Problem:
    """Random one-hot samples, as the paper's encoding gives them."""
    rng = np.random.default_rng(seed)
    levels = np.full(predictors, LEVELS, dtype=np.intp)
    return Problem(
        codes=rng.integers(LEVELS, size=(rows, predictors), dtype=np.uint8),
        fractions=np.zeros((0, predictors), np.float32),
        weights=np.ones(rows),
        targets=rng.standard_normal((rows, 1)),
        levels=levels,
        ordered=levels,
        marginals=tuple(np.full(LEVELS, 1.0 / LEVELS) for _ in range(predictors)),
    )


def start(samples: Problem, rank: int) -> Factors:
    return random_factors(samples, rank, np.random.default_rng(0))


def least_seconds(*contenders: Callable[[], object], rounds: int = 5) -> list[float]:
    """Least wall time of each, after one run that compiles and warms up.

    They take turns, so that a slow minute of the machine falls on all of them.
    """
    least = [np.inf] * len(contenders)
    for turn in range(rounds + 1):
        for at, contender in enumerate(contenders):
            started = time.perf_counter()
            contender()
            if turn > 0:
                least[at] = min(least[at], time.perf_counter() - started)
    return least


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
    """Share of the dgemm rate, 1,000,000 x 10, for ranks 8 to 64, on one thread and on all."""
    samples, figures = problem(1_000_000, 10), {}
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
            figures[f"dgemm GF/s beside rank {rank}, {threads} threads"] = rate / 1e9
            figures[f"share of dgemm, rank {rank}, {threads} threads"] = operations / ours / rate
    return figures


@njit(nogil=True)
def plain_loop(codes, targets, table, offsets, k, F, D, R):
    """The obvious fused loop over rows: product of factor rows, then q q^T into the block of the row's level."""
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
    """Time of the plain Numba loop relative to ours: one mode of 1,000,000 x 10, one thread."""
    samples, figures = problem(1_000_000, 10), {}
    for rank in (8, 16, 32):
        factors = start(samples, rank)
        modes = np.arange(1, 10, dtype=np.intp)
        with Workers() as workers:
            D, R = np.zeros((LEVELS, rank, rank)), np.zeros((LEVELS, rank))
            ours, plain = least_seconds(
                lambda f=factors, m=modes, w=workers: level_sums(samples, f, 0, samples.roots[:, None], m, w),
                lambda f=factors, F=rank, D=D, R=R: plain_loop(
                    samples.codes, samples.targets, f.table, f.offsets, 0, F, D, R
                ),
            )
        figures[f"plain Numba loop / csid, rank {rank}"] = plain / ours
    return figures


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
from csid._fit.statistics import Workers
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
    """Peak memory of two sweeps, the samples included, less 200 MB, relative to the encoded samples."""
    figures = {}
    for count, width in ((1_000_000, 10), (10_000_000, 10), (1_000_000, 200)):
        probe = MEMORY_PROBE.format(folder=str(Path(__file__).parent), rows=count, predictors=width)
        out = subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True, text=True).stdout
        peak, encoded = json.loads(out)
        figures[f"peak MB, {count:,} x {width}"] = peak / 1e6
        figures[f"encoded MB, {count:,} x {width}"] = encoded / 1e6
        figures[f"(peak - 200 MB) / encoded, {count:,} x {width}"] = (peak - 200e6) / encoded
    return figures


def concrete() -> dict[str, float]:
    """A whole fit on concrete against the NumPy twin of the tests: same problem, same start, same sweeps."""
    sys.path.insert(0, str(problems.REPOSITORY / "tests"))
    from csid._fit.als import fit_als
    from csid.encoding import fit_encoding
    from naive import naive_als

    task = problems.load("concrete")
    M = len(task.y)
    encoding, encoded = fit_encoding(
        task.X,
        M,
        list(task.X.columns),
        np.ones(M),
        np.arange(M),
        LEVELS,
        "constant",
        "marginalize",
        [False] * task.X.shape[1],
    )
    y = ((task.y - task.y.mean()) / task.y.std())[:, None]
    samples = Problem(
        encoded.codes,
        encoded.fractions,
        np.ones(M),
        y,
        encoding.levels,
        encoding.ordered,
        encoding.marginals,
    )
    sweeps = 20
    options = ALSOptions(1e-4, (1e-2,) * samples.n_modes, max_iter=sweeps, tol=0.0, n_iter_no_change=sweeps)
    with Workers(1) as workers, threadpool_limits(1):
        ours, twin = least_seconds(
            lambda: fit_als(LocalSamples(samples, workers), options, start(samples, 10)),
            lambda: naive_als(samples, options, start(samples, 10), sweeps),
            rounds=20,
        )
    return {"NumPy twin / csid, concrete, rank 10, one thread": twin / ours, "csid ms per sweep": 1e3 * ours / sweeps}


def components() -> dict[str, float]:
    """Time of a sweep of the sampler at rank 64, relative to rank 32: in groups of 32, and all components at once."""
    rng, figures = np.random.default_rng(0), {}
    for levels in (32, 200):
        n_levels = np.full(9, levels, dtype=np.intp)
        samples = Problem(
            codes=rng.integers(levels - 1, size=(20_000, 9), dtype=np.uint8),
            fractions=rng.random((20_000, 9), np.float32),
            weights=np.ones(20_000),
            targets=rng.standard_normal((20_000, 1)),
            levels=n_levels,
            ordered=n_levels,
            marginals=tuple(np.full(levels, 1.0 / levels) for _ in range(9)),
        )

        def sweeps(rank: int, at_once: int, samples: Problem = samples) -> None:
            gibbs._COMPONENTS_AT_ONCE = at_once
            rng = np.random.default_rng(0)
            chain = gibbs.Chain(gibbs.random_state(samples, rank, rng))
            gibbs.run_chain(LocalSamples(samples), gibbs.Prior(), chain, rng, 4, 0, 1)

        base, grouped, whole = least_seconds(lambda: sweeps(32, 32), lambda: sweeps(64, 32), lambda: sweeps(64, 64))
        figures[f"rank 64 in groups / rank 32, {levels} levels"] = grouped / base
        figures[f"rank 64 at once / rank 32, {levels} levels"] = whole / base
    return figures


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
    """Seconds of the very first default fit and prediction with an empty cache, and of the same in a second process."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        command = [sys.executable, "-c", FIRST_USE]
        first, second = (
            float(subprocess.run(command, env=environment, check=True, capture_output=True).stdout) for _ in range(2)
        )
    return {"first use, seconds": first, "cached, seconds": second}


def threads() -> dict[str, float]:
    """Whether 1 and 2 threads predict the same bits (1 for yes)."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(100_000, 8))
    y = np.sin(4.0 * X).prod(axis=1) + X[:, 0]
    one, two = (CSIDRegressor(max_iter=10, random_state=0, n_jobs=n).fit(X, y).predict(X) for n in (1, 2))
    return {"identical to the last bit": float(np.array_equal(one, two))}


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
        for figure, value in BENCHMARKS[name]().items():
            print(f"{name:12} {figure:58} {value:10.3f}", flush=True)
            results.append("speed", {"benchmark": name, "figure": figure, "value": value, **results.provenance()})


if __name__ == "__main__":
    main()
