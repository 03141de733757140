"""The encoded samples: rows on the same cell can be merged without changing any objective."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from csid.data import merging
from csid.data.merging import merge_repeated_cells, sort_by_cell
from csid.data.problem import Problem
from csid.data.samples import LocalSamples
from csid.inference.als import ALSOptions, fit_als
from csid.inference.starts import random_factors
from csid.likelihoods.gaussian import Gaussian
from fit.strategies import build_factors, build_problem, problems, seeds
from naive import model_of, objective


def _repeated(problem: Problem, seed: int, times: int = 3) -> Problem:
    """Rows drawn again and again from the problem, each with a target and weight of its own."""
    rng = np.random.default_rng(seed)
    drawn = problem.take(rng.integers(0, problem.n_rows, times * problem.n_rows))
    return replace(
        drawn,
        targets=rng.normal(3.0, 1.0, drawn.targets.shape),
        weights=rng.uniform(0.5, 2.0, drawn.n_rows),
    )


def _cells(problem: Problem) -> list[tuple[int, ...]]:
    """Each row's cell as a tuple: codes and fractions."""
    fractions = problem.cells.fractions if len(problem.cells.fractions) else np.zeros(problem.cells.codes.shape)
    return [tuple(row) for row in np.hstack([problem.cells.codes, fractions]).tolist()]


def _options(problem: Problem) -> ALSOptions:
    return ALSOptions(ridge=0.01, smoothness=(0.1,) * problem.n_modes)


@given(problems(max_modes=3, max_levels=3), seeds)
@settings(deadline=None, max_examples=60)
def test_merging_sums_weights_and_averages_targets(problem: Problem, seed: int) -> None:
    repeated = _repeated(problem, seed)
    merged = merge_repeated_cells(repeated)
    cells = _cells(repeated)
    assert _cells(merged) == list(dict.fromkeys(cells))  # each once, in order of its first row
    for cell, weight, target in zip(_cells(merged), merged.weights, merged.targets, strict=True):
        rows = [m for m, other in enumerate(cells) if other == cell]
        assert_allclose(weight, repeated.weights[rows].sum(), rtol=1e-13)
        mean = np.average(repeated.targets[rows], axis=0, weights=repeated.weights[rows])
        assert_allclose(target, mean, rtol=1e-12, atol=1e-13)


@given(problems(max_modes=3, max_levels=3), st.integers(1, 5), seeds)
@settings(deadline=None, max_examples=60)
def test_merging_keeps_the_objective_of_any_factors(problem: Problem, rank: int, seed: int) -> None:
    """Eq. (5) and Eq. (6) are equal, not just equivalent, because the sum of squares within cells is kept."""
    repeated, model = _repeated(problem, seed), model_of(build_factors(problem, rank, seed))
    merged = merge_repeated_cells(repeated)
    before, after = (objective(p, _options(p), model) for p in (repeated, merged))
    assert_allclose(after, before, rtol=1e-12)
    assert_allclose(merged.total_weight, repeated.total_weight, rtol=1e-13)


def test_squares_within_cells_survive_a_large_common_offset() -> None:
    """Targets far from zero must not lose them to cancellation."""
    repeated = _repeated(build_problem(0, levels=(2, 2), rows=10), 0)
    far = replace(repeated, targets=repeated.targets + 1e8)
    assert_allclose(merge_repeated_cells(far).within, merge_repeated_cells(repeated).within, rtol=1e-6)


def test_merging_twice_changes_nothing() -> None:
    merged = merge_repeated_cells(_repeated(build_problem(1, levels=(2, 3), linear=True, missing=0.3), 1))
    again = merge_repeated_cells(merged)
    assert again is merged


def test_a_merged_problem_merges_again_after_a_draw() -> None:
    """`within` of both steps adds up."""
    repeated = _repeated(build_problem(2, levels=(2, 2), rows=20), 2)
    half = merge_repeated_cells(repeated.take(np.arange(30)))
    rest = repeated.take(np.arange(30, repeated.n_rows))
    joined = replace(
        half,
        cells=half.cells.with_codes(np.vstack([half.cells.codes, rest.cells.codes])),
        weights=np.concatenate([half.weights, rest.weights]),
        targets=np.vstack([half.targets, rest.targets]),
    )
    assert_allclose(merge_repeated_cells(joined).within, merge_repeated_cells(repeated).within, rtol=1e-11)


