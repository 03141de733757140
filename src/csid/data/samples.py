"""The samples of a fit, wherever their rows are: a summary, sums over rows, and working targets.

Least squares and the sampler read sums, not rows. Rows in the memory of this process, or mapped from a code file, are
`LocalSamples`; a cluster computes the same sums over blocks of rows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from csid._kernels.sums import sums_over_rows
from csid._kernels.threads import Workers
from csid.data.problem import Problem, Summary
from csid.data.statistics import LevelSums, level_sums, noise_sums, output_sums, partial_products, residual_sums
from csid.tensor.evaluation import values_of_rows
from csid.tensor.factors import Factors
from csid.tensor.gaps import Gaps

Array = NDArray[np.float64]
Parameters = dict[str, Array]


class RowLikelihood(Protocol):
    """The methods of a likelihood that act on single rows. See `csid.likelihoods.Likelihood`."""

    augmented: ClassVar[bool]
    latent: ClassVar[bool]

    def working(
        self, targets: Array, weights: Array, eta: Array, parameters: Parameters, rng: np.random.Generator | None
    ) -> tuple[Array, Array]: ...

    def within(
        self, targets: Array, weights: Array, eta: Array, parameters: Parameters, drawn: bool
    ) -> Array | None: ...

    def losses(self, targets: Array, eta: Array, parameters: Parameters) -> Array: ...

    def deviations(
        self, targets: Array, eta: Array, variances: Array, parameters: Parameters, rng: np.random.Generator
    ) -> Array: ...


class RowSums(Protocol):
    """The sums over rows that a sweep over the factors needs."""

    @property
    def summary(self) -> Summary:
        """Levels, weights and moments of the targets."""

    def sums_by_mode(self, factors: Factors) -> Iterator[tuple[int, LevelSums]]:
        """Visit the modes in order and yield for each the sums D, O and R of its normal equations.

        Before it asks for the next mode, the caller may change the factor of this mode, and no other.
        """

    def output_sums(self, factors: Factors) -> tuple[Array, Array]:
        """Gram matrix (S, S) and right-hand sides (K, S) of the output mode."""

    def residual_sums(self, factors: Factors) -> tuple[Array, Array]:
        """Weighted sums of the residuals and of their squares, (K,) each."""

    def noise_sums(self, factors: Factors) -> tuple[Array, float]:
        """Weighted sums of squared residuals (K,) that are due to noise, and the number of observations they stand for.

        The residual of an incomplete row also varies with its missing cells: it counts by the fraction that is noise.
        """


class Samples(RowSums, Protocol):
    """Samples to which a likelihood can give working targets."""

    def working(
        self, likelihood: RowLikelihood, factors: Factors, parameters: Parameters, rng: np.random.Generator | None
    ) -> RowSums:
        """The samples with working targets and weights at these factors: drawn, or their expectations without `rng`.

        With `rng`, for the sampler, rows with missing cells also weigh less: see `Gaps`.
        """

    def loss(self, likelihood: RowLikelihood, factors: Factors, parameters: Parameters) -> float:
        """Weighted sum of the losses of all rows."""

    def loss_at(self, likelihood: RowLikelihood, factors: Factors) -> Callable[[Parameters], float]:
        """The loss as a function of the likelihood's own parameters."""


class HeldOutSamples(Samples, Protocol):
    """Samples that are not in this process, together with their held-out rows."""

    @property
    def any_held_out(self) -> bool: ...

    def held_out_loss(self, likelihood: RowLikelihood, factors: Factors, parameters: Parameters) -> float:
        """Weighted mean of the losses of the held-out rows."""


@dataclass(frozen=True)
class LocalSamples:
    """The rows of a problem, summed in threads."""

    problem: Problem
    workers: Workers = field(default_factory=Workers)

    @property
    def summary(self) -> Summary:
        return self.problem

    def working(
        self, likelihood: RowLikelihood, factors: Factors, parameters: Parameters, rng: np.random.Generator | None
    ) -> "LocalSamples":
        working = working_problem(self.problem, likelihood, factors, parameters, rng, self.workers)
        return LocalSamples(working, self.workers)

    def loss(self, likelihood: RowLikelihood, factors: Factors, parameters: Parameters) -> float:
        return loss_of_rows(
            self.problem, likelihood, values_of_rows(self.problem.cells, factors, self.workers), parameters
        )

    def loss_at(self, likelihood: RowLikelihood, factors: Factors) -> Callable[[Parameters], float]:
        eta = values_of_rows(self.problem.cells, factors, self.workers)
        return lambda parameters: loss_of_rows(self.problem, likelihood, eta, parameters)

    def sums_by_mode(self, factors: Factors) -> Iterator[tuple[int, LevelSums]]:
        for k, outside, modes in partial_products(self.problem, factors, self.workers):
            yield k, level_sums(self.problem, factors, k, outside, modes, self.workers)

    def output_sums(self, factors: Factors) -> tuple[Array, Array]:
        return output_sums(self.problem, factors, self.workers)

    def residual_sums(self, factors: Factors) -> tuple[Array, Array]:
        return residual_sums(self.problem, factors, self.workers)

    def noise_sums(self, factors: Factors) -> tuple[Array, float]:
        return noise_sums(self.problem, factors, self.workers)


def working_problem(
    problem: Problem,
    likelihood: RowLikelihood,
    factors: Factors,
    parameters: Parameters,
    rng: np.random.Generator | None,
    workers: Workers,
) -> Problem:
    """The problem with working targets and weights at these factors. See `Samples.working`."""
    gaps = None
    if rng is not None and problem.any_incomplete:
        gaps = Gaps.of(problem.cells, factors, workers)
    working = problem
    if likelihood.augmented:
        eta = values_of_rows(problem.cells, factors, workers)
        if gaps is not None and rng is not None:
            rows = gaps.rows
            eta[rows] += likelihood.deviations(problem.targets[rows], eta[rows], gaps.variances, parameters, rng)
        given = problem.targets, problem.weights, eta, parameters
        working = problem.as_working(*likelihood.working(*given, rng))
        within = likelihood.within(*given, rng is not None)
        working = working if within is None else working.with_within(within)
    if gaps is None:
        return working
    factor = np.ones(problem.n_rows)
    factor[gaps.rows] = gaps.weights(working.weights[gaps.rows] / problem.weights[gaps.rows], parameters["alpha"])
    return working.reduced_by_gaps(factor, problem.weights)


def loss_of_rows(problem: Problem, likelihood: RowLikelihood, eta: Array, parameters: Parameters) -> float:
    """Weighted sum of the losses of rows."""
    losses = likelihood.losses(problem.targets, eta, parameters)
    return float(sums_over_rows(problem.weights, losses[:, None])[0])


def require_local(samples: RowSums, what: str) -> LocalSamples:
    """The samples, or an error if their rows are not in this process. what : the step that needs individual rows."""
    if isinstance(samples, LocalSamples):
        return samples
    raise NotImplementedError(f"{what} needs individual rows, but only sums over rows are available in this process.")
