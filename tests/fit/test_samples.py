"""Sums over rows wherever they are, and steps that need the rows themselves."""

from typing import Any, cast

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from csid._fit.als import ALSOptions, fit_als
from csid._fit.factors import random_factors
from csid._fit.gibbs import Chain, Prior, random_state, run_chain
from csid._fit.problem import Problem
from csid._fit.samples import LocalSamples, at_hand
from csid._fit.statistics import InOnePart, Workers, level_sums, starts
from fit.strategies import build_factors, build_problem


class Elsewhere:
    """Samples whose rows cannot be had."""

    def __init__(self, problem: Problem) -> None:
        self.known = problem


def test_steps_that_look_at_rows_say_so_where_there_are_none() -> None:
    problem = build_problem(0, levels=(3, 2), rows=20)
    samples, rng = cast(Any, Elsewhere(problem)), np.random.default_rng(0)
    local = LocalSamples(problem)
    assert at_hand(local, "this") is local
    with pytest.raises(NotImplementedError, match="update='cg' looks at rows one by one"):
        fit_als(samples, ALSOptions(1e-3, (0.0, 0.0), update="cg"), random_factors(problem, 2, rng))
    with pytest.raises(NotImplementedError, match="Student's t noise looks at rows"):
        run_chain(samples, Prior(degrees_of_freedom=4.0), Chain(random_state(problem, 2, rng)), rng, 1, 0, 1)
    with pytest.raises(NotImplementedError, match="more than 32 components looks at rows"):
        run_chain(samples, Prior(), Chain(random_state(problem, 33, rng)), rng, 1, 0, 1)


@pytest.mark.parametrize("others", [[0, 2], [2], [1, 2, 3]])
def test_sums_read_the_factors_of_some_modes_alone(others: list[int]) -> None:
    """To the bit, from a table of theirs."""
    problem = build_problem(1, levels=(4, 3, 5, 2), rows=80, linear=True, missing=0.2, weighted=True)
    factors, modes = build_factors(problem, 3, 0), np.array(others, np.intp)
    some = factors.of_modes(modes)
    assert len(some.table) == sum(int(factors.levels[n]) + 1 for n in others) + 1
    k = next(n for n in range(4) if n not in others)
    for workers in (Workers(), InOnePart()):
        sums = [level_sums(problem, each, k, starts(problem, each), modes, workers) for each in (factors, some)]
        for one, other in zip(*sums, strict=True):
            assert_array_equal(one, other)
