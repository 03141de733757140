"""Ordered classes: a known truth is found, probabilities respect the order, and the order must be known."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from csid import Batches, BayesianCSIDClassifier, CSIDClassifier, ModelFileError, load
from csid.export import to_onnx
from csid.likelihoods.ordinal_probit import OrdinalProbit
from csid.model_file import container

Array = np.ndarray
CUTS = np.array([-1.0, 0.2, 1.5])
WORDS = ["poor", "fair", "good", "great"]


def _model(**options: Any) -> BayesianCSIDClassifier:
    quick = {"rank": 3, "effort": "fast", "prior": ["medium", "smooth"], "likelihood": "ordinal", "n_jobs": 1}
    return BayesianCSIDClassifier(**{**quick, "random_state": 0, **options})


def _system(rows: int, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (rows, 2))
    z = 3.0 * X[:, 0] * X[:, 1] + 1.5 * X[:, 0] + rng.standard_normal(rows)
    return X, np.searchsorted(CUTS, z)


@pytest.fixture(scope="module")
def fitted() -> BayesianCSIDClassifier:
    return _model().fit(*_system(700))


def test_the_distances_between_cuts_are_found(fitted: BayesianCSIDClassifier) -> None:
    """In units of the noise; their location is that of the bias."""
    cuts = fitted.posterior_.weights @ fitted.posterior_.parameters["cuts"]
    assert_allclose(np.diff(cuts), np.diff(CUTS), rtol=0.2)
    assert isinstance(fitted.fitted_.likelihood, OrdinalProbit)
    assert "ordinal probit, 4 classes" in fitted._repr_html_()


def test_probabilities_respect_the_order(fitted: BayesianCSIDClassifier) -> None:
    """Where the latent value rises, all probabilities of at most a class fall."""
    X, y = _system(300, seed=1)
    p = fitted.predict_proba(X)
    assert_allclose(p.sum(axis=1), 1.0)
    assert_array_equal(fitted.classes_, [0, 1, 2, 3])
    order = np.argsort(fitted.fitted_.means(X, 1)[:, 0])
    at_most = p.cumsum(axis=1)[order][::30, :-1]
    assert (np.diff(at_most, axis=0) < 0.03).all()
    naive = np.bincount(_system(700)[1]) / 700
    assert -np.log(p[np.arange(300), y]).mean() < -np.log(naive[y]).mean() - 0.15
    lower, upper = fitted.predict_proba_interval(X)
    assert ((lower <= p + 0.05) & (p <= upper + 0.05)).all()


def test_the_number_of_threads_changes_nothing(fitted: BayesianCSIDClassifier) -> None:
    X, y = _system(700)
    assert_array_equal(_model(n_jobs=2).fit(X, y).predict_proba(X[:50]), fitted.predict_proba(X[:50]))


def test_texts_need_an_order() -> None:
    X, y = _system(200)
    words = np.array(WORDS, object)[y]
    with pytest.raises(
        ValueError, match=r"needs the order of the classes 'fair', 'good', 'great', 'poor': give class_order"
    ):
        _model().fit(X, words)
    by_order = _model(class_order=WORDS, prior="medium").fit(X, words)
    category = pd.Series(pd.Categorical(words, categories=WORDS, ordered=True))
    by_category = _model(prior="medium").fit(X, category)
    by_number = _model(prior="medium").fit(X, y)
    assert by_order.classes_.tolist() == WORDS
    assert_array_equal(by_order.predict_proba(X), by_category.predict_proba(X))
    assert_array_equal(by_order.predict_proba(X), by_number.predict_proba(X))


def test_whole_weights_and_gaps_are_fitted() -> None:
    X, y = _system(500)
    weights = np.where(np.arange(500) < 250, 2.0, 1.0)
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    model = _model(prior="medium", weights="counts").fit(holes, y, weights)
    new, seen = _system(300, seed=1)
    assert model.score(new, seen) > 0.42  # 0.35 is the most frequent class
    cuts = model.posterior_.weights @ model.posterior_.parameters["cuts"]
    assert_allclose(np.diff(cuts), np.diff(CUTS), rtol=0.35)


def test_it_survives_a_file(fitted: BayesianCSIDClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    again, (X, _) = load(tmp_path / "model"), _system(20)
    assert isinstance(again, BayesianCSIDClassifier)
    assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert again.accuracy_ == fitted.accuracy_
    header, arrays = container.read(tmp_path / "model")
    entries = {name: entry for name, entry in header.entries.items() if name != "sha256"}
    cuts = arrays["draws.0.cuts"]
    for wrong, message in (
        (-cuts, "is not increasing"),
        (cuts[:, :2], "has shape"),
        (np.full_like(cuts, np.inf), "infinity"),
    ):
        container.write(tmp_path / "wrong", entries, arrays | {"draws.0.cuts": np.ascontiguousarray(wrong)})
        with pytest.raises(ModelFileError, match=f"cuts.*{message}"):
            load(tmp_path / "wrong")


def test_what_is_not_supported_says_so(fitted: BayesianCSIDClassifier, tmp_path: Path) -> None:
    with pytest.raises(NotImplementedError, match="do not support likelihood='ordinal_probit' yet"):
        to_onnx(fitted)
    with pytest.raises(NotImplementedError, match="do not support likelihood='ordinal_probit' yet"):
        fitted.report(tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
    X, y = _system(100)
    with pytest.raises(
        ValueError, match=r"likelihood='ordinal' has parameters of its own \(cuts\).*BayesianCSIDClassifier"
    ):
        CSIDClassifier(likelihood="ordinal").fit(X, y)


def test_rows_on_disk_and_on_a_cluster_are_fitted() -> None:
    import dask
    import dask.array as da

    from csid.dask import DaskBayesianCSIDClassifier

    X, y = _system(400)

    def batches() -> Iterator[tuple[Array, Array]]:
        yield X[:150], y[:150]
        yield X[150:], y[150:]

    quick = {"n_chains": 1, "n_burn": 15, "n_draws": 10, "prior": "medium"}
    new, seen = _system(300, seed=5)
    models = [_model(**quick).fit(Batches(batches))]
    with dask.config.set(scheduler="synchronous"):
        options = {"rank": 3, "effort": "fast", "likelihood": "ordinal", "random_state": 0, **quick, "n_draws": 3}
        lazy = da.from_array(X, chunks=(200, 2)), da.from_array(y, chunks=200)
        models.append(DaskBayesianCSIDClassifier(**options).fit(*lazy).to_local())
    for model in models:
        assert model.score(new, seen) > 0.42
        assert model.posterior_.parameters["cuts"].shape[1] == 3
