"""Streams: a model that goes on with new rows."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

import csid
from csid import Batches, CSIDRegressor
from csid._kernels import threads
from csid.inference.stream import Stream

Array = NDArray[np.float64]
Make = Callable[..., CSIDRegressor]


@pytest.fixture
def streamed(quick: Make) -> Make:
    """A small regressor that can go on."""
    return lambda **settings: quick(**{"solver": "stochastic", "levels": 12, "max_iter": 15, **settings})


def _rows(n: int, seed: int = 0, outputs: int = 1) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    y = np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2 + 0.3 * rng.standard_normal(n)
    return X, y if outputs == 1 else np.stack([y, X[:, 0] * X[:, 2] + 0.3 * rng.standard_normal(n)], axis=1)


def _streamed(model: CSIDRegressor, X: Any, y: Array, batches: int) -> CSIDRegressor:
    for rows in np.array_split(np.arange(len(y)), batches):
        model.partial_fit(X[rows], y[rows])
    return model


# --- what a stream learns -----------------------------------------------------------------------------------------


def test_the_first_call_is_a_fit(streamed: Make) -> None:
    X, y = _rows(300)
    weights = np.random.default_rng(0).uniform(0.5, 2, 300)
    first, fitted = streamed().partial_fit(X, y, weights), streamed().fit(X, y, weights)
    assert_array_equal(first.predict(X), fitted.predict(X))
    more = _rows(50, 1)
    assert_array_equal(first.partial_fit(*more).predict(X), fitted.partial_fit(*more).predict(X))


@pytest.mark.parametrize("outputs", [1, 2])
def test_a_stream_comes_near_a_fit_to_all_of_it(streamed: Make, outputs: int) -> None:
    X, y = _rows(6000, outputs=outputs)
    test = _rows(4000, 1, outputs)
    first = streamed(rank=6).partial_fit(X[:300], y[:300])
    whole, stream = streamed(rank=6).fit(X, y).score(*test), _streamed(streamed(rank=6), X, y, 20).score(*test)
    assert first.score(*test) < whole - 0.02
    assert stream > whole - 0.01


def test_the_order_of_batches_matters_little(streamed: Make) -> None:
    X, y = _rows(4000)
    test = _rows(4000, 1)
    first, rest = (X[:400], y[:400]), np.arange(400, 4000).reshape(9, -1)
    scores = []
    for order in (np.arange(9), np.arange(9)[::-1], np.random.default_rng(0).permutation(9)):
        model = streamed().partial_fit(*first)
        for rows in rest[order]:
            model.partial_fit(X[rows], y[rows])
        scores.append(model.score(*test))
    assert np.ptp(scores) < 0.01


def test_single_rows_add_up(streamed: Make) -> None:
    X, y = _rows(600)
    test = _rows(4000, 1)
    model = streamed().partial_fit(X[:200], y[:200])
    before = model.score(*test)
    for row in range(200, 600):
        model.partial_fit(X[row : row + 1], y[row : row + 1])
    assert model.score(*test) > before
    assert model.n_samples_ == 600 - 20  # a tenth of the first rows was held out


@pytest.mark.parametrize("later", [0.0, 0.3])
def test_missing_cells_may_come_and_go(streamed: Make, later: float) -> None:
    X, y = _rows(3000)
    test = _rows(2000, 1)
    holes = np.random.default_rng(0).random(X.shape)
    X[:500][holes[:500] < 0.3 - later] = np.nan
    X[1000:2000][holes[1000:2000] < later] = np.nan
    for settings in ({"pmf_rank": 1}, {"pmf_rank": 2}, {"missing": "level"}):
        model = _streamed(streamed(**settings), X, y, 12)
        assert model.score(*test) > 0.6, settings


def test_a_change_of_the_system_shows_and_is_followed(streamed: Make) -> None:
    X, y = _rows(6000)
    model = _streamed(streamed(), X[:2000], y[:2000], 4)
    for rows in np.array_split(np.arange(2000, 6000), 10):
        model.partial_fit(X[rows], y[rows] + 2.0 * X[rows, 0])
    before, change, *after = model.validation_history_[0][-11:]
    assert change > 3.0 * before
    assert after[-1] < 1.3 * before


def test_a_fit_out_of_memory_goes_on_as_well(streamed: Make) -> None:
    X, y = _rows(3000)
    parts = Batches(lambda: ((X[rows], y[rows]) for rows in np.array_split(np.arange(2000), 4)))
    models = [streamed().fit(X[:2000], y[:2000]), streamed().fit(parts)]
    first, second = (model.partial_fit(X[2000:], y[2000:]).predict(X) for model in models)
    assert_allclose(first, second, rtol=1e-9, atol=1e-9)


# --- what a batch is ----------------------------------------------------------------------------------------------


def test_a_weight_is_a_number_of_rows(streamed: Make) -> None:
    X, y = _rows(300)
    more, targets = _rows(40, 1)
    counts = np.random.default_rng(0).integers(0, 4, 40)
    weighted = streamed().fit(X, y).partial_fit(more, targets, counts)
    repeated = streamed().fit(X, y).partial_fit(np.repeat(more, counts, axis=0), np.repeat(targets, counts))
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9, atol=1e-9)


def test_numbers_beyond_the_levels_count_as_the_nearest(streamed: Make) -> None:
    X, y = _rows(300)
    more, targets = _rows(40, 1)
    far = np.where(np.abs(more) > 0.5, 100 * more, more)
    ends = streamed().fit(X, y).encoding_.modes
    near = np.stack([np.clip(far[:, n], mode.grid[0], mode.grid[-1]) for n, mode in enumerate(ends)], axis=1)
    given, clipped = (streamed().fit(X, y).partial_fit(rows, targets).predict(X) for rows in (far, near))
    assert_allclose(given, clipped, rtol=1e-9, atol=1e-9)


def test_categories_never_seen_are_averaged_over(streamed: Make) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.uniform(size=400), "word": rng.choice(["u", "v"], 400)})
    y = table["x"].to_numpy() * (table["word"] == "u")
    later = table[:50].assign(word=["w", "u"] * 25)
    absent = later.assign(word=[None, "u"] * 25)
    models = [streamed().fit(table, y).partial_fit(rows, y[:50]) for rows in (later, absent)]
    assert_array_equal(models[0].predict(table), models[1].predict(table))
    assert models[0].levels_["word"] == ["u", "v"]


def test_the_error_before_a_batch_is_used_is_kept(streamed: Make) -> None:
    X, y = _rows(300)
    more, targets = _rows(50, 1)
    model = streamed(early_stopping=False).partial_fit(X, y)
    assert len(model.validation_history_[0]) == 0
    expected = np.mean((model.predict(more) - targets) ** 2) / np.var(y)
    model.partial_fit(more, targets)
    assert_allclose(model.validation_history_[0], expected, rtol=1e-5)  # positions of training rows are rounded
    assert (model.n_iter_, model.n_samples_) == (len(model.objective_history_[0]) + 1, 350)


def test_memory_does_not_grow(streamed: Make) -> None:
    X, y = _rows(1000)
    model = streamed(early_stopping=False).partial_fit(X[:100], y[:100])
    before = len(pickle.dumps(model._stream))
    assert len(pickle.dumps(_streamed(model, X, y, 10)._stream)) == before


def test_threads_change_no_bit(streamed: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "FEWEST_ROWS_IN_PART", 64)
    X, y = _rows(2000)
    first, *others = (_streamed(streamed(n_jobs=threads), X, y, 4).predict(X) for threads in (1, 2, 3))
    for other in others:
        assert_array_equal(first, other)


# --- keeping it ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("interpolation", ["linear", "constant"])
def test_a_kept_model_goes_on_as_if_it_had_not_been(
    streamed: Make, tmp_path: Path, outputs: int, interpolation: str
) -> None:
    X, y = _rows(900, outputs=outputs)
    X[::7, 1] = np.nan
    model = _streamed(streamed(interpolation=interpolation), X[:600], y[:600], 3)
    model.save(tmp_path / "model.csid")
    others = [csid.load(tmp_path / "model.csid"), pickle.loads(pickle.dumps(model))]
    model.partial_fit(X[600:], y[600:])
    for other in others:
        other.partial_fit(X[600:], y[600:])
        assert_array_equal(other.predict(X), model.predict(X))


def test_an_interrupt_leaves_the_model_as_it_was(streamed: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = _rows(300)
    model, twin = (streamed().fit(X, y) for _ in range(2))

    def interrupted(mixed: Any, *given: Any) -> None:
        for _ in mixed.sums_by_mode(given[-1]):
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(csid.inference.stream, "sweep_block", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X[:50], y[:50])
    assert_array_equal(model.predict(X), twin.predict(X))
    assert_array_equal(model.partial_fit(X, y).predict(X), twin.partial_fit(X, y).predict(X))


def test_a_fit_starts_a_new_stream(streamed: Make) -> None:
    X, y = _rows(600)
    model = _streamed(streamed(), X[:300], y[:300], 2).fit(X[300:], y[300:])
    assert_array_equal(model.predict(X), streamed().fit(X[300:], y[300:]).predict(X))
    assert isinstance(model._stream, Stream)


# --- refusals -----------------------------------------------------------------------------------------------------


def test_least_squares_on_all_rows_cannot_go_on(quick: Make) -> None:
    model = quick().fit(*_rows(50))
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match="partial_fit") as refused:
        model.partial_fit(*_rows(50))
    assert "only solver='stochastic' keeps" in str(refused.value.__cause__)
    with pytest.raises(ValueError, match="kept no sums over rows: fit anew with solver='stochastic'"):
        model.set_params(solver="stochastic").partial_fit(*_rows(50))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n_estimators": 2}, "n_estimators=2: partial_fit updates a single model"),
        ({"rank": 4}, "partial_fit continues a fit of rank 3, but rank=4"),
        ({"likelihood": "student_t"}, "likelihood='student_t': partial_fit supports likelihood='gaussian' only"),
        ({"update": "cg"}, "update='cg' does not .* use update='mode' or 'row', or solver='als'"),
    ],
)
def test_settings_that_cannot_go_on_are_refused(streamed: Make, changed: dict[str, Any], message: str) -> None:
    model = streamed().fit(*_rows(50))
    with pytest.raises(ValueError, match=message):
        model.set_params(**changed).partial_fit(*_rows(50))


def test_a_likelihood_that_cannot_go_on_is_refused_at_the_first_batch(streamed: Make) -> None:
    model = streamed(likelihood="student_t")
    with pytest.raises(ValueError, match="supports likelihood='gaussian' only"):
        model.partial_fit(*_rows(300))
    assert not hasattr(model, "fitted_")
    assert model.fit(*_rows(300)).score(*_rows(1000, 1)) > 0.5


def test_batches_that_do_not_fit_are_refused(streamed: Make) -> None:
    X, y = _rows(50)
    model = streamed().fit(X, y)
    with pytest.raises(ValueError, match=r"partial_fit continues a fit of 1 output\(s\), but y has 2"):
        model.partial_fit(X, np.stack([y, y], axis=1))
    with pytest.raises(ValueError, match="X has 2 features, but CSIDRegressor is expecting 3"):
        model.partial_fit(X[:, :2], y)
    with pytest.raises(ValueError, match=r"positive for 0 sample\(s\): a fit needs at least 1 row with"):
        model.partial_fit(X, y, np.zeros(50))
    with pytest.raises(ValueError, match="Input y contains NaN, first in row 4"):
        model.partial_fit(X, np.where(np.arange(50) == 3, np.nan, y))


def test_conjugate_gradients_are_refused_in_a_fit(streamed: Make) -> None:
    with pytest.raises(ValueError, match="use update='mode' or 'row'"):
        streamed(update="cg").fit(*_rows(50))
