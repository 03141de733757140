"""The factors while they are fitted: one padded table for the kernels, views of it for the algebra."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csid._fit.lanes import WIDTH
from csid._fit.problem import Problem, table_offsets

Array = NDArray[np.float64]


@dataclass
class Factors:
    """State of a fit.

    table : (sum of I_n + 1, plus 1; S) stacked factors as described in `kernels`.
    V : (K, S) output factor; all ones, and never updated, for a single output.
    bias : (K,)
    rank : F; columns beyond it are zero.
    levels : (N,) I_n, and marginals : N arrays p_n (I_n,).
    """

    table: Array
    V: Array
    bias: Array
    rank: int
    levels: NDArray[np.intp]
    marginals: tuple[Array, ...]

    @property
    def n_modes(self) -> int:
        return len(self.levels)

    @property
    def offsets(self) -> NDArray[np.intp]:
        return table_offsets(self.levels)

    def factor(self, n: int) -> Array:
        """A view of `A_n`, (I_n, F)."""
        start = int(self.offsets[n])
        return self.table[start : start + int(self.levels[n]), : self.rank]

    def set_factor(self, n: int, A: Array) -> None:
        """Replace `A_n` and the row `p_n^T A_n` that stands for a missing cell."""
        self.factor(n)[:] = A
        self.table[int(self.offsets[n]) + int(self.levels[n]), : self.rank] = self.marginals[n] @ A

    @property
    def output_factor(self) -> Array:
        """A view of `V`, (K, F)."""
        return self.V[:, : self.rank]

    def copy(self) -> "Factors":
        return Factors(self.table.copy(), self.V.copy(), self.bias.copy(), self.rank, self.levels, self.marginals)


def padded_rank(rank: int) -> int:
    """The rank rounded up to whole lanes."""
    return -(-rank // WIDTH) * WIDTH


def stack_factors(
    factors: tuple[Array, ...], V: Array, bias: Array, marginals: tuple[Array, ...]
) -> Factors:
    """Factors `A_n` (I_n, F), `V` (K, F) and bias (K,) as a padded table."""
    rank = V.shape[1]
    levels = np.array([len(A) for A in factors], dtype=np.intp)
    S = padded_rank(rank)
    stacked = Factors(
        table=np.zeros((int(levels.sum()) + len(levels) + 1, S)),
        V=np.zeros((len(V), S)),
        bias=np.array(bias, dtype=np.float64),
        rank=rank,
        levels=levels,
        marginals=marginals,
    )
    stacked.output_factor[:] = V
    for n, A in enumerate(factors):
        stacked.set_factor(n, A)
    return stacked


def random_factors(problem: Problem, rank: int, rng: np.random.Generator) -> Factors:
    """A start near one, whose products over many predictors stay of order one."""
    spread = 0.5 * min(1.0, np.sqrt(12.0 / problem.n_modes))
    factors = tuple(1.0 + spread * rng.uniform(-1.0, 1.0, (int(I), rank)) for I in problem.levels)
    K = problem.n_outputs
    V = np.ones((1, rank)) if K == 1 else rng.standard_normal((K, rank)) / np.sqrt(rank)
    mean = problem.weights @ problem.targets / problem.total_weight
    return stack_factors(factors, V, mean, problem.marginals)
