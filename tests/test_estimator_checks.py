"""scikit-learn's own checks of the regressor, with no exceptions."""

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from csid import CSIDRegressor


@parametrize_with_checks([CSIDRegressor()])
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)
