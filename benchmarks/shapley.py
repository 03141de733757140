"""Time for exact Shapley values of csid's default model, compared with trees and with sampling, in the same run.

    python benchmarks/shapley.py [--problem protein] [--rows 10000] [--background 100] [--tree-rows 1000]

Trees: csid computes Shapley values with independent marginals, and with background rows. `shap.TreeExplainer` explains
1,000 trees of LightGBM with the same background rows ("interventional"), which is the same game. LightGBM's own
`pred_contrib` plays a different game, whose distribution follows the splits of the trees. `largest_gap` is the largest
difference between a prediction and the sum of its values and the mean prediction, relative to the standard deviation of
y. Every time is that of a second call, after a first call on ten rows. Methods with background rows are measured on
fewer rows. Rows go to benchmarks/results/shapley.csv.

Sampling: model-agnostic explainers play csid's own game on csid's own model. A predictor outside a coalition is
missing, so a coalition costs one prediction; all coalitions of a row are predicted in one call. `error` is the root
mean square error, relative to the root mean square of the exact values. With few predictors all 2^N coalitions can be
predicted instead, which is exact too: the last row. Rows go to benchmarks/results/shapley_sampling.csv.

Needs the packages shap and shapiq.
"""

import argparse
import os
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import shap
import shapiq
from lightgbm import LGBMRegressor

import problems
import results
from csid import BayesianCSIDRegressor
from csid.explain import shapley_values

TREES = 1000
BUDGETS = (190, 1900, 19000)
"""Predictions per row for a sampling explainer."""


class Explained(NamedTuple):
    """What Shapley values have to add up to: predictions less their mean, relative to a scale."""

    predictions: np.ndarray
    mean: float
    scale: float


def measure(
    name: str, about: dict[str, object], explain: Callable[[int], np.ndarray], rows: int, explained: Explained
) -> None:
    """Explain some rows, and store the time and the largest violation of additivity."""
    explain(10)
    started = time.perf_counter()
    values = explain(rows)
    seconds = time.perf_counter() - started
    gaps = np.abs(values.sum(axis=1) + explained.mean - explained.predictions[:rows])
    gap = float(gaps.max() / explained.scale)
    row = about | {"method": name, "rows": rows, "seconds": f"{seconds:.3f}", "largest_gap": f"{gap:.1e}"}
    print(row)
    results.append("shapley", row | results.provenance())


def sample(model: BayesianCSIDRegressor, X: np.ndarray, about: dict[str, object]) -> None:
    """Explain rows by sampling, with increasing numbers of predictions, and store the time and the error."""
    rows, N = X.shape
    exact = shapley_values(model, X)

    def game(row: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        return lambda coalitions: model.predict(np.where(np.atleast_2d(coalitions), row, np.nan))

    def by_shap(budget: int) -> list[np.ndarray]:
        explainer = shap.PermutationExplainer(
            model.predict, lambda inside, row: np.where(inside, row, np.nan)[None], seed=0
        )
        return list(explainer(X, max_evals=budget, batch_size=budget, silent=True).values)

    def by_permutations(budget: int) -> list[np.ndarray]:
        sampler = shapiq.PermutationSamplingSV(n=N, random_state=0)
        return [sampler.approximate(budget, game(row)).get_n_order_values(1) for row in X]

    def by_all_coalitions(budget: int) -> list[np.ndarray]:
        return [shapiq.ExactComputer(game=game(row), n_players=N)("SV").get_n_order_values(1) for row in X]

    explainers = {"shap.PermutationExplainer": by_shap, "shapiq.PermutationSamplingSV": by_permutations}
    runs = [(name, explain, budget) for name, explain in explainers.items() for budget in BUDGETS]
    for name, explain, budget in [*runs, ("shapiq.ExactComputer", by_all_coalitions, 2**N)]:
        explain(BUDGETS[0])  # compile, and load caches from disk
        started = time.perf_counter()
        values = np.array(explain(budget))
        seconds = time.perf_counter() - started
        error = float(np.sqrt(np.mean((values - exact) ** 2) / np.mean(exact**2)))
        row = about | {"method": name, "rows": rows, "evaluations": budget}
        row |= {"seconds": f"{seconds:.3f}", "error": f"{error:.2e}"}
        print(row)
        results.append("shapley_sampling", row | results.provenance())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problem", default="protein")
    parser.add_argument("--rows", type=int, default=10_000, help="rows to explain")
    parser.add_argument("--background", type=int, default=100, help="number of background rows")
    parser.add_argument("--data-rows", type=int, default=1000, help="rows to explain with csid and the background")
    parser.add_argument("--tree-rows", type=int, default=1000, help="rows to explain with shap.TreeExplainer")
    parser.add_argument("--sampled-rows", type=int, default=10, help="rows to explain by sampling")
    parser.add_argument("--effort", default="default", choices=["fast", "default", "best"])
    arguments = parser.parse_args()
    problem = problems.load(arguments.problem)
    table = problem.X.apply(lambda column: column.cat.codes if column.dtype == "category" else column)
    X, y = table.to_numpy(dtype=float), problem.y
    train, test = problems.split(problem, 0)
    order = np.concatenate([test, train])[: arguments.rows]
    X_explained, background = X[order], X[train[: arguments.background]]
    scale = float(np.std(y))
    about = {"problem": problem.name, "threads": os.cpu_count(), "background": 0}

    model = BayesianCSIDRegressor(effort=arguments.effort, random_state=0).fit(X[train], y[train])
    about["components"] = model.cpd_.rank
    print(f"csid has {model.cpd_.rank} components on {model.encoding_.levels.tolist()} levels")
    predictions = model.predict(X_explained)

    def by_csid(rows: int) -> np.ndarray:
        return shapley_values(model, X_explained[:rows])

    def by_csid_with_draws(rows: int) -> np.ndarray:
        return shapley_values(model, X_explained[:rows], draws=True).mean

    def by_csid_with_background(rows: int) -> np.ndarray:
        return shapley_values(model, X_explained[:rows], background=background)

    mean = float(model.cpd_.mean()[0])
    explained = Explained(predictions, mean, scale)
    measure("csid", about, by_csid, arguments.rows, explained)
    measure("csid with intervals", about, by_csid_with_draws, arguments.rows, explained)
    with_background = about | {"background": arguments.background}
    explained = Explained(predictions, float(model.predict(background).mean()), scale)
    measure("csid", with_background, by_csid_with_background, arguments.data_rows, explained)

    sample(model, X_explained[: arguments.sampled_rows], about)

    trees = LGBMRegressor(n_estimators=TREES, random_state=0, verbose=-1).fit(X[train], y[train])
    about["components"] = with_background["components"] = TREES
    predictions = trees.predict(X_explained)
    explainer = shap.TreeExplainer(trees, background, feature_perturbation="interventional")

    def by_lightgbm(rows: int) -> np.ndarray:
        return trees.predict(X_explained[:rows], pred_contrib=True)  # the last column is the mean

    def by_shap(rows: int) -> np.ndarray:
        return explainer.shap_values(X_explained[:rows], check_additivity=False)

    measure("lightgbm pred_contrib", about, by_lightgbm, arguments.rows, Explained(predictions, 0.0, scale))
    explained = Explained(predictions, float(explainer.expected_value), scale)
    measure("shap.TreeExplainer", with_background, by_shap, arguments.tree_rows, explained)


if __name__ == "__main__":
    main()
