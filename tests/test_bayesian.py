"""`BayesianCSIDRegressor` as a user meets it."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import csid.fitted.model
import csid.inference.chains
import csid.inference.jobs
import csid.inference.pilot
from csid import BayesianCSIDRegressor, InterruptedFitWarning, Uncertainty
from csid.inference.gibbs import SampledModel
from csid.inference.jobs import Job, new_job
from csid.likelihoods.gaussian import Gaussian
from csid.priors import CATALOGUE, PriorSpec
from csid.tensor.cpd import CPD

Array = np.ndarray
QUICK: dict[str, Any] = {"rank": 4, "effort": "fast", "random_state": 0, "n_jobs": 2}


def _system(rows: int, seed: int = 0, noise: float = 0.2) -> tuple[pd.DataFrame, Array]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.uniform(-1, 1, rows), "b": rng.uniform(-1, 1, rows), "c": rng.choice(["u", "v"], rows)})
    y = np.sin(3 * X["a"]) * X["b"] + np.where(X["c"] == "u", 1.0, -1.0) * X["b"] + noise * rng.standard_normal(rows)
    return X, 10.0 * y.to_numpy() + 5.0


@pytest.fixture(scope="module")
def fitted() -> BayesianCSIDRegressor:
    return BayesianCSIDRegressor(**QUICK).fit(*_system(2000))


def test_it_predicts_and_its_intervals_cover(fitted: BayesianCSIDRegressor) -> None:
    X, y = _system(2000, seed=1)
    mean, std = fitted.predict(X, return_std=True)
    assert np.mean((y - mean) ** 2) < 0.1 * np.var(y)
    assert fitted.score(X, y) > 0.9
    assert 1.7 < float(fitted.noise_[0]) < 2.4  # the truth is 2
    for coverage in (0.5, 0.9):
        lower, upper = fitted.predict_interval(X, coverage)
        assert lower.shape == upper.shape == y.shape
        assert abs(np.mean((lower < y) & (y < upper)) - coverage) < 0.06
    assert_allclose(std.mean(), np.std(y - mean), rtol=0.15)


def test_the_parts_of_the_deviation_add_up(fitted: BayesianCSIDRegressor) -> None:
    X, _ = _system(50, seed=2)
    parts = fitted.predict_uncertainty(X)
    assert isinstance(parts, Uncertainty)
    assert_allclose(parts.total**2, parts.model**2 + parts.noise**2, rtol=1e-10)
    mean, deviation = fitted.predict(X, return_std=True)
    assert_array_equal(deviation, parts.total)
    assert_allclose(mean, fitted.predict(X), rtol=1e-9, atol=1e-9)
    missing = X.assign(a=np.nan, b=np.nan)
    assert fitted.predict(missing).std() < fitted.predict(X).std()


def test_quantiles_and_samples_tell_the_same(fitted: BayesianCSIDRegressor) -> None:
    X, _ = _system(20, seed=3)
    quantiles = fitted.predict_quantiles(X, (0.05, 0.5, 0.95))
    assert quantiles.shape == (20, 3)
    assert (np.diff(quantiles, axis=1) > 0).all()
    lower, upper = fitted.predict_interval(X, 0.9)
    assert_allclose(quantiles[:, [0, 2]], np.column_stack([lower, upper]))
    samples = fitted.sample_y(X, 20_000)
    assert samples.shape == (20, 20_000)
    assert_allclose(np.quantile(samples, 0.95, axis=1), upper, atol=0.3)
    assert_array_equal(samples[:, :5], fitted.sample_y(X, 20_000, random_state=0)[:, :5])


def test_rows_are_predicted_in_parts(fitted: BayesianCSIDRegressor, monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = _system(100, seed=4)
    whole = fitted.predict_interval(X)
    monkeypatch.setattr(csid.fitted.model, "_ROWS_OF_DRAWS", 7)
    assert_allclose(fitted.predict_interval(X), whole, rtol=1e-9)


def test_weights_draws_and_traces(fitted: BayesianCSIDRegressor) -> None:
    assert_allclose(sum(fitted.stacking_weights_.values()), 1.0)
    assert_allclose(fitted.posterior_.weights.sum(), 1.0)
    assert fitted.cpd_.rank == 4 * len(fitted.posterior_.draws)
    assert len(fitted.trace_) >= 3
    assert all(trace.shape == (fitted.n_iter_, 1) for trace in fitted.trace_)
    assert fitted.convergence_["noise_ess"] > 0
    assert set(fitted.levels_) == {"a", "b", "c"}
    assert_allclose(fitted.feature_importances_.sum(), 1.0)


def test_max_rank_bounds_the_tensor() -> None:
    model = BayesianCSIDRegressor(**QUICK, max_rank=20).fit(*_system(200))
    assert model.cpd_.rank <= 20


@pytest.mark.filterwarnings("ignore:The chains may not have converged")
@pytest.mark.parametrize(
    ("max_rank", "kept"), [(1000, range(10)), (59, [0, 3, 6, 9]), (24, [0, 9]), (12, [0]), (1, [0])]
)
def test_chains_are_thinned_to_evenly_spaced_draws_with_the_weight_of_the_chain(
    monkeypatch: pytest.MonkeyPatch, max_rank: int, kept: list[int]
) -> None:
    """Three chains of rank four; without a pilot, both priors have a half. What monitors the noise is not thinned."""
    monkeypatch.setattr(csid.inference.pilot, "_FEWEST_ROWS", 1000)
    options = {**QUICK, "prior": ["medium", "smooth"], "n_chains": 3, "n_burn": 20, "n_draws": 10}
    X, y = _system(300)
    whole, thinned = (BayesianCSIDRegressor(**options | {"max_rank": most}).fit(X, y) for most in (10**6, max_rank))
    assert len(whole.posterior_.draws) == 30
    expected = [whole.posterior_.draws[10 * chain + at] for chain in range(3) for at in kept]
    for draw, other in zip(thinned.posterior_.draws, expected, strict=True):
        for A, B in zip([*draw.factors, draw.V, draw.bias], [*other.factors, other.V, other.bias], strict=True):
            assert_array_equal(A, B)
    noise = whole.posterior_.noise.reshape(3, 10, 1)
    assert_array_equal(thinned.posterior_.noise, noise[:, kept].reshape(-1, 1))
    weights = thinned.posterior_.weights.reshape(3, -1)
    assert_allclose(weights, np.repeat([[0.25], [0.25], [0.5]], len(kept), axis=1) / len(kept))
    for name in ("noise_rhat", "noise_ess", "drift", "smoothness_rhat", "smoothness_ess"):
        assert thinned.convergence_[name] == whole.convergence_[name]


def test_the_number_of_threads_changes_nothing() -> None:
    X, y = _system(150)
    one, two = (BayesianCSIDRegressor(**(QUICK | {"n_jobs": n})).fit(X, y).predict(X) for n in (1, 2))
    assert_array_equal(one, two)


def test_different_levels_meet_on_common_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws moved to the union of two grids predict what they did on their own; also for rows with missing cells."""
    monkeypatch.setattr(csid.inference.pilot, "_FEWEST_ROWS", 1000)  # without a pilot, both priors have a share
    X, y = _system(600)
    X.loc[::7, "a"] = np.nan
    model = BayesianCSIDRegressor(**QUICK, prior=["medium", "fine_grid"], n_chains=2).fit(X, y)
    assert len(model.levels_["a"]) > 32
    by_hand = np.zeros(len(X))
    (members, header), weights = (model._chains.sampling.members, model._chains.header), model.stacking_weights_
    for encoding, chain, owner in members:
        rows = encoding.encode(X, len(X))
        siblings = sum(member.owner == owner for member in members)
        weight = list(weights.values())[owner] / siblings / len(chain.draws)
        for draw in chain.draws:
            cpd = CPD.of(draw.factors, header.centre, header.scale)
            by_hand += weight * cpd.evaluate(rows.codes, rows.fractions)[:, 0]
    assert_allclose(model.predict(X), by_hand, rtol=1e-6, atol=1e-5 * np.std(y))


