"""Extrapolate the results of `cluster.py` to 10,000,000,000 rows on a cluster; writes the table of docs/scaling.md.

python benchmarks/projection.py
"""

import math

import pages
from csid.tensor.factors import padded_rank
from sections import cluster
from sections.measured import markdown

ROWS, SECONDS_PER_TASK, BRANCHES = 10**10, 1e-3, 4


def tasks_per_sum(threads: int) -> int:
    """Dask tasks of one sum over rows: the factors, one per thread, and those of the reduction tree."""
    count, left = 1 + threads, threads
    while left > 1:
        left = math.ceil(left / BRANCHES)
        count += left
    return count


def main() -> None:
    found = cluster.cluster_rows().to_dict("records")
    if not found:
        raise SystemExit("benchmarks/results/dask.csv has no rows yet: run python benchmarks/cluster.py first")
    last = found[-1]
    N, F, I, W, sweeps = (int(last[name]) for name in ("predictors", "rank", "levels", "workers", "sweeps"))
    sums = N + 1  # per sweep: one for each mode, and the residuals
    sum_seconds = last["sweep_seconds"] / (sweeps * sums)
    ns_per_row = 1e9 * sum_seconds * W / last["rows"]
    passes = last["seconds"] - last["sweep_seconds"]
    ns_per_cell = 1e9 * passes * W / (last["rows"] * N)
    packed = 8 * (I + 1) * (F * (F + 1) + F)
    broadcast = 8 * (N - 1) * (I + 1) * padded_rank(F)
    bytes_per_row = 3 * N + 8 + 8 + 8
    lines = []
    for threads in (100, 400, 1600):
        reading = ROWS * N * ns_per_cell * 1e-9 / threads
        summing, scheduling = ROWS * ns_per_row * 1e-9 / threads, tasks_per_sum(threads) * SECONDS_PER_TASK
        sweep = sums * (summing + scheduling)
        lines.append(
            [
                f"{threads:,}",
                f"{ROWS * bytes_per_row / threads / 1e9:.1f} GB",
                f"{reading / 60:,.1f} min",
                f"{summing:.2f} s",
                f"{scheduling:.2f} s",
                f"{sweep:,.0f} s",
                f"{(reading + sweeps * sweep) / 60:,.0f} min",
                f"{threads * (reading + sweeps * sweep) / 3600:,.0f}",
                f"{threads * packed * N / 1e6:,.0f} MB",
            ]
        )
    header = ["threads", "memory per thread", "two passes", "one sum", "its scheduling", "one sweep", "complete fit"]
    table = markdown([*header, "thread-hours", "data sent per sweep"], lines)
    pages.fill(
        "docs/scaling.md",
        "projection",
        f"""From {last["rows"]:,} rows on {W} single-thread workers (the largest run in `benchmarks/results/dask.csv`):

- One sum over rows took {sum_seconds:.3f} s, including Dask's overhead; a sweep has {sums} of them ({N} modes and the
  residuals): {sum_seconds:.3f} s x {W} threads / {last["rows"]:,} rows = **{ns_per_row:.0f} ns per row and sum**.
- The two passes that find levels and encode took {passes:.1f} s: **{ns_per_cell:.0f} ns per cell**.
- A row takes {N} x 3 + 24 = **{bytes_per_row} bytes** on its worker (codes, positions, target, weight and its root).
- The sums of a mode are 8 x {I + 1} x ({F} x {F + 1} + {F}) = **{packed:,} bytes**; the factors that it needs are
  8 x {N - 1} x {I + 1} x {padded_rank(F)} = **{broadcast:,} bytes**.
- Sent per sweep: {last["bytes_per_sweep"]:,.0f} bytes; expected: {last["bytes_expected"]:,.0f}.

The table is for 10,000,000,000 rows x {N}, {I} levels, rank {F}, {sweeps} sweeps. A sum takes rows x {ns_per_row:.0f}
ns / threads, plus its scheduling at an assumed {1e3 * SECONDS_PER_TASK:.0f} ms per task, with one task per thread and
a third as many for the reduction. A sweep has {sums} sums. A complete fit has {sweeps} sweeps and the two passes.

{table}""",
    )


if __name__ == "__main__":
    main()
