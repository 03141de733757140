"""Every compiled loop over rows against its naive twin."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from csid._kernels import row_loops
from csid._kernels.simd import WIDTH
from csid.data.problem import Problem
from csid.data.statistics import row_arrays
from csid.tensor.evaluation import row_product
from csid.tensor.factors import Factors, padded_rank, stack_factors
from fit.strategies import build_factors, build_problem, problems, ranks, seeds
from naive import cell_weights, level_sums, level_weights, model_of, products, values

Array = np.ndarray
TIGHT = {"rtol": 1e-11, "atol": 1e-11}


def _other_modes(problem: Problem, k: int) -> Array:
    return np.delete(np.arange(problem.n_modes, dtype=np.intp), k)


def _accumulate(
    problem: Problem, factors: Factors, k: int, outside: Array, modes: Array, cut: int = 0
) -> tuple[Array, Array, Array]:
    """D, O and R of the kernel, summed over rows before and after `cut`."""
    S, levels = factors.table.shape[1], int(problem.levels[k]) + 1
    D, O = np.zeros((levels, S, S)), np.zeros((levels if len(problem.cells.fractions) else 0, S, S))
    sums = D, O, np.zeros((levels, problem.n_outputs, S))
    rows, product = row_arrays(problem, factors.bias), row_product(factors, outside, modes)
    for part in ((0, cut), (cut, problem.n_rows)):
        if part[0] < part[1]:
            row_loops.accumulate(rows, product, k, factors.rank, part, sums)
    return sums


def _check_accumulate(problem: Problem, factors: Factors, k: int, outside: Array, modes: Array, cut: int = 0) -> None:
    """Upper triangles of D and O, and R, against sums over cell weights."""
    F, model = factors.rank, model_of(factors)
    D, O, R = _accumulate(problem, factors, k, outside, modes, cut)
    q = products(level_weights(problem), model.A, modes) * outside[:, :F]
    W = cell_weights(problem.cells.codes, problem.cells.fractions, problem.levels)[k]
    expected_D, expected_O, expected_R = level_sums(W, q, problem.roots, problem.targets - model.bias)
    assert_allclose(np.triu(D[:, :F, :F]), np.triu(expected_D), **TIGHT)
    assert_allclose(R[:, :, :F], expected_R, **TIGHT)
    if len(O):
        assert_allclose(np.triu(O[:, :F, :F]), np.triu(expected_O), **TIGHT)
    else:
        assert not expected_O.any()


@given(problems(), ranks, seeds, st.data())
@settings(deadline=None, max_examples=100)
def test_accumulate(problem: Problem, rank: int, seed: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, problem.n_modes - 1))
    cut = data.draw(st.integers(0, problem.n_rows))
    factors = build_factors(problem, rank, seed)
    _check_accumulate(problem, factors, k, problem.roots[:, None], _other_modes(problem, k), cut)


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("rank", [3, 8, 19])
def test_accumulate_in_single_precision(linear: bool, rank: int) -> None:
    """The sums themselves are in double precision: their error is that of the products."""
    problem = build_problem(0, levels=(3, 4), rows=5001, outputs=2, linear=linear, missing=0.2, weighted=True)
    factors, others = build_factors(problem, rank, 0), _other_modes(problem, 1)
    exact = _accumulate(problem, factors, 1, problem.roots[:, None], others)
    single = _accumulate(problem, factors.rounded(), 1, problem.roots[:, None].astype(np.float32), others)
    for sums, rounded in zip(exact, single, strict=True):
        assert rounded.dtype == np.float64
        assert_allclose(rounded, sums, rtol=0.0, atol=1e-6 * np.abs(sums).max(initial=0.0))
    assert not np.array_equal(exact[0], single[0])


@given(problems(), ranks, seeds, st.data())
@settings(deadline=None, max_examples=50)
def test_accumulate_from_partial_products(problem: Problem, rank: int, seed: int, data: st.DataObject) -> None:
    """`outside` as a row for each sample, and any subset of the modes still to be multiplied."""
    k = data.draw(st.integers(0, problem.n_modes - 1))
    modes = np.array(sorted(data.draw(st.sets(st.integers(0, problem.n_modes - 1)))), dtype=np.intp)
    outside = np.zeros((problem.n_rows, padded_rank(rank)))
    outside[:, :rank] = np.random.default_rng(seed).standard_normal((problem.n_rows, rank))
    _check_accumulate(problem, build_factors(problem, rank, seed), k, outside, modes)


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("rank", [3, 19])
def test_accumulate_over_many_tiles_and_buffers(linear: bool, rank: int) -> None:
    """More rows than a tile, and more rows on a level than a buffer holds."""
    problem = build_problem(0, levels=(3, 4), rows=9001, outputs=2, linear=linear, missing=0.2, weighted=True)
    factors = build_factors(problem, rank, 0)
    for k in range(2):
        _check_accumulate(problem, factors, k, problem.roots[:, None], _other_modes(problem, k), cut=4500)


@pytest.mark.parametrize("linear", [False, True])
def test_accumulate_with_more_levels_than_a_byte(linear: bool) -> None:
    problem = build_problem(1, levels=(700, 2), rows=900, linear=linear, missing=0.1, dtype=np.uint16)
    _check_accumulate(problem, build_factors(problem, 5, 1), 0, problem.roots[:, None], _other_modes(problem, 0))


def test_the_255th_level_is_missing_in_a_byte() -> None:
    problem = build_problem(2, levels=(255, 2), rows=600, missing=0.3)
    assert problem.cells.codes.dtype == np.uint8
    assert problem.cells.codes.max() == 255
    _check_accumulate(problem, build_factors(problem, 2, 2), 0, problem.roots[:, None], _other_modes(problem, 0))


@given(problems(), ranks, seeds, st.booleans(), st.data())
@settings(deadline=None, max_examples=50)
def test_multiply(problem: Problem, rank: int, seed: int, by_row: bool, data: st.DataObject) -> None:
    """Products over any modes, into the visited rows and no others."""
    factors = build_factors(problem, rank, seed)
    modes = np.array(sorted(data.draw(st.sets(st.integers(0, problem.n_modes - 1)))), dtype=np.intp)
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, problem.n_rows)] * 2)))
    S = padded_rank(rank)
    outside = np.random.default_rng(seed).standard_normal((problem.n_rows, S if by_row else 1))
    out = np.full((problem.n_rows, S), np.nan)
    row_loops.multiply(problem.cells.arrays, row_product(factors, outside, modes), (start, stop), out)
    expected = products(level_weights(problem), model_of(factors).A, modes) * outside[:, :rank]
    assert_allclose(out[start:stop, :rank], expected[start:stop], **TIGHT)
    assert np.isnan(np.delete(out, np.s_[start:stop], axis=0)).all()
    if len(modes):
        assert not out[start:stop, rank:].any()


def test_an_empty_outside_is_one() -> None:
    problem = build_problem(3, levels=(3, 2, 4), linear=True, missing=0.2)
    factors = build_factors(problem, 11, 3)
    modes = np.arange(3, dtype=np.intp)
    out = np.empty((problem.n_rows, 16))
    row_loops.multiply(problem.cells.arrays, row_product(factors, np.empty((0, 1)), modes), (0, problem.n_rows), out)
    assert_allclose(out[:, :11], products(level_weights(problem), model_of(factors).A, modes), **TIGHT)


def _evaluate(problem: Problem, factors: Factors, start: int, stop: int) -> Array:
    out = np.full((problem.n_rows, problem.n_outputs), np.nan)
    modes = np.arange(problem.n_modes, dtype=np.intp)
    cells, part, bias = problem.cells.arrays, (start, stop), factors.bias
    row_loops.evaluate(cells, factors.table, factors.offsets, modes, factors.V, bias, part, out[start:stop])
    return out


@given(problems(max_rows=300), ranks, seeds, st.data())
@settings(deadline=None, max_examples=50)
def test_evaluate(problem: Problem, rank: int, seed: int, data: st.DataObject) -> None:
    factors = build_factors(problem, rank, seed)
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, problem.n_rows)] * 2)))
    out = _evaluate(problem, factors, start, stop)
    assert_allclose(out[start:stop], values(problem, model_of(factors))[start:stop], **TIGHT)
    assert np.isnan(np.delete(out, np.s_[start:stop], axis=0)).all()


def _project(
    problem: Problem, factors: Factors, k: int, outside: Array, modes: Array, X: Array, from_targets: bool
) -> tuple[Array, Array]:
    rows, product, part = row_arrays(problem, factors.bias), row_product(factors, outside, modes), (0, problem.n_rows)
    sums = np.zeros((2, len(X), factors.table.shape[1]))
    row_loops.project(rows, product, k, factors.V, X, from_targets, part, sums)
    return sums[0], sums[1]


@given(problems(max_rows=200), ranks, seeds, st.booleans(), st.data())
@settings(deadline=None, max_examples=60)
def test_project(problem: Problem, rank: int, seed: int, from_targets: bool, data: st.DataObject) -> None:
    """Sums of s w_i z_j (q * V_j), for z from the targets or from a factor, and the diagonal."""
    k = data.draw(st.integers(0, problem.n_modes - 1))
    factors, modes = build_factors(problem, rank, seed), _other_modes(problem, k)
    model = model_of(factors)
    X = np.zeros((int(problem.levels[k]) + 1, padded_rank(rank)))
    X[:, :rank] = np.random.default_rng(seed).standard_normal((len(X), rank))
    out, diagonal = _project(problem, factors, k, problem.roots[:, None], modes, X, from_targets)

    W = cell_weights(problem.cells.codes, problem.cells.fractions, problem.levels)[k]
    q = products(level_weights(problem), model.A, modes)
    expected, squares = np.zeros((len(X), rank)), np.zeros((len(X), rank))
    for j in range(problem.n_outputs):
        qV = q * model.V[j]
        z = problem.targets[:, j] - model.bias[j] if from_targets else (qV * (W @ X[:, :rank])).sum(axis=1)
        expected += W.T @ ((problem.weights * z)[:, None] * qV)
        squares += (W**2).T @ (problem.weights[:, None] * qV**2)
    assert_allclose(out[:, :rank], expected, **TIGHT)
    assert_allclose(diagonal[:, :rank], squares if from_targets else 0.0, **TIGHT)


@given(problems(), ranks.filter(lambda rank: rank % WIDTH), seeds)
@settings(deadline=None, max_examples=30)
def test_padded_columns_never_reach_a_result(problem: Problem, rank: int, seed: int) -> None:
    """Whatever stands in the padding of the table, no entry of rank F changes by a bit."""
    clean, dirty = build_factors(problem, rank, seed), build_factors(problem, rank, seed)
    dirty.table[:, rank:] = np.random.default_rng(seed).standard_normal(dirty.table[:, rank:].shape)
    modes, outside = _other_modes(problem, 0), problem.roots[:, None]
    X = np.zeros((int(problem.levels[0]) + 1, clean.table.shape[1]))
    X[:, :rank] = 1.0
    for f, g in zip(
        _accumulate(problem, clean, 0, outside, modes), _accumulate(problem, dirty, 0, outside, modes), strict=True
    ):
        rows = np.s_[:, :rank] if f.shape[-2] == f.shape[-1] else np.s_[:, :]  # blocks, or right-hand sides
        triangle = np.tri(*f[rows].shape[1:]) if f.shape[-2] == f.shape[-1] else 1.0
        assert_array_equal((f[rows] * triangle)[..., :rank], (g[rows] * triangle)[..., :rank])
    for from_targets in (False, True):
        f, _ = _project(problem, clean, 0, outside, modes, X, from_targets)
        g, _ = _project(problem, dirty, 0, outside, modes, X, from_targets)
        assert_array_equal(f[:, :rank], g[:, :rank])
    whole = (0, problem.n_rows)
    assert_array_equal(_evaluate(problem, clean, *whole), _evaluate(problem, dirty, *whole))


@given(problems(), ranks, seeds)
@settings(deadline=None, max_examples=30)
def test_the_table_holds_factors_and_their_means(problem: Problem, rank: int, seed: int) -> None:
    """Layout of `Factors`: levels of a mode, its missing row `p_n^T A_n`, mode under mode, padded with zeros."""
    rng = np.random.default_rng(seed)
    A = tuple(rng.standard_normal((int(I_n), rank)) for I_n in problem.levels)
    factors = stack_factors(A, np.ones((1, rank)), np.zeros(1), problem.marginals)
    stacked = np.vstack([row for An, p in zip(A, problem.marginals, strict=True) for row in (An, p @ An)])
    assert_allclose(factors.table[:-1, :rank], stacked, rtol=1e-14, atol=1e-14)
    assert not factors.table[-1].any()
    assert not factors.table[:, rank:].any()
    assert factors.table.shape[1] % WIDTH == 0
    copied = factors.copy()
    copied.set_factor(0, 2.0 * A[0])
    assert_array_equal(factors.factor(0), A[0])
