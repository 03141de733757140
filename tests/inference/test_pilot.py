"""The pilot: which rows it sees, and what it says of priors and of missing predictors."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

import csid.inference.pilot
from csid._kernels.threads import Workers
from csid.data.problem import Problem
from csid.data.table import LocalTable
from csid.inference.held_out_draws import HeldOutDraws, values_at
from csid.inference.jobs import ChainOptions, Job, Runner
from csid.inference.pilot import Pilot, PilotPlan, SamplingPlan, Trial
from csid.inference.stacking import stack_densities
from csid.inference.starts import random_state
from csid.inference.state import Chain
from csid.inference.treatments import Treatment
from csid.likelihoods.gaussian import Gaussian
from csid.likelihoods.mixture import Mixture
from csid.missing.joint_pmf import fit_joint_pmf
from csid.missing.level_pmf import expected_values
from csid.priors import CATALOGUE
from csid.tensor.evaluation import values_of_rows
from tables import local_table

Array = np.ndarray
PLAN = SamplingPlan(
    PilotPlan(chains=1, burn=30, draws=10, rows=500, rank=4, held_out=1), chains=4, burn=10, draws=10, rows=10_000
)
OPTIONS = ChainOptions(Gaussian(), 8)
TREATMENT = Treatment("auto", "linear", "marginalize", merge=True)


@contextmanager
def no_bar(*_: Any) -> Iterator[Any]:
    yield lambda residual: None


RUNNER = Runner(1, no_bar)


@dataclass(frozen=True)
class Watched(Runner):
    """A runner that notes the jobs of every run."""

    runs: tuple[list[Sequence[Job]], ...] = ()

    def run(self, jobs: Sequence[Job], n_burn: int, n_draws: int, label: str) -> None:
        self.runs[0].append(jobs)
        super().run(jobs, n_burn, n_draws, label)


def _table(rows: int, seed: int = 0) -> LocalTable:
    """A product of two of three numbers, with some noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (rows, 3))
    y = 2.0 * X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(rows)
    return local_table(X, ((y - y.mean()) / y.std())[:, None])


def _pilot(table: LocalTable, plan: SamplingPlan = PLAN, **changes: Any) -> Pilot | None:
    of_pilot = {name: value for name, value in changes.items() if name in PilotPlan._fields and name != "chains"}
    of_fit = {name: value for name, value in changes.items() if name == "chains"}
    plan = plan._replace(pilot=plan.pilot._replace(**of_pilot), **of_fit)
    return Pilot.on(table, plan, OPTIONS, RUNNER, np.random.default_rng(0))


def random_chain(rows: Problem, draws: int) -> Chain:
    """A chain whose draws are random states."""
    rng = np.random.default_rng(0)
    states = [random_state(rows, Gaussian(), 3, rng) for _ in range(draws)]
    return Chain(states[0], draws=states)


def _draws(values: Array) -> HeldOutDraws:
    """Draws (D, R, K) at complete rows, with noise of scale one."""
    return HeldOutDraws(values, {"noise": np.ones(values.shape)}, np.zeros(values.shape[1], np.bool_), values[:, :0])


def test_few_rows_tell_nothing() -> None:
    assert _pilot(_table(39)) is None
    assert _pilot(_table(40)) is not None


def test_it_sees_some_rows_at_most_and_holds_out_a_fifth() -> None:
    table = _table(900)
    pilot = _pilot(table)
    assert pilot is not None
    assert len(pilot.table) == 500
    assert pilot.options.rank == 4
    where = [int(np.flatnonzero((row == table.X).all(axis=1))[0]) for row in pilot.table.X]
    assert len(set(where)) == 500
    assert where != sorted(where)
    assert_array_equal(pilot.table.targets, table.targets[where])
    assert_array_equal(pilot.held_out, np.arange(100))
    assert_array_equal(pilot.truth, table.targets[where[:100]])


