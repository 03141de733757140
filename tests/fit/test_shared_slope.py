"""Shared slopes: the scores of levels, the sign of each predictor, and the prior mean made of both."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal

from csid.data.problem import Problem
from csid.data.samples import LocalSamples
from csid.inference.starts import shared_slope_state
from csid.likelihoods.gaussian import Gaussian
from csid.priors.shared_slope import _correlations, _soft_signs, shared_slope_mean
from csid.tensor.factors import table_offsets
from fit.strategies import build_problem, problems, seeds, with_cells
from naive import cell_weights

Array = np.ndarray


SCORES = (np.arange(5) - 2.0) / np.sqrt(2.0)


def _problem(signs: list[int], rows: int, noise: float, missing: float = 0.0, seed: int = 0) -> tuple[Problem, Array]:
    """Rows whose target is a sum over predictors of five levels each, signed, and the levels."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(5, size=(rows, len(signs)))
    y = (codes - 2.0) @ np.array(signs, float) + noise * rng.standard_normal(rows)
    problem = build_problem(0, levels=(5,) * len(signs), ordered=[5] * len(signs), rows=rows)
    marginals = tuple(np.bincount(column, minlength=5) / rows for column in codes.T)
    codes = np.where(rng.random(codes.shape) < missing, 5, codes).astype(np.uint8)
    fractions = np.zeros((0, len(signs)), np.float32)
    targets = ((y - y.mean()) / y.std())[:, None]
    problem = with_cells(problem, codes=codes, fractions=fractions)
    given = {"targets": targets, "weights": np.ones(rows), "marginals": marginals, "within": np.zeros(1)}
    return replace(problem, **given), codes


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_predictors_are_turned_the_way_the_targets_rise(missing: float) -> None:
    signs = [1, -1, 1, -1, 1, 1]
    problem, _ = _problem(signs, 400, 1.0, missing)
    turns = _soft_signs(*_correlations(LocalSamples(problem), [SCORES] * 6))
    assert_allclose(np.abs(turns), 1.0, atol=0.05)
    assert len(set(np.sign(turns) * signs)) == 1  # up to a sign that all have in common


def test_what_others_do_decides_where_rows_do_not() -> None:
    """A correlation over three rows, against those of the others, which are over many."""
    counts = np.array([*[300.0] * 8, 3.0])
    agreed, split = np.full(8, 0.3), 0.3 * (-1.0) ** np.arange(8)
    assert _soft_signs(np.append(agreed, -0.2), counts)[-1] > 0.5
    assert abs(_soft_signs(np.append(split, -0.2), counts)[-1]) < 0.5
    assert _soft_signs(np.append(agreed, -0.3), np.full(9, 300.0))[-1] < -0.9


@given(problems(), seeds)
@settings(deadline=None, max_examples=40)
def test_correlations_are_the_dense_sums_over_rows(problem: Problem, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = [rng.standard_normal(len(p)) for p in problem.marginals]
    r, counts = _correlations(LocalSamples(problem), scores)
    centred = (problem.targets - problem.mean) * problem.weights[:, None]
    squares = problem.weights @ (problem.targets - problem.mean) ** 2 + problem.within
    spread = np.sqrt(np.maximum(squares / problem.weights.sum(), 1e-12))
    dense = cell_weights(problem.cells.codes, problem.cells.fractions, problem.levels.tolist())
    observed = [problem.weights @ (1.0 - W[:, -1]) for W in dense]
    sums = np.array([score @ W[:, :-1].T @ (centred / spread) for score, W in zip(scores, dense, strict=True)])
    main = np.linalg.svd(sums)[2][0]
    assert_allclose(counts, np.maximum(observed, 1.0), rtol=1e-9)
    assert_allclose(np.abs(r), np.abs(sums @ main / counts), rtol=1e-7, atol=1e-9)
    assert (r @ (sums @ main / counts)) ** 2 == pytest.approx((r @ r) ** 2, rel=1e-9, abs=1e-12)  # one sign for all


def test_the_mean_is_one_slope_for_all_predictors() -> None:
    """c = 1 + s d: its columns are multiples of one another, and turning a predictor around turns its d around."""
    problem, codes = _problem([1, 1, -1, 1], 200, 0.5)
    mean = shared_slope_mean(LocalSamples(problem), [SCORES] * 4, 6, 0.7, np.random.default_rng(1))
    assert np.linalg.matrix_rank(mean - 1.0) == 1
    around = with_cells(problem, codes=np.where(np.arange(4) == 1, 4 - codes, codes).astype(np.uint8))
    around = replace(around, marginals=tuple(p[::-1] if n == 1 else p for n, p in enumerate(problem.marginals)))
    other = shared_slope_mean(LocalSamples(around), [SCORES] * 4, 6, 0.7, np.random.default_rng(1))
    start = int(table_offsets(problem.levels)[1])
    assert_allclose(other[start : start + 5], mean[start : start + 5][::-1], rtol=1e-9)
    others = np.r_[0:start, start + 6 : len(mean)]
    assert_allclose(other[others], mean[others], rtol=1e-9)


def test_predictors_without_values_stay_at_one() -> None:
    problem, _ = _problem([1, 1, 1], 100, 0.5)
    mean = shared_slope_mean(LocalSamples(problem), [SCORES, np.zeros(5), SCORES], 3, 0.7, np.random.default_rng(0))
    assert (mean[:5] != 1.0).any()
    assert_array_equal(mean[5:12], 1.0)
    none = shared_slope_mean(LocalSamples(problem), [np.zeros(5)] * 3, 3, 0.7, np.random.default_rng(0))
    assert_array_equal(none, 1.0)


def test_a_chain_starts_at_the_mean() -> None:
    problem, _ = _problem([1, 1, 1, 1], 120, 0.5, missing=0.3)
    state = shared_slope_state(problem, Gaussian(), 4, [SCORES] * 4, 0.7, np.random.default_rng(0))
    for n, start in enumerate(state.factors.offsets.tolist()):
        assert_array_equal(state.factors.factor(n), state.prior_mean[start : start + 5])
        missing = state.factors.padded_factor(n)[-1, :4]
        assert_allclose(missing, problem.marginals[n] @ state.factors.factor(n), rtol=1e-12)
