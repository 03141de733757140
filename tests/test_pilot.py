"""The pilot: which rows it sees, and what it says of priors and of missing predictors."""

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import csid.pilot
from csid.coding import Coding, LocalTable
from csid.pilot import Pilot, Plan, Sampled
from csid.portfolio import SETTINGS, Job, run_jobs

Array = np.ndarray
PLAN = Plan(1, 30, 10, 500, 4, 1, 4, 10, 10, 10_000)
CODING = Coding("auto", "linear", "marginalize", merge=True)


def _table(rows: int, seed: int = 0) -> LocalTable:
    """A product of two of three numbers, with some noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (rows, 3))
    y = 2.0 * X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(rows)
    return LocalTable(X, ((y - y.mean()) / y.std())[:, None], np.ones(rows), ["a", "b", "c"], [None] * 3)


def _run(jobs: list[Job], n_burn: int, n_draws: int, label: str) -> None:
    run_jobs(jobs, n_burn, n_draws, 1, 1, lambda chain: True, threading.Event())


def _pilot(table: LocalTable, plan: Plan = PLAN, **changes: Any) -> Pilot | None:
    return Pilot.on(table, plan._replace(**changes), 8, "random", np.inf, _run, np.random.default_rng(0))


def test_few_rows_tell_nothing() -> None:
    assert _pilot(_table(39)) is None
    assert _pilot(_table(40)) is not None


def test_it_sees_some_rows_at_most_and_holds_out_a_fifth() -> None:
    table = _table(900)
    pilot = _pilot(table)
    assert pilot is not None
    assert len(pilot.table) == 500
    assert pilot.rank == 4
    where = [int(np.flatnonzero((row == table.X).all(axis=1))[0]) for row in pilot.table.X]
    assert len(set(where)) == 500
    assert where != sorted(where)
    assert_array_equal(pilot.table.targets, table.targets[where])
    assert_array_equal(pilot.held_out, np.arange(100))
    assert_array_equal(pilot.truth, table.targets[where[:100]])


@pytest.mark.parametrize(("wanted", "folds"), [(1, 1), (20, 1), (21, 2), (90, 5), (1000, 5)])
def test_a_short_table_holds_out_several_fifths(wanted: int, folds: int) -> None:
    pilot = _pilot(_table(100), pilot_held_out=wanted)
    assert pilot is not None
    assert len(pilot.folds) == folds
    assert_array_equal(pilot.held_out, np.arange(20 * folds))


def test_held_out_rows_are_predicted_by_chains_that_did_not_see_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each draw stands for a chain in every fold, with the noise of that fold."""
    seen: list[Job] = []
    as_told = lambda rows, chains, pmf: Sampled(rows.targets[None], rows.targets[None])  # noqa: E731
    monkeypatch.setattr(csid.pilot.Sampled, "at", as_told)
    pilot = _pilot(_table(100), pilot_held_out=60)
    assert pilot is not None
    pilot = replace(pilot, run=lambda jobs, *_: seen.extend(jobs))
    encoders = [CODING.encoder(pilot.table, fold) for fold in pilot.folds]
    tries = [(encoders, SETTINGS["medium"]), (encoders, SETTINGS["smooth"])]
    found = pilot._sampled(tries, None, np.random.SeedSequence(0).spawn(2), "")
    assert len(found) == 2
    assert_array_equal(found[1].values, pilot.truth[None])
    for job, fold in zip(seen, pilot.folds * 2, strict=True):
        rest = np.delete(pilot.table.targets, fold)
        assert_array_equal(np.sort(job.problem.targets[:, 0]), np.sort(rest))


def test_good_predictions_get_the_shares() -> None:
    """Under a prior that leaves factors no freedom, nothing is learned."""
    pilot, medium = _pilot(_table(500)), SETTINGS["medium"]
    assert pilot is not None
    rigid = replace(medium, prior=replace(medium.prior, nu=1e6, smoothness=(1e6, 1.0)))
    verdict = pilot.weigh([rigid, medium], CODING, np.random.SeedSequence(0))
    assert_allclose(verdict.shares, [0.0, 1.0], atol=0.05)
    assert verdict.error is not None
    assert 0.0 < verdict.error[0] < 0.2
    assert verdict.spread.logs.shape[0] == 1


