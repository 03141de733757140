"""Seconds for exact Shapley values: csid's default model beside trees, on the same rows in the same run.

    python benchmarks/shapley.py [--problem protein] [--rows 10000] [--background 100] [--tree-rows 10000]

csid explains with independent marginals, then over a background of rows. `shap.TreeExplainer` explains 1,000 trees of
LightGBM over the same background ("interventional"), the same game; LightGBM's own `pred_contrib` explains them with
another game, whose distribution follows the splits of the trees. `largest_gap` is how far values and mean prediction
miss the prediction, relative to the spread of y. Each figure is of the second of two calls, the first on ten rows.
Rows go to benchmarks/results/shapley.csv. Needs the package shap.
"""

import argparse
import os
import time
from collections.abc import Callable

import numpy as np
import shap
from lightgbm import LGBMRegressor

import problems
import results
from csid import BayesianCSIDRegressor
from csid.explain import shapley_values

TREES = 1000


def measure(
    name: str,
    about: dict[str, object],
    explain: Callable[[int], np.ndarray],
    rows: int,
    predictions: np.ndarray,
    mean: float,
    spread: float,
) -> None:
    """Explain some rows, and write down how long it took and whether it adds up."""
    explain(10)
    started = time.perf_counter()
    values = explain(rows)
    seconds = time.perf_counter() - started
    gap = float(np.abs(values.sum(axis=1) + mean - predictions[:rows]).max() / spread)
    row = about | {"method": name, "rows": rows, "seconds": f"{seconds:.3f}", "largest_gap": f"{gap:.1e}"}
    print(row)
    results.append("shapley", row | results.provenance())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problem", default="protein")
    parser.add_argument("--rows", type=int, default=10_000, help="to explain")
    parser.add_argument("--background", type=int, default=100, help="rows of the background")
    parser.add_argument("--data-rows", type=int, help="to explain with csid over the background, instead of --rows")
    parser.add_argument("--tree-rows", type=int, help="to explain with shap.TreeExplainer, instead of --rows")
    parser.add_argument("--effort", default="default", choices=["fast", "default", "best"])
    arguments = parser.parse_args()
    problem = problems.load(arguments.problem)
    X, y = problem.X.apply(lambda column: column.cat.codes if column.dtype == "category" else column), problem.y
    train, test = problems.split(problem, 0)
    order = np.concatenate([test, train])[: arguments.rows]
    explained, background = X.iloc[order], X.iloc[train[: arguments.background]]
    spread = float(np.std(y))
    about = {"problem": problem.name, "threads": os.cpu_count(), "background": 0}

    model = BayesianCSIDRegressor(effort=arguments.effort, random_state=0).fit(X.iloc[train], y[train])
    about["components"] = model.cpd_.rank
    print(f"csid has {model.cpd_.rank} components on {model.encoding_.levels.tolist()} levels")
    values = model.predict(explained)

    def by_csid(rows: int) -> np.ndarray:
        return shapley_values(model, explained[:rows])

    def by_csid_with_draws(rows: int) -> np.ndarray:
        return shapley_values(model, explained[:rows], draws=True).mean

    def by_csid_over_rows(rows: int) -> np.ndarray:
        return shapley_values(model, explained[:rows], background=background)

    mean = float(model.cpd_.mean()[0])
    measure("csid", about, by_csid, arguments.rows, values, mean, spread)
    measure("csid with intervals", about, by_csid_with_draws, arguments.rows, values, mean, spread)
    over_rows = about | {"background": arguments.background}
    mean = float(model.predict(background).mean())
    measure("csid", over_rows, by_csid_over_rows, arguments.data_rows or arguments.rows, values, mean, spread)

    trees = LGBMRegressor(n_estimators=TREES, random_state=0, verbose=-1).fit(X.iloc[train], y[train])
    about["components"] = over_rows["components"] = TREES
    values = trees.predict(explained)
    explainer = shap.TreeExplainer(trees, background, feature_perturbation="interventional")

    def by_lightgbm(rows: int) -> np.ndarray:
        return trees.predict(explained[:rows], pred_contrib=True)  # the last column is the mean

    def by_shap(rows: int) -> np.ndarray:
        return explainer.shap_values(explained[:rows], check_additivity=False)

    measure("lightgbm pred_contrib", about, by_lightgbm, arguments.rows, values, 0.0, spread)
    mean = float(explainer.expected_value)
    measure("shap.TreeExplainer", over_rows, by_shap, arguments.tree_rows or arguments.rows, values, mean, spread)


if __name__ == "__main__":
    main()
