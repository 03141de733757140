"""The sampler over partitions draws what the local one draws, and its posterior says as much."""

from dataclasses import replace
from typing import Any

import dask
import dask.array as da
import dask.dataframe
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from csid import BayesianCSIDRegressor, InterruptedFitWarning
from csid.dask import DaskBayesianCSIDRegressor
from csid.data.cluster import table
from csid.encoding import Encoding, refine
from csid.inference import gibbs, sampling
from csid.inference.chains import Sampling
from csid.inference.gibbs import SampledModel, Sweeps, run_chain
from csid.inference.pilot import PilotResult
from csid.inference.starts import random_state
from csid.inference.state import Chain
from csid.inference.treatments import Treatment
from csid.likelihoods import Likelihood, likelihood_of
from csid.likelihoods.calibration import Calibration
from csid.priors.prior import Prior
from on_dask.blocks import BlockwiseSamples, samples_of, sums_are_in_double_precision
from on_dask.partitioned import Data, mixed, numbers
from test_rows_with_gaps import check_intervals, rows_with_gaps

CHUNK = 120
LIKELIHOODS = ["gaussian", "student_t"]


def _chain(samples: Any, likelihood: Likelihood) -> Chain:
    chain = Chain(random_state(samples.summary, likelihood, 3, np.random.default_rng(0)))
    run_chain(samples, SampledModel(Prior(), likelihood), chain, np.random.default_rng(1), Sweeps(1, 4))
    return chain


def _assert_same_draws(one: Chain, other: Chain) -> None:
    assert len(one.draws) == len(other.draws) > 0
    assert_allclose(one.trace, other.trace, rtol=1e-8)
    for draw, its in zip(one.draws, other.draws, strict=True):
        assert_allclose(draw.factors.table, its.factors.table, rtol=1e-8, atol=1e-8)
        assert_allclose(draw.alpha, its.alpha, rtol=1e-8)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize(("predictors", "outputs"), [(4, 1), (4, 2), (18, 1)])
