"""Measure classification: csid with defaults, and other methods with their defaults and tuned.

    python benchmarks/classes.py [--splits 5] [--methods 'csid classifier' ...] [--untimed] [problem ...]

All methods get the same random 80/20 splits: five, or three above 20,000 rows. "METHOD defaults" has the default
parameters of its library; METHOD is tuned once per problem, by the log loss (tune.py). Rows that are already in
results/classes.csv are skipped. Seconds are those of this run: on a busy machine, use --untimed, which leaves them
empty; a later run without it measures these rows again.
"""

import argparse
import itertools
import warnings

import numpy as np

import problems
from measuring import measure_missing

OTHERS = (
    "logistic regression",
    "forest classifier",
    "ebm classifier",
    "hist boosting classifier",
    "lightgbm classifier",
    "xgboost classifier",
    "catboost classifier",
)
CSID = "csid classifier"
DEFAULTS = (*(f"{name} defaults" for name in OTHERS), CSID)
METHODS = (*DEFAULTS, *OTHERS)
QUICK = ("heart_cleveland", "breast_cancer_wisconsin", "german_credit")


def compile_first() -> None:
    """Compile the kernels for two classes and for more, so that compilation is not part of any measured time."""
    from csid import BayesianCSIDClassifier

    X = np.random.default_rng(0).uniform(size=(300, 2))
    for classes in (2, 3):
        y = (classes * X[:, 0]).astype(int)
        BayesianCSIDClassifier(effort="fast", random_state=0).fit(X, y).predict_proba(X)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problem", nargs="*", default=list(problems.CLASSES))
    parser.add_argument("--splits", type=int)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--methods", nargs="*", default=METHODS, choices=METHODS)
    parser.add_argument("--untimed", action="store_true", help="leave the seconds of fits and predictions empty")
    parser.add_argument("--quick", action="store_true", help="one split of three problems, default parameters only")
    chosen = parser.parse_args()
    if not problems.data_at_hand("classification"):
        print("No classification data: set CSID_DATA to a folder that has them.")
        return
    warnings.filterwarnings("ignore")
    compile_first()
    tasks, methods = (QUICK, DEFAULTS) if chosen.quick else (chosen.problem, chosen.methods)
    for name, task in itertools.product(methods, tasks):
        planned = problems.CLASSES[task].splits
        splits = 1 if chosen.quick else min(chosen.splits or planned, planned)
        for row in measure_missing("classes", problems.load(task), name, splits, chosen.threads, not chosen.untimed):
            shown = f"log loss {row['log_loss']:.4f}  accuracy {row['accuracy']:.3f}  fit {row['fit_seconds']:.2f} s"
            print(f"{task:34} {row['split']} {name:34} {shown}", flush=True)


if __name__ == "__main__":
    main()
