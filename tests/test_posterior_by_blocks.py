"""The approximate posterior, drawn given blocks of rows: near the exact one, and clear about its limits."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from csid import BayesianCSIDRegressor
from csid._kernels import threads
from csid.data.problem import Problem
from csid.inference.gibbs import SampledModel, Sweeps
from csid.inference.jobs import Job, Stage
from csid.inference.starts import random_state
from csid.inference.state import Chain
from csid.likelihoods.gaussian import Gaussian
from csid.priors.prior import Prior
from fit.strategies import build_problem

Array = NDArray[np.float64]
ROWS, NOISE = 12_000, 0.4


def _rows(n: int, seed: int, outputs: int = 1, missing: float = 0.0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    y = np.stack([np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2, X[:, 0] * X[:, 2]], axis=1)[:, :outputs]
    X[rng.random(X.shape) < missing] = np.nan
    y = y + NOISE * rng.standard_normal(y.shape)
    return X, y[:, 0] if outputs == 1 else y


def _model(solver: str, **settings: Any) -> BayesianCSIDRegressor:
    few = {"rank": 6, "prior": "medium", "levels": 16, "n_chains": 3, "n_burn": 40, "n_draws": 24, "random_state": 0}
    return BayesianCSIDRegressor(solver=solver, **{**few, **settings})


@pytest.mark.parametrize("outputs", [1, 2])
def test_it_is_near_the_exact_one(outputs: int) -> None:
    X, y = _rows(ROWS, 0, outputs)
    test, targets = _rows(4000, 1, outputs)
    exact, approximate = (_model(solver).fit(X, y) for solver in ("gibbs", "stochastic"))
    assert not np.array_equal(approximate.predict(test), exact.predict(test))  # it did go by blocks
    errors = [np.sqrt(np.mean((model.predict(test) - targets) ** 2)) for model in (exact, approximate)]
    assert errors[1] < 1.01 * errors[0]
    bounds = [model.predict_interval(test) for model in (exact, approximate)]
    widths = [float(np.mean(upper - lower)) for lower, upper in bounds]
    assert 0.98 < widths[1] / widths[0] < 1.02
    lower, upper = bounds[1]
    assert 0.88 < np.mean((lower < targets) & (targets < upper)) < 0.92
    unknown = [model.predict_uncertainty(test).model.mean() for model in (exact, approximate)]
    assert 0.8 < unknown[1] / unknown[0] < 1.6


def test_missing_cells_are_averaged_over() -> None:
    X, y = _rows(ROWS, 0, missing=0.1)
    model = _model("stochastic", n_chains=1).fit(X, y)
    assert model.pmf_ is None
    assert model.score(*_rows(2000, 1)) > 0.6


def test_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "FEWEST_ROWS_IN_PART", 256)
    X, y = _rows(4000, 0)
    fitted = [_model("stochastic", n_chains=1, n_jobs=threads).fit(X, y).predict(X) for threads in (1, 2)]
    assert_array_equal(*fitted)


def test_a_chain_passes_over_the_rows_twice_before_it_draws_and_twice_while_it_does() -> None:
    problem: Problem = build_problem(0, levels=(4, 3), rows=20_000)
    model, rng = SampledModel(Prior(), Gaussian()), np.random.default_rng(0)
    job = Job(problem, model, Chain(random_state(problem, Gaussian(), 3, np.random.default_rng(0))), rng)
    assert job.n_blocks == 1
    assert job.stages(Sweeps(40, 12, 2)) == [Stage(20_000, Sweeps(40, 12, 2))]
    by_blocks = Job(problem, model, job.chain, job.rng, by_blocks=True)
    assert by_blocks.n_blocks == 16
    assert by_blocks.stages(Sweeps(3, 12, 2)) == [Stage(20_000, Sweeps(32, 24, 4))]
    assert by_blocks.stages(Sweeps(40, 60, 2)) == [Stage(20_000, Sweeps(40, 60, 2))]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"likelihood": "student_t"},
            "likelihood='student_t' does not work with solver='stochastic': use solver='gibbs'",
        ),
        ({"rank": 33}, "rank=33: solver='stochastic' draws at most 32 components"),
    ],
)
def test_what_looks_at_rows_one_by_one_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _model("stochastic", **settings).fit(*_rows(100, 0))
