"""A fit that fails leaves the fitted estimator as it was, whatever is wrong with the input, wherever it stops."""

import pickle
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from csid import (
    Batches,
    BayesianCSIDClassifier,
    BayesianCSIDRegressor,
    CSIDClassifier,
    CSIDRegressor,
    InterruptedFitWarning,
)
from refits import Rows, Snapshot, fails_at, left_as_it_was
from refits import rows as rows_of_numbers

Array = NDArray[np.float64]
Estimator = CSIDRegressor | BayesianCSIDRegressor | CSIDClassifier | BayesianCSIDClassifier

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


QUICK: dict[str, Any] = {"rank": 2, "levels": 6, "random_state": 0, "n_jobs": 1}
SHORT: dict[str, Any] = QUICK | {"prior": "medium", "effort": "fast", "n_chains": 2, "n_burn": 2, "n_draws": 2}


def als(**options: Any) -> CSIDRegressor:
    return CSIDRegressor(**QUICK | {"max_iter": 3} | options)


def bayesian(**options: Any) -> BayesianCSIDRegressor:
    return BayesianCSIDRegressor(**SHORT | options)


def rows(kind: str = "", seed: int = 1) -> Rows:
    """Rows for estimators of this kind: classes for classifiers."""
    given = rows_of_numbers(seed=seed)
    return given._replace(y=np.digitize(given.y, [0.0, 0.7]).astype(float)) if "classes" in kind else given


KINDS: dict[str, Callable[[], Estimator]] = {
    "als": als,
    "als, warm start": lambda: als(warm_start=True),
    "als, Student's t, several starts": lambda: als(likelihood="student_t", n_init=2, early_stopping=True),
    "als, ensemble": lambda: als(n_estimators=2, warm_start=True, pmf_rank=1),
    "als, blocks": lambda: als(solver="stochastic"),
    "bayesian": bayesian,
    "bayesian, warm start": lambda: bayesian(warm_start=True, pmf_rank=2, missing="marginalize"),
    "bayesian, several priors": lambda: bayesian(prior=["medium", "smooth"], likelihood="student_t", warm_start=True),
    "bayesian, blocks": lambda: bayesian(solver="stochastic", missing="level"),
    "classes": lambda: CSIDClassifier(**QUICK, max_iter=3, warm_start=True, class_weight="balanced"),
    "classes, bayesian": lambda: BayesianCSIDClassifier(**SHORT, warm_start=True, missing="marginalize", pmf_rank=2),
}
WARM = [kind for kind in KINDS if KINDS[kind]().warm_start]


@cache
def _fitted(kind: str) -> bytes:
    return pickle.dumps(KINDS[kind]().fit(*rows(kind, seed=0)))


def fitted(kind: str) -> Any:
    """A fitted estimator of its own."""
    return pickle.loads(_fitted(kind))


# --- what a fit is given ------------------------------------------------------------------------------------------


def _with(values: Any, row: int, value: Any) -> Any:
    values = np.array(values, dtype=object if isinstance(value, str) else float)
    values[row] = value
    return values


def _in_column(X: pd.DataFrame, column: str, row: int, value: Any) -> pd.DataFrame:
    X = X.astype({column: object})
    X.loc[row, column] = value
    return X