@pytest.mark.parametrize(("wanted", "folds"), [(1, 1), (20, 1), (21, 2), (90, 5), (1000, 5)])
def test_a_short_table_holds_out_several_fifths(wanted: int, folds: int) -> None:
    pilot = _pilot(_table(100), held_out=wanted)
    assert pilot is not None
    assert len(pilot.folds) == folds
    assert_array_equal(pilot.held_out, np.arange(20 * folds))


def test_held_out_rows_are_predicted_by_chains_that_did_not_see_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each draw stands for a chain in every fold, with the noise of that fold."""
    monkeypatch.setattr(csid.inference.pilot.HeldOutDraws, "at", lambda fold, *_: _draws(fold.held_out.targets[None]))
    seen: list[Sequence[Job]] = []
    pilot = _pilot(_table(100), held_out=60)
    assert pilot is not None
    pilot = replace(pilot, runner=Watched(1, no_bar, (seen,)))
    encoders = [TREATMENT.encoder(pilot.table.holding_out(fold)) for fold in pilot.folds]
    seeds = np.random.SeedSequence(0).spawn(2)
    trials = [
        Trial(encoders, CATALOGUE[name], 1.0, seed) for name, seed in zip(("medium", "smooth"), seeds, strict=True)
    ]
    found = pilot._draws(trials, None, "")
    assert len(found) == 2
    assert_array_equal(found[1].values, pilot.truth[None])
    for job, fold in zip(seen[0], pilot.folds * 2, strict=True):
        rest = np.delete(pilot.table.targets, fold)
        assert_array_equal(np.sort(job.problem.targets[:, 0]), np.sort(rest))


def test_good_predictions_get_the_weight() -> None:
    """Under a prior that leaves factors no freedom, nothing is learned."""
    pilot, medium = _pilot(_table(500)), CATALOGUE["medium"]
    assert pilot is not None
    rigid = replace(medium, prior=replace(medium.prior, nu=1e6, smoothness=(1e6, 1.0)))
    result = pilot.weigh([rigid, medium], TREATMENT, np.random.SeedSequence(0))
    assert_allclose(result.weights, [0.0, 1.0], atol=0.05)
    assert result.error is not None
    assert 0.0 < result.error[0] < 0.2
    assert result.calibration.log_factors.shape[0] == 1


@pytest.mark.parametrize("joint", [True, False])
def test_values_of_draws_average_to_the_expectation(joint: bool) -> None:
    """Each draw imputes the missing cells of incomplete rows; at complete rows it has its own values."""
    table = _table(60)
    X = np.where((np.arange(60) % 3 == 0)[:, None] & (np.arange(3) == 1), np.nan, table.X)
    treatment = TREATMENT
    if joint:
        pmf = fit_joint_pmf(X, 60, ["a", "b", "c"], np.ones(60), [None] * 3, 2, np.random.default_rng(0), 1)
        assert pmf is not None
        treatment = replace(TREATMENT, pmf=pmf)
    fold = treatment.encoder(replace(table, X=X))(CATALOGUE["medium"])
    chain = random_chain(fold.train, 4)
    rows, workers = fold.train, Workers()
    values = values_at(rows.cells, [chain], fold, Gaussian(), 0)
    each = np.array([expected_values(rows.cells, draw.factors, fold.pmf, workers) for draw in chain.draws])
    assert_allclose(values.mean(axis=0), each.mean(axis=0), rtol=1e-9)
    plain = np.array([values_of_rows(rows.cells, draw.factors, workers) for draw in chain.draws])
    complete = np.setdiff1d(np.arange(rows.n_rows), rows.cells.incomplete)
    assert 0 < len(complete) < rows.n_rows
    assert_array_equal(values[:, complete], plain[:, complete])
    assert np.abs(values - plain)[:, rows.cells.incomplete].min() > 0.0


def test_more_chains_miss_less_by_what_the_priors_differ() -> None:
    """Priors that err on their own by 0.6 about a common miss of 0.5: a simulated fit misses as the gain says."""
    rng, rows, weights = np.random.default_rng(0), 100_000, np.array([0.5, 0.0, 0.3, 0.2])
    pilot = _pilot(replace(_table(rows), targets=0.5 * rng.standard_normal((rows, 1))), rows=rows, chains=9)
    assert pilot is not None
    means = 0.6 * rng.standard_normal((4, *pilot.truth.shape))

    def error_of(found: Array) -> Array:
        predicted = _draws(np.tensordot(weights, found, 1)[None])
        return pilot._errors(predicted, predicted.predictive(pilot.likelihood))

    error = error_of(means)
    deviations = (0.6 / np.sqrt([5, 1, 2, 2]))[:, None, None] * rng.standard_normal(means.shape)
    of_fit = error_of(deviations)
    assert_allclose(1.0 - pilot._gain(means, weights, error, np.ones(pilot.truth.shape)), of_fit / error, rtol=0.02)


def test_intervals_are_as_much_narrower_as_the_error_is_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    pilot = _pilot(_table(300))
    assert pilot is not None
    logs = []
    for gain in (0.0, 0.75):
        monkeypatch.setattr(Pilot, "_gain", lambda *_, gain=gain: np.full(1, gain))
        priors = [CATALOGUE["medium"], CATALOGUE["informed_noise"]]
        logs.append(pilot.weigh(priors, TREATMENT, np.random.SeedSequence(1)).calibration.log_factors)
    assert_allclose(logs[1] - logs[0], np.log(0.5))


def test_a_fit_with_fewer_chains_than_the_pilot_misses_no_less() -> None:
    pilot = _pilot(_table(100), plan=PLAN._replace(pilot=PLAN.pilot._replace(chains=3)), chains=2)
    assert pilot is not None
    means = np.random.default_rng(0).standard_normal((2, *pilot.truth.shape))
    gain = pilot._gain(means, np.array([0.5, 0.5]), np.ones(1), np.ones(pilot.truth.shape))
    assert_array_equal(gain, [0.0])


def test_the_gain_of_more_chains_is_at_most_a_half() -> None:
    pilot = _pilot(_table(100), chains=50)
    assert pilot is not None
    means = 9.0 * np.random.default_rng(0).standard_normal((2, *pilot.truth.shape))
    gain = pilot._gain(means, np.array([0.5, 0.5]), np.ones(1), np.ones(pilot.truth.shape))
    assert_array_equal(gain, [0.5])


def test_a_single_prior_tells_nothing_of_how_chains_differ() -> None:
    pilot = _pilot(_table(100))
    assert pilot is not None
    means = np.zeros((2, *pilot.truth.shape))
    assert_array_equal(pilot._gain(means, np.array([1.0, 0.0]), np.ones(1), np.ones(pilot.truth.shape)), [0.0])


@pytest.mark.parametrize(
    ("digits", "tried"), [(3, ["medium", "fine_grid", "informed_noise"]), (1, ["medium", "informed_noise"])]
)
def test_priors_that_are_the_same_on_a_table_are_tried_once(digits: int, tried: list[str]) -> None:
    """400 rows have 50 levels at the most; rounded, a predictor has 21 values."""
    names = ["medium", "fine_grid", "finest_grid", "informed_noise"]
    table = _table(500)
    pilot = _pilot(replace(table, X=table.X.round(digits)))
    assert pilot is not None
    runs: list[Sequence[Job]] = []
    counting = replace(pilot, runner=Watched(1, no_bar, (runs,)))
    result = counting.weigh([CATALOGUE[name] for name in names], TREATMENT, np.random.SeedSequence(0))
    assert [len(jobs) for jobs in runs] == [len(tried) - 1, 1]
    assert {name for name, weight in zip(names, result.weights, strict=True) if weight > 0.0} <= set(tried)
    assert_allclose(result.weights.sum(), 1.0)


def test_the_same_seeds_give_the_same_result() -> None:
    pilot = _pilot(_table(300))
    assert pilot is not None
    priors = [CATALOGUE["medium"], CATALOGUE["informed_noise"]]
    one, other = (pilot.weigh(priors, TREATMENT, np.random.SeedSequence(1)) for _ in range(2))
    assert_array_equal(one.weights, other.weights)
    assert_array_equal(one.calibration.log_factors, other.calibration.log_factors)


@pytest.mark.parametrize(("hidden", "expected"), [("nothing", "marginalize"), ("few", "marginalize"), ("top", "level")])
def test_a_level_for_missing_cells_is_earned(hidden: str, expected: str) -> None:
    table = _table(500)
    X = table.X.copy()
    if hidden == "few":
        X[:3, 0] = np.nan
    if hidden == "top":
        X[table.targets[:, 0] > np.quantile(table.targets, 0.8), 0] = np.nan
    pilot = _pilot(replace(table, X=X))
    assert pilot is not None
    treatments = [TREATMENT, replace(TREATMENT, missing="level")]
    assert pilot.best_treatment(treatments, CATALOGUE["medium"], np.random.SeedSequence(0)).missing == expected


def test_only_rows_that_lack_something_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere, two chains differ by chance."""
    table = _table(500)
    X = table.X.copy()
    X[::7, 0] = np.nan
    pilot = _pilot(replace(table, X=X))
    assert pilot is not None
    lacking = np.flatnonzero(np.isnan(pilot.table.X[:, 0]))

    def sampled(errors: tuple[float, float]) -> Any:
        def at_folds(_: Pilot, trials: Any, *rest: Any) -> list[HeldOutDraws]:
            rows = [encoder(CATALOGUE["medium"]).held_out.targets for encoder in trials[0].encoders]
            truth = np.concatenate(rows)
            assert_array_equal(np.sort(truth[:, 0]), np.sort(pilot.table.targets[lacking, 0]))
            return [_draws((truth + error)[None]) for error in errors]

        return at_folds

    for errors, expected in [((0.1, 0.2), "marginalize"), ((0.2, 0.1), "level")]:
        monkeypatch.setattr(Pilot, "_draws", sampled(errors))
        treatments = [TREATMENT, replace(TREATMENT, missing="level")]
        assert pilot.best_treatment(treatments, CATALOGUE["medium"], np.random.SeedSequence(0)).missing == expected


