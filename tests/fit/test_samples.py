"""Sums over rows wherever they are, and steps that need the rows themselves."""

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from csid._kernels.threads import InOnePart, Workers
from csid.data.problem import Problem
from csid.data.samples import LocalSamples, require_local
from csid.data.statistics import level_sums, starts
from csid.inference.als import ALSOptions, ALSRun, fit_als
from csid.inference.gibbs import SampledModel, Sweeps, run_chain
from csid.inference.starts import random_factors, random_state
from csid.inference.state import Chain
from csid.inference.stochastic import BlockSamples, BlockSweeps
from csid.likelihoods.gaussian import Gaussian
from csid.likelihoods.location_scale import LocationScale
from csid.likelihoods.student_t import StudentT
from csid.priors.prior import Prior
from fit.strategies import build_factors, build_problem
from fit.test_missing_cells import _pmf

GAUSSIAN = Gaussian()


class Elsewhere:
    """Samples of which there are sums over rows only, as on a cluster: no step can look at a row."""

    def __init__(self, rows: LocalSamples) -> None:
        self._rows = rows
        self.summary = rows.summary
        self.sums_by_mode, self.output_sums = rows.sums_by_mode, rows.output_sums
        self.residual_sums, self.noise_sums, self.loss = rows.residual_sums, rows.noise_sums, rows.loss

    def working(self, *given: Any) -> "Elsewhere":
        return Elsewhere(self._rows.working(*given))


@pytest.fixture
def problem() -> Problem:
    return build_problem(0, levels=(3, 2), rows=20, outputs=2, missing=0.2, weighted=True)


def test_steps_that_look_at_rows_say_so_where_there_are_none(problem: Problem) -> None:
    local, rng = LocalSamples(problem), np.random.default_rng(0)
    samples = cast(Any, Elsewhere(local))
    assert require_local(local, "this") is local
    start, options = random_factors(problem, 2, rng), ALSOptions(1e-3, (0.0, 0.0))
    with pytest.raises(NotImplementedError, match="update='cg' needs individual rows, but only sums"):
        fit_als(samples, replace(options, update="cg"), start, GAUSSIAN)
    with pytest.raises(NotImplementedError, match="solver='stochastic' needs individual rows"):
        fit_als(samples, options, start, GAUSSIAN, ALSRun(one_pass=BlockSweeps(rng)))
    wide, narrow = (Chain(random_state(problem, GAUSSIAN, rank, rng)) for rank in (33, 2))
    with pytest.raises(NotImplementedError, match="more than 32 components needs individual rows"):
        run_chain(samples, SampledModel(Prior(), GAUSSIAN), wide, rng, Sweeps(1, 0))
    with pytest.raises(NotImplementedError, match="drawing missing cells needs individual rows"):
        run_chain(samples, SampledModel(Prior(), GAUSSIAN, _pmf(0, problem)), narrow, rng, Sweeps(1, 0))


@pytest.mark.parametrize("likelihood", [GAUSSIAN, StudentT()], ids=lambda likelihood: likelihood.name)
def test_sums_over_rows_elsewhere_are_all_that_a_fit_needs(likelihood: LocationScale, problem: Problem) -> None:
    """Working weights included: Student's t asks the samples for them."""
    local, chains, fits = LocalSamples(problem), [], []
    for samples in (local, cast(Any, Elsewhere(local))):
        rng = np.random.default_rng(0)
        chains.append(Chain(random_state(problem, likelihood, 2, rng)))
        run_chain(samples, SampledModel(Prior(), likelihood), chains[-1], rng, Sweeps(2, 3))
        start = random_factors(problem, 2, rng)
        fits.append(fit_als(samples, ALSOptions(1e-3, (1e-2,) * 2, max_iter=5), start, likelihood))
    assert_allclose(chains[1].trace, chains[0].trace, rtol=1e-6)
    assert_allclose(chains[1].state.factors.table, chains[0].state.factors.table, rtol=1e-6, atol=1e-6)
    assert_array_equal(fits[1].objective, fits[0].objective)


def test_blocks_have_no_working_targets(problem: Problem) -> None:
    """A likelihood that needs them is refused, before any number is wrong."""
    rng = np.random.default_rng(0)
    samples, chain = BlockSamples(LocalSamples(problem), 2, rng), Chain(random_state(problem, StudentT(), 2, rng))
    with pytest.raises(NotImplementedError, match="does not support likelihoods with working targets"):
        run_chain(samples, SampledModel(Prior(), StudentT()), chain, rng, Sweeps(1, 0))


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