Made = list[tuple[Any, PriorSpec, SampledModel]]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    """The rows, the prior, and what is sampled from, of every chain that a fit makes."""
    calls: Made = []

    def spied(fold: Any, spec: PriorSpec, options: Any, model: SampledModel, rng: Any) -> Job:
        calls.append((fold.train, spec, model))
        return new_job(fold, spec, options, model, rng)

    for module in (csid.inference.pilot, csid.inference.chains):
        monkeypatch.setattr(module, "new_job", spied)
    return calls


def test_priors_of_informed_noise_are_told_the_error_of_the_others(made: Made) -> None:
    X, y = _system(300)
    BayesianCSIDRegressor(**QUICK).fit(X, y)
    tried = [name for name, spec in CATALOGUE.items() if spec.suits(*X.shape)]
    pilot = made[: len(tried) - 2]  # on so few rows "fine_grid" and "finest_grid" are "medium" once more
    told = [model.likelihood.precision_prior for _, spec, model in pilot if spec.noise_prior_weight > 0.0]
    assert all(model.likelihood == Gaussian() for _, spec, model in pilot if spec.noise_prior_weight == 0.0)
    (error,) = {float(prior.rate[0] / prior.shape) for prior in told}
    assert 0.01 < error < 0.5  # of standardised targets: the noise, and what the best of them misses
    for _, spec, model in made[len(pilot) :]:
        assert (model.likelihood == Gaussian()) == (spec.noise_prior_weight == 0.0)