@pytest.mark.parametrize(
    ("prior", "better_by", "expected"),
    [
        ("medium", 0.1, "level"),
        ("shared_slope", 0.1, "marginalize"),
        ("shared_slope", 0.27, "marginalize"),  # two standard errors are 0.283
        ("shared_slope", 0.3, "level"),
        ("shared_slope", 0.5, "level"),
        ("shared_slope", -0.5, "marginalize"),
    ],
)
def test_where_rows_are_few_the_first_treatment_yields_to_what_is_clearly_better(
    monkeypatch: pytest.MonkeyPatch, prior: str, better_by: float, expected: str
) -> None:
    """Squared errors of the second are lower by a number on average, in 50 rows, among which that varies by one.

    How both vary together does not count.
    """
    table = _table(50)
    pilot = _pilot(replace(table, X=np.where(np.arange(3) == 0, np.nan, table.X)))
    assert pilot is not None
    varied, together = np.repeat([-1.0, 1.0], 25), np.tile([-1.5, 1.5], 25)

    def sampled(_: Pilot, trials: Any, *rest: Any) -> list[HeldOutDraws]:
        truth = np.concatenate([encoder(CATALOGUE[prior]).held_out.targets for encoder in trials[0].encoders])
        errors = [4.0 + together, 4.0 + together - better_by - varied]
        return [_draws((truth[:, 0] + np.sqrt(e))[None, :, None]) for e in errors]

    monkeypatch.setattr(Pilot, "_draws", sampled)
    treatments = [TREATMENT, replace(TREATMENT, missing="level")]
    assert pilot.best_treatment(treatments, CATALOGUE[prior], np.random.SeedSequence(0)).missing == expected


