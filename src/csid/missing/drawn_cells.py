"""Missing cells as unknowns of a chain, drawn given the observed cells and the target of their row."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from csid._kernels.cell_draws import FactorTable, IncompleteCells, PMFTables, TargetLikelihood, draw_cells
from csid._kernels.threads import Workers, row_parts
from csid.data.problem import Problem
from csid.missing.latent_classes import class_probabilities
from csid.missing.level_pmf import LevelPMF
from csid.tensor.cells import Codes
from csid.tensor.factors import Factors

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DrawnCells:
    """A problem whose missing cells are drawn anew in every sweep.

    problem : its codes are modified in place; given : the original codes (N, M).
    rows : (J,) the incomplete rows.
    logits : (J, R) of the classes given the observed cells; in single precision, because they take the most memory.
    """

    problem: Problem
    given: Codes
    rows: NDArray[np.intp]
    logits: NDArray[np.float32]

    @classmethod
    def of(cls, problem: Problem, pmf: LevelPMF, rng: np.random.Generator, workers: Workers) -> "DrawnCells":
        """Initial draws of the missing cells from the PMF, given the observed cells."""
        cells = problem.cells
        rows, incomplete = cells.incomplete, cells.take(cells.incomplete)
        logits = pmf.class_logits(incomplete.codes, incomplete.fractions, workers)
        codes = cells.codes.copy(order="F")
        probabilities = class_probabilities(logits)
        codes[rows] = pmf.impute(incomplete.codes, probabilities, rng.random((len(rows), problem.n_modes + 1)))
        return cls(replace(problem, cells=cells.with_codes(codes)), cells.arrays[0], rows, logits.astype(np.float32))

    def copy(self) -> "DrawnCells":
        """A copy that can be drawn without changing this one."""
        cells = self.problem.cells
        return replace(self, problem=replace(self.problem, cells=cells.with_codes(cells.codes.copy(order="F"))))

    def draw(
        self, pmf: LevelPMF, factors: Factors, alpha: Array, working: Problem, seed: int, workers: Workers
    ) -> None:
        """Draw missing cells: first all of a row jointly; then its class, and each cell given the class and the others.

        working : the same rows with working targets and weights.
        """
        cells = self.problem.cells.arrays
        incomplete = IncompleteCells(self.given, self.rows, self.logits)
        likelihood = TargetLikelihood(working.weights, working.targets, factors.bias, alpha)
        table = FactorTable(factors.table, factors.offsets, factors.levels, factors.V)
        tables = _tables(pmf)

        def draw(part: tuple[int, int]) -> None:
            draw_cells(cells, incomplete, likelihood, table, tables, np.uint64(seed), part)

        workers.map(draw, row_parts(len(self.rows)))


def _tables(pmf: LevelPMF) -> PMFTables:
    """The tables of a PMF for `draw_cells`."""
    lifts = np.vstack([np.log(lift) for lift in pmf.classes.lifts])
    counts = np.array([len(lift) for lift in pmf.classes.lifts])
    lift_offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
    edges = [np.searchsorted(bins, np.arange(C)) for bins, C in zip(pmf.bins, counts, strict=True)]
    cumulative = [np.append(0.0, p.cumsum()) for p in pmf.marginals]
    offsets = np.concatenate([[0], np.cumsum(pmf.levels + 1)[:-1]]).astype(np.intp)
    modes = zip(pmf.given_class, pmf.bins, counts, strict=True)
    of_bins = [np.array([np.bincount(bins, B_r, C) for B_r in B.T]).cumsum(axis=1) for B, bins, C in modes]
    bins = [np.append(bins, -1) for bins in pmf.bins]
    return PMFTables(
        lifts=lifts,
        lift_offsets=lift_offsets,
        of_classes=np.hstack(of_bins),
        edges=np.concatenate(edges),
        bins=np.concatenate(bins),
        cumulative=np.concatenate(cumulative),
        offsets=offsets,
    )
