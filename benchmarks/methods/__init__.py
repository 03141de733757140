"""All methods by name, in the order of the tables; one file per library."""

from methods import catboost, cornac, csid, grade_layouts, grades, interpret, lightgbm, scikit_learn, xgboost
from methods.method import Method
from target_kinds import CLASSES

METHODS: dict[str, Method] = {
    **grades.METHODS,
    **cornac.METHODS,
    **scikit_learn.METHODS,
    **lightgbm.METHODS,
    **xgboost.METHODS,
    **catboost.METHODS,
    **interpret.METHODS,
    **csid.METHODS,
    **grade_layouts.METHODS,
}

METHODS |= {
    f"{name} defaults": method.with_defaults()
    for name, method in METHODS.items()
    if method.targets is CLASSES and method.search is not None
}
