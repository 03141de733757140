"""Positions kept as floats or in sixteen bits are the same numbers to every sum over rows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from csid._kernels.positions import STEPS, as_numbers
from csid._kernels.threads import Workers
from csid.data.merging import merge_repeated_cells
from csid.data.problem import Problem
from csid.data.statistics import level_sums, partial_products, residual_sums
from csid.inference.conjugate_gradients import NormalOperator
from csid.tensor.evaluation import values_of_rows
from csid.tensor.penalties import penalty_bands
from fit.strategies import build_factors, build_problem, with_cells


def both(seed: int = 0) -> tuple[Problem, Problem]:
    """A problem whose positions are floats, and the same with positions in sixteen bits."""
    problem = build_problem(seed, levels=[5, 3, 7], ordered=[5, 0, 7], rows=400, outputs=2, linear=True, missing=0.2)
    steps = np.minimum(np.rint(problem.cells.fractions * STEPS), STEPS - 1).astype(np.uint16)
    return with_cells(problem, fractions=as_numbers(steps).astype(np.float32)), with_cells(problem, fractions=steps)


@pytest.mark.parametrize("single", [False, True])
def test_sums_over_rows_have_the_same_bits(single: bool) -> None:
    floats, short = both()
    factors = build_factors(floats, 6, 1)
    read = factors.rounded() if single else factors
    workers = Workers()
    for k, outside, modes in partial_products(floats, read, workers):
        for one, other in zip(
            level_sums(floats, read, k, outside, modes, workers),
            level_sums(short, read, k, outside, modes, workers),
            strict=True,
        ):
            assert_array_equal(one, other)
    assert_array_equal(values_of_rows(floats.cells, factors, workers), values_of_rows(short.cells, factors, workers))
    assert_array_equal(residual_sums(floats, factors, workers), residual_sums(short, factors, workers))


def test_conjugate_gradients_see_the_same_numbers() -> None:
    floats, short = both()
    factors, workers, k = build_factors(floats, 4, 1), Workers(), 0
    penalty, others = penalty_bands(5, 5, 1e-3, 1e-2, 1), np.array([1, 2])
    X = factors.factor(k)
    one, other = (
        NormalOperator(each, factors, k, each.roots[:, None], others, penalty, workers)(X) for each in (floats, short)
    )
    assert_array_equal(one, other)


def test_rows_on_the_same_cell_merge_alike() -> None:
    floats, short = (each.take(np.repeat(np.arange(200), 2)) for each in both())
    one, other = merge_repeated_cells(floats), merge_repeated_cells(short)
    assert one.n_rows == other.n_rows <= 200
    assert_array_equal(one.targets, other.targets)
    assert_array_equal(one.cells.codes, other.cells.codes)
