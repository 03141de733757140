"""Continue a fit with new rows (`partial_fit`): running sums over the rows so far, updated by one batch."""

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid._kernels.threads import Workers
from csid.data.problem import Problem
from csid.data.samples import LocalSamples
from csid.data.table import TableHeader
from csid.data.weights import AS_GIVEN, WeightUnit
from csid.inference.als import ALSOptions, Penalties, mean_squared_error
from csid.inference.stochastic import RunningSums, sweep_block
from csid.missing.completions import Completions
from csid.missing.level_pmf import LevelPMF
from csid.tensor.cpd import CPD
from csid.tensor.factors import Factors

Array = NDArray[np.float64]


class StreamBatch(NamedTuple):
    """New rows, with targets in the stream's units. pmf : joint PMF of the predictors, None for the marginals."""

    problem: Problem
    pmf: LevelPMF | None
    rng: np.random.Generator
    workers: Workers


@dataclass(frozen=True)
class Stream:
    """Running sums over the rows so far, of constant size.

    centre, scale : (K,) units of their targets; weight_unit : of their sample weights.
    """

    running: RunningSums
    centre: Array
    scale: Array
    weight_unit: WeightUnit = AS_GIVEN

    @classmethod
    def start(cls, running: RunningSums, weight: float, header: TableHeader) -> "Stream":
        """A stream after a fit to rows of this total weight, each of which now counts once."""
        return cls(replace(running, seen=weight), header.centre, header.scale, header.weight_unit)

    def after(self, batch: StreamBatch, cpd: CPD, options: ALSOptions) -> tuple["Stream", CPD, float]:
        """The stream and the tensor after one sweep over a batch, and the mean squared error on the batch before it.

        The error is in the stream's units. This stream is not modified, so an interrupt loses nothing.
        """
        problem, pmf, rng, workers = batch
        running, factors = deepcopy(self.running), cpd.standardised(self.centre, self.scale)
        cells = problem.cells.with_any_missing(running.any_missing(problem.n_modes))
        samples = LocalSamples(replace(problem, cells=cells), workers)
        error = mean_squared_error(samples, factors, pmf)
        if pmf is not None and len(problem.cells.incomplete):
            samples = _complete(samples, factors, pmf, rng)
        penalties = Penalties.of(samples.summary, options)
        sweep_block(running.mix(samples, samples.summary), options, penalties, factors)
        return replace(self, running=running), CPD.of(factors, self.centre, self.scale), error


def _complete(samples: LocalSamples, factors: Factors, pmf: LevelPMF, rng: np.random.Generator) -> LocalSamples:
    """Incomplete rows replaced by completions under the PMF, weighted by their responsibilities."""
    completions = Completions.of(samples, pmf, rng)
    for _ in range(2):  # the first E-step estimates the residual variance that the second uses
        completions.update_responsibilities(factors)
    return completions.samples
