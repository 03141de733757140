"""Sweeps over blocks: running sums, steps that decay, and what a fit by blocks promises."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from csid._kernels import threads
from csid._kernels.threads import Workers
from csid.data.problem import Problem
from csid.data.samples import LocalSamples
from csid.inference import stochastic
from csid.inference.als import ALSOptions, ALSResult, ALSRun, Penalties, fit_als, mean_squared_error, sweep
from csid.inference.starts import random_factors
from csid.inference.stochastic import (
    COUNT_IN_PASSES,
    COUNT_IN_STREAM,
    BlockSweeps,
    RunningSums,
    blocks,
    number_of_blocks,
)
from csid.likelihoods.gaussian import Gaussian
from csid.tensor.factors import Factors, stack_factors
from fit.strategies import als_options, build_factors, build_problem, problems, seeds
from naive import cell_weights, model_of, values

Array = np.ndarray
KINDS = {
    "numbers": {"linear": True},
    "on levels": {},
    "categories": {"ordered": (0, 0, 6)},
    "missing cells": {"linear": True, "missing": 0.2},
    "weights": {"weighted": True},
    "several outputs": {"outputs": 3, "linear": True},
}


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few dozen rows, and sums over some of them in a thread."""
    monkeypatch.setattr(stochastic, "_FEWEST_ROWS", 16)
    monkeypatch.setattr(threads, "FEWEST_ROWS_IN_PART", 16)


def _learnable(seed: int, rows: int, noise: float = 2.0, **kind: object) -> Problem:
    """A problem whose targets follow a tensor of rank two, with noise."""
    problem = build_problem(seed, levels=(6, 5, 6), rows=rows, **kind)
    rng = np.random.default_rng([seed, 2])
    A = tuple(np.cumsum(0.5 * rng.standard_normal((int(I_n), 2)), axis=0) + 1.0 for I_n in problem.levels)
    system = stack_factors(A, rng.standard_normal((problem.n_outputs, 2)), np.zeros(1), problem.marginals)
    targets = values(problem, model_of(system)) + noise * rng.standard_normal(problem.targets.shape)
    return replace(problem, targets=(targets - targets.mean(axis=0)) / targets.std(axis=0))


def _options(problem: Problem, max_iter: int) -> ALSOptions:
    return ALSOptions(1e-5, (1e-3,) * problem.n_modes, max_iter=max_iter, tol=0.0, n_iter_no_change=max_iter)


def _fit(
    problem: Problem, max_iter: int, one_pass: BlockSweeps | None = None, workers: Workers | None = None
) -> ALSResult:
    start = random_factors(problem, 2, np.random.default_rng(0))
    samples = LocalSamples(problem, workers or Workers())
    return fit_als(samples, _options(problem, max_iter), start, Gaussian(), ALSRun(one_pass=one_pass))


def _sums_of(problem: Problem, factors: Factors, k: int, counts: Array) -> tuple[Array, Array, Array]:
    """D, O and R of a mode by their definition; `counts` is how much each row counts."""
    weights = cell_weights(problem.cells.codes, problem.cells.fractions, problem.levels)
    tables = [factors.padded_factor(n)[:, : factors.rank] for n in range(problem.n_modes)]
    q = np.prod([W @ A for n, (W, A) in enumerate(zip(weights, tables, strict=True)) if n != k], axis=0)
    q = np.broadcast_to(q, (problem.n_rows, factors.rank))
    W, s = weights[k], counts * problem.weights
    D = np.einsum("m,mi,ma,mb->iab", s, W**2, q, q)
    O = np.einsum("m,mi,ma,mb->iab", s, W * np.roll(W, -1, axis=1), q, q)
    return D, O, np.einsum("m,mi,mj,ma->ija", s, W, problem.targets - factors.bias, q)


# --- running sums -------------------------------------------------------------------------------------------------


