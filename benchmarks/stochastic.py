"""The stochastic solver, which updates on blocks of rows, compared with sweeps over all rows.

    python benchmarks/stochastic.py [--rows 10000000] [--posterior-rows 300000] [--quick]

Resumes. Two noisy systems with ten predictors: a sum of eight products of waves, and Friedman's function, in which five
predictors are irrelevant.

Least squares (results/stochastic.csv): held-out RMSE after each pass over the rows, at rank 16, on 64 levels, from the
same start. One pass visits each row once for an update of all factors: ALS makes 20 passes, the stochastic solver six.

Posterior (results/stochastic_posterior.csv): RMSE, 90 % predictive intervals and model uncertainty under one prior, for
the exact sampler (with two seeds) and for the row-block sampler. With --quick, 100,000 rows are used and nothing is
stored.
"""

import argparse
import time

import numpy as np

import results
from csid import BayesianCSIDRegressor, CSIDRegressor

PREDICTORS, HELD_OUT, POSTERIOR_HELD_OUT, NOISE = 10, 200_000, 20_000, 0.5
RANK, LEVELS = 16, 64
PASSES = {"als": 20, "stochastic": 6}
SAMPLERS = {"exact": ("gibbs", 0), "exact, second seed": ("gibbs", 1), "row blocks": ("stochastic", 0)}


def waves(X: np.ndarray) -> np.ndarray:
    """A sum of eight products; each product has one wave per predictor."""
    rng = np.random.default_rng(99)
    values = np.zeros(len(X))
    for _ in range(8):
        product = np.full(len(X), rng.choice([-1.0, 1.0]))
        for column in X.T:
            height, depth, start, waves = rng.uniform((0.5, 0.2, 0.0, 0.3), (1.5, 0.6, 2.0 * np.pi, 1.2))
            product *= height * (1.0 + depth * np.sin(start + 2.0 * np.pi * waves * column))
        values += product
    return values


def friedman(X: np.ndarray) -> np.ndarray:
    x = X.T
    return 10.0 * np.sin(np.pi * x[0] * x[1]) + 20.0 * (x[2] - 0.5) ** 2 + 10.0 * x[3] + 5.0 * x[4]


SYSTEMS = {"waves": waves, "friedman": friedman}


def table(system: str, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Predictors, and standardised targets plus noise with a standard deviation of 0.5."""
    rng = np.random.default_rng(0)
    X = rng.random((rows, PREDICTORS), np.float32)
    values = SYSTEMS[system](X)
    return X, (values - values.mean()) / values.std() + NOISE * rng.standard_normal(rows)


def curve(solver: str, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
    """Held-out RMSE after each pass, and seconds per pass."""
    model = CSIDRegressor(
        rank=RANK,
        levels=LEVELS,
        solver=solver,
        max_iter=PASSES[solver],
        n_iter_no_change=PASSES[solver],
        tol=0.0,
        random_state=0,
    )
    train, held_out = slice(0, -HELD_OUT), slice(-HELD_OUT, None)
    started = time.perf_counter()
    model.fit(X[train], y[train], X_val=X[held_out], y_val=y[held_out])
    seconds = time.perf_counter() - started
    return np.sqrt(model.validation_history_[0]) * y[train].std(), seconds / PASSES[solver]


def posterior(sampler: str, X: np.ndarray, y: np.ndarray) -> tuple[dict[str, float], np.ndarray]:
    """Metrics of the predictions of held-out rows, and the predicted means."""
    solver, seed = SAMPLERS[sampler]
    model = BayesianCSIDRegressor(rank=RANK, prior="medium", solver=solver, random_state=seed)
    started = time.perf_counter()
    model.fit(X[:-HELD_OUT], y[:-HELD_OUT])
    seconds = time.perf_counter() - started
    rows, targets = X[-HELD_OUT:][:POSTERIOR_HELD_OUT], y[-HELD_OUT:][:POSTERIOR_HELD_OUT]
    mean, (lower, upper) = model.predict(rows), model.predict_interval(rows, 0.9)
    metrics = {
        "rmse": float(np.sqrt(np.mean((mean - targets) ** 2))),
        "coverage": float(np.mean((lower < targets) & (targets < upper))),
        "width": float(np.mean(upper - lower)),
        "model_uncertainty": float(model.predict_uncertainty(rows).model.mean()),
        "seconds": seconds,
    }
    return metrics, mean


def measure_curves(rows: int, store: bool) -> None:
    done = {(row["system"], row["rows"], row["solver"]) for row in results.read("stochastic")} if store else set()
    for system in SYSTEMS:
        missing = [solver for solver in PASSES if (system, str(rows), solver) not in done]
        X, y = table(system, rows + HELD_OUT) if missing else (None, None)
        for solver in missing:
            errors, seconds = curve(solver, X, y)
            print(system, rows, solver, f"{seconds:.2f} s per pass", *(f"{error:.5f}" for error in errors), flush=True)
            for number, error in enumerate(errors, start=1):
                row = {"system": system, "rows": rows, "solver": solver, "pass": number, "rmse": error}
                if store:
                    results.append("stochastic", row | {"seconds_per_pass": seconds} | results.provenance())


def measure_posteriors(rows: int, store: bool) -> None:
    done = {(row["system"], row["rows"]) for row in results.read("stochastic_posterior")} if store else set()
    for system in SYSTEMS:
        if (system, str(rows)) in done:
            continue
        X, y = table(system, rows + HELD_OUT)
        found = {sampler: posterior(sampler, X, y) for sampler in SAMPLERS}
        for sampler, (metrics, mean) in found.items():
            difference = float(np.sqrt(np.mean((mean - found["exact"][1]) ** 2)))
            row = {"system": system, "rows": rows, "sampler": sampler, **metrics, "mean_difference": difference}
            print(*row.values(), flush=True)
            if store:
                results.append("stochastic_posterior", row | results.provenance())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--posterior-rows", type=int, default=300_000)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    curve("als", *table("friedman", 2 * HELD_OUT))  # compile
    measure_curves(100_000 if given.quick else given.rows, not given.quick)
    measure_posteriors(100_000 if given.quick else given.posterior_rows, not given.quick)


if __name__ == "__main__":
    main()