def test_a_chain_over_blocks_is_the_chain_over_rows(
    predictors: int, outputs: int, likelihood: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the same state and random numbers: the same draws, to the rounding of sums in double precision.

    What Student's t draws for each row comes from random numbers of the row's block, here and in the naive twin.
    """
    sums_are_in_double_precision(monkeypatch)
    data, of = numbers(predictors=predictors, outputs=outputs, chunk=CHUNK), likelihood_of(likelihood, "number")
    with samples_of(data, None, merged=not of.augmented) as found:
        twin = BlockwiseSamples.of(found, data, CHUNK)
        _assert_same_draws(_chain(found.samples, of), _chain(twin, of))


def test_the_working_weights_of_a_block_depend_on_the_seed_and_its_place_alone() -> None:
    """Not on how many blocks there are, in which order they are made, or how many threads make them."""
    data, of = numbers(predictors=3, chunk=CHUNK), likelihood_of("student_t", "number")
    weights = []
    for scheduler in ("synchronous", "threads"):
        with dask.config.set(scheduler=scheduler), samples_of(data, None, merged=False) as found:
            state = random_state(found.samples.summary, of, 3, np.random.default_rng(0))
            given = (of, state.factors, state.parameters)
            drawn = [found.samples.working(*given, np.random.default_rng(seed)) for seed in (1, 1, 2)]
            own = [[block.train.weights for block in dask.compute(*working.blocks)] for working in drawn]
            few = replace(found.samples, blocks=found.samples.blocks[:2], _assignments=[], _working=[])
            first = dask.compute(*few.working(*given, np.random.default_rng(1)).blocks)
        same, other = zip(own[0], own[1], strict=True), zip(own[0], own[2], strict=True)
        assert all(np.array_equal(one, again) for one, again in same)
        assert not any(np.array_equal(one, again) for one, again in other)
        assert all(np.array_equal(one, block.train.weights) for one, block in zip(own[0], first, strict=False))
        assert not np.array_equal(own[0][0], own[0][1])
        weights.append(np.concatenate(own[0]))
    assert_array_equal(*weights)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_the_posterior_is_that_of_the_local_estimator(likelihood: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the burn-in on a part of the rows: the same prediction and noise, up to what draws differ by."""
    monkeypatch.setattr(table, "_MOST_SAMPLED", 300)
    data = mixed(missing=0.05)
    parameters = {"rank": 4, "effort": "fast", "prior": ["medium", "smooth"], "random_state": 0, "pmf_rank": 1}
    parameters |= {"missing": "marginalize", "likelihood": likelihood}
    model = DaskBayesianCSIDRegressor(**parameters).fit(*data.lazy)
    local = BayesianCSIDRegressor(**parameters).fit(data.X, data.y)
    assert model.n_samples_ == 600
    _assert_same_posterior(model, local, data)
    lower, upper = model.to_local().predict_interval(data.X)
    assert 0.8 < np.mean((lower < data.y) & (data.y < upper)) < 0.99
    assert_allclose(model.predict(data.lazy[0]).compute(), model.predict(data.X), rtol=1e-10)


def _assert_same_posterior(model: Any, local: Any, data: Data) -> None:
    assert_allclose(model.noise_, local.noise_, rtol=0.15)
    assert np.sqrt(np.mean((model.predict(data.X) - local.predict(data.X)) ** 2)) < 0.3 * local.noise_[0]
    widths = [float(np.mean(np.subtract(*each.predict_interval(data.X)[::-1]))) for each in (model, local)]
    assert 0.85 < widths[0] / widths[1] < 1.15


def test_students_t_is_not_pulled_by_outliers() -> None:
    """A twentieth of the rows is far off: the noise of the others is found, and the surface with it."""
    data = mixed(800)
    rng = np.random.default_rng(3)
    wrong = rng.random(len(data.y)) < 0.05
    y = data.y + np.where(wrong, 5.0 * rng.standard_normal(len(data.y)), 0.0)
    lazy = data.lazy[0], data.lazy[1] + _like(data, y - data.y)
    parameters = {"rank": 4, "effort": "fast", "prior": "medium", "random_state": 0, "n_chains": 2}
    errors = {}
    for likelihood in LIKELIHOODS:
        model = DaskBayesianCSIDRegressor(**parameters, likelihood=likelihood).fit(*lazy)
        errors[likelihood] = float(np.sqrt(np.mean((model.predict(data.X) - data.y) ** 2)))
    assert errors["student_t"] < 0.5 * errors["gaussian"]


def _like(data: Data, values: Any) -> Any:
    """A collection with the partitions of the targets."""
    return dask.dataframe.from_pandas(values.rename("t"), npartitions=data.lazy[1].npartitions)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_a_warm_start_adds_draws_of_the_same_posterior(likelihood: str) -> None:
    """The second fit goes on: the draws of the first one stay, and the chains do not burn in again."""
    data = mixed()
    parameters = {"rank": 4, "prior": "medium", "random_state": 0, "n_chains": 2, "n_burn": 40, "n_draws": 12}
    parameters |= {"likelihood": likelihood, "warm_start": True, "effort": "fast"}
    model, local = DaskBayesianCSIDRegressor(**parameters), BayesianCSIDRegressor(**parameters)
    first = model.fit(*data.lazy).posterior_
    sweeps = model.n_iter_
    second = model.fit(*data.lazy).posterior_
    assert len(second.weights) == 2 * len(first.weights)
    assert model.n_iter_ == sweeps + 12
    kept = {draw.bias.tobytes() for draw in second.draws}
    assert {draw.bias.tobytes() for draw in first.draws} < kept
    assert len(kept) == len(second.weights)
    local.fit(data.X, data.y).fit(data.X, data.y)
    _assert_same_posterior(model, local, data)
    model.fit(data.X, data.y)  # rows may come from anywhere
    assert len(model.posterior_.weights) == 3 * len(first.weights)


def test_a_warm_start_takes_the_columns_and_outputs_of_the_first_fit() -> None:
    data, two = numbers(100), numbers(100, outputs=2)
    model = DaskBayesianCSIDRegressor(rank=2, effort="fast", prior="medium", warm_start=True, random_state=0)
    before = model.fit(*data.lazy).predict(data.X)
    with pytest.raises(ValueError, match=r"fit of 1 output\(s\), but y has 2"):
        model.fit(*two.lazy)
    with pytest.raises(ValueError, match="X has 4 features, but DaskBayesianCSIDRegressor is expecting 5"):
        model.fit(data.lazy[0][:, :4], data.lazy[1])
    assert_array_equal(model.predict(data.X), before)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_interrupted_warm_start_keeps_the_chains_of_priors_that_were_not_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Chains of one prior run after those of another, as each has blocks of its own."""
    data = mixed(200)
    parameters = {"rank": 2, "effort": "fast", "n_chains": 2, "n_burn": 5, "n_draws": 6, "random_state": 0}
    model = DaskBayesianCSIDRegressor(**parameters, prior=["medium", "smooth"], warm_start=True)
    monkeypatch.setattr(sampling, "_run_pilot", _equal_weights)
    draws, weights = len(model.fit(*data.lazy).posterior_.weights), model.stacking_weights_
    drawn = gibbs.draw_bias
    calls = iter(range(10**6))

    def interrupted(*given: Any) -> Any:
        if next(calls) == 3:
            raise KeyboardInterrupt
        return drawn(*given)

    monkeypatch.setattr(gibbs, "draw_bias", interrupted)
    with pytest.warns(InterruptedFitWarning):
        model.fit(*data.lazy)
    assert model.stacking_weights_ == weights
    assert len(model.posterior_.weights) == draws + 3


def _equal_weights(table: Any, options: Any, runner: Any, seeds: Any) -> tuple[Any, Sampling]:
    """No pilot: priors of equal weights, and missing cells averaged over."""
    specs = options.priors(len(table), len(table.header.names))
    treatment = Treatment("auto", "linear", "marginalize", merge=True)
    halves = PilotResult(np.full(2, 0.5), Calibration.identity(1), None, np.ones(1))
    return table, Sampling(specs, treatment, halves, options.chains)


def test_several_numbers_of_levels_come_together_on_common_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Marginals of the common levels are those of all rows."""
    X = np.random.default_rng(0).uniform(size=(2000, 2))
    monkeypatch.setattr(sampling, "_run_pilot", _equal_weights)
    model = DaskBayesianCSIDRegressor(2, effort="fast", prior=["medium", "smooth"], n_chains=2, random_state=0)
    model.fit(da.from_array(X, chunks=(700, 2)), da.from_array(X[:, 0] * X[:, 1], chunks=700))
    assert sorted(len(group.modes[0].grid) for group in model.posterior_.groups) == [32, 64]
    expected = refine([Encoding(group.modes, ()) for group in model.posterior_.groups], X, 2000, np.ones(2000))
    for p, q in zip(model.encoding_.marginals, expected.marginals, strict=True):
        assert_allclose(p, q, rtol=1e-12)
    assert model.score(X, X[:, 0] * X[:, 1]) > 0.99


def test_whole_numbers_become_categories_on_every_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "_MOST_SAMPLED", 450)
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.uniform(-1, 1, 600), "shop": rng.integers(1, 41, 600), "rooms": rng.integers(1, 9, 600)})
    y = X.a + np.random.default_rng(5).standard_normal(41)[X.shop] + 0.1 * X.rooms + 0.5 * rng.standard_normal(600)
    parameters = {"rank": 3, "effort": "fast", "prior": "medium", "n_chains": 2, "random_state": 0}
    lazy = [dask.dataframe.from_pandas(part, npartitions=3) for part in (X, y.rename("y"))]
    model = DaskBayesianCSIDRegressor(**parameters).fit(*lazy)
    assert model.whole_numbers_ == {"shop": "category", "rooms": "number"}
    assert model.levels_["shop"] == list(range(1, 41))
    residual = y - model.predict(X)
    assert residual.std() < 0.6


def test_rows_with_gaps_are_covered_and_do_not_inflate_the_noise() -> None:
    """As in memory: a missing cell adds to the variance of its row, in whichever partition that is."""
    X, y = rows_with_gaps(0, 0.15)
    lazy = (dask.dataframe.from_pandas(part, npartitions=3) for part in (X, pd.Series(y)))
    settings = {"effort": "fast", "rank": 8, "prior": ["medium", "mildly_sparse"], "random_state": 0}
    check_intervals(DaskBayesianCSIDRegressor(**settings, missing="marginalize").fit(*lazy).to_local())
