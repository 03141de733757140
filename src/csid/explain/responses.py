"""How the prediction of one row changes as one or two of its predictors move along their paths.

Without a joint PMF, or if the row is complete, the prediction is one sum of products. Otherwise, with R latent classes,

    E[f | x_O] = b + sum_r q_r L_r sum_f V(:, f) prod_n a_nfr / sum_r q_r L_r,

where L_r is the product over the observed predictors of the likelihood ratio of their nearest level in class r
(`LevelPMF.class_logits`), and `a_nfr` is `B_n(:, r)^T A_n(:, f)` for a missing predictor and `w_n(x)^T A_n(:, f)` for
others.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.encoding import EncodedRows, OrdinalMode
from csid.encoding.columns import Column
from csid.explain.games import balanced
from csid.explain.paths import Path, nearest
from csid.fitted.model import FittedModel
from csid.missing.level_pmf import LEAST_PROBABILITY, LevelPMF
from csid.tensor.cpd import CPD

Array = NDArray[np.float64]

_ROUNDING = 1e-11


@dataclass(frozen=True)
class Responses:
    """The prediction of one row as a function of its predictors.

    rows : the row, encoded; tensor : balanced; pmf : the joint PMF, if the row has missing cells that follow one.
    cells : (N, R, F) values `a_nfr`, R = 1 without classes; lifts : (N, R) likelihood ratios of the row's cells.
    """

    fitted: FittedModel
    rows: EncodedRows
    tensor: CPD
    pmf: LevelPMF | None
    cells: Array
    lifts: Array

    @classmethod
    def of(cls, fitted: FittedModel, rows: EncodedRows) -> "Responses":
        """Of the only row of a table."""
        tensor, codes = balanced(fitted.tensor), rows.codes[0].astype(np.intp)
        missing = codes == fitted.encoding.levels
        pmf = fitted.level_pmf if missing.any() else None
        R = 1 if pmf is None else pmf.classes.rank
        cells, lifts = np.empty((len(codes), R, tensor.rank)), np.ones((len(codes), R))
        for n, (A, p) in enumerate(zip(tensor.factors, tensor.marginals, strict=True)):
            if missing[n]:
                cells[n] = p @ A if pmf is None else pmf.given_class[n].T @ A
            else:
                position = np.array([_position(rows, n)])
                cells[n], lifts[n] = _between(A, position), _lifts(pmf, n, position)
        return cls(fitted, rows, tensor, pmf, cells, lifts)

    @property
    def rounding(self) -> float:
        """The largest difference between `surface` and predictions, relative to the values."""
        return _ROUNDING if self.pmf is None else 100.0 * LEAST_PROBABILITY

    def position(self, n: int) -> float | None:
        """The position of predictor n; None if it is missing, or a category that was never seen."""
        mode = self.fitted.encoding.modes[n]
        known = len(mode.grid) if isinstance(mode, OrdinalMode) else len(mode.categories)
        return _position(self.rows, n) if self.rows.codes[0, n] < known else None

    def surface(self, paths: dict[int, Path], coefficients: Array) -> Array:
        """Values (E, E') with one or two predictors at the places of their paths; (E, 1) with one.

        coefficients : (K,) of the outputs, whose sum is taken.
        """
        others = [n for n in range(self.tensor.n_modes) if n not in paths]
        logs = np.log(self.lifts[others]).sum(axis=0) + (0.0 if self.pmf is None else np.log(self.pmf.classes.weights))
        q, products = np.exp(logs - logs.max()), (coefficients @ self.tensor.V) * self.cells[others].prod(axis=0)
        tables = [_between(self.tensor.factors[n], path.positions) for n, path in paths.items()]
        lifts = [_lifts(self.pmf, n, path.positions) for n, path in paths.items()]
        if len(paths) == 1:
            tables.append(np.ones((1, self.tensor.rank)))
            lifts.append(np.ones((1, len(q))))
        total = np.zeros((len(tables[0]), len(tables[1])))
        for r, product in enumerate(products):
            total += np.outer(q[r] * lifts[0][:, r], lifts[1][:, r]) * ((tables[0] * product) @ tables[1].T)
        return np.asarray(coefficients @ self.tensor.bias + total / ((lifts[0] * q) @ lifts[1].T))

    def row(self, changes: dict[int, tuple[Any, float]]) -> EncodedRows:
        """The row with some predictors at other values, given with their positions."""
        codes, fractions = self.rows.codes.copy(), self.rows.fractions.copy()
        for n, (value, position) in changes.items():
            mode = self.fitted.encoding.modes[n]
            if isinstance(mode, OrdinalMode):
                own = fractions[:, n] if mode.linear else None
                mode.encode(Column(mode.name, np.array([value])), codes[:, n], own)
            else:
                codes[0, n] = int(position)
        return EncodedRows(codes, fractions)


def _position(rows: EncodedRows, n: int) -> float:
    return float(rows.codes[0, n]) + (float(rows.fractions[0, n]) if len(rows.fractions) else 0.0)


def _between(A: Array, positions: Array) -> Array:
    """(E, F) the rows of a factor at positions between its levels."""
    i = np.floor(positions).astype(np.intp)
    t = (positions - i)[:, None]
    return np.asarray(A[i] + t * (A[np.minimum(i + 1, len(A) - 1)] - A[i]))


def _lifts(pmf: LevelPMF | None, n: int, positions: Array) -> Array:
    """(E, R) likelihood ratios of positions of predictor n in each class."""
    if pmf is None:
        return np.ones((len(positions), 1))
    return np.asarray(pmf.classes.lifts[n][pmf.bins[n][nearest(positions)]])