def test_rows_that_only_share_a_hash_are_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    repeated = _repeated(build_problem(3, levels=(3, 3)), 3)
    monkeypatch.setattr(merging, "_hash_rows", lambda columns: np.zeros(len(columns[0]), np.uint64))
    assert merge_repeated_cells(repeated) is repeated


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("outputs", [1, 2])
def test_merged_and_unmerged_fits_agree(linear: bool, outputs: int) -> None:
    problem = build_problem(4, levels=(3, 4, 2), rows=30, outputs=outputs, linear=linear, missing=0.1)
    repeated = _repeated(problem, 4, times=4)
    options = ALSOptions(ridge=1e-3, smoothness=(0.05,) * 3, max_iter=10, tol=0.0)  # no component dies out
    results = []
    for p in (repeated, merge_repeated_cells(repeated)):
        start = random_factors(problem, 3, np.random.default_rng(0))
        results.append(fit_als(LocalSamples(p), options, start, Gaussian()))
    assert merge_repeated_cells(repeated).n_rows < repeated.n_rows
    assert_allclose(results[1].objective, results[0].objective, rtol=1e-9)
    assert_allclose(results[1].factors.table, results[0].factors.table, rtol=1e-7, atol=1e-7)


@given(problems(), seeds)
@settings(deadline=None, max_examples=40)
def test_take_by_index_and_by_mask(problem: Problem, seed: int) -> None:
    mask = np.random.default_rng(seed).random(problem.n_rows) < 0.5
    by_mask, by_index = problem.take(mask), problem.take(np.flatnonzero(mask))
    for part in (by_mask, by_index):
        assert_array_equal(part.cells.codes, problem.cells.codes[mask])
        assert_array_equal(part.weights, problem.weights[mask])
        assert_array_equal(part.targets, problem.targets[mask])
        assert part.cells.fractions.shape == ((mask.sum() if len(problem.cells.fractions) else 0), problem.n_modes)
        assert part.cells.codes.flags.f_contiguous  # what the kernels need
        assert part.cells.fractions.flags.f_contiguous
        assert_array_equal(part.roots**2, np.sqrt(problem.weights[mask]) ** 2)


@given(problems(), seeds)
@settings(deadline=None, max_examples=40)
def test_reweighted_multiplies_weights_and_drops_zeros(problem: Problem, seed: int) -> None:
    counts = np.random.default_rng(seed).integers(0, 3, problem.n_rows).astype(float)
    part = problem.reweighted(counts)
    assert_array_equal(part.weights, (problem.weights * counts)[counts > 0])
    assert_array_equal(part.cells.codes, problem.cells.codes[counts > 0])
    assert_allclose(part.total_weight, problem.weights @ counts, rtol=1e-12)


@given(problems())
@settings(deadline=None, max_examples=20)
def test_other_targets_leave_the_rows_as_they_are(problem: Problem) -> None:
    targets = problem.targets.copy()
    other = problem.with_targets(targets + 1.0)
    assert_array_equal(other.targets, targets + 1.0)
    assert_array_equal(problem.targets, targets)
    assert other.cells is problem.cells
    for name in ("weights", "roots", "within"):
        assert_array_equal(getattr(other, name), getattr(problem, name))


@given(problems(), seeds)
@settings(deadline=None, max_examples=40)
def test_rows_ordered_by_cell_forget_their_order(problem: Problem, seed: int) -> None:
    """Merged cells are all different, so that any order of the rows gives the same problem."""
    merged = merge_repeated_cells(problem)
    shuffled = replace(merged.take(np.random.default_rng(seed).permutation(merged.n_rows)), within=merged.within)
    one, other = sort_by_cell(merged), sort_by_cell(shuffled)
    assert_array_equal(one.cells.codes, other.cells.codes)
    assert_array_equal(one.cells.fractions, other.cells.fractions)
    for name in ("weights", "targets", "within"):
        assert_array_equal(getattr(one, name), getattr(other, name))
    assert sorted(map(tuple, one.targets)) == sorted(map(tuple, merged.targets))
