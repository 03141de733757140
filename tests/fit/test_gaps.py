"""The variance of rows with missing cells: against enumeration, and what the sampler makes of it."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from csid._kernels.threads import Workers
from csid.data.problem import Problem
from csid.data.samples import LocalSamples
from csid.inference import gibbs
from csid.inference.gibbs import SampledModel, Sweeps, run_chain
from csid.inference.starts import random_state
from csid.inference.state import Chain
from csid.likelihoods.gaussian import Gaussian
from csid.likelihoods.location_scale import LocationScale
from csid.likelihoods.student_t import StudentT
from csid.missing.hidden_cells import with_hidden_cells
from csid.priors.prior import Prior
from csid.tensor.evaluation import values_of_rows
from csid.tensor.factors import Factors
from csid.tensor.gaps import Gaps, deviations_in_gaps, marginals_of_known
from fit.strategies import build_factors, build_problem, seeds

Array = np.ndarray
LEVELS = (4, 3, 5)


def _enumerated(problem: Problem, factors: Factors, m: int) -> Array:
    """Variances (K,) of the values of a row over all known levels of its missing cells, with their marginals."""
    cells, known = problem.cells, problem.cells.known
    marginals = marginals_of_known(problem.marginals, known)
    codes = cells.codes[m].astype(int)
    choices = [range(count) if code >= count else [code] for code, count in zip(codes, known, strict=True)]
    mean = square = np.zeros(problem.n_outputs)
    for cell in product(*choices):
        missing = zip(marginals, cell, codes, known, strict=True)
        p = np.prod([p_n[i] for p_n, i, code, count in missing if code >= count])
        row = cells.take(np.array([m])).with_codes(np.array([cell], cells.codes.dtype))
        value = values_of_rows(row, factors, Workers())[0]
        mean, square = mean + p * value, square + p * value**2
    return square - mean**2


@settings(max_examples=20, deadline=None)
@given(seed=seeds, linear=st.booleans(), outputs=st.integers(1, 3), rank=st.integers(1, 5), own_level=st.booleans())
def test_variances_are_those_over_all_levels(seed: int, linear: bool, outputs: int, rank: int, own_level: bool) -> None:
    problem = build_problem(seed, levels=LEVELS, rows=25, linear=linear, outputs=outputs, missing=0.4)
    if own_level:  # the last level of the first predictor is that of missing cells
        problem = replace(problem, cells=replace(problem.cells, known=problem.levels - [1, 0, 0]))
    factors = build_factors(problem, rank, seed)
    gaps = Gaps.of(problem.cells, factors, Workers())
    assert_array_equal(np.sort(gaps.rows), problem.cells.incomplete)
    expected = [_enumerated(problem, factors, m) for m in gaps.rows]
    assert_allclose(gaps.variances, np.reshape(expected, gaps.variances.shape), rtol=1e-6, atol=1e-6)


def test_the_number_of_threads_changes_no_variance() -> None:
    problem = build_problem(1, levels=LEVELS, rows=30_000, linear=True, missing=0.3)
    factors, found = build_factors(problem, 3, 1), []
    for threads in (1, 3):
        with Workers(threads) as workers:
            found.append(Gaps.of(problem.cells, factors, workers).variances)
    assert_array_equal(*found)


def test_a_row_weighs_as_much_as_its_variance_allows() -> None:
    """Residuals of variance 1 / alpha + v: the weighted ones have that of the noise, and so have their noise sums."""
    gaps = Gaps(np.arange(3), np.array([[0.0], [0.5], [3.0]]))
    assert_allclose(gaps.weights(np.ones(3), np.array([2.0])), [1.0, 0.5, 1.0 / 7.0])
    assert_allclose(gaps.weights(np.full(3, 0.5), np.array([2.0])), [1.0, 1.0 / 1.5, 0.25])


def test_the_part_of_a_residual_that_missing_cells_explain_has_its_conditional_law() -> None:
    """r = u + e with u ~ N(0, v) and e ~ N(0, 1 / alpha): given r, u is normal around r v / (v + 1 / alpha)."""
    v, alpha, r, n = 0.8, 2.5, 1.3, 200_000
    gaps = Gaps(np.arange(n), np.full((n, 1), v))
    drawn = deviations_in_gaps(np.full((n, 1), r), gaps.variances, np.array([alpha]), np.random.default_rng(0))
    assert_allclose(drawn.mean(), r * v / (v + 1.0 / alpha), atol=0.01)
    assert_allclose(drawn.var(), v / (1.0 + alpha * v), rtol=0.02)
    none = deviations_in_gaps(np.ones((2, 1)), np.zeros((2, 1)), np.array([alpha]), np.random.default_rng(0))
    assert_array_equal(none, np.zeros((2, 1)))


NOISE = 0.3


def _system_with_gaps(likelihood: LocationScale, own_level: bool) -> Problem:
    """A product of two predictors with noise; in a third of the rows a cell is missing, completely at random."""
    rng = np.random.default_rng(0)
    rows, levels = 2000, (6, 6)
    codes = np.column_stack([rng.integers(I_n, size=rows) for I_n in levels])
    first, second = rng.uniform(-2.0, 2.0, 6), rng.uniform(-2.0, 2.0, 6)
    noise = NOISE * (rng.standard_t(4.0, rows) if isinstance(likelihood, StudentT) else rng.standard_normal(rows))
    targets = (first[codes[:, 0]] * second[codes[:, 1]] + noise)[:, None]
    missing = np.zeros(codes.shape, np.bool_)
    missing[np.arange(rows // 3), rng.integers(2, size=rows // 3)] = True
    plain = build_problem(0, levels=levels, rows=rows)
    marginals = tuple(np.bincount(c[~m], minlength=6) / (~m).sum() for c, m in zip(codes.T, missing.T, strict=True))
    known = np.array(levels, np.intp)
    if own_level:
        marginals = tuple(np.append(p * (1.0 - m.mean()), m.mean()) for p, m in zip(marginals, missing.T, strict=True))
    cells = replace(
        plain.cells,
        codes=np.where(missing, known, codes).astype(np.uint8),
        levels=known + own_level,
        known=known,
    )
    return replace(plain, cells=cells, targets=targets, marginals=marginals, ordered=np.zeros(2, np.intp))


def _noise_of_a_chain(problem: Problem, likelihood: LocationScale) -> float:
    rng = np.random.default_rng(1)
    chain = Chain(random_state(problem, likelihood, 2, rng))
    run_chain(LocalSamples(problem), SampledModel(Prior(), likelihood), chain, rng, Sweeps(60, 40))
    return float(np.mean([1.0 / np.sqrt(draw.parameters["alpha"][0]) for draw in chain.draws]))


@pytest.mark.parametrize("likelihood", [Gaussian(), StudentT()], ids=lambda likelihood: likelihood.name)
@pytest.mark.parametrize("own_level", [False, True])
def test_gaps_do_not_inflate_the_noise(
    likelihood: LocationScale, own_level: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor do they where missing cells have a level of their own. Taken as complete, the same rows do inflate it."""
    problem = _system_with_gaps(likelihood, own_level)
    assert_allclose(_noise_of_a_chain(problem, likelihood), NOISE, rtol=0.1)
    monkeypatch.setattr(Problem, "any_incomplete", False)
    assert _noise_of_a_chain(problem, likelihood) > 1.4 * NOISE


