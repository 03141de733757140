"""The benchmark of classifiers is tested where the libraries that it compares are installed."""

from importlib.util import find_spec

LIBRARIES = ("catboost", "cornac", "interpret", "lightgbm", "optuna", "xgboost")
collect_ignore = [] if all(map(find_spec, LIBRARIES)) else ["test_classes.py"]
