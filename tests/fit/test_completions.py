"""Incomplete rows as several completed rows: responsibilities, loss, and that no sweep raises the objective."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from csid._kernels.threads import Workers
from csid.data.samples import LocalSamples
from csid.inference.als import ALSOptions, ALSRun, fit_als
from csid.inference.starts import random_factors
from csid.likelihoods.gaussian import Gaussian
from csid.missing.completions import Completions
from csid.tensor.evaluation import values_of_rows
from fit.strategies import build_factors, build_problem
from fit.test_missing_cells import LEVELS, _pmf


def test_completions_divide_the_weight_of_their_row() -> None:
    problem = build_problem(0, levels=LEVELS, rows=30, missing=0.2, weighted=True, outputs=2)
    completions = Completions.of(LocalSamples(problem), _pmf(0, problem), np.random.default_rng(0))
    rows = completions.samples.problem
    counts = np.diff(np.append(completions.starts, rows.n_rows))
    lacking = np.isin(np.arange(30), problem.cells.incomplete)
    assert_array_equal(counts, np.where(lacking, 16, 1))
    assert (rows.cells.codes < rows.levels).all()
    assert_array_equal(rows.cells.codes[completions.starts[~lacking]], problem.cells.codes[~lacking])
    for variance in (completions.variance, 0.1):
        completions.variance = variance
        factors = build_factors(problem, 3, 1)
        squares = ((rows.targets - values_of_rows(rows.cells, factors, Workers())) ** 2).sum(axis=1)
        loss, responsibilities = 0.0, []
        for weight, part in zip(problem.weights, np.split(squares, completions.starts[1:]), strict=True):
            likelihood = np.exp(-0.5 * part / variance)
            loss += weight * -2.0 * variance * np.log(likelihood.mean()) / problem.total_weight
            responsibilities.append(weight * likelihood / likelihood.sum())
        assert_allclose(completions.update_responsibilities(factors), loss)
        assert_allclose(completions.samples.problem.weights, np.concatenate(responsibilities))
        residual = float(completions.samples.problem.weights @ squares) / problem.total_weight
        assert_allclose(completions.variance, min(variance, residual))


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), linear=st.booleans(), outputs=st.integers(1, 2))
def test_no_sweep_raises_the_objective(seed: int, linear: bool, outputs: int) -> None:
    problem = build_problem(seed, levels=LEVELS, rows=50, missing=0.3, linear=linear, outputs=outputs, weighted=True)
    pmf, rng = _pmf(seed, problem), np.random.default_rng(seed)
    options = ALSOptions(ridge=1e-4, smoothness=(1e-2,) * 3, max_iter=15, tol=0.0, n_iter_no_change=100)
    completions = Completions.of(LocalSamples(problem), pmf, rng)
    factors = random_factors(problem, 3, rng)
    result = fit_als(LocalSamples(problem), options, factors, Gaussian(), ALSRun(completions=completions))
    assert (np.diff(result.objective) <= 1e-10).all()


def test_complete_rows_stay_as_they_are() -> None:
    problem = build_problem(2, levels=LEVELS, rows=10, weighted=True)
    completions = Completions.of(LocalSamples(problem), _pmf(2, problem), np.random.default_rng(0))
    assert_array_equal(completions.samples.problem.cells.codes, problem.cells.codes)
    assert_array_equal(completions.samples.problem.weights, problem.weights)
