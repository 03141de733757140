"""Classes over partitions: the fit of the local classifier, classes counted on the workers, lazy probabilities."""

from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import csid
from csid import BayesianCSIDClassifier, CSIDClassifier
from csid.dask import DaskBayesianCSIDClassifier, DaskCSIDClassifier
from csid.data.cluster import cluster, table
from csid.data.cluster.partitions import PartitionError
from csid.inference.gibbs import SampledModel, Sweeps, run_chain
from csid.inference.starts import random_state
from csid.inference.state import Chain
from csid.likelihoods import Likelihood
from csid.likelihoods.binary_probit import BinaryProbit
from csid.likelihoods.multinomial_probit import MultinomialProbit
from csid.priors.prior import Prior
from on_dask.blocks import BlockwiseSamples, samples_of, sums_are_in_double_precision
from on_dask.partitioned import Data, mixed, numbers

CLOSE = {"rtol": 1e-8, "atol": 1e-8}
QUICK: dict[str, Any] = {"rank": 3, "max_iter": 12, "random_state": 0, "pmf_rank": 1}
SHORT: dict[str, Any] = {"rank": 4, "effort": "fast", "prior": "medium", "n_chains": 2, "random_state": 0}


@pytest.fixture(autouse=True)
def in_threads() -> Any:
    with dask.config.set(scheduler="threads"):
        yield


def classes(count: int, rows: int = 600, missing: float = 0.0, npartitions: int = 4) -> Data:
    """The rows of `mixed`, with classes of different sizes: ranges of its target."""
    data = mixed(rows, missing, npartitions)
    edges = np.quantile(data.y, np.linspace(0.3, 0.9, count - 1))
    y = pd.Series(np.array(list("badc"))[np.digitize(data.y, edges)], data.y.index, name="kind")
    return Data(data.X, y, (data.lazy[0], dd.from_pandas(y, npartitions=npartitions)))


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize(
    "options",
    [{}, {"early_stopping": False}, {"class_weight": "balanced"}, {"class_weight": {"a": 3.0}, "missing": "level"}],
    ids=str,
)
def test_the_fit_is_the_local_fit(count: int, options: dict[str, Any]) -> None:
    data = classes(count, missing=0.05)
    model = DaskCSIDClassifier(**QUICK, **options).fit(*data.lazy)
    local = CSIDClassifier(**QUICK, **options).fit(data.X, data.y)
    assert_array_equal(model.classes_, local.classes_)
    assert_allclose(model.fitted_.classes.counts, local.fitted_.classes.counts)
    assert_allclose(model.predict_proba(data.X), local.predict_proba(data.X), **CLOSE)
    assert model.n_iter_ == local.n_iter_


def test_weights_of_rows_and_classes_multiply() -> None:
    data = classes(3)
    weights = pd.Series(np.random.default_rng(0).uniform(0.1, 2.0, 600), data.y.index, name="w").where(
        data.y.index > 9, 0
    )
    model = DaskCSIDClassifier(**QUICK, class_weight="balanced")
    model.fit(*data.lazy, sample_weight=dd.from_pandas(weights, npartitions=4))
    local = CSIDClassifier(**QUICK, class_weight="balanced").fit(data.X, data.y, weights)
    assert_allclose(model.predict_proba(data.X), local.predict_proba(data.X), **CLOSE)