@pytest.mark.parametrize("linear", [False, True])
def test_hidden_cells_leave_incomplete_rows_and_informative_gaps_alone(linear: bool) -> None:
    problem = build_problem(2, levels=LEVELS, rows=400, linear=linear, missing=0.1)
    cells = replace(problem.cells, known=problem.levels - [1, 0, 0])
    hidden = with_hidden_cells(cells, np.random.default_rng(0))
    assert_array_equal(hidden.incomplete, np.arange(400))
    assert_array_equal(hidden.codes[cells.incomplete], cells.codes[cells.incomplete])
    complete = np.setdiff1d(np.arange(400), cells.incomplete)
    now = hidden.codes[complete] == cells.levels
    assert not now[:, 0].any()
    assert 0.25 < now[:, 1:].mean() < 0.75
    assert_array_equal(hidden.codes[complete][~now], cells.codes[complete][~now])
    if linear:
        assert_array_equal(hidden.fractions[complete][now], 0.0)
        assert_array_equal(hidden.fractions[complete][~now], cells.fractions[complete][~now])
    nothing = replace(problem.cells, known=problem.levels - 1)
    assert with_hidden_cells(nothing, np.random.default_rng(0)) is nothing


def test_where_every_row_has_a_gap_the_noise_does_not_drift_to_zero() -> None:
    """Residuals that are explained by their gaps do not tell the noise: its draws from them alone are a random walk."""
    rng, rows, v = np.random.default_rng(0), 100, 1.0
    residuals = np.sqrt(v) * rng.standard_normal((rows, 1))

    def walk(pseudo: bool) -> Array:
        found, alpha = [], np.array([100.0])
        for _ in range(4000):
            g = Gaps(np.arange(rows), np.full((rows, 1), v)).weights(np.ones(rows), alpha)[:, None]
            noise = ((g**2 * residuals**2).sum(axis=0), float(g.sum()))
            if pseudo:
                noise = gibbs._noise_among_gaps(noise, (g * residuals**2).sum(axis=0), rows)
            alpha = Gaussian().draw({}, *noise, rng)["alpha"]
            found.append(1.0 / np.sqrt(alpha[0]))
        return np.array(found)

    assert np.quantile(walk(pseudo=True), 0.05) > 0.3
    assert walk(pseudo=False).min() < 0.01


def test_complete_rows_have_no_pseudo_observations_and_few_gaps_next_to_none() -> None:
    squares, total = np.array([30.0, 2.0]), np.array([40.0, 4.0])
    found, count = gibbs._noise_among_gaps((squares, 500.0), total, 500.0)
    assert_array_equal(found, squares)
    assert count == 500.0
    found, count = gibbs._noise_among_gaps((squares, 450.0), total, 500.0)
    assert_allclose(count, 451.0)
    assert_allclose(found, squares + total / 450.0)