def test_few_rows_of_many_predictors_with_a_shared_slope_are_pooled() -> None:
    """Thirty answers to questions that all measure the same: the pilot finds it out, and new rows are predicted."""
    rng = np.random.default_rng(0)
    trait = rng.standard_normal(500)
    X = np.clip(np.round(trait[:, None] + 1.5 * rng.standard_normal((500, 30))), -2, 2)
    y = trait + 0.3 * rng.standard_normal(500)
    X[rng.random(X.shape) < 0.5] = np.nan
    errors = {}
    for prior in ("auto", [name for name, spec in CATALOGUE.items() if not spec.shared_slope]):
        model = BayesianCSIDRegressor(**QUICK, missing="marginalize", pmf_rank=1, prior=prior).fit(X[:100], y[:100])
        errors[str(prior)] = np.sqrt(np.mean((model.predict(X[100:]) - y[100:]) ** 2))
        if prior == "auto":
            assert model.stacking_weights_["shared_slope"] + model.stacking_weights_["loose_shared_slope"] > 0.5
    with_them, without = errors.values()
    assert with_them < 0.95 * without


def _irrelevant(rows: int, seed: int) -> tuple[Array, Array, Array]:
    """Twelve predictors of which nine are irrelevant, targets, and what they are without noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (rows, 12))
    f = np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2
    return X, f + 0.3 * rng.standard_normal(rows), f


@pytest.mark.parametrize("prior", ["mildly_sparse", "sparse"])
def test_under_sparse_priors_a_predictor_can_have_no_effect_at_all(prior: str) -> None:
    X, y, _ = _irrelevant(400, seed=0)
    X_new, _, f_new = _irrelevant(300, seed=1)
    sparse, dense = (BayesianCSIDRegressor(**QUICK | {"rank": 8}, prior=name).fit(X, y) for name in (prior, "medium"))
    errors = [np.sqrt(np.mean((model.predict(X_new) - f_new) ** 2)) for model in (sparse, dense)]
    assert errors[0] < 0.85 * errors[1]
    assert sparse.feature_importances_[3:].sum() < 2e-3 < dense.feature_importances_[3:].sum()


def test_where_predictors_are_irrelevant_the_pilot_gives_sparse_priors_most() -> None:
    X, y, _ = _irrelevant(400, seed=0)
    weights = BayesianCSIDRegressor(**QUICK | {"rank": 8}).fit(X, y).stacking_weights_
    assert weights["mildly_sparse"] + weights["sparse"] > 0.5


@pytest.mark.parametrize(("likelihood", "rows"), [("gaussian", 100), ("student_t", 200)])
def test_repeated_rows_are_merged_unless_each_has_its_weight(made: Made, likelihood: str, rows: int) -> None:
    X, y = _system(100)
    BayesianCSIDRegressor(**QUICK, prior="medium", likelihood=likelihood).fit(pd.concat([X, X]), np.append(y, y + 1.0))
    assert {problem.n_rows for problem, *_ in made} == {rows}


def test_draws_are_weighted_by_the_weight_of_their_prior(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csid.inference.pilot, "stack_means", lambda *_: np.array([0.8, 0.2]))
    model = BayesianCSIDRegressor(**QUICK, prior=["medium", "smooth"], n_chains=3).fit(*_system(200))
    assert [member.owner for member in model._chains.sampling.members] == [0, 0, 1]
    per_chain = model.posterior_.weights.reshape(3, -1).sum(axis=1)
    assert_allclose(per_chain, [0.4, 0.4, 0.2])


def test_what_a_missing_value_means_is_learned_where_it_means_something() -> None:
    """Hidden where y is large, a predictor says most by its absence; hidden at random, it says nothing."""
    X, y = _system(600)
    at_random = X.assign(a=X["a"].mask(np.random.default_rng(0).uniform(size=600) < 0.3))
    where_large = X.assign(a=X["a"].mask(y > np.quantile(y, 0.8)))
    model = BayesianCSIDRegressor(**QUICK, prior="medium")
    assert clone(model).fit(where_large, y).missing_ == "level"
    assert clone(model).fit(X, y).missing_ == "marginalize"
    told = clone(model).set_params(missing="marginalize").fit(where_large, y)
    assert told.missing_ == "marginalize"
    assert clone(model).fit(where_large, y).score(where_large, y) > told.score(where_large, y)
    assert clone(model).fit(at_random, y).score(at_random, y) > 0.5


def test_automatic_levels_are_bounded_by_the_rows() -> None:
    model = BayesianCSIDRegressor(**QUICK, prior="fine_grid").fit(*_system(400))
    assert len(model.levels_["a"]) == 50


def test_several_outputs_and_weights() -> None:
    X, y = _system(300)
    Y = np.column_stack([y, -2.0 * y + 1.0])
    model = BayesianCSIDRegressor(**QUICK).fit(X, Y, sample_weight=np.linspace(0.0, 2.0, 300))
    assert model.predict(X).shape == (300, 2)
    assert model.noise_.shape == (2,)
    assert model.predict_quantiles(X[:5], (0.1, 0.9)).shape == (5, 2, 2)
    assert model.sample_y(X[:5], 3).shape == (5, 3, 2)
    assert all(part.shape == (5, 2) for part in model.predict_uncertainty(X[:5]))
    assert model.score(X[150:], Y[150:]) > 0.9


def test_constant_interpolation_takes_the_paper_s_levels() -> None:
    model = BayesianCSIDRegressor(**QUICK, interpolation="constant").fit(*_system(300))
    assert len(model.levels_["a"]) == 25


@pytest.mark.parametrize("order", [1, 2])
def test_a_single_prior_needs_no_pilot(order: int) -> None:
    model = BayesianCSIDRegressor(**QUICK, prior="medium", smoothness_order=order).fit(*_system(200))
    assert model.stacking_weights_ == {"medium": 1.0}
    assert model.score(*_system(500, seed=9)) > 0.8


@pytest.mark.filterwarnings("ignore:The chains may not have converged")
def test_student_noise_is_not_led_astray_by_outliers() -> None:
    X, y = _system(500, noise=0.05)
    rng = np.random.default_rng(0)
    y = y + 300.0 * rng.standard_t(1.5, 500) * (rng.random(500) < 0.05)
    fresh, truth = _system(500, seed=5, noise=0.0)
    errors = {}
    for likelihood in ("gaussian", "student_t"):
        model = BayesianCSIDRegressor(**QUICK, prior="smooth", likelihood=likelihood).fit(X, y)
        errors[likelihood] = np.sqrt(np.mean((model.predict(fresh) - truth) ** 2))
    assert errors["student_t"] < 0.5 * errors["gaussian"]
    lower, upper = model.predict_interval(fresh, 0.9)
    assert (lower < upper).all()


def test_an_als_fit_can_start_the_chains() -> None:
    X, y = _system(400)
    model = BayesianCSIDRegressor(**QUICK, prior="medium", start="als", n_burn=5).fit(X, y)
    assert model.trace_[0][0] < 0.6 * np.std(y)  # where a random start has as much noise as y spreads
    assert model.score(*_system(500, seed=9)) > 0.9


@pytest.mark.filterwarnings("ignore:The chains may not have converged")
def test_warm_start_adds_draws() -> None:
    X, y = _system(200)
    model = BayesianCSIDRegressor(**QUICK, prior="medium", n_chains=2, n_draws=20, warm_start=True).fit(X, y)
    first = len(model.posterior_.draws), model.n_iter_
    model.fit(X, y)
    assert len(model.posterior_.draws) == 2 * first[0]
    assert model.n_iter_ == first[1] + 20
    with pytest.raises(ValueError, match=r"1 output\(s\), but y has 2"):
        model.fit(X, np.column_stack([y, y]))


def test_an_interrupt_keeps_the_draws_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """One chain is done, one has two draws, and the third was not begun."""
    X, y = _system(200)
    run_jobs = csid.inference.jobs.run_jobs

    def interrupted(jobs: Any, *how: Any) -> None:
        run_jobs(jobs[:1], *how)
        *how, keep_going, stop = how
        run_jobs(jobs[1:2], *how, lambda chain: keep_going(chain) and len(chain.draws) < 2, stop)
        raise KeyboardInterrupt

    monkeypatch.setattr(csid.inference.jobs, "run_jobs", interrupted)
    model = BayesianCSIDRegressor(**QUICK, prior="medium", n_chains=3)
    with pytest.warns(InterruptedFitWarning, match=r"Interrupted.*2 chain\(s\)"):
        model.fit(X, y)
    assert len(model.trace_) == 2
    first, _ = model._chains.sampling.members
    assert len(model.posterior_.draws) == len(first.chain.draws) + 2
    assert_allclose(model.posterior_.weights.sum(), 1.0)
    assert model.score(X, y) > 0.5


def test_an_interrupt_before_the_first_draw_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def at_once(*args: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(csid.inference.jobs, "run_jobs", at_once)
    with pytest.raises(KeyboardInterrupt):
        BayesianCSIDRegressor(**QUICK).fit(*_system(100))


def test_chains_that_still_drift_are_reported() -> None:
    X, y = _system(400, noise=0.01)
    with pytest.warns(ConvergenceWarning, match=r"Increase n_burn \(now 0\)"):
        BayesianCSIDRegressor(**QUICK, prior="medium", n_burn=0, n_draws=10).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rank": 0}, "rank"),
        ({"prior": "loose"}, "prior"),
        ({"prior": ["medium", "loose"]}, "give 'auto', or one or more of 'medium'"),
        ({"prior": []}, "give 'auto'"),
        ({"effort": "none"}, "effort"),
        ({"levels": 0}, "levels"),
        ({"likelihood": "cauchy"}, "give one of .*'gaussian', .*'student_t'"),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BayesianCSIDRegressor(**parameters).fit(*_system(50))


@pytest.mark.parametrize("coverage", [0.0, 1.0, 90])
def test_bad_coverage_is_named(fitted: BayesianCSIDRegressor, coverage: float) -> None:
    with pytest.raises(ValueError, match=f"coverage={coverage}"):
        fitted.predict_interval(_system(5)[0], coverage)
    with pytest.raises(ValueError, match="quantiles"):
        fitted.predict_quantiles(_system(5)[0], [coverage])


def test_it_can_be_cloned_and_pickled(fitted: BayesianCSIDRegressor) -> None:
    X, _ = _system(20)
    assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
    assert clone(fitted).get_params() == fitted.get_params()


def test_many_levels_and_components_do_not_collapse_onto_the_training_rows() -> None:
    """Pure noise: the fit must not take it for signal, at ranks and levels far beyond what the rows could support."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(300, 4)), rng.standard_normal(300)
    model = BayesianCSIDRegressor(rank=32, levels=128, effort="fast", random_state=0).fit(X, y)
    fresh = rng.uniform(size=(1000, 4))
    assert np.var(model.predict(fresh)) < 0.1
    assert model.noise_[0] > 0.8
