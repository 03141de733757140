"""Each prior of the catalogue alone, and all of them stacked, scored on held-out training rows.

    python benchmarks/priors.py [task ...]     # resumes; rows in benchmarks/results/priors.csv

At most 6,000 training rows of the first split are used: 80 % to fit, 20 % to score. Test rows are not used.
"""

import argparse
import time

import numpy as np

import problems
import results
from csid import BayesianCSIDRegressor
from csid.priors import CATALOGUE

MOST_ROWS = 6_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", nargs="*", default=list(problems.TASKS))
    done = {(row["task"], row["prior"]) for row in results.read("priors")}
    for name in parser.parse_args().task:
        task = problems.load(name)
        rows = problems.split(task, 0)[0][:MOST_ROWS]
        cut = int(0.8 * len(rows))
        train, held_out = rows[:cut], rows[cut:]
        for prior in ("auto", *CATALOGUE):
            if (name, prior) in done:
                continue
            started = time.perf_counter()
            model = BayesianCSIDRegressor(prior=prior, random_state=0).fit(task.X.iloc[train], task.y[train])
            seconds = time.perf_counter() - started
            error = float(np.sqrt(np.mean((task.y[held_out] - model.predict(task.X.iloc[held_out])) ** 2)))
            row = {"task": name, "prior": prior, "rmse": error, "fit_seconds": seconds, **results.provenance()}
            results.append("priors", row)
            print(f"{name:12} {prior:10} RMSE {error:.4g} ({seconds:.1f} s)", flush=True)


if __name__ == "__main__":
    main()
