"""How the prediction of one row responds as one or two of its predictors move along their paths.

Without a joint PMF, or if the row lacks nothing, the prediction is one sum of products. Otherwise, with R classes,

    E[f | x_O] = b + sum_r q_r L_r sum_f V(:, f) prod_n a_nfr / sum_r q_r L_r,

where L_r is the product over the observed predictors of what their nearest level says for class r
(`LevelPMF.scores`), and `a_nfr` is `B_n(:, r)^T A_n(:, f)` for a missing predictor and `w_n(x)^T A_n(:, f)` for others.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid._fit.missing_cells import LEAST_PROBABILITY, LevelPMF
from csid.cpd import CPD, ConditionalCPD
from csid.encoding import EncodedRows, OrdinalMode
from csid.encoding.columns import Column
from csid.explain.games import balanced
from csid.explain.paths import Path, nearest

Array = NDArray[np.float64]

_ROUNDING = 1e-11


@dataclass(frozen=True)
class Responses:
    """One row of a model.

    rows : the row, encoded; tensor : balanced; pmf : the classes that tell of what is missing, if any.
    cells : (N, R, F) values `a_nfr`, R = 1 without classes; lifts : (N, R) what the row says for each class.
    """

    model: Any
    rows: EncodedRows
    tensor: CPD
    pmf: LevelPMF | None
    cells: Array
    lifts: Array

    @classmethod
    def of(cls, model: Any, rows: EncodedRows) -> "Responses":
        """Of the only row of a table."""
        tensor, codes = balanced(model.cpd_), rows.codes[0].astype(np.intp)
        expectation = model._expectation
        missing = codes == model.encoding_.levels
        pmf = expectation.pmf if isinstance(expectation, ConditionalCPD) and missing.any() else None
        R = 1 if pmf is None else pmf.classes.rank
        cells, lifts = np.empty((len(codes), R, tensor.rank)), np.ones((len(codes), R))
        for n, (A, p) in enumerate(zip(tensor.factors, tensor.marginals, strict=True)):
            if missing[n]:
                cells[n] = p @ A if pmf is None else pmf.given_class[n].T @ A
            else:
                position = np.array([_position(rows, n)])
                cells[n], lifts[n] = _between(A, position), _lifts(pmf, n, position)
        return cls(model, rows, tensor, pmf, cells, lifts)

    @property
    def rounding(self) -> float:
        """By how much `surface` and `predict` may differ, relative to the values."""
        return _ROUNDING if self.pmf is None else 100.0 * LEAST_PROBABILITY

    def position(self, n: int) -> float | None:
        """Where predictor n stands; None if it is missing, or a category that was never seen."""
        mode = self.model.encoding_.modes[n]
        known = len(mode.grid) if isinstance(mode, OrdinalMode) else len(mode.categories)
        return _position(self.rows, n) if self.rows.codes[0, n] < known else None

    def surface(self, paths: dict[int, Path], output: int) -> Array:
        """Values (E, E') with one or two predictors at the places of their paths; (E, 1) with one."""
        others = [n for n in range(self.tensor.n_modes) if n not in paths]
        logs = np.log(self.lifts[others]).sum(axis=0) + (0.0 if self.pmf is None else np.log(self.pmf.classes.shares))
        q, products = np.exp(logs - logs.max()), self.tensor.V[output] * self.cells[others].prod(axis=0)
        tables = [_between(self.tensor.factors[n], path.positions) for n, path in paths.items()]
        lifts = [_lifts(self.pmf, n, path.positions) for n, path in paths.items()]
        if len(paths) == 1:
            tables.append(np.ones((1, self.tensor.rank)))
            lifts.append(np.ones((1, len(q))))
        total = np.zeros((len(tables[0]), len(tables[1])))
        for r, product in enumerate(products):
            total += np.outer(q[r] * lifts[0][:, r], lifts[1][:, r]) * ((tables[0] * product) @ tables[1].T)
        return np.asarray(self.tensor.bias[output] + total / ((lifts[0] * q) @ lifts[1].T))

    def predict(self, changes: dict[int, tuple[Any, float]]) -> Array:
        """The prediction (K,) with some predictors at other values, given with their positions."""
        codes, fractions = self.rows.codes.copy(), self.rows.fractions.copy()
        for n, (value, position) in changes.items():
            mode = self.model.encoding_.modes[n]
            if isinstance(mode, OrdinalMode):
                own = fractions[:, n] if mode.linear else None
                mode.encode(Column(mode.name, np.array([value])), codes[:, n], own)
            else:
                codes[0, n] = int(position)
        return np.asarray(self.model._expectation.evaluate(codes, fractions)[0])


def _position(rows: EncodedRows, n: int) -> float:
    return float(rows.codes[0, n]) + (float(rows.fractions[0, n]) if len(rows.fractions) else 0.0)


def _between(A: Array, positions: Array) -> Array:
    """(E, F) the rows of a factor at positions between its levels."""
    i = np.floor(positions).astype(np.intp)
    t = (positions - i)[:, None]
    return np.asarray(A[i] + t * (A[np.minimum(i + 1, len(A) - 1)] - A[i]))


def _lifts(pmf: LevelPMF | None, n: int, positions: Array) -> Array:
    """(E, R) what positions of predictor n say for each class."""
    if pmf is None:
        return np.ones((len(positions), 1))
    return np.asarray(pmf.classes.lifts[n][pmf.bins[n][nearest(positions)]])
