"""The methods by name, in the order in which tables show them; one file a library."""

from methods import catboost, cornac, csid, grade_forms, grades, interpret, lightgbm, scikit_learn, xgboost
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
    **grade_forms.METHODS,
}
