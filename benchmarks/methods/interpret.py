"""Explainable boosting machines, from interpret."""

from interpret.glassbox import ExplainableBoostingRegressor

from methods.method import Method, Settings, plain_names


def make(settings: Settings, categories: list[str], seed: int, threads: int) -> ExplainableBoostingRegressor:
    return ExplainableBoostingRegressor(**settings, random_state=seed, n_jobs=threads)


# fewer bags and a larger learning rate than the defaults: as accurate on concrete, in a fifth of the time
SETTINGS = {"outer_bags": 4, "learning_rate": 0.1, "max_rounds": 2000}
METHODS = {"ebm": Method("interpret-core", make, plain_names, settings=SETTINGS, most_splits=3)}
