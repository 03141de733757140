"""The compiled assembly of a mode's system, on plain arrays."""

from typing import NamedTuple

import numpy as np
from numba import njit

from csid._kernels import factor_update
from csid._kernels.threads import Workers
from csid.data.problem import Problem
from csid.data.statistics import LevelSums, level_sums
from csid.inference.als import mean_scale
from csid.tensor.factors import Factors
from naive import dense_bands

Array = np.ndarray

_assemble = njit(lambda equations, G, H, rhs: factor_update.assemble(equations, G, H, rhs))


class System(NamedTuple):
    """Blocks (w, I, F, F), right-hand sides (I, F) and the Gram matrix (F, F) of rows without the predictor."""

    bands: Array
    rhs: Array
    missing: Array

    def dense(self, p: Array) -> tuple[Array, Array]:
        """H (I F, I F) with those rows, and r (I F,)."""
        return dense_bands(self.bands) + np.kron(np.outer(p, p), self.missing), self.rhs.ravel()


def assemble(sums: LevelSums, V: Array, scale: Array, p: Array, F: int) -> System:
    """What `factor_update.assemble` fills, without the padding, which must be zero."""
    D, O, _ = sums
    levels, S = len(p), D.shape[1]
    H, rhs, G = np.zeros((2 if len(O) else 1, levels, S, S)), np.zeros((levels, S)), np.zeros((S, S))
    _assemble(factor_update.NormalEquations(sums, V, scale, p, F), G, H, rhs)
    assert not any(padded[..., F:].any() for padded in (H, rhs, G))
    return System(H[..., :F, :F], rhs[:, :F], G[:F, :F])


def sums_of_mode(problem: Problem, factors: Factors, k: int) -> LevelSums:
    others = np.delete(np.arange(problem.n_modes, dtype=np.intp), k)
    return level_sums(problem, factors, k, problem.roots[:, None], others, Workers())


def data_system(problem: Problem, factors: Factors, k: int, sums: LevelSums) -> System:
    """The data's part of a mode's quadratic, divided by M as in Eq. (8)."""
    return assemble(sums, factors.V, mean_scale(problem), problem.marginals[k], factors.rank)