@pytest.mark.parametrize(
    ("names", "target"), [(("medium", "shared_slope"), [0.0, 1.0]), (("medium", "low_curvature"), None)]
)
def test_weights_are_shrunk_to_priors_for_few_rows_where_those_are_tried(
    monkeypatch: pytest.MonkeyPatch, names: tuple[str, str], target: list[float] | None
) -> None:
    targets: list[Any] = []

    def stacked(predictions: Array, truth: Array, row_weights: Array, to: Any) -> Array:
        targets.append(to)
        return np.array([0.25, 0.75])

    monkeypatch.setattr(csid.inference.pilot, "stack_means", stacked)
    pilot = _pilot(_table(40))
    assert pilot is not None
    result = pilot.weigh([CATALOGUE[name] for name in names], TREATMENT, np.random.SeedSequence(0))
    assert_allclose(result.weights, [0.25, 0.75])
    assert (targets[0] is None) == (target is None)
    if target is not None:
        assert_allclose(targets[0], target)


@pytest.mark.parametrize(
    ("rows", "chains", "draws"), [(10, 8, 48), (60_000, 8, 48), (240_000, 4, 12), (10**6, 2, 6), (10**9, 2, 6)]
)
def test_more_rows_need_less_sampling(rows: int, chains: int, draws: int) -> None:
    plan = SamplingPlan(PLAN.pilot, chains=8, burn=40, draws=48, rows=60_000)
    less = plan.on(rows)
    assert (less.chains, less.burn, less.draws) == (chains, 40, draws)
    least = plan._replace(chains=1, draws=3).on(rows)
    assert (least.chains, least.burn, least.draws) == (1, 40, 3)


