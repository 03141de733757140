"""The sampler over partitions draws what the local one draws, and its posterior says as much."""

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose

from csid import BayesianCSIDRegressor
from csid._fit import gibbs
from csid._fit.gibbs import Chain, Prior, random_state, run_chain
from csid._fit.samples import LocalSamples
from csid.coding import Coding
from csid.dask import DaskBayesianCSIDRegressor
from csid.dask import bayesian as on_dask
from csid.dask.cluster import Cluster
from csid.dask.fitting import encoded, none_held_out
from csid.dask.partitions import Partitions
from csid.dask.survey import surveyed
from csid.encoding import Encoding, refine
from csid.estimator import problem_of
from csid.pilot import Verdict
from csid.spread import Spread
from on_dask.partitioned import mixed, numbers


@pytest.mark.parametrize(("predictors", "outputs"), [(4, 1), (4, 2), (18, 1)])
def test_a_chain_over_blocks_is_the_chain_over_rows(
    predictors: int, outputs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the same state and random numbers: the same draws, to the rounding of sums in double precision."""
    monkeypatch.setattr(gibbs, "single_is_enough", lambda *given: False)
    data = numbers(predictors=predictors, outputs=outputs)
    parts = Partitions.of(*data.lazy)
    names = [f"x{n}" for n in range(predictors)]
    chains = []
    with Cluster(None) as cluster:
        survey = surveyed(cluster, parts, names, [None] * predictors, none_held_out(parts))
        centre, scale = survey.moments.centre_and_scale()
        modes = survey.table.modes(6, "linear", "marginalize")
        rows = encoded(cluster, parts, survey, modes, centre, scale, none_held_out(parts))
        targets = (data.y.reshape(500, -1) - centre) / scale
        coded = rows.encoding.encode_training(data.X, 500)
        problem = problem_of(rows.encoding, coded, np.ones(500), targets)
        for samples in (rows.samples, LocalSamples(problem)):
            chain = Chain(random_state(samples.known, 3, np.random.default_rng(0)))
            run_chain(samples, Prior(), chain, np.random.default_rng(1), 1, 4, 1)
            chains.append(chain)
    assert_allclose(chains[0].alpha, chains[1].alpha, rtol=1e-8)
    for one, other in zip(chains[0].draws, chains[1].draws, strict=True):
        assert_allclose(one.factors.table, other.factors.table, rtol=1e-8, atol=1e-8)


def test_the_posterior_is_that_of_the_local_estimator(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the burn-in on a part of the rows: the same prediction and noise, up to what draws differ by."""
    monkeypatch.setattr(on_dask, "_ROWS_OF_SAMPLE", 300)
    data = mixed(missing=0.05)
    parameters = {"rank": 4, "effort": "fast", "prior": ["medium", "smooth"], "random_state": 0, "pmf_rank": 1}
    model = DaskBayesianCSIDRegressor(**parameters, missing="marginalize").fit(*data.lazy)
    local = BayesianCSIDRegressor(**parameters, missing="marginalize").fit(data.X, data.y)
    assert model.n_samples_ == 600
    assert_allclose(model.noise_, local.noise_, rtol=0.15)
    assert np.sqrt(np.mean((model.predict(data.X) - local.predict(data.X)) ** 2)) < 0.3 * local.noise_[0]
    lower, upper = model.to_local().predict_interval(data.X)
    assert 0.8 < np.mean((lower < data.y) & (data.y < upper)) < 0.99
    assert_allclose(model.predict(data.lazy[0]).compute(), model.predict(data.X), rtol=1e-10)


def test_several_numbers_of_levels_come_together_on_common_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Marginals of the common levels are those of all rows."""
    X = np.random.default_rng(0).uniform(size=(2000, 2))
    halves = Verdict(np.full(2, 0.5), Spread.none(1), None)
    coding = Coding("auto", "linear", "marginalize", merge=True)
    monkeypatch.setattr(DaskBayesianCSIDRegressor, "_pilot", lambda *given: (coding, halves))
    model = DaskBayesianCSIDRegressor(2, effort="fast", prior=["medium", "smooth"], n_chains=2, random_state=0)
    model.fit(da.from_array(X, chunks=(700, 2)), da.from_array(X[:, 0] * X[:, 1], chunks=700))
    assert sorted(len(group.modes[0].grid) for group in model.posterior_.groups) == [32, 64]
    expected = refine([Encoding(group.modes, ()) for group in model.posterior_.groups], X, 2000, np.ones(2000))
    for p, q in zip(model.encoding_.marginals, expected.marginals, strict=True):
        assert_allclose(p, q, rtol=1e-12)
    assert model.score(X, X[:, 0] * X[:, 1]) > 0.99
