"""Sample weights: relative ones have no scale, counts are repeated rows, and what is neither is an error."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from csid import Batches, BayesianCSIDRegressor, CSIDRegressor, load
from csid.dask import DaskBayesianCSIDRegressor, DaskCSIDRegressor
from csid.data.weights import AS_GIVEN, WeightTotals, WeightUnit

Array = NDArray[np.float64]

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SHORT: dict[str, Any] = {"rank": 3, "levels": 6, "random_state": 0, "n_jobs": 1}
CHAINS: dict[str, Any] = {"effort": "fast", "n_chains": 2, "n_burn": 8, "n_draws": 6}

KINDS: dict[str, Callable[..., Any]] = {
    "als": partial(CSIDRegressor, **SHORT, max_iter=5),
    "als, Student's t": partial(CSIDRegressor, **SHORT, max_iter=5, likelihood="student_t"),
    "als, blocks": partial(CSIDRegressor, **SHORT, max_iter=5, solver="stochastic"),
    "bayesian": partial(BayesianCSIDRegressor, **SHORT, **CHAINS, prior="medium"),
    "bayesian, several priors": partial(BayesianCSIDRegressor, **SHORT, **CHAINS, prior=["medium", "smooth"]),
    "bayesian, Student's t": partial(BayesianCSIDRegressor, **SHORT, **CHAINS, prior="medium", likelihood="student_t"),
    "bayesian, blocks": partial(BayesianCSIDRegressor, **SHORT, **CHAINS, prior="medium", solver="stochastic"),
}
BAYESIAN = [kind for kind in KINDS if kind.startswith("bayesian")]


def rows(n: int = 60, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, X[:, 0] * X[:, 1] + X[:, 0] + 0.1 * rng.standard_normal(n)


def some_weights(n: int = 60, seed: int = 1) -> Array:
    return np.random.default_rng(seed).uniform(0.2, 3.0, n)


scales = st.floats(-290, 290).map(lambda power: 10.0**power)
positive = st.floats(1e-300, 1e300)


# --- the unit ---------------------------------------------------------------------------------------------------------


@given(st.lists(st.one_of(st.just(0.0), positive), min_size=1, max_size=30).filter(any))
def test_relative_weights_have_mean_one_where_they_are_positive(given: list[float]) -> None:
    weights = np.array(given)
    relative = WeightTotals.of(weights).unit("relative").of(weights)
    assert_array_equal(relative > 0.0, weights > 0.0)
    assert_allclose(relative[relative > 0.0].mean(), 1.0, rtol=1e-6)


@given(positive, st.integers(1, 1000))
def test_equal_weights_are_ones(weight: float, n: int) -> None:
    weights = np.full(n, weight)
    assert_array_equal(WeightTotals.of(weights).unit("relative").of(weights), 1.0)


@given(st.lists(st.lists(st.floats(0.0, 1e300), max_size=8), min_size=1, max_size=5))
def test_the_unit_is_the_same_in_parts(parts: list[list[float]]) -> None:
    totals = WeightTotals()
    for part in parts:
        totals = totals.merged(WeightTotals.of(np.array(part)))
    whole = WeightTotals.of(np.array([weight for part in parts for weight in part])).unit("relative")
    assert_allclose(totals.unit("relative")[:2], whole[:2], rtol=2.0**-23)


def test_counts_are_left_as_they_are_and_are_whole_numbers() -> None:
    unit = WeightTotals.of(np.array([1.0, 5.0])).unit("counts")
    assert_array_equal(unit.of(np.array([0.0, 7.0, 1e6])), [0.0, 7.0, 1e6])
    with pytest.raises(ValueError, match=r"sample_weight holds 0.5 in row 2, but weights='counts' needs whole numbers"):
        unit.of(np.array([1.0, 0.5]))


# --- fits -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_any_scale_of_the_weights_gives_the_same_bits(kind: str) -> None:
    (X, y), weights = rows(), some_weights()
    expected = KINDS[kind]().fit(X, y, weights).predict(X)
    for scale in (1.0 / 60, 2.0**-1000, 3.7e4, 1e300):
        assert_array_equal(KINDS[kind]().fit(X, y, scale * weights).predict(X), expected)


@settings(max_examples=15)
@given(scale=scales, seed=st.integers(0, 99))
def test_any_weights_of_any_scale(scale: float, seed: int) -> None:
    (X, y), weights = rows(), some_weights(seed=seed)
    fit = KINDS["bayesian"]().fit
    expected = fit(X, y, weights).predict(X)
    assert_array_equal(fit(X, y, scale * weights).predict(X), expected)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_equal_weights_give_the_fit_without_weights(kind: str) -> None:
    X, y = rows()
    expected = KINDS[kind]().fit(X, y).predict(X)
    for weight in (5e-324, 1 / 60, 0.1, 1e5, 1.7e308):
        assert_array_equal(KINDS[kind]().fit(X, y, np.full(60, weight)).predict(X), expected)


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("meaning", ["relative", "counts"])
def test_rows_of_weight_zero_are_left_out(kind: str, meaning: str) -> None:
    (X, y), weights = rows(), np.random.default_rng(2).integers(0, 4, 60).astype(float)
    kept = weights > 0
    whole, part = (KINDS[kind](weights=meaning) for _ in range(2))
    assert_array_equal(whole.fit(X, y, weights).predict(X), part.fit(X[kept], y[kept], weights[kept]).predict(X))


@pytest.mark.parametrize("spread", [0.5, 2.0, 10.0], ids=lambda spread: f"over {2 * spread:g} powers of ten")
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_unequal_weights_give_a_finite_fit(kind: str, spread: float) -> None:
    (X, y), rng = rows(300), np.random.default_rng(3)
    model = KINDS[kind]().fit(X, y, 1e4 * 10.0 ** rng.uniform(-spread, spread, 300))
    assert np.isfinite(model.predict(X)).all()
    if spread < 1.0:
        assert model.score(*rows(200, 9)) > 0.8


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        (np.zeros(60), "positive for 0"),
        (np.arange(60) - 1.0, "holds -1.0 in row 1"),
        (np.where(np.arange(60) == 7, np.nan, 1.0), "holds nan in row 8"),
        (np.where(np.arange(60) == 7, np.inf, 1.0), "holds inf in row 8"),
    ],
    ids=["zero", "negative", "NaN", "infinite"],
)
def test_weights_that_are_none_are_refused(kind: str, wrong: Array, match: str) -> None:
    with pytest.raises(ValueError, match=f"sample_weight .*{match}"):
        KINDS[kind]().fit(*rows(), wrong)


@pytest.mark.parametrize("kind", ["als", "als, Student's t", "bayesian", "bayesian, blocks"])
def test_counts_are_repeated_rows(kind: str) -> None:
    """To rounding, although draws are random: each is drawn with the same number, given sums that are the same."""
    rng = np.random.default_rng(4)
    X, counts = rng.integers(0, 4, (50, 2)).astype(float), rng.integers(0, 4, 50)
    y = X[:, 0] * X[:, 1] + rng.standard_normal(50)
    weighted, repeated = KINDS[kind](weights="counts"), KINDS[kind]()
    weighted.fit(X, y, counts)
    repeated.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6)


def test_what_is_no_count_is_refused_with_the_remedy() -> None:
    for weights in (np.full(60, 0.5), np.full(60, 1e16)):
        with pytest.raises(ValueError, match=r"sample_weight holds .* in row 1, .* whole numbers up to 1e\+15"):
            KINDS["bayesian"](weights="counts").fit(*rows(), weights)
    with pytest.raises(ArithmeticError, match="not numbers of repeated rows, use weights='relative'"):
        KINDS["bayesian"](weights="counts", rank=8, n_burn=20).fit(*rows(), np.full(60, 1e12))


def test_counts_narrow_what_relative_weights_do_not() -> None:
    (X, y), tens = rows(), np.full(60, 10.0)
    relative, counts = (KINDS["bayesian"](weights=meaning).fit(X, y, tens) for meaning in ("relative", "counts"))
    assert counts.predict_uncertainty(X).model.mean() < 0.7 * relative.predict_uncertainty(X).model.mean()


# --- rows on disk, on a cluster, and in a stream ----------------------------------------------------------------------


def batches(X: Array, y: Array, weights: Array, unweighted: tuple[int, ...] = ()) -> Batches:
    parts = np.array_split(np.arange(len(X)), 4)
    return Batches([(X[p], y[p]) if b in unweighted else (X[p], y[p], weights[p]) for b, p in enumerate(parts)])


@pytest.mark.parametrize("kind", ["als", "bayesian"])
def test_weights_on_disk_are_those_in_memory(kind: str) -> None:
    (X, y), weights = rows(), 1e5 * np.where(np.arange(60) % 7 == 0, 0.0, some_weights())
    expected = KINDS[kind]().fit(X, y, weights).predict(X)
    assert_allclose(KINDS[kind]().fit(batches(X, y, weights)).predict(X), expected, atol=1e-4)


def test_batches_without_weights_among_others_have_weight_one() -> None:
    (X, y), weights = rows(), np.full(60, 3.0)
    weights[15:30] = 1.0
    expected = KINDS["als"]().fit(X, y, weights).predict(X)
    assert_allclose(KINDS["als"]().fit(batches(X, y, weights, (1,))).predict(X), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("remote", "kind"), [(DaskCSIDRegressor, "als"), (DaskBayesianCSIDRegressor, "bayesian")], ids=["als", "bayesian"]
)
@pytest.mark.parametrize("meaning", ["relative", "counts"])
def test_weights_on_dask_have_no_scale_either(remote: Any, kind: str, meaning: str) -> None:
    X, y = rows()
    weights = np.random.default_rng(5).integers(0, 4, 60).astype(float)
    lazy = partial(da.from_array, chunks=20)
    parameters = KINDS[kind].keywords | {"weights": meaning}  # type: ignore[attr-defined]
    with dask.config.set(scheduler="synchronous"):
        first = remote(**parameters).fit(lazy(X, chunks=(20, 2)), lazy(y), lazy(weights))
        if meaning == "relative":
            again = remote(**parameters).fit(lazy(X, chunks=(20, 2)), lazy(y), lazy(3e7 * weights))
            assert_array_equal(first.predict(X), again.predict(X))
        else:
            with pytest.raises(ValueError, match=r"in partition \d: sample_weight holds .* needs whole numbers"):
                remote(**parameters).fit(lazy(X, chunks=(20, 2)), lazy(y), lazy(0.3 * weights))
    if kind == "als":
        assert_allclose(first.predict(X), KINDS[kind](weights=meaning).fit(X, y, weights).predict(X), rtol=1e-6)


def streamed(scale: float, path: Path | None = None) -> Array:
    model = KINDS["als, blocks"]()
    for batch in range(3):
        X, y = rows(40, batch)
        model.partial_fit(X, y, scale * some_weights(40, batch))
        if path is not None:
            model.save(path)
            model = load(path)
    return np.asarray(model.predict(rows()[0]))


def test_weights_of_a_stream_keep_the_unit_of_the_first_batch(tmp_path: Path) -> None:
    expected = streamed(1.0)
    assert_array_equal(streamed(1e-5), expected)
    assert_array_equal(streamed(7e9, tmp_path / "stream.csid"), expected)


def test_a_later_batch_of_larger_weights_counts_for_more() -> None:
    def after(weight: float) -> Array:
        model = KINDS["als, blocks"](smoothness=0.3).fit(*rows(), np.ones(60))
        X, y = rows(40, 7)
        return np.asarray(model.partial_fit(X, 2.0 * y, np.full(40, weight)).predict(X) - 2.0 * y)

    assert np.abs(after(10.0)).mean() < 0.7 * np.abs(after(0.01)).mean()


def test_a_later_batch_of_weights_in_other_units_is_refused() -> None:
    model = KINDS["als, blocks"]().fit(*rows(), np.full(60, 1e-300))
    with pytest.raises(ValueError, match=r"sample_weight holds 1e\+20 in row 1, .* same units as in the first fit"):
        model.partial_fit(*rows(), np.full(60, 1e20))


def test_weights_without_a_unit_are_left_alone() -> None:
    weights = np.array([0.3, 2.0])
    assert AS_GIVEN.of(weights) is weights
    assert WeightUnit(1.0, 1.0) == AS_GIVEN