def _of_rows_with_gaps(rows: int, v: float, outputs: int = 1) -> tuple[HeldOutDraws, Array]:
    """Draws at rows of which half vary by v over their missing cells, about noise of scale one; and their targets."""
    rng = np.random.default_rng(0)
    incomplete = np.arange(rows) % 2 == 0
    gaps = np.where(incomplete[:, None], np.sqrt(v), 0.0)
    values = gaps * rng.standard_normal((200, rows, outputs))
    values -= values.mean(axis=0)
    truth = gaps * rng.standard_normal((rows, outputs)) + rng.standard_normal((rows, outputs))
    return HeldOutDraws(values, {"noise": np.ones(values.shape)}, incomplete, values[:, :0]), truth


def test_the_error_of_rows_with_gaps_counts_as_far_as_it_is_noise() -> None:
    pilot = _pilot(_table(2000), rows=2000, held_out=2000)
    assert pilot is not None
    draws, truth = _of_rows_with_gaps(2000, 9.0)
    pilot = replace(pilot, table=replace(pilot.table, targets=truth))
    predictive = draws.predictive(pilot.likelihood)
    assert_allclose(draws.noise_fractions(predictive)[draws.incomplete], 0.1, atol=0.05)
    assert_array_equal(draws.noise_fractions(predictive)[~draws.incomplete], 1.0)
    assert len(pilot.truth) == 2000
    assert_allclose(pilot._errors(draws, predictive), 1.0, rtol=0.08)
    assert np.mean((pilot.truth - predictive.mean) ** 2) > 4.0


def test_intervals_of_rows_with_gaps_are_narrower_only_as_far_as_they_are_noise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """More chains do not tell more of a missing cell."""
    pilot = _pilot(_table(300))
    assert pilot is not None
    logs = []
    monkeypatch.setattr(HeldOutDraws, "noise_fractions", lambda self, _: np.full(self.values.shape[1:], 0.4))
    for gain in (0.0, 0.75):
        monkeypatch.setattr(Pilot, "_gain", lambda *_, gain=gain: np.full(1, gain))
        priors = [CATALOGUE["medium"], CATALOGUE["informed_noise"]]
        logs.append(pilot.weigh(priors, TREATMENT, np.random.SeedSequence(1)).calibration.log_factors)
    assert_allclose(logs[1] - logs[0], 0.5 * np.log(1.0 - 0.75 * 0.4))