@given(problems(max_modes=3), st.integers(1, 4), seeds, st.integers(1, 4))
def test_running_sums_are_those_of_rows_that_count_less_the_older_they_are(
    problem: Problem, rank: int, seed: int, count: int
) -> None:
    factors, running = build_factors(problem, rank, seed), RunningSums()
    counts = np.zeros(problem.n_rows)
    for rows in np.array_split(np.arange(problem.n_rows), min(count, problem.n_rows)):
        mixed = running.mix(LocalSamples(problem.take(rows)), problem)
        counts *= 1.0 - mixed.step
        counts[rows] = mixed.step / problem.weights[rows].sum()
        found = dict(mixed.sums_by_mode(factors))
        gram, rhs = mixed.output_sums(factors)
    assert_allclose(counts @ problem.weights, 1.0)
    counts *= problem.total_weight
    upper = np.triu_indices(rank)
    for k, (D, O, R) in found.items():
        expected = _sums_of(problem, factors, k, counts)
        size = 1e-10 * max(1.0, *(np.abs(part).max() for part in expected))
        assert_allclose(D[:, *upper], expected[0][:, *upper], atol=size)
        if len(O):
            assert_allclose(O[:-2, *upper], expected[1][:-2, *upper], atol=size)
        assert_allclose(R[..., :rank], expected[2], atol=size)
    weighted = problem.with_weights(np.maximum(counts, 1e-300) * problem.weights)
    for found_sum, expected_sum in zip((gram, rhs), LocalSamples(weighted).output_sums(factors), strict=True):
        assert_allclose(found_sum, expected_sum, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(expected_sum).max()))


def test_steps_decay_to_the_fraction_of_a_block_and_no_further() -> None:
    problem = build_problem(0, rows=40)
    running, c = RunningSums(), COUNT_IN_PASSES
    block = LocalSamples(problem.take(np.arange(10)))
    steps = [running.mix(block, problem, c, 40.0).step for _ in range(100)]
    assert_allclose(steps[:30], [c / (c + t) for t in range(30)])
    assert_allclose(steps[30:], 10 / 40)


def test_in_a_stream_steps_keep_decaying_whatever_the_size_of_batches() -> None:
    problem = build_problem(0, rows=64)

    def weight_left(rows: int, batches: int) -> float:
        """Of the first 1,000 rows, as a fraction."""
        running = RunningSums(weight=1000.0, seen=1000.0)
        block = LocalSamples(problem.take(np.arange(rows)))
        return float(np.prod([1.0 - running.mix(block, problem).step for _ in range(batches)]))

    assert_allclose(weight_left(1, 64), (1000 / 1064) ** COUNT_IN_STREAM, rtol=0.01)
    assert_allclose(weight_left(1, 64), weight_left(16, 4), rtol=0.1)
    assert weight_left(64, 1000) < 1e-3


# --- blocks -------------------------------------------------------------------------------------------------------


@given(st.integers(200, 2000), st.integers(1, 12), seeds)
def test_blocks_part_the_rows_into_runs(rows: int, count: int, seed: int) -> None:
    problem = build_problem(0, rows=rows)
    problem = replace(problem, targets=np.arange(rows, dtype=float)[:, None])
    found = [block.targets[:, 0] for block in blocks(problem, count, np.random.default_rng(seed))]
    assert_array_equal(np.sort(np.concatenate(found)), np.arange(rows))
    assert len(found) == count
    assert np.ptp([len(block) for block in found]) <= 16
    assert all((np.diff(block) > 0).all() for block in found)
    assert all((np.diff(block) > 1).sum() < 16 for block in found)


def test_blocks_have_rows_for_the_parameters_of_a_factor() -> None:
    factors = random_factors(build_problem(0, levels=(250, 3)), 16, np.random.default_rng(0))
    assert number_of_blocks(500, factors) == 1
    assert number_of_blocks(100_000, factors) == 6
    assert number_of_blocks(10_000_000, factors) == 64
    assert number_of_blocks(10_000_000, factors, 16) == 16


