"""Missing cells under a joint PMF, against enumeration of all completions."""

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
from csid.inference.gibbs import SampledModel, Sweeps, run_chain
from csid.inference.starts import random_state
from csid.inference.state import Chain
from csid.likelihoods.gaussian import Gaussian
from csid.likelihoods.location_scale import LocationScale
from csid.likelihoods.student_t import StudentT
from csid.missing.drawn_cells import DrawnCells
from csid.missing.latent_classes import LatentClasses, class_probabilities
from csid.missing.level_pmf import Imputation, LevelPMF, expected_values, imputed_values
from csid.priors.prior import Prior
from csid.tensor.evaluation import values_of_rows
from csid.tensor.factors import Factors
from fit.strategies import build_factors, build_problem, with_cells

Array = np.ndarray
LEVELS = (4, 3, 5)


def _pmf(seed: int, problem: Problem, rank: int = 3) -> LevelPMF:
    """Neighbouring levels share a bin in the first mode; elsewhere a bin is a level."""
    rng = np.random.default_rng([seed, 9])
    bins = [np.arange(I_n) // (2 if n == 0 else 1) for n, I_n in enumerate(problem.levels)]
    masses = [np.bincount(b, p) for b, p in zip(bins, problem.marginals, strict=True)]
    drawn = [rng.dirichlet(np.ones(len(mass)), rank).T for mass in masses]
    lifts = tuple(B / mass[:, None] for B, mass in zip(drawn, masses, strict=True))
    return LevelPMF(LatentClasses(rng.dirichlet(np.ones(rank)), lifts), tuple(bins), problem.marginals)


def _joint(pmf: LevelPMF) -> Array:
    """The whole tensor of probabilities (I_1, ..., I_N)."""
    tensor = np.zeros(tuple(pmf.levels))
    for r, weight in enumerate(pmf.classes.weights):
        part = np.array(weight)
        for B in pmf.given_class:
            part = np.multiply.outer(part, B[:, r])
        tensor += part
    return tensor


def _completions(pmf: LevelPMF, problem: Problem, m: int) -> tuple[list[tuple[int, ...]], Array]:
    """All completions of row m, and their probabilities given its observed cells, each at its nearest level."""
    joint = _joint(pmf)
    codes = problem.cells.codes[m].astype(int)
    nearest = codes + (problem.cells.fractions[m] > 0.5) if len(problem.cells.fractions) else codes
    bins = [np.append(b, -1) for b in pmf.bins]
    choices = [range(I) if c == I else [c] for c, I in zip(codes, pmf.levels, strict=True)]
    cells, masses = list(product(*choices)), []
    for cell in cells:
        at = [near if c < I else i for near, c, i, I in zip(nearest, codes, cell, pmf.levels, strict=True)]
        scale = np.prod(
            [pmf.marginals[n][i] for n, (i, c) in enumerate(zip(at, codes, strict=True)) if c < pmf.levels[n]]
        )
        assert all(bins[n][i] >= 0 for n, i in enumerate(at))
        masses.append(joint[tuple(at)] / scale)
    return cells, np.array(masses) / np.sum(masses)


def _value(problem: Problem, factors: Factors, m: int, cell: tuple[int, ...]) -> Array:
    one = problem.take(np.array([m]))
    return values_of_rows(one.cells.with_codes(np.array([cell], one.cells.codes.dtype)), factors, Workers())[0]


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), linear=st.booleans(), outputs=st.integers(1, 3), rank=st.integers(1, 5))
def test_the_expectation_is_the_sum_over_all_completions(seed: int, linear: bool, outputs: int, rank: int) -> None:
    problem = build_problem(seed, levels=LEVELS, rows=20, linear=linear, outputs=outputs, missing=0.4)
    pmf, factors = _pmf(seed, problem, rank), build_factors(problem, 3, seed)
    expected = expected_values(problem.cells, factors, pmf, Workers())
    for m in range(problem.n_rows):
        cells, probabilities = _completions(pmf, problem, m)
        pairs = zip(probabilities, cells, strict=True)
        brute = sum(p * _value(problem, factors, m, cell) for p, cell in pairs)
        assert_allclose(expected[m], brute, rtol=1e-7, atol=1e-7)


def test_classes_that_do_not_differ_are_the_marginals() -> None:
    problem = build_problem(0, levels=LEVELS, rows=50, missing=0.4, linear=True)
    pmf, factors = _pmf(0, problem), build_factors(problem, 4, 0)
    ones = tuple(np.ones_like(lift) for lift in pmf.classes.lifts)
    same = replace(pmf, classes=LatentClasses(pmf.classes.weights, ones))
    averaged = values_of_rows(problem.cells, factors, Workers())
    assert_allclose(expected_values(problem.cells, factors, same, Workers()), averaged, atol=1e-9)


def test_without_a_joint_pmf_missing_cells_follow_the_marginals() -> None:
    problem = build_problem(1, levels=LEVELS, rows=50, missing=0.4)
    factors = build_factors(problem, 4, 0)
    averaged = values_of_rows(problem.cells, factors, Workers())
    assert_array_equal(expected_values(problem.cells, factors, None, Workers()), averaged)


def test_completions_at_evenly_spread_quantiles_follow_the_pmf() -> None:
    problem = build_problem(2, levels=LEVELS, rows=1)
    problem = with_cells(problem, codes=np.array([[4, 1, 5]], np.uint8))
    pmf = _pmf(2, problem)
    cells, expected = _completions(pmf, problem, 0)
    probabilities = class_probabilities(pmf.class_logits(problem.cells.codes, problem.cells.fractions, Workers()))
    u = np.random.default_rng(0).random((20_000, 4))
    many = pmf.impute(np.repeat(problem.cells.codes, 20_000, axis=0), np.repeat(probabilities, 20_000, axis=0), u)
    found = [np.mean((many == cell).all(axis=1)) for cell in cells]
    assert_allclose(found, expected, atol=0.015)
    for row in range(20):
        assert_array_equal(pmf.impute(problem.cells.codes, probabilities, u[row])[0], many[row])
    for extreme in (0.0, np.nextafter(1.0, 0.0)):
        assert (pmf.impute(problem.cells.codes, probabilities, np.full(4, extreme)) < problem.levels).all()


