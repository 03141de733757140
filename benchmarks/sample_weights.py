"""Sample weights: relative weights against counts, and fits in other units; writes the tables of decision 0024.

python benchmarks/sample_weights.py
"""

import warnings
from collections.abc import Callable

import numpy as np

import pages
from csid import BayesianCSIDRegressor
from csid.data import weights as sample_weights

ROWS, UNSEEN, SEEDS, UNITS = 400, 2_000, 10, 20
WEIGHTS: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "one": lambda rng: np.ones(ROWS),
    "1 / n": lambda rng: np.full(ROWS, 1.0 / ROWS),
    "survey, 1e3 to 1e5": lambda rng: 10.0 ** rng.uniform(3, 5, ROWS),
    "over twenty powers of ten": lambda rng: 10.0 ** rng.uniform(-10, 10, ROWS),
}


def rows(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    X = rng.uniform(-1, 1, (n, 3))
    return X, np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2 + 0.1 * rng.standard_normal(n)


def model(seed: int) -> BayesianCSIDRegressor:
    return BayesianCSIDRegressor(rank=8, effort="fast", random_state=seed)


def accuracy(draw: Callable[[np.random.Generator], np.ndarray], as_counts: bool) -> str:
    """R² and the coverage of 90 % intervals on unseen rows: medians over seeds, or the error."""
    found = []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        (X, y), (unseen, truth), weights = rows(rng, ROWS), rows(rng, UNSEEN), draw(rng)
        unit = sample_weights.AS_GIVEN if as_counts else sample_weights.WeightTotals.of(weights).unit("relative")
        try:
            fitted = _fitted(seed, X, y, unit.of(weights))
        except ArithmeticError:
            found.append((-np.inf, np.nan))
            continue
        lower, upper = fitted.predict_interval(unseen)
        found.append((fitted.score(unseen, truth), np.mean((lower <= truth) & (truth <= upper))))
    r2, coverage = np.median(found, axis=0)
    return f"{r2:.3f}, {100.0 * coverage:.0f} %" if np.isfinite(r2) else "fails"


def _fitted(seed: int, X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> BayesianCSIDRegressor:
    """A fit whose weights are taken as they are, also as fractions of counts."""
    kept = sample_weights.WeightTotals.unit
    sample_weights.WeightTotals.unit = lambda totals, meaning: sample_weights.AS_GIVEN
    try:
        return model(seed).fit(X, y, weights)
    finally:
        sample_weights.WeightTotals.unit = kept


def largest_difference(rounding: bool) -> str:
    """Between predictions of fits with the same weights in other units, in standard deviations of y."""
    kept = sample_weights._rounded
    if not rounding:
        sample_weights._rounded = lambda values: values
    rng = np.random.default_rng(0)
    (X, y), weights = rows(rng, ROWS), rng.uniform(0.2, 5.0, ROWS)
    first = model(0).fit(X, y, weights).predict(X)
    others = [model(0).fit(X, y, unit * weights).predict(X) for unit in 10.0 ** rng.uniform(-5, 5, UNITS)]
    sample_weights._rounded = kept
    differences = [float(np.abs(other - first).max() / y.std()) for other in others]
    return f"{sum(each == 0.0 for each in differences)} of {UNITS} | {max(differences):.2g}"


def main() -> None:
    warnings.simplefilter("ignore")
    lines = ["| weights | relative | as given |", "|---|---|---|"]
    lines += [f"| {name} | {accuracy(draw, False)} | {accuracy(draw, True)} |" for name, draw in WEIGHTS.items()]
    lines += ["", "| weights in other units | same bits | largest difference |", "|---|---|---|"]
    lines += [
        f"| rounded to 24 bits | {largest_difference(rounding=True)} |",
        f"| not rounded | {largest_difference(rounding=False)} |",
    ]
    pages.fill("docs/decisions/0024-relative-weights.md", "sample weights", "\n".join(lines))


if __name__ == "__main__":
    main()