def test_more_chains_miss_less_by_what_the_settings_differ() -> None:
    """Settings that err on their own by 0.6 about a common miss of 0.5: a simulated fit misses as the gain says."""
    rng, rows, shares = np.random.default_rng(0), 100_000, np.array([0.5, 0.0, 0.3, 0.2])
    pilot = _pilot(replace(_table(rows), targets=0.5 * rng.standard_normal((rows, 1))), pilot_rows=rows, chains=9)
    assert pilot is not None
    means = 0.6 * rng.standard_normal((4, *pilot.truth.shape))
    error = pilot._errors(np.tensordot(shares, means, 1))
    deviations = (0.6 / np.sqrt([5, 1, 2, 2]))[:, None, None] * rng.standard_normal(means.shape)
    of_fit = pilot._errors(np.tensordot(shares, deviations, 1))
    assert_allclose(1.0 - pilot._gain(means, shares, error), of_fit / error, rtol=0.02)


def test_the_spread_is_as_much_narrower_as_the_error_is_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    pilot = _pilot(_table(300))
    assert pilot is not None
    logs = []
    for gain in (0.0, 0.75):
        monkeypatch.setattr(Pilot, "_gain", lambda *_, gain=gain: np.full(1, gain))
        settings = [SETTINGS["medium"], SETTINGS["steady"]]
        logs.append(pilot.weigh(settings, CODING, np.random.SeedSequence(1)).spread.logs)
    assert_allclose(logs[1] - logs[0], np.log(0.5))


def test_a_single_setting_says_nothing_of_what_chains_differ_by() -> None:
    pilot = _pilot(_table(100))
    assert pilot is not None
    means = np.zeros((2, *pilot.truth.shape))
    assert_array_equal(pilot._gain(means, np.array([1.0, 0.0]), np.ones(1)), [0.0])


@pytest.mark.parametrize(("digits", "tried"), [(3, ["medium", "fine", "steady"]), (1, ["medium", "steady"])])
def test_settings_that_are_the_same_on_a_table_are_tried_once(digits: int, tried: list[str]) -> None:
    """400 rows have 50 levels at the most; rounded, a predictor has 21 values."""
    names = ["medium", "fine", "finest", "steady"]
    table = _table(500)
    pilot = _pilot(replace(table, X=table.X.round(digits)))
    assert pilot is not None
    runs: list[int] = []
    counting = replace(pilot, run=lambda jobs, *rest: (runs.append(len(jobs)), _run(jobs, *rest))[1])
    verdict = counting.weigh([SETTINGS[name] for name in names], CODING, np.random.SeedSequence(0))
    assert runs == [len(tried) - 1, 1]
    assert {name for name, share in zip(names, verdict.shares, strict=True) if share > 0.0} <= set(tried)
    assert_allclose(verdict.shares.sum(), 1.0)


def test_the_same_seeds_give_the_same_verdict() -> None:
    pilot = _pilot(_table(300))
    assert pilot is not None
    settings = [SETTINGS["medium"], SETTINGS["steady"]]
    one, other = (pilot.weigh(settings, CODING, np.random.SeedSequence(1)) for _ in range(2))
    assert_array_equal(one.shares, other.shares)
    assert_array_equal(one.spread.logs, other.spread.logs)


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
    codings = [CODING, replace(CODING, missing="level")]
    assert pilot.best_coding(codings, SETTINGS["medium"], np.random.SeedSequence(0)).missing == expected


