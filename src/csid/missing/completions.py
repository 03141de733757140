"""Multiple imputation for least squares under a joint PMF: each incomplete row becomes several completed rows.

The completions x_mj of row m split its weight s_m by their responsibilities for its target. With residuals e_mj,

    loss of row m = -2 sigma^2 log( 1/J sum_j exp(-e_mj^2 / 2 sigma^2) )
    responsibility_mj = exp(-e_mj^2 / 2 sigma^2) / sum_j exp(-e_mj^2 / 2 sigma^2)

For a complete row the loss is e_m^2. For others it is, up to a constant, the negative log-likelihood under normal noise
of variance sigma^2. Alternating between least squares and the responsibilities is expectation maximisation: neither
step can raise the loss, nor can lowering sigma^2, which follows the residual variance down.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from csid.data.samples import LocalSamples
from csid.missing.latent_classes import class_probabilities
from csid.missing.level_pmf import LevelPMF
from csid.tensor.evaluation import values_of_rows
from csid.tensor.factors import Factors

Array = NDArray[np.float64]

_MOST_COMPLETIONS, _FEWEST_COMPLETIONS, _COMPLETED_ROWS = 16, 2, 400_000


@dataclass
class Completions:
    """Completed rows, with weights that are the row weights times the responsibilities.

    samples : the completed rows, those of one original row next to each other.
    starts : (M,) the first completion of each original row.
    row_weights : (M,) of the original rows; variance : sigma^2.
    """

    samples: LocalSamples
    starts: NDArray[np.intp]
    row_weights: Array
    variance: float

    @classmethod
    def of(cls, samples: LocalSamples, pmf: LevelPMF, rng: np.random.Generator) -> "Completions":
        """Draw completions of every incomplete row, with equal responsibilities at first."""
        problem, workers = samples.problem, samples.workers
        rows = problem.cells.incomplete
        J = min(_MOST_COMPLETIONS, max(_FEWEST_COMPLETIONS, _COMPLETED_ROWS // max(1, len(rows))))
        counts = np.ones(problem.n_rows, np.intp)
        counts[rows] = J
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        originals = np.repeat(np.arange(problem.n_rows), counts)
        each = problem.take(originals)
        codes = each.cells.codes.copy(order="F")
        incomplete = problem.cells.take(rows)
        probabilities = class_probabilities(pmf.class_logits(incomplete.codes, incomplete.fractions, workers))
        for j in range(J):
            u = rng.random((len(rows), problem.n_modes + 1))
            codes[starts[rows] + j] = pmf.impute(incomplete.codes, probabilities, u)
        weights = (problem.weights / counts)[originals]
        variance = float(problem.squares.sum()) / problem.total_weight
        completed = LocalSamples(replace(each, cells=each.cells.with_codes(codes), weights=weights), workers)
        return cls(completed, starts, problem.weights, max(variance, 1e-300))

    def update_responsibilities(self, factors: Factors) -> float:
        """The E-step: update responsibilities and sigma^2, and return the weighted mean loss of the rows."""
        problem, workers = self.samples.problem, self.samples.workers
        squares = ((problem.targets - values_of_rows(problem.cells, factors, workers)) ** 2).sum(axis=1)
        counts = np.diff(np.append(self.starts, problem.n_rows))
        least = np.minimum.reduceat(squares, self.starts)
        likelihood = np.exp(-0.5 * (squares - np.repeat(least, counts)) / self.variance)
        mass = np.add.reduceat(likelihood, self.starts)
        weights = np.repeat(self.row_weights / mass, counts) * likelihood
        self.samples = LocalSamples(problem.with_weights(weights), workers)
        total = self.row_weights.sum()
        loss = (self.row_weights * (least - 2.0 * self.variance * np.log(mass / counts))).sum() / total
        self.variance = max(min(self.variance, float((weights * squares).sum()) / total), 1e-300)
        return float(loss)