# --- the fit ------------------------------------------------------------------------------------------------------


@given(problems(max_modes=3), st.integers(1, 4), seeds, st.data())
def test_a_block_of_all_rows_is_a_sweep_of_least_squares(
    problem: Problem, rank: int, seed: int, data: st.DataObject
) -> None:
    options = data.draw(als_options(problem.n_modes, update=data.draw(st.sampled_from(["mode", "row"]))))
    samples, penalties = LocalSamples(problem), Penalties.of(problem, options)
    passes = BlockSweeps(np.random.default_rng(0))
    by_sweep, by_block = (random_factors(problem, rank, np.random.default_rng(seed)) for _ in range(2))
    for _ in range(2):  # sums of the first are forgotten in the second
        by_block.bias[:] = by_sweep.bias
        sweep(samples, options, penalties, by_sweep)
        passes(samples, options, penalties, by_block)
        assert_array_equal(by_block.table, by_sweep.table)
        zero = np.array([~by_sweep.padded_factor(n)[:-1, :rank].any(axis=0) for n in range(problem.n_modes)])
        alive = np.append(zero.sum(axis=0) < 2, np.ones(by_sweep.V.shape[1] - rank, bool))  # no value reads other V
        assert_array_equal(by_block.V[:, alive], by_sweep.V[:, alive])
        size = 1e-9 * problem.total_weight * (1.0 + np.abs(values(problem, model_of(by_block))).max())
        assert_allclose(samples.residual_sums(by_block)[0], 0.0, atol=size)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("kind", KINDS)
def test_blocks_come_near_the_objective_of_least_squares(kind: str) -> None:
    problem = _learnable(1, 4000, **KINDS[kind])
    blockwise, whole = _fit(problem, 60, BlockSweeps(np.random.default_rng(0))), _fit(problem, 100)
    assert blockwise.objective[-1] < 1.03 * whole.objective[-1]


@pytest.mark.usefixtures("small_blocks")
def test_blocks_need_a_third_of_the_passes() -> None:
    both = _learnable(3, 24_000)
    train, held_out = both.take(np.arange(12_000)), both.take(np.arange(12_000, 24_000))
    whole = ALSRun(held_out_error=lambda factors, parameters: mean_squared_error(LocalSamples(held_out), factors))
    by_blocks = whole._replace(one_pass=BlockSweeps(np.random.default_rng(0)))
    start = random_factors(train, 2, np.random.default_rng(0))
    slow = fit_als(LocalSamples(train), _options(train, 12), start.copy(), Gaussian(), whole)
    fast = fit_als(LocalSamples(train), _options(train, 4), start.copy(), Gaussian(), by_blocks)
    assert np.sqrt(min(fast.validation)) < 1.01 * np.sqrt(min(slow.validation))


@pytest.mark.usefixtures("small_blocks")
def test_sorted_rows_are_fitted_as_well() -> None:
    problem = _learnable(5, 4000)
    ordered = problem.take(np.lexsort(problem.cells.codes.T))
    blockwise, whole = _fit(ordered, 40, BlockSweeps(np.random.default_rng(0))), _fit(problem, 150)
    assert blockwise.objective[-1] < 1.03 * whole.objective[-1]


@pytest.mark.usefixtures("small_blocks")
def test_threads_change_no_bit_and_the_seed_does() -> None:
    problem = _learnable(2, 3000, linear=True, missing=0.1)
    tables = []
    for seed, n_threads in ((0, 1), (0, 2), (0, 3), (1, 1)):
        with Workers(n_threads) as workers:
            tables.append(_fit(problem, 3, BlockSweeps(np.random.default_rng(seed)), workers).factors.table)
    assert_array_equal(tables[0], tables[1])
    assert_array_equal(tables[0], tables[2])
    assert not np.array_equal(tables[0], tables[3])