WRONG: dict[str, Callable[[Rows, int], Rows]] = {
    "a target that is NaN": lambda given, row: given._replace(y=_with(given.y, row, np.nan)),
    "a target that is infinite": lambda given, row: given._replace(y=_with(given.y, row, np.inf)),
    "a target that is a word": lambda given, row: given._replace(y=_with(given.y, row, "many")),
    "targets of fewer rows": lambda given, row: given._replace(y=given.y[: row + 1]),
    "targets of more rows": lambda given, row: given._replace(y=np.append(given.y, np.zeros(row + 1))),
    "no targets": lambda given, row: given._replace(y=None),
    "targets of three dimensions": lambda given, row: given._replace(y=given.y.reshape(-1, 1, 1) * np.ones((1, 2, 2))),
    "a weight that is negative": lambda given, row: given._replace(sample_weight=_with(np.ones(60), row, -1.0)),
    "a weight that is NaN": lambda given, row: given._replace(sample_weight=_with(np.ones(60), row, np.nan)),
    "weights of fewer rows": lambda given, row: given._replace(sample_weight=np.ones(row + 1)),
    "weights of zero": lambda given, row: given._replace(sample_weight=np.zeros(60)),
    "weights that are a table": lambda given, row: given._replace(sample_weight=np.ones((60, 2))),
    "a cell that is infinite": lambda given, row: given._replace(X=_in_column(given.X, "x", row, -np.inf)),
    "a word among numbers": lambda given, row: given._replace(X=_in_column(given.X, "z", row, "none")),
    "a number among words": lambda given, row: given._replace(X=_in_column(given.X, "word", row, 3.0)),
    "a cell that is a list": lambda given, row: given._replace(X=_in_column(given.X, "word", row, ("u",))),
    "no columns": lambda given, row: given._replace(X=given.X[[]]),
    "no rows": lambda given, row: Rows(given.X[:0], given.y[:0]),
    "one row": lambda given, row: Rows(given.X[row : row + 1], given.y[row : row + 1]),
    "a column of periods": lambda given, row: given._replace(
        X=given.X.assign(when=pd.Period(year=2000 + row, freq="Y"))
    ),
    "one dimension": lambda given, row: given._replace(X=np.zeros(60)),
    "a path to nothing": lambda given, row: Rows(Path("nowhere.parquet"), "y"),
    "a batch without a column": lambda given, row: _in_batches(given, row, lambda X, y: (X.drop(columns="z"), y)),
    "a batch with a word for a target": lambda given, row: _in_batches(given, row, lambda X, y: (X, y.astype(str))),
    "a batch of fewer targets": lambda given, row: _in_batches(given, row, lambda X, y: (X, y[:-1])),
    "a batch that cannot be read": lambda given, row: _in_batches(given, row, _unreadable(OSError("disk on fire"))),
}

WRONG_TO_GO_ON: dict[str, Callable[[Rows, int], Rows]] = {
    "fewer columns": lambda given, row: given._replace(X=given.X[["x", "word"]]),
    "more columns": lambda given, row: given._replace(X=given.X.assign(more=float(row))),
    "other names": lambda given, row: given._replace(X=given.X.rename(columns={"z": "other"})),
    "another order": lambda given, row: given._replace(X=given.X[["z", "x", "word"]]),
    "more outputs": lambda given, row: given._replace(y=np.stack([given.y, given.y], axis=1)),
    "words for numbers": lambda given, row: given._replace(X=given.X.assign(x="word")),
    "batches of other columns": lambda given, row: Rows(Batches([(given.X[["x", "z"]], given.y)]), None),
    "batches of more outputs": lambda given, row: Rows(Batches([(given.X, np.stack([given.y] * 2, axis=1))]), None),
}
"""Only where the fit is to go on from the one before."""


def _in_batches(given: Rows, row: int, spoil: Callable[[Any, Any], Any]) -> Rows:
    """Three batches, one of which, but the first, is spoilt; read anew every time, or once."""
    parts = [
        (given.X[part].reset_index(drop=True), given.y[part]) for part in (slice(0, 20), slice(20, 40), slice(40, 60))
    ]

    def read() -> Iterator[Any]:
        for number, (X, y) in enumerate(parts):
            yield spoil(X, y) if number == 1 + row % 2 else (X, y)

    return Rows(Batches(read) if row % 3 else read(), None)


def _unreadable(error: BaseException) -> Callable[[Any, Any], Any]:
    def read(*_: Any) -> Any:
        raise error

    return read