def test_draws_with_imputed_cells_differ_and_keep_the_mean() -> None:
    problem = build_problem(3, levels=LEVELS, rows=40, missing=0.3, outputs=2)
    pmf = _pmf(3, problem)
    draws = [build_factors(problem, 3, seed) for seed in range(7)]
    weights = np.random.default_rng(0).dirichlet(np.ones(7))
    rows = problem.cells.incomplete
    each = [expected_values(problem.cells.take(rows), draw, pmf, Workers()) for draw in draws]
    expected = np.tensordot(weights, each, 1)
    values, wide = (
        imputed_values(problem.cells, draws, weights, expected, Imputation(pmf, factor), Workers())
        for factor in (np.ones(1), np.array([1.0, 3.0]))
    )
    assert_allclose(np.tensordot(weights, values[:, rows], 1), expected, atol=1e-9)
    assert_allclose(wide[:, rows] - expected, np.array([1.0, 3.0]) * (values[:, rows] - expected), atol=1e-9)
    complete = np.setdiff1d(np.arange(40), problem.cells.incomplete)
    for value, draw in zip(values, draws, strict=True):
        assert_array_equal(value[complete], values_of_rows(problem.cells, draw, Workers())[complete])
        assert_array_equal(wide[:, complete], values[:, complete])
    same = imputed_values(problem.cells, [draws[0]] * 7, weights, expected, Imputation(pmf, np.ones(1)), Workers())
    assert np.ptp(same[:, problem.cells.incomplete], axis=0).max() > 0.1


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("likelihood_power", [1.0, 0.0])
def test_cells_are_drawn_from_the_pmf_times_the_likelihood(linear: bool, likelihood_power: float) -> None:
    """Many copies of a row: how often they hold each completion after some sweeps, against enumeration.

    The likelihood is that of the working targets and weights, not of those that the rows were given.
    """
    one = build_problem(5, levels=LEVELS, rows=1, outputs=2)
    fractions = np.array([[0.0, 0.3, 0.0]], np.float32) if linear else one.cells.fractions
    copies = 20_000
    rows = replace(
        with_cells(
            one,
            codes=np.repeat(np.array([[4, 1, 5]], np.uint8), copies, axis=0),
            fractions=np.repeat(fractions, copies, axis=0) if linear else fractions,
        ),
        weights=np.full(copies, 1.5),
        targets=np.repeat(one.targets, copies, axis=0),
    )
    pmf, factors, alpha = _pmf(5, rows), build_factors(rows, 3, 5), np.array([0.7, 0.2])
    rng = np.random.default_rng(0)
    given = replace(rows, weights=np.ones(copies), targets=np.zeros_like(rows.targets))
    drawn = DrawnCells.of(given, pmf, rng, Workers())
    for _ in range(30):
        drawn.draw(pmf, factors, likelihood_power * alpha, rows, int(rng.integers(2**63)), Workers())
    cells, prior = _completions(pmf, rows, 0)
    errors = np.array([(alpha * (rows.targets[0] - _value(rows, factors, 0, cell)) ** 2).sum() for cell in cells])
    exact = prior * np.exp(-0.5 * likelihood_power * 1.5 * errors)
    found = [np.mean((drawn.problem.cells.codes == cell).all(axis=1)) for cell in cells]
    assert_allclose(found, exact / exact.sum(), atol=0.012)
    assert np.abs(exact / exact.sum() - prior).max() > 0.1 or likelihood_power == 0.0


def test_observed_cells_stay_and_threads_do_not_change_a_bit() -> None:
    problem = build_problem(6, levels=LEVELS, rows=40_000, missing=0.3)
    pmf, factors = _pmf(6, problem), build_factors(problem, 3, 6)
    results = []
    for threads in (1, 3):
        with Workers(threads) as workers:
            drawn = DrawnCells.of(problem, pmf, np.random.default_rng(0), workers)
            drawn.draw(pmf, factors, np.ones(1), problem, 11, workers)
            results.append(drawn.problem.cells.codes.copy())
    assert_array_equal(results[0], results[1])
    absent = problem.cells.codes == problem.levels
    assert_array_equal(results[0][~absent], problem.cells.codes[~absent])
    assert (results[0] < problem.levels).all()


@pytest.mark.parametrize("likelihood", [Gaussian(), StudentT()], ids=lambda likelihood: likelihood.name)
def test_a_chain_with_drawn_cells_goes_on_from_them(likelihood: LocationScale) -> None:
    problem = build_problem(7, levels=LEVELS, rows=60, missing=0.3)
    pmf = _pmf(7, problem)

    def chain(parts: list[int]) -> Chain:
        rng = np.random.default_rng(1)
        run = Chain(random_state(problem, likelihood, 2, rng))
        for sweeps in parts:
            run_chain(LocalSamples(problem), SampledModel(Prior(), likelihood, pmf), run, rng, Sweeps(0, sweeps))
        return run

    whole, parts = chain([6]), chain([4, 2])
    assert_array_equal(whole.state.factors.table, parts.state.factors.table)
    assert whole.cells is not None
    assert_array_equal(problem.cells.codes == problem.levels, problem.levels == whole.cells.given.T)
