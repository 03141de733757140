"""The initial bias decides whether ALS recovers a positive system; writes the table of decision 0004.

python benchmarks/bias_start.py
"""

import numpy as np

import pages
from csid.data.problem import Problem
from csid.data.samples import LocalSamples
from csid.inference.als import ALSOptions, ALSRun, fit_als, mean_squared_error
from csid.inference.starts import random_factors
from csid.likelihoods import likelihood_of
from csid.tensor.cells import Cells

N, LEVELS, TRIALS = 4, 10, 20
SYSTEMS = {  # rank, and the distribution of the factors
    "uniform between 0 and 1, rank 3": (3, lambda rng, shape: rng.uniform(size=shape)),
    "normal, mean 1, standard deviation 0.5, rank 3": (3, lambda rng, shape: 1.0 + 0.5 * rng.standard_normal(shape)),
    "random signs, rank 1": (1, lambda rng, shape: rng.choice([-1.0, 1.0], size=shape)),
}


def recovered(rank: int, draw, seed: int, low_bias: bool) -> bool:
    """Whether a fit to a random system predicts unobserved cells."""
    rng = np.random.default_rng(seed)
    truth = draw(rng, (N, LEVELS, rank))
    samples = 8 * rank * N * LEVELS
    cells = rng.integers(LEVELS, size=(samples + 5000, N))
    values = np.prod(truth[np.arange(N), cells], axis=1).sum(axis=1)
    values = (values - values[:samples].mean()) / values[:samples].std()
    levels = np.full(N, LEVELS, dtype=np.intp)

    def problem(rows: slice) -> Problem:
        return Problem(
            Cells(cells[rows].astype(np.uint8), np.zeros((0, N), np.float32), levels),
            weights=np.ones(len(cells[rows])),
            targets=values[rows, None],
            ordered=np.zeros(N, dtype=np.intp),
            marginals=tuple(np.full(LEVELS, 1.0 / LEVELS) for _ in range(N)),
        )

    seen = problem(slice(samples))
    factors = random_factors(seen, rank, rng, low_bias)
    options = ALSOptions(ridge=1e-8, smoothness=(0.0,) * N, max_iter=500, n_iter_no_change=20)
    unseen = LocalSamples(problem(slice(samples, None)))
    run = ALSRun(lambda factors, parameters: mean_squared_error(unseen, factors))
    return fit_als(LocalSamples(seen), options, factors, likelihood_of("gaussian", "number"), run).criterion < 1e-4


def main() -> None:
    lines = ["| factors of the system | initial bias: mean of y | initial bias: low |", "|---|---|---|"]
    for name, (rank, draw) in SYSTEMS.items():
        counts = [sum(recovered(rank, draw, seed, low) for seed in range(TRIALS)) for low in (False, True)]
        lines.append(f"| {name} | {counts[0]} of {TRIALS} | {counts[1]} of {TRIALS} |")
    pages.fill("docs/decisions/0004-start-of-bias.md", "bias_start", "\n".join(lines))


if __name__ == "__main__":
    main()
