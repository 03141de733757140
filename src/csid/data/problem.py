"""The rows that a sweep reads: their cells, weights and working targets."""

from copy import copy
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from csid._kernels.sums import sums_over_rows
from csid.tensor.cells import Cells

Array = NDArray[np.float64]

_ROWS_AT_ONCE = 1 << 20


class Summary(Protocol):
    """Levels, weights and moments of the targets, known without reading rows. See `Problem`."""

    @property
    def levels(self) -> NDArray[np.intp]: ...
    @property
    def ordered(self) -> NDArray[np.intp]: ...
    @property
    def marginals(self) -> tuple[Array, ...]: ...
    @property
    def any_missing(self) -> NDArray[np.bool_]: ...
    @property
    def any_incomplete(self) -> bool: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_modes(self) -> int: ...
    @property
    def n_outputs(self) -> int: ...
    @property
    def total_weight(self) -> float: ...
    @property
    def n_observations(self) -> float: ...
    @property
    def within(self) -> Array: ...
    @property
    def mean(self) -> Array: ...
    @property
    def squares(self) -> Array: ...
    @property
    def least(self) -> Array: ...


@dataclass(frozen=True)
class Problem:
    """Rows with their weights and working targets.

    cells : the encoded predictors of the rows.
    weights : (M,) positive weights, the tensor W of Eq. (6) once repeated cells are merged.
    targets : (M, K) working targets, the tensor Y of Eq. (6); or the targets (M, T) that a likelihood makes them of.
    ordered : (N,) the number of ordered levels, which come first; 0 for a category.
    marginals : N arrays p_n (I_n,), the rank-one PMF.
    within : (K,) sums of squares that the targets leave out, constant in the factors: within merged cells, or of latent
        values around their expectations.
    given_weight : sum of the sample weights, if a likelihood has multiplied them; else None.
    gap_weights : (M,) factors by which missing cells have reduced the weights, if they have; else None. See `Gaps`.
    """

    cells: Cells
    weights: Array
    targets: Array
    ordered: NDArray[np.intp]
    marginals: tuple[Array, ...]
    within: Array = field(default_factory=lambda: np.zeros(1))
    given_weight: float | None = None
    gap_weights: Array | None = None

    @property
    def levels(self) -> NDArray[np.intp]:
        return self.cells.levels

    @property
    def any_missing(self) -> NDArray[np.bool_]:
        return self.cells.any_missing

    @property
    def any_incomplete(self) -> bool:
        """Whether some row lacks a cell."""
        return len(self.cells.incomplete) > 0

    @property
    def n_rows(self) -> int:
        return self.cells.n_rows

    @property
    def n_modes(self) -> int:
        return self.cells.n_modes

    @property
    def n_outputs(self) -> int:
        return int(self.targets.shape[1])

    @cached_property
    def unweighted(self) -> bool:
        """Whether every row has weight one."""
        return bool((self.weights == 1.0).all())

    @cached_property
    def roots(self) -> Array:
        return self.weights if self.unweighted else np.sqrt(self.weights)

    @cached_property
    def total_weight(self) -> float:
        return float(self.weights.sum())

    @property
    def n_observations(self) -> float:
        """The paper's M: the number of observations, or the sum of their sample weights."""
        return self.total_weight if self.given_weight is None else self.given_weight

    @property
    def mean(self) -> Array:
        """(K,) of the targets."""
        return sums_over_rows(self.weights, self.targets) / self.total_weight

    @property
    def squares(self) -> Array:
        """(K,) sums of squared deviations of the targets from their mean, without those within merged cells."""
        mean, sums = self.mean, np.zeros(self.n_outputs)
        for start in range(0, self.n_rows, _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            sums += sums_over_rows(self.weights[part], (self.targets[part] - mean) ** 2)
        return sums

    @property
    def least(self) -> Array:
        """(K,) the smallest target of each output."""
        return np.asarray(self.targets.min(axis=0))

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without cached values."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.data_bytes

    @property
    def data_bytes(self) -> int:
        """Bytes of the encoded samples, in memory or in a code file."""
        return self.cells.data_bytes + self.weights.nbytes + self.targets.nbytes

    def take(self, rows: NDArray[Any]) -> "Problem":
        """The problem restricted to some rows, given by indices or a mask."""
        return replace(
            self,
            cells=self.cells.take(rows),
            weights=self.weights[rows],
            targets=self.targets[rows],
            within=np.zeros(self.n_outputs),
            given_weight=None,
            gap_weights=None if self.gap_weights is None else self.gap_weights[rows],
        )

    def with_weights(self, weights: Array) -> "Problem":
        """The same rows with other weights."""
        return replace(self, weights=weights)

    def as_working(self, targets: Array, weights: Array) -> "Problem":
        """The same observations with the working targets and weights of a likelihood."""
        if weights is not self.weights:
            return replace(self, targets=targets, weights=weights, within=np.zeros(1), given_weight=self.n_observations)
        return self if targets is self.targets else self.with_targets(targets)

    def with_within(self, within: Array) -> "Problem":
        """The same rows with other sums of squares (K,) that their targets leave out."""
        other = copy(self)
        object.__setattr__(other, "within", within)
        return other

    def reduced_by_gaps(self, factors: Array, sample_weights: Array) -> "Problem":
        """The same rows with weights multiplied by (M,) factors, because missing cells add to their variance."""
        return replace(
            self,
            weights=self.weights * factors,
            given_weight=float(sums_over_rows(sample_weights, factors[:, None])[0]),
            gap_weights=factors,
        )

    def with_targets(self, targets: Array) -> "Problem":
        """The same rows with other targets; values cached from the weights are kept."""
        _ = self.roots, self.total_weight
        other = copy(self)
        object.__setattr__(other, "targets", targets)
        if targets.shape != self.targets.shape:
            object.__setattr__(other, "within", np.zeros(1))
        return other

    def __copy__(self) -> "Problem":
        """Copy with cached values."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def reweighted(self, factors: Array) -> "Problem":
        """The problem with its weights multiplied. Rows of factor 0 are dropped, unless rows are in a code file."""
        if self.cells.mapped:
            return self.with_weights(self.weights * factors)
        kept = factors > 0
        part = self.take(kept)
        return replace(part, weights=part.weights * factors[kept])
