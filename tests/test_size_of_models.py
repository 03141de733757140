"""Large models take few bytes, and wide tables a low rank; ordinary ones are as they were."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import csid
from csid import BayesianCSIDRegressor
from csid.inference import chains
from csid.inference.chains import Member
from csid.inference.jobs import ChainOptions, supported_rank
from csid.inference.pilot import PilotResult
from csid.inference.starts import random_state
from csid.inference.state import Chain
from csid.inference.treatments import Treatment
from csid.likelihoods.calibration import Calibration
from csid.likelihoods.gaussian import Gaussian
from csid.priors import CATALOGUE
from fit.strategies import build_problem
from tables import local_table

OPTIONS = {"rank": 12, "prior": ["medium", "smooth"], "effort": "fast", "n_chains": 4, "n_draws": 24, "random_state": 0}


def _table(rows: int, predictors: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (rows, predictors))
    return X, X[:, 0] * X[:, 1] + np.sin(3.0 * X[:, 2]) + 0.1 * rng.standard_normal(rows)


def test_half_precision_costs_nothing_and_halves_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = _table(200, 4)
    single = BayesianCSIDRegressor(**OPTIONS).fit(X, y)
    monkeypatch.setattr(chains, "LARGEST_IN_SINGLE", 0)
    half = BayesianCSIDRegressor(**OPTIONS).fit(X, y)
    assert {A.dtype for group in single.posterior_.groups for A in group.factors} == {np.dtype(np.float32)}
    assert {A.dtype for group in half.posterior_.groups for A in group.factors} == {np.dtype(np.float16)}
    spread = y.std()
    assert np.abs(half.predict(X) - single.predict(X)).max() < 1e-3 * spread
    for bound, other in zip(half.predict_interval(X), single.predict_interval(X), strict=True):
        assert np.abs(bound - other).max() < 1e-3 * spread
    for name, model in (("single", single), ("half", half)):
        model.save(tmp_path / name)
        assert_array_equal(csid.load(tmp_path / name).predict(X), model.predict(X))
    assert (tmp_path / "half").stat().st_size < 0.7 * (tmp_path / "single").stat().st_size


@pytest.mark.parametrize(("rank", "dtype"), [(10_000, np.float32), (10_001, np.float16)])
def test_draws_of_more_than_four_million_numbers_are_in_half_precision(rank: int, dtype: type) -> None:
    """Two chains of ten draws on 20 levels, at a rank that makes the numbers four million, and at one more."""
    rng, spec = np.random.default_rng(0), CATALOGUE["medium"]
    X = np.tile(np.arange(20.0), 3)[:, None]
    table, treatment = local_table(X, rng.standard_normal((60, 1))), Treatment("auto", "linear", "marginalize", True)
    fold = treatment.encoder(table)(spec)
    assert fold.encoding.levels.sum() == 20
    state = random_state(fold.train, Gaussian(), rank, rng)
    members = [Member(fold.encoding, Chain(state, [state] * 10, [np.ones(1)] * 10, kept=list(range(10))), 0)] * 2
    pilot = PilotResult(np.ones(1), Calibration.identity(1), None, np.ones(1))
    sampling = chains.Sampling(
        {"medium": spec}, treatment, pilot, ChainOptions(Gaussian(), rank), members=tuple(members)
    )
    (group,) = chains.collect(sampling, table, max_rank=10**6).posterior.groups
    assert group.factors[0].shape == (20, 20 * rank)
    assert group.factors[0].dtype == dtype


def test_a_factor_too_large_for_half_precision_stays_in_single() -> None:
    X, y = _table(60, 3)
    model = BayesianCSIDRegressor(**OPTIONS | {"n_draws": 2}).fit(X, y)
    draw, (group, *_) = model.posterior_.draws[0], model.posterior_.groups
    large = csid.tensor.cpd.CPD(tuple(1e6 * A for A in draw.factors), draw.V, draw.bias, draw.marginals)
    stacked = type(group).of(model.encoding_.modes, [large], [{"noise": np.ones(1)}], np.ones(1), half=True)
    assert {A.dtype for A in stacked.factors} == {np.dtype(np.float32)}


@pytest.mark.parametrize(("rows", "at_most"), [(4, 8), (20, 8), (40, 16), (79, 32), (80, 1024), (1000, 1024)])
def test_rank_is_bounded_below_four_rows_per_predictor(rows: int, at_most: int) -> None:
    assert supported_rank(build_problem(0, levels=(2,) * 20, rows=rows)) == at_most


@pytest.mark.filterwarnings("ignore:The chains may not have converged")
def test_a_table_with_fewer_rows_than_predictors_has_draws_of_rank_eight() -> None:
    X, y = _table(44, 50)
    model = BayesianCSIDRegressor(prior="smooth", n_chains=2, n_burn=3, n_draws=2, random_state=0).fit(X, y)
    assert {rank for group in model.posterior_.groups for rank in group.ranks.tolist()} == {8}
    assert np.isfinite(model.predict(X)).all()