@settings(max_examples=150)
@given(data=st.data())
def test_a_refused_fit_changes_nothing(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(KINDS)))
    model = fitted(kind)
    warm = data.draw(st.booleans()) if kind in WARM else False
    model.set_params(warm_start=warm)
    cases = WRONG | WRONG_TO_GO_ON if warm else WRONG
    case = data.draw(st.sampled_from(sorted(cases)))
    wrong = cases[case](rows(kind), data.draw(st.integers(0, 58)))
    with left_as_it_was(model), pytest.raises((ValueError, TypeError, OSError)):
        model.fit(*wrong)


@settings(max_examples=60)
@given(data=st.data())
def test_a_refused_batch_of_a_stream_changes_nothing(data: st.DataObject) -> None:
    model = fitted("als, blocks")
    # a stream may be of one row, and takes no numbers of rows that it has to start from
    cases = {name: case for name, case in (WRONG | WRONG_TO_GO_ON).items() if "batch" not in name}
    case = data.draw(st.sampled_from(sorted(set(cases) - {"one row", "a path to nothing"})))
    wrong = cases[case](rows(), data.draw(st.integers(0, 58)))
    with left_as_it_was(model), pytest.raises((ValueError, TypeError)):
        model.partial_fit(*wrong)


WRONG_PARAMETERS = {
    "als": [
        {"rank": 0},
        {"levels": "many"},
        {"smoothness": [1.0]},
        {"smoothness": {"x": 1.0}},
        {"categorical_features": ["nobody"]},
        {"likelihood": "cauchy"},
        {"update": "cg", "solver": "stochastic"},
        {"early_stopping": True, "validation_fraction": 0.999},
    ],
    "bayesian": [
        {"rank": 0},
        {"effort": "more"},
        {"categorical_features": [7]},
        {"likelihood": "student_t", "solver": "stochastic"},
        {"rank": 40, "solver": "stochastic"},
        {"n_draws": 0},
    ],
}


@pytest.mark.parametrize("warm_start", [False, True])
@pytest.mark.parametrize(
    ("kind", "wrong"), [(kind, wrong) for kind, some in WRONG_PARAMETERS.items() for wrong in some], ids=str
)
def test_parameters_that_are_refused_change_nothing(kind: str, wrong: dict[str, Any], warm_start: bool) -> None:
    model = fitted(kind).set_params(**wrong, warm_start=warm_start)
    with left_as_it_was(model), pytest.raises((ValueError, TypeError)):
        model.fit(*rows())


@pytest.mark.parametrize("prior", ["medum", [], ["medium", "stiff"]], ids=str)
def test_an_unknown_prior_changes_nothing(prior: Any) -> None:
    model = fitted("bayesian").set_params(prior=prior)
    with left_as_it_was(model), pytest.raises(ValueError, match="give 'auto', or"):
        model.fit(*rows())


@pytest.mark.parametrize(
    "wrong", [{"rank": 3}, {"likelihood": "student_t"}, {"solver": "stochastic"}, {"prior": "smooth"}], ids=str
)
def test_chains_that_go_on_keep_what_they_sample(wrong: dict[str, Any]) -> None:
    ((name, value),) = wrong.items()
    model = fitted("bayesian, warm start").set_params(**wrong)
    with left_as_it_was(model), pytest.raises(ValueError, match=f"warm_start continues .* {name}=.*{value}"):
        model.fit(*rows())


def test_a_joint_pmf_is_for_the_gaussian_likelihood_also_when_a_fit_goes_on() -> None:
    given = rows()[:2]
    model = als(pmf_rank=2, warm_start=True).fit(*given).set_params(likelihood="student_t")
    for pmf_rank in (2, "auto"):
        with left_as_it_was(model), pytest.raises(ValueError, match="cannot continue a fit with a joint PMF"):
            model.set_params(pmf_rank=pmf_rank).fit(*given)
    with left_as_it_was(model), pytest.raises(ValueError, match="pmf_rank=2 is not supported by least squares"):
        model.set_params(pmf_rank=2, warm_start=False).fit(*given)


