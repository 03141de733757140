"""Starts of a fit: random factors near one, factors with a shared slope, or factors of a short least-squares fit."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from csid.data.problem import Problem, Summary
from csid.data.samples import LocalSamples, RowSums
from csid.inference.als import ALSOptions, fit_als
from csid.inference.state import State
from csid.likelihoods import Likelihood
from csid.likelihoods.gaussian import Gaussian
from csid.priors.shared_slope import shared_slope_mean
from csid.tensor.factors import Factors, stack_factors

Array = NDArray[np.float64]

_GAUSSIAN = Gaussian()


def random_factors(
    summary: Summary,
    rank: int,
    rng: np.random.Generator,
    low_bias: bool = True,
    likelihood: Likelihood = _GAUSSIAN,
) -> Factors:
    """Random factors near one, whose products over many predictors stay of order one.

    low_bias : start the bias two standard deviations below the mean of the targets, but not below their minimum. The
        targets minus the bias are then mostly positive, like the products. Otherwise it starts at the mean. See
        docs/decisions/0004-start-of-bias.md.
    """
    half_width = 0.5 * min(1.0, np.sqrt(12.0 / summary.n_modes))

    def near_one(rows: int) -> Array:
        return np.asarray(1.0 + half_width * rng.uniform(-1.0, 1.0, (rows, rank)))

    factors, (mean, deviation, least) = (
        tuple(near_one(int(levels)) for levels in summary.levels),
        likelihood.start_values(summary),
    )
    V = np.ones((1, rank)) if len(mean) == 1 else near_one(len(mean))
    bias = np.maximum(least, mean - 2.0 * deviation) if low_bias else mean
    return stack_factors(factors, V, bias, summary.marginals)


def random_state(summary: Summary, likelihood: Likelihood, rank: int, rng: np.random.Generator) -> State:
    """The start of a chain at random factors near 1 and random weights of both signs."""
    factors = random_factors(summary, rank, rng, low_bias=False, likelihood=likelihood)
    factors.output_factor[:] = rng.standard_normal((len(factors.V), rank)) / np.sqrt(rank)
    return state_at(summary, likelihood, factors)


def shared_slope_state(
    problem: Problem,
    likelihood: Likelihood,
    rank: int,
    values: Sequence[Array],
    steepness: float,
    rng: np.random.Generator,
) -> State:
    """The start of a chain at factors with a shared slope, their prior mean. See `shared_slope_mean`."""
    state = random_state(problem, likelihood, rank, rng)
    samples: RowSums = LocalSamples(problem)
    if likelihood.latent:  # expectations for a system without effects
        constant = random_state(problem, likelihood, 1, rng).factors
        constant.output_factor[:] = 0.0
        samples = LocalSamples(problem).working(likelihood, constant, state.parameters, None)
    state.prior_mean = shared_slope_mean(samples, values, rank, steepness, rng)
    for n, (start, levels) in enumerate(zip(state.factors.offsets, state.factors.levels, strict=True)):
        state.factors.set_factor(n, state.prior_mean[start : start + levels])
    return state


def als_state(problem: Problem, likelihood: Likelihood, rank: int, rng: np.random.Generator, sweeps: int = 20) -> State:
    """The start of a chain at the factors of a short fit by alternating least squares."""
    options = ALSOptions(ridge=1e-4, smoothness=(0.03,) * problem.n_modes, max_iter=sweeps)
    first = random_factors(problem, rank, rng, likelihood=likelihood)
    factors = fit_als(LocalSamples(problem), options, first, likelihood).factors
    normalise_to_one(factors)
    return state_at(problem, likelihood, factors)


def normalise_to_one(factors: Factors) -> None:
    """Scale each column of a factor to average 1 over the data, unless its average is near zero. V takes the scales."""
    for n in range(factors.n_modes):
        padded = factors.padded_factor(n)[:, : factors.rank]
        size = np.sqrt((padded[:-1] ** 2).mean(axis=0))
        average = padded[-1].copy()
        divisor = np.where(np.abs(average) > 0.1 * size, average, np.where(size > 0.0, size, 1.0))
        padded /= divisor
        factors.output_factor[:] *= divisor


def state_at(summary: Summary, likelihood: Likelihood, factors: Factors) -> State:
    """The start of a chain at given factors."""
    mu = np.full((summary.n_modes, factors.rank), 10.0)
    centre = np.ones((len(factors.table), factors.rank))
    return State(factors, mu, np.ones(factors.rank), likelihood.start(summary), centre)
