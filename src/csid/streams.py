"""Going on with new rows: what a fit keeps of those that it has seen, and one batch more."""

from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from csid._fit.als import ALSOptions, Penalties, mean_squared_error
from csid._fit.completions import Completions
from csid._fit.factors import Factors
from csid._fit.missing_cells import LevelPMF
from csid._fit.problem import Problem
from csid._fit.samples import LocalSamples
from csid._fit.statistics import Workers
from csid._fit.stochastic import RunningSums, sweep_block
from csid.cpd import CPD

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Stream:
    """Sums over the rows so far, which do not grow with their number, and the units (K,) that targets have in them."""

    running: RunningSums
    centre: Array
    scale: Array

    @classmethod
    def begun(cls, running: RunningSums, weight: float, centre: Array, scale: Array) -> "Stream":
        """After passes over rows of this weight, each of which counts once from now on."""
        return cls(replace(running, seen=weight), centre, scale)

    def after(
        self,
        problem: Problem,
        cpd: CPD,
        options: ALSOptions,
        pmf: LevelPMF | None,
        rng: np.random.Generator,
        workers: Workers,
    ) -> tuple["Stream", CPD, float]:
        """The stream and the tensor after one sweep over a batch, and the mean squared error on it before.

        Targets of the batch, and the error, are in the stream's units. An interrupt leaves this stream as it is.
        """
        running, factors = deepcopy(self.running), cpd.standardised(self.centre, self.scale)
        samples = LocalSamples(problem.also_lacking(running.lacking(problem.n_modes)), workers)
        error = mean_squared_error(samples, factors, pmf)
        if pmf is not None and len(problem.incomplete):
            samples = _completed(samples, factors, pmf, rng)
        penalties = Penalties.of(samples.known, options)
        sweep_block(running.joined_by(samples, samples.known), options, penalties, factors)
        return replace(self, running=running), CPD.of(factors, self.centre, self.scale), error


def _completed(samples: LocalSamples, factors: Factors, pmf: LevelPMF, rng: np.random.Generator) -> LocalSamples:
    """Rows that lack cells completed by their PMF, which share their weights by how well they explain the targets."""
    completions = Completions.of(samples, pmf, rng)
    for _ in range(2):  # the first finds the size of the errors by which the second shares out
        completions.share_out(factors)
    return completions.samples