def _two_outputs(rows: int, incomplete: int = 0) -> LocalTable:
    """Numbers and rows of different weights, with two outputs; the first rows lack a cell."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (rows, 3))
    X[:incomplete, 0] = np.nan
    return local_table(X, rng.standard_normal((rows, 2)), rng.uniform(0.2, 3.0, rows))


def _of_table(table: LocalTable, held_out: int) -> Pilot:
    """A pilot on all rows of a table, in their order."""
    return Pilot(table, PLAN.pilot._replace(held_out=held_out), OPTIONS, 4, RUNNER)


def test_losses_are_weighted_squared_errors_summed_over_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    pilot = _of_table(_two_outputs(60), 24)
    errors = np.random.default_rng(1).standard_normal((2, *pilot.truth.shape))
    found = [_draws((pilot.truth + error)[None]) for error in errors]
    monkeypatch.setattr(Pilot, "_draws", lambda *_: found)
    expected = [[w * (a**2 + b**2) for w, (a, b) in zip(pilot.table.weights[:24], e, strict=True)] for e in errors]
    assert_allclose(pilot.losses([], ""), expected)


def test_likelihoods_that_say_so_are_judged_by_log_predictive_density(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both the losses of treatments and the weights of priors."""
    monkeypatch.setattr(Gaussian, "held_out_score", "log_density")
    pilot = _of_table(_two_outputs(60), 24)
    rng = np.random.default_rng(3)
    found = [_draws(pilot.truth + spread * rng.standard_normal((5, *pilot.truth.shape))) for spread in (0.5, 1.0)]
    monkeypatch.setattr(Pilot, "_draws", lambda *_: found)
    densities = np.array([np.mean(norm.pdf(pilot.truth, draws.values), axis=0).prod(axis=1) for draws in found])
    assert_allclose(pilot.losses([], ""), -pilot.row_weights * np.log(densities))
    expected = stack_densities(np.log(densities), pilot.row_weights, None)
    assert_allclose(pilot._stacking_weights(found, None), expected)
    assert_allclose(replace(pilot, chains=1)._stacking_weights(found, None), [1.0, 0.0])


def test_the_held_out_error_is_that_of_each_output_on_its_own() -> None:
    """An average over rows by weight and by the part of their variance that is noise."""
    pilot = _of_table(_two_outputs(100), 100)
    rng = np.random.default_rng(2)
    squares, fractions = rng.uniform(0.0, 1.0, (100, 2)) * [1.0, 9.0], rng.uniform(0.1, 1.0, (100, 2))
    expected = np.zeros(2)
    for k in range(2):
        total = 0.0
        for row, weight in enumerate(pilot.table.weights):
            expected[k] += weight * fractions[row, k] * (fractions[row, k] * squares[row, k])
            total += weight * fractions[row, k]
        expected[k] /= total
    assert_allclose(pilot._average(squares, fractions), expected)


def _scripted(monkeypatch: pytest.MonkeyPatch, errors: dict[str, Array]) -> tuple[list[Any], list[list[str]]]:
    """Draws of each prior are the truth plus its error, and zero where cells are hidden.

    Returns what the priors of each stage were told of the error, and their names.
    """
    told: list[Any] = []
    stages: list[list[str]] = []

    def scripted(self: Pilot, trials: Sequence[Trial], error: Any, label: str, hide: int = 0) -> list[HeldOutDraws]:
        told.append(error)
        stages.append([next(name for name in errors if CATALOGUE[name] == trial.spec) for trial in trials])
        truth, found = self.truth, []
        incomplete = np.isnan(self.table.X[self.held_out]).any(axis=1)
        for name in stages[-1]:
            values = (truth + errors[name])[None]
            hidden = np.zeros((1, max(hide, 0) * len(self.folds), truth.shape[1]))
            found.append(HeldOutDraws(values, {"noise": np.ones(values.shape)}, incomplete, hidden))
        return found

    monkeypatch.setattr(Pilot, "_draws", scripted)
    return told, stages


