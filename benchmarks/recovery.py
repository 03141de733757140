"""The phase transition of recovery: how many samples identify a random system of rank F.

    python benchmarks/recovery.py     # resumes; rows in benchmarks/results/recovery.csv, plot in docs/images

A random tensor with N predictors, I levels and rank F is observed without noise at random cells. Their number is
given as a multiple of F N I, the order of its degrees of freedom. A run succeeds if the relative error on unobserved
cells is below 1e-2. The paper expects success when the number of samples is proportional to F N I.

Factors are uniform between 0 and 1. One more system has standard normal factors, whose products have mean zero and
heavy tails; ALS from a random start then needs many times more samples.
"""

from concurrent.futures import ProcessPoolExecutor

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import problems
import results
from csid import CSIDRegressor

SYSTEMS = (  # N, I, F and the distribution of the factors
    (4, 10, 2, "uniform"),
    (4, 10, 4, "uniform"),
    (4, 20, 3, "uniform"),
    (6, 10, 3, "uniform"),
    (8, 8, 3, "uniform"),
    (4, 10, 2, "normal"),
)
RATIOS = {"uniform": (1.25, 1.5, 2.0, 3.0, 4.0, 6.0), "normal": (8.0, 16.0, 32.0)}
TRIALS = 10
SUCCESS = 1e-2


def relative_error(N: int, I: int, F: int, kind: str, ratio: float, seed: int) -> float:
    """RMSE on unobserved cells of a fit to random samples, relative to the standard deviation of the system."""
    rng = np.random.default_rng([N, I, F, seed])
    factors = rng.uniform(size=(N, I, F)) if kind == "uniform" else rng.standard_normal((N, I, F))

    def values(cells: np.ndarray) -> np.ndarray:
        return np.prod(factors[np.arange(N), cells], axis=1).sum(axis=1)

    cells = rng.integers(I, size=(round(ratio * F * N * I), N))
    unseen = rng.integers(I, size=(5000, N))
    model = CSIDRegressor(
        F,
        interpolation="constant",
        categorical_features=range(N),
        ridge=1e-8,
        smoothness=0.0,
        max_iter=400,
        tol=1e-4,
        n_iter_no_change=10,
        early_stopping=False,
        n_init=2,
        random_state=seed,
        n_jobs=1,
    )
    model.fit(cells.astype(float), values(cells))
    truth = values(unseen)
    return float(np.sqrt(np.mean((model.predict(unseen.astype(float)) - truth) ** 2)) / truth.std())


def run(N: int, I: int, F: int, kind: str, ratio: float) -> dict[str, object]:
    errors = np.array([relative_error(N, I, F, kind, ratio, seed) for seed in range(TRIALS)])
    return {
        "predictors": N,
        "levels": I,
        "rank": F,
        "factors": kind,
        "samples_per_FNI": ratio,
        "trials": TRIALS,
        "success_rate": float(np.mean(errors < SUCCESS)),
        "median_error": float(np.median(errors)),
        **results.provenance(),
    }


def plot() -> None:
    """Save the recovery rates as docs/images/recovery.png."""
    rows = results.read("recovery")
    figure, axis = plt.subplots(figsize=(6.4, 4), layout="constrained")
    for system, marker in zip(SYSTEMS, "osD^vx", strict=True):
        mine = [row for row in rows if key(row)[:4] == system]
        x, y = zip(*sorted((key(row)[4], float(row["success_rate"])) for row in mine), strict=True)
        label = "{} predictors, {} levels, rank {}, {} factors".format(*system)
        axis.plot(x, y, marker=marker, label=label, linestyle="-" if system[3] == "uniform" else "--")
    axis.set(xlabel="samples / (F N I)", ylabel="fraction of systems recovered", ylim=(-0.03, 1.03), xscale="log")
    axis.set_xticks([1, 2, 3, 4, 6, 8, 16, 32], [1, 2, 3, 4, 6, 8, 16, 32])
    axis.legend(frameon=False, fontsize=8)
    path = problems.REPOSITORY / "docs" / "images" / "recovery.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=130)
    print(f"plot: {path.relative_to(problems.REPOSITORY)}")


def key(row: dict[str, str]) -> tuple[int, int, int, str, float]:
    """The setting of a result row."""
    return (
        int(row["predictors"]),
        int(row["levels"]),
        int(row["rank"]),
        row["factors"],
        float(row["samples_per_FNI"]),
    )


def main() -> None:
    done = {key(row) for row in results.read("recovery")}
    settings = [(*system, ratio) for system in SYSTEMS for ratio in RATIOS[system[3]]]
    todo = [setting for setting in settings if setting not in done]
    with ProcessPoolExecutor() as pool:
        for setting, row in zip(todo, pool.map(run, *zip(*todo, strict=True)) if todo else (), strict=True):
            results.append("recovery", row)
            print(*setting, "recovered", row["success_rate"], flush=True)
    plot()


if __name__ == "__main__":
    main()