def test_only_rows_that_lack_something_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere, two chains differ by chance."""
    table = _table(500)
    X = table.X.copy()
    X[::7, 0] = np.nan
    pilot = _pilot(replace(table, X=X))
    assert pilot is not None
    lacking = np.flatnonzero(np.isnan(pilot.table.X[:, 0]))

    def sampled(errors: tuple[float, float]) -> Any:
        def at_folds(_: Pilot, tries: Any, *rest: Any) -> list[Sampled]:
            rows = [encoder(SETTINGS["medium"]).held_out.targets for encoder in tries[0][0]]
            truth = np.concatenate(rows)
            assert_array_equal(np.sort(truth[:, 0]), np.sort(pilot.table.targets[lacking, 0]))
            return [Sampled((truth + error)[None], np.ones((1, len(truth), 1))) for error in errors]

        return at_folds

    for errors, expected in [((0.1, 0.2), "marginalize"), ((0.2, 0.1), "level")]:
        monkeypatch.setattr(Pilot, "_sampled", sampled(errors))
        codings = [CODING, replace(CODING, missing="level")]
        assert pilot.best_coding(codings, SETTINGS["medium"], np.random.SeedSequence(0)).missing == expected


@pytest.mark.parametrize(
    ("setting", "better_by", "expected"),
    [("medium", 0.1, "level"), ("alike", 0.1, "marginalize"), ("alike", 0.5, "level"), ("alike", -0.5, "marginalize")],
)
def test_where_rows_are_few_the_first_treatment_yields_to_what_is_clearly_better(
    monkeypatch: pytest.MonkeyPatch, setting: str, better_by: float, expected: str
) -> None:
    """Squared errors of the second are lower by a number on average, in 50 rows, among which that varies by one."""
    table = _table(50)
    pilot = _pilot(replace(table, X=np.where(np.arange(3) == 0, np.nan, table.X)))
    assert pilot is not None
    varied = np.repeat([-1.0, 1.0], 25)

    def sampled(*given: Any) -> list[Sampled]:
        truth = np.concatenate([fold(SETTINGS[setting]).held_out.targets for fold in given[1][0][0]])
        errors = [np.full(50, 4.0), 4.0 - better_by - varied]
        return [Sampled((truth[:, 0] + np.sqrt(e))[None, :, None], np.ones((1, 50, 1))) for e in errors]

    monkeypatch.setattr(Pilot, "_sampled", sampled)
    codings = [CODING, replace(CODING, missing="level")]
    assert pilot.best_coding(codings, SETTINGS[setting], np.random.SeedSequence(0)).missing == expected


@pytest.mark.parametrize(("names", "lean"), [(("medium", "alike"), [0.0, 1.0]), (("medium", "stiff"), None)])
def test_shares_lean_to_the_settings_for_few_rows_where_those_are_tried(
    monkeypatch: pytest.MonkeyPatch, names: tuple[str, str], lean: list[float] | None
) -> None:
    leant: list[Any] = []

    def shares(predictions: Array, targets: Array, weights: Array, to: Any) -> Array:
        leant.append(to)
        return np.array([0.25, 0.75])

    monkeypatch.setattr(csid.pilot, "stacking_shares", shares)
    pilot = _pilot(_table(40))
    assert pilot is not None
    verdict = pilot.weigh([SETTINGS[name] for name in names], CODING, np.random.SeedSequence(0))
    assert_allclose(verdict.shares, [0.25, 0.75])
    assert (leant[0] is None) == (lean is None)
    if lean is not None:
        assert_allclose(leant[0], lean)


@pytest.mark.parametrize(("rows", "chains", "draws"), [(10, 8, 48), (60_000, 8, 48), (240_000, 4, 12), (10**6, 2, 6)])
def test_more_rows_need_less_sampling(rows: int, chains: int, draws: int) -> None:
    plan = Plan(1, 40, 30, 12_000, 16, 300, 8, 40, 48, 60_000).on(rows)
    assert (plan.chains, plan.burn, plan.draws) == (chains, 40, draws)
    assert plan._replace(chains=1, draws=3).on(rows)[6:9] == (1, 40, 3)