def test_priors_that_use_the_held_out_error_run_last_with_the_smallest_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the result has the error of the weighted predictions."""
    pilot = _of_table(_two_outputs(100), 60)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (4, 60, 2))
    errors = {
        "informed_noise": signs[0] * [0.2, 0.9],
        "medium": signs[1] * [0.1, 0.9],
        "smooth": signs[2] * [0.4, 0.5],  # the smallest sum of squares of these two
        "second_order": signs[3] * [0.3, 0.6],
    }
    told, stages = _scripted(monkeypatch, errors)
    result = pilot.weigh([CATALOGUE[name] for name in errors], TREATMENT, np.random.SeedSequence(0))
    assert stages == [["medium", "smooth"], ["informed_noise", "second_order"]]
    assert told[0] is None
    assert_allclose(told[1], [0.16, 0.25])
    weights = pilot.table.weights[:60]
    missed = np.tensordot(result.weights, np.array(list(errors.values())), 1)
    assert_allclose(result.error, (weights[:, None] * missed**2).sum(axis=0) / weights.sum())
    assert result.accuracy is not None
    assert result.accuracy.rows == 60
    assert_allclose(result.accuracy.rmse**2, result.error)


def test_a_stage_without_priors_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    for names in (["medium", "smooth"], ["informed_noise", "second_order"]):
        told, stages = _scripted(monkeypatch, {name: np.full((60, 2), 0.1) for name in names})
        priors = [CATALOGUE[name] for name in names]
        _of_table(_two_outputs(100), 60).weigh(priors, TREATMENT, np.random.SeedSequence(0))
        assert stages == [names]
        assert told == [None]


@pytest.mark.parametrize(
    ("held_out", "incomplete", "hidden"), [(1, 49, 500), (1, 50, 0), (200, 24, 250), (200, 25, 0), (300, 16, 167)]
)
def test_cells_are_hidden_where_few_held_out_rows_lack_some(
    monkeypatch: pytest.MonkeyPatch, held_out: int, incomplete: int, hidden: int
) -> None:
    """About 500 versions of rows with hidden cells, if fewer than 50 rows lack a cell, by the first fold. The spread of
    imputed values is calibrated on those, else on the rows that lack a cell."""
    pilot = _of_table(_two_outputs(500, incomplete), held_out)
    _scripted(monkeypatch, {"medium": np.full(pilot.truth.shape, 0.1)})
    seen: list[tuple[Array, Array]] = []

    def fitted(predictive: Mixture, truth: Array, _: Any) -> Array:
        seen.append((predictive.mean, truth))
        return np.ones(2)

    monkeypatch.setattr(csid.inference.pilot, "fit_imputation_factor", fitted)
    pilot.weigh([CATALOGUE["medium"]], TREATMENT, np.random.SeedSequence(0))
    ((means, truth),) = seen
    if hidden:
        by_hand = [fold * 100 + version % 100 for fold in range(len(pilot.folds)) for version in range(hidden)]
        assert_array_equal(truth, pilot.table.targets[by_hand])
        assert_array_equal(means, 0.0)
    else:
        assert_array_equal(truth, pilot.table.targets[:incomplete])
        assert_allclose(means, truth + 0.1)


def test_only_rows_that_lack_a_cell_are_widened_by_the_imputation_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    """The accuracy of the pilot is that of the intervals that a fit would give."""
    pilot = _of_table(_two_outputs(500, 60), 1)
    _scripted(monkeypatch, {"medium": np.full(pilot.truth.shape, 0.1), "smooth": np.full(pilot.truth.shape, -0.1)})
    monkeypatch.setattr(csid.inference.pilot, "fit_imputation_factor", lambda *_: np.array([3.0, 0.5]))
    seen: list[Any] = []
    monkeypatch.setattr(csid.inference.pilot, "accuracy_of", lambda predictive, *_: seen.append(predictive))
    result = pilot.weigh([CATALOGUE["medium"], CATALOGUE["smooth"]], TREATMENT, np.random.SeedSequence(0))
    assert_array_equal(result.imputation_factor, [3.0, 0.5])
    deviations = (seen[0].centres - pilot.truth).std(axis=0)
    assert_allclose(deviations[:60], np.tile([0.3, 0.05], (60, 1)))
    assert_allclose(deviations[60:], 0.1)