@pytest.mark.parametrize("make", [als, bayesian])
def test_a_refused_table_of_fewer_columns_leaves_the_columns_of_the_model(make: Callable[..., Estimator]) -> None:
    """Codes of columns that nobody fills would be read beyond the tensor, far beyond it where the rank is high."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 4))
    model = make(rank=96).fit(X, X.prod(axis=1))
    before = model.predict(X)
    with pytest.raises(ValueError, match="contains NaN"):
        model.fit(X[:, :1], np.full(60, np.nan))
    assert model.n_features_in_ == 4
    assert_array_equal(model.predict(X), before)
    with pytest.raises(ValueError, match=r"X has 1 features, but .* is expecting 4"):
        model.predict(X[:, :1])


def test_rows_to_stop_on_that_are_refused_change_nothing() -> None:
    model, (X, y, _) = fitted("als"), rows()
    wrong = [{"X_val": X}, {"y_val": y}, {"X_val": X, "y_val": y[1:]}, {"X_val": X[["x"]], "y_val": y}]
    for own in wrong:
        with left_as_it_was(model), pytest.raises(ValueError, match=r"."):
            model.fit(X, y, **own)


# --- where a fit stops --------------------------------------------------------------------------------------------


@cache
def _calls_of_a_fit(kind: str, method: str) -> int:
    fit = getattr(fitted(kind), method)
    with fails_at(0, KeyboardInterrupt) as seen:
        fit(*rows(kind)[:2])
    return seen[0]


@settings(max_examples=80)
@given(data=st.data())
def test_a_fit_that_stops_anywhere_changes_nothing(data: st.DataObject) -> None:
    """An interrupt, or memory that runs out, at any call inside. The sampler may end well, with the draws made so far.

    Afterwards a fit goes on as if nothing had been.
    """
    kind = data.draw(st.sampled_from(sorted(KINDS)))
    method = data.draw(st.sampled_from(["fit", "partial_fit"])) if kind == "als, blocks" else "fit"
    error = data.draw(st.sampled_from([KeyboardInterrupt, MemoryError]))
    call = data.draw(st.integers(1, _calls_of_a_fit(kind, method)))
    model, given = fitted(kind), rows(kind)[:2]
    fit, before, failed = getattr(model, method), Snapshot.of(model), False
    with warnings.catch_warnings(record=True) as caught, fails_at(call, error) as seen:
        warnings.simplefilter("always")
        try:
            fit(*given)
        except (KeyboardInterrupt, MemoryError):
            failed = True
    if failed:
        before.assert_still(model)
        assert_array_equal(fit(*given).predict(given[0]), _after(kind, method))
    else:
        kept = any(issubclass(each.category, InterruptedFitWarning) for each in caught)
        assert kept or seen[0] < call
        assert error is KeyboardInterrupt
        assert model.fitted_ is not before.fitted
        assert np.isfinite(model.predict(given[0])).all()


@cache
def _after(kind: str, method: str) -> Array:
    """What is predicted after a fit that goes well."""
    given = rows(kind)[:2]
    return np.asarray(getattr(fitted(kind), method)(*given).predict(given[0]))


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("again", [False, True], ids=["read once", "read anew"])
def test_an_interrupt_while_rows_are_read_changes_nothing(kind: str, again: bool) -> None:
    model = fitted(kind)
    if model.pmf_rank != "auto":
        model.set_params(pmf_rank=1)
    wrong = _in_batches(rows(kind), int(again), _unreadable(KeyboardInterrupt()))
    with left_as_it_was(model), pytest.raises(KeyboardInterrupt):
        model.fit(*wrong[:2])


@pytest.mark.parametrize("kind", ["bayesian", "bayesian, warm start", "bayesian, several priors"])
def test_a_warning_that_is_an_error_changes_nothing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted(kind)
    monkeypatch.setattr("csid.estimators.sampling._LARGEST_DRIFT", -1.0)
    with left_as_it_was(model), warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        with pytest.raises(ConvergenceWarning, match="may not have converged"):
            model.fit(*rows())