@pytest.mark.parametrize("likelihood", [BinaryProbit((0.3, 0.7)), MultinomialProbit((0.3, 0.5, 0.2))], ids=str)
def test_a_chain_over_blocks_is_the_chain_over_rows(likelihood: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Latent values are drawn on the workers, and their scale from sums of losses over the workers."""
    sums_are_in_double_precision(monkeypatch)
    data = numbers(predictors=4, chunk=120)
    y = np.digitize(data.y, np.quantile(data.y, np.cumsum(likelihood.frequencies)[:-1])).astype(float)
    data = Data(data.X, y, (data.lazy[0], da.from_array(y, chunks=200)))
    with samples_of(data, None, merged=False, standardised=False) as found:
        chains = [_chain(found.samples, likelihood), _chain(BlockwiseSamples.of(found, data, 120), likelihood)]
    for draw, its in zip(*(chain.draws for chain in chains), strict=True):
        assert_allclose(draw.factors.table, its.factors.table, rtol=1e-7, atol=1e-7)
        assert_allclose(draw.alpha, its.alpha, rtol=1e-7)


def _chain(samples: Any, likelihood: Likelihood) -> Chain:
    chain = Chain(random_state(samples.summary, likelihood, 3, np.random.default_rng(0)))
    run_chain(samples, SampledModel(Prior(), likelihood), chain, np.random.default_rng(1), Sweeps(1, 4))
    return chain


@pytest.mark.parametrize("count", [2, 3])
def test_the_posterior_is_that_of_the_local_estimator(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the burn-in on a part of the rows: the same probabilities, up to what draws and calibrations differ by."""
    monkeypatch.setattr(table, "_MOST_SAMPLED", 400)
    data = classes(count, missing=0.05)
    own = {"missing": "marginalize", "pmf_rank": 1, "n_chains": 4}
    model = DaskBayesianCSIDClassifier(**SHORT | own).fit(*data.lazy)
    local = BayesianCSIDClassifier(**SHORT | own).fit(data.X, data.y)
    assert model.n_samples_ == 600
    found, expected = model.predict_proba(data.X), local.predict_proba(data.X)
    assert np.sqrt(np.mean((found - expected) ** 2)) < 0.06
    assert_allclose(model.score(*data.lazy), local.score(data.X, data.y), atol=0.03)
    assert_allclose(model.predict_proba(data.lazy[0]).compute(), found, rtol=1e-10)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_warm_start_adds_draws() -> None:
    data = classes(3, 200)
    model = DaskBayesianCSIDClassifier(**SHORT | {"n_burn": 5, "n_draws": 4}, warm_start=True).fit(*data.lazy)
    before = len(model.posterior_.weights)
    assert len(model.fit(*data.lazy).posterior_.weights) == 2 * before
    other = data.lazy[1].replace("a", "e")
    with pytest.raises(ValueError, match=r"in partition \d: y holds 'e' in row \d+, which no training row had"):
        model.fit(data.lazy[0], other)
    assert len(model.posterior_.weights) == 2 * before


def test_classes_are_counted_where_their_rows_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes to this process is a count of each class, not the labels of the rows."""
    computed = []
    compute = cluster.Cluster.compute

    def watched(self: Any, task: Any) -> Any:
        computed.append(compute(self, task))
        return computed[-1]

    monkeypatch.setattr(cluster.Cluster, "compute", watched)
    data = classes(3)
    DaskCSIDClassifier(rank=2, max_iter=2, random_state=0).fit(*data.lazy)
    assert computed[0].totals == data.y.value_counts().to_dict()


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "decision_function"])
@pytest.mark.parametrize("count", [2, 3])
def test_predictions_of_collections_are_lazy(method: str, count: int) -> None:
    data = classes(count)
    model = DaskCSIDClassifier(**QUICK).fit(*data.lazy)
    expected = getattr(model.to_local(), method)(data.X)
    frame = getattr(model, method)(data.lazy[0])
    assert frame.npartitions == 4
    assert_array_equal(frame.compute(), expected)
    if method == "predict_proba":
        assert list(frame.columns) == list(model.classes_)
    none = getattr(model, method)(data.lazy[0][data.lazy[0]["a"] > 2.0]).compute()
    assert none.shape == (0, *expected.shape[1:])


@pytest.mark.parametrize("labels", [np.array([3, 7, 5]), np.array([False, True])], ids=["whole numbers", "booleans"])
def test_arrays_of_labels(labels: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 10, (300, 3)) / 10
    y = labels[np.digitize(X[:, 0] * X[:, 1], [0.15, 0.4][: len(labels) - 1])]
    lazy = da.from_array(X, chunks=(70, 2)), da.from_array(y, chunks=100)
    model = DaskCSIDClassifier(**QUICK).fit(*lazy)
    local = CSIDClassifier(**QUICK).fit(X, y)
    predicted = model.predict(lazy[0])
    assert predicted.dtype == y.dtype
    assert predicted.shape == (300,)
    assert_array_equal(predicted.compute(), local.predict(X))
    assert model.predict_proba(lazy[0]).shape == (300, len(labels))
    assert_allclose(model.score(*lazy), local.score(X, y))


def test_an_ordered_category_keeps_its_order() -> None:
    data = classes(3)
    order = pd.CategoricalDtype(["d", "a", "b"], ordered=True)
    model = DaskCSIDClassifier(**QUICK).fit(data.lazy[0], data.lazy[1].astype(order))
    assert model.classes_.tolist() == ["d", "a", "b"]
    assert model.fitted_.classes.ordered


def test_labels_that_are_refused_name_their_partition_and_row() -> None:
    data, model = classes(2), DaskCSIDClassifier(**QUICK)
    y = data.y.copy()
    y.iloc[310] = None
    with pytest.raises(PartitionError, match="in partition 2: Input y contains NaN, first in row 11"):
        model.fit(data.lazy[0], dd.from_pandas(y, npartitions=4))
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        model.fit(*mixed().lazy)
    with pytest.raises(ValueError, match="y has one class, 'a'"):
        model.fit(data.lazy[0], dd.from_pandas(data.y.map({"a": "a", "b": "a"}), npartitions=4))
    with pytest.raises(ValueError, match="class_weight names 'z', which is not a class of y"):
        DaskCSIDClassifier(class_weight={"z": 2.0}).fit(*data.lazy)


def test_the_local_classifier_inside(tmp_path: Any) -> None:
    data = classes(3)
    for model in (DaskCSIDClassifier(**QUICK), DaskBayesianCSIDClassifier(**SHORT, n_draws=4)):
        local = model.fit(*data.lazy).to_local()
        assert type(local) is model.local
        model.save(tmp_path / "model.csid")
        for other in (local, csid.load(tmp_path / "model.csid")):
            assert_array_equal(other.predict_proba(data.X), model.predict_proba(data.X))
            assert_array_equal(other.classes_, model.classes_)
