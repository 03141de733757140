"""The canonical polyadic decomposition: factors, output factor and bias.

    f_j(x) = b_j + sum_f V(j, f) prod_n w_n(x)^T A_n(:, f)

A single fit, the mean of an ensemble, a posterior draw and the posterior mean are all a `CPD`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid._kernels.threads import Workers
from csid.tensor.cells import Cells
from csid.tensor.evaluation import values_of_rows
from csid.tensor.factors import Factors, stack_factors

Array = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class CPD:
    """A low-rank tensor over the levels of N predictors.

    Parameters
    ----------
    factors : tuple of N arrays (I_n, F)
        The factor `A_n` of each predictor.
    V : array (K, F)
        The output factor; with one output, the weights of the components.
    bias : array (K,)
    marginals : tuple of N arrays (I_n,)
        `p_n`: a missing cell is averaged over this distribution.

    Examples
    --------
    >>> import numpy as np
    >>> cpd = CPD((np.array([[1.0], [2.0]]), np.array([[3.0], [5.0]])), np.ones((1, 1)), np.zeros(1),
    ...           (np.array([0.5, 0.5]), np.array([0.5, 0.5])))
    >>> codes = np.array([[1, 0], [1, 2]], dtype=np.uint8)  # the second cell of the second row is missing
    >>> cpd.evaluate(codes, np.zeros((0, 2))).ravel().tolist()
    [6.0, 8.0]
    """

    factors: tuple[Array, ...]
    V: Array
    bias: Array
    marginals: tuple[Array, ...]

    def __repr__(self) -> str:
        levels = ", ".join(str(len(A)) for A in self.factors[:12]) + (", …" if self.n_modes > 12 else "")
        return f"CPD(rank={self.rank}, outputs={self.n_outputs}, predictors={self.n_modes}, levels=({levels}))"

    @property
    def rank(self) -> int:
        return int(self.V.shape[1])

    @property
    def n_outputs(self) -> int:
        return len(self.V)

    @property
    def n_modes(self) -> int:
        return len(self.factors)

    @classmethod
    def of(cls, fitted: Factors, centre: Array, scale: Array) -> "CPD":
        """The tensor in the units of y, from factors fitted to centred and scaled targets."""
        factors = tuple(fitted.factor(n).copy() for n in range(fitted.n_modes))
        return cls(factors, fitted.output_factor * scale[:, None], centre + scale * fitted.bias, fitted.marginals)

    def standardised(self, centre: Array, scale: Array) -> Factors:
        """Factors for centred and scaled targets, copied: the inverse of `of`.

        With a single output, the weights of the components go into the first factor.
        """
        V, factors = self.V / scale[:, None], self.factors
        if self.n_outputs == 1:
            factors, V = (factors[0] * V, *factors[1:]), np.ones_like(V)
        return stack_factors(factors, V, (self.bias - centre) / scale, self.marginals)

    @classmethod
    def average(cls, members: Sequence["CPD"], weights: Array | None = None) -> "CPD":
        """The weighted mean of tensors on the same levels, as one tensor whose rank is the sum of theirs.

        weights : must sum to one; equal weights by default.
        """
        given = np.full(len(members), 1.0 / len(members)) if weights is None else weights
        return cls(
            tuple(np.hstack(parts) for parts in zip(*(member.factors for member in members), strict=True)),
            np.hstack([weight * member.V for weight, member in zip(given, members, strict=True)]),
            np.asarray(given @ np.array([member.bias for member in members])),
            members[0].marginals,
        )

    @cached_property
    def stacked(self) -> Factors:
        """The factors as a padded table for the kernels."""
        return stack_factors(self.factors, self.V, self.bias, self.marginals)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "stacked"}

    def evaluate(self, codes: NDArray[Any], fractions: NDArray[Any], n_threads: int = 1) -> Array:
        """Values (M, K) at encoded rows."""
        with Workers(n_threads) as workers:
            return values_of_rows(self.at(codes, fractions), self.stacked, workers)

    def at(self, codes: NDArray[Any], fractions: NDArray[Any]) -> Cells:
        """Encoded rows as `Cells`."""
        return Cells(codes, np.asarray(fractions, np.float32), self.stacked.levels, self.stacked.levels)

    def mean(self) -> Array:
        """Expected value (K,) when every predictor is missing."""
        product = np.prod([p @ A for p, A in zip(self.marginals, self.factors, strict=True)], axis=0)
        return np.asarray(self.bias + self.V @ product)

    def normalised(self) -> "CPD":
        """The same tensor in canonical form, which removes the scale, sign and order ambiguities of its components.

        Columns have unit norm and their largest entry is positive. V carries the scale and the sign of each component.
        Components are sorted by decreasing norm of their column of V.
        """
        norms = np.array([column_norms(A) for A in self.factors])
        signs = np.array([sign_of_largest(A) for A in self.factors])
        V = self.V * np.prod(norms * signs, axis=0)
        order = np.argsort(-column_norms(V), kind="stable")
        divisors = signs * np.where(norms > 0, norms, 1.0)
        factors = tuple((A / d)[:, order] for A, d in zip(self.factors, divisors, strict=True))
        return CPD(factors, V[:, order], self.bias, self.marginals)


def column_norms(A: Array) -> Array:
    """(F,) Euclidean norms of the columns, also where their squares are not floats."""
    unit = np.ldexp(1.0, min(int(np.frexp(np.abs(A).max(initial=0.0))[1]), 1000))
    return np.asarray(unit * np.linalg.norm(A / unit, axis=0))


def sign_of_largest(A: Array) -> Array:
    """Sign of the entry of largest magnitude in each column; the first one if several tie up to rounding."""
    magnitudes = np.abs(A)
    at = np.argmax(magnitudes >= (1.0 - 1e-9) * magnitudes.max(axis=0), axis=0)
    return np.where(A[at, np.arange(A.shape[1])] < 0, -1.0, 1.0)
