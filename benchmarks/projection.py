"""What 10,000,000,000 rows cost on a cluster, from the rows of `cluster.py`: fills docs/scaling.md.

python benchmarks/projection.py
"""

import math

import pages
from csid._fit.factors import padded_rank
from sections import cluster
from sections.measured import markdown

ROWS, SCHEDULED, BRANCHES = 10**10, 1e-3, 4


def tasks(threads: int) -> int:
    """Of one sum: the factors, one for each thread, and those of the tree."""
    count, left = 1 + threads, threads
    while left > 1:
        left = math.ceil(left / BRANCHES)
        count += left
    return count


def main() -> None:
    found = cluster.measured().to_dict("records")
    if not found:
        raise SystemExit("there are no rows yet: python benchmarks/cluster.py")
    last = found[-1]
    N, F, I, W, sweeps = (int(last[name]) for name in ("predictors", "rank", "levels", "workers", "sweeps"))
    sums = N + 1  # of a sweep: one for each mode, and the residuals
    each = last["sweep_seconds"] / (sweeps * sums)
    a_row = 1e9 * each * W / last["rows"]
    passes = last["seconds"] - last["sweep_seconds"]
    a_cell = 1e9 * passes * W / (last["rows"] * N)
    packed = 8 * (I + 1) * (F * (F + 1) + F)
    broadcast = 8 * (N - 1) * (I + 1) * padded_rank(F)
    a_row_kept = 3 * N + 8 + 8 + 8
    lines = []
    for threads in (100, 400, 1600):
        reading = ROWS * N * a_cell * 1e-9 / threads
        summing, scheduling = ROWS * a_row * 1e-9 / threads, tasks(threads) * SCHEDULED
        sweep = sums * (summing + scheduling)
        lines.append(
            [
                f"{threads:,}",
                f"{ROWS * a_row_kept / threads / 1e9:.1f} GB",
                f"{reading / 60:,.1f} min",
                f"{summing:.2f} s",
                f"{scheduling:.2f} s",
                f"{sweep:,.0f} s",
                f"{(reading + sweeps * sweep) / 60:,.0f} min",
                f"{threads * (reading + sweeps * sweep) / 3600:,.0f}",
                f"{threads * packed * N / 1e6:,.0f} MB",
            ]
        )
    header = ["threads", "kept a thread", "two passes", "a sum", "scheduling it", "a sweep", "20 sweeps and passes"]
    table = markdown([*header, "thread-hours", "sums sent a sweep"], lines)
    pages.fill(
        "docs/scaling.md",
        "projection",
        f"""From {last["rows"]:,} rows on {W} single-thread workers (the largest run in `benchmarks/results/dask.csv`):

- a sum over rows, one of {sums} in a sweep ({N} modes and the residuals), took {each:.3f} s:
  {each:.3f} s x {W} threads / {last["rows"]:,} rows = **{a_row:.0f} ns a row and sum**, all that Dask adds among it;
- the two passes that find levels and encode took {passes:.1f} s: **{a_cell:.0f} ns a cell**;
- a row keeps {N} x 3 + 24 = **{a_row_kept} bytes** on its worker (codes, positions, target, weight and its root);
- the sums of a mode are 8 x {I + 1} x ({F} x {F + 1} + {F}) = **{packed:,} bytes**, the factors that it needs
  8 x {N - 1} x {I + 1} x {padded_rank(F)} = **{broadcast:,} bytes**;
- sent in a sweep: {last["bytes_per_sweep"]:,.0f} bytes, on paper {last["bytes_on_paper"]:,.0f}.

For 10,000,000,000 rows x {N}, {I} levels, rank {F}, {sweeps} sweeps. A sum takes rows x {a_row:.0f} ns / threads.
Scheduling it is taken as {1e3 * SCHEDULED:.0f} ms a task, of which there are one for each thread and a third as many to
add up. A sweep is {sums} of both.

{table}""",
    )


if __name__ == "__main__":
    main()
