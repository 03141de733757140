"""All methods by name, in the order of the tables; one file per library."""

from methods import catboost, cornac, csid, grade_layouts, grades, interpret, lightgbm, scikit_learn, xgboost
from methods.method import Method

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
