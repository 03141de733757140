"""BLAS may have any number of threads: no bit of a fit depends on them."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_limits

from csid import BayesianCSIDRegressor, CSIDRegressor

Make = Callable[[], CSIDRegressor | BayesianCSIDRegressor]
SHORT = {"n_chains": 2, "n_burn": 2, "n_draws": 2, "random_state": 0}
MAKERS: dict[str, Make] = {
    "als": lambda: CSIDRegressor(4, max_iter=3, random_state=0),
    "als, Student's t": lambda: CSIDRegressor(4, max_iter=3, likelihood="student_t", random_state=0),
    "one prior": lambda: BayesianCSIDRegressor(4, prior="medium", **SHORT),
    "one prior, Student's t": lambda: BayesianCSIDRegressor(4, prior="medium", likelihood="student_t", **SHORT),
    "several priors": lambda: BayesianCSIDRegressor(4, prior=["medium", "mildly_sparse"], effort="fast", **SHORT),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("missing", [0.0, 0.1], ids=["complete", "missing"])
@pytest.mark.parametrize("make", MAKERS.values(), ids=list(MAKERS))
def test_they_change_no_bit(make: Make, missing: float) -> None:
    """Of thirty thousand rows; fewer are summed on one thread anyway."""
    rng = np.random.default_rng(0)
    X = rng.random((30_000, 3))
    y = X.prod(axis=1) + 0.1 * rng.standard_normal(30_000)
    X[rng.random(X.shape) < missing] = np.nan
    predicted = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads, "blas"):
            predicted.append(make().fit(X, y).predict(X[:100]))
    assert_array_equal(predicted[0], predicted[1])
    assert_array_equal(predicted[0], predicted[2])
