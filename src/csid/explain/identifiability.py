"""Whether the data can determine the tensor, and whether the tensor determines its factors."""

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from csid.fitted.model import Model, fitted_model
from csid.tensor.cpd import CPD, column_norms

Array = NDArray[np.float64]

_MOST_SUBSETS = 20_000
_RELATIVE_TOLERANCE = 1e-8


@dataclass(frozen=True, repr=False)
class Identifiability:
    """Whether data and tensor are identifiable. Components that the ridge has shrunk to zero do not count.

    rank : components that count.
    degrees_of_freedom : free parameters, without the scales that can be moved between the factors of a component.
    samples_per_degree_of_freedom : training rows per free parameter. Needs to be above one in practice, the more so the
        noisier the data; the recovery benchmark of this package shows how many suffice.
    k_ranks : for each factor, the largest k such that every k of its columns are linearly independent.
    k_ranks_exact : False if there were too many subsets of columns to check, and some k-ranks are lower bounds.
    kruskal_sum, kruskal_bound : Kruskal's condition for unique factors is `kruskal_sum >= kruskal_bound`: the k-ranks
        of all modes with more than one level sum to at least 2 F + N - 1.
    unique : whether the condition holds; it is sufficient, so False means "not guaranteed".
    """

    rank: int
    degrees_of_freedom: int
    n_samples: int
    samples_per_degree_of_freedom: float
    k_ranks: dict[str, int]
    k_ranks_exact: bool
    kruskal_sum: int
    kruskal_bound: int
    unique: bool

    def __str__(self) -> str:
        verdict = "unique up to order and scale" if self.unique else "not guaranteed to be unique"
        return (
            f"rank {self.rank}, {self.degrees_of_freedom} degrees of freedom, {self.n_samples} samples "
            f"({self.samples_per_degree_of_freedom:.2f} per degree of freedom)\n"
            f"Kruskal: k-ranks sum to {'' if self.k_ranks_exact else 'at least '}{self.kruskal_sum}, "
            f"needed {self.kruskal_bound}: factors {verdict}"
        )

    __repr__ = __str__


def identifiability(model: Model) -> Identifiability:
    """Degrees of freedom, samples per degree of freedom and Kruskal's condition of a fitted model.

    Parameters
    ----------
    model : a fitted csid estimator.

    Examples
    --------
    >>> import numpy as np, csid
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 5, (500, 3)).astype(float)
    >>> model = csid.CSIDRegressor(rank=2, random_state=0).fit(X, np.prod(np.sin(X + 1), axis=1))
    >>> csid.identifiability(model).degrees_of_freedom
    27
    """
    fitted = fitted_model(model)
    return examine(fitted.tensor, fitted.names, fitted.n_samples)


def examine(cpd: CPD, names: list[str], n_samples: int) -> Identifiability:
    """The same from a tensor, the names of its predictors, and the number of training rows."""
    live = live_components(cpd)
    factors = {name: A[:, live] for name, A in zip(names, cpd.factors, strict=True)}
    if cpd.n_outputs > 1:
        factors["output"] = cpd.V[:, live]
    F = int(live.sum())
    entries = sum(A.size for A in factors.values())
    freedom = entries - F * (len(factors) - 1) + cpd.n_outputs
    results = {name: k_rank(A) for name, A in factors.items()}
    modes = [k for (k, _), A in zip(results.values(), factors.values(), strict=True) if len(A) > 1]
    total, bound = sum(modes), 2 * F + len(modes) - 1
    return Identifiability(
        rank=F,
        degrees_of_freedom=freedom,
        n_samples=n_samples,
        samples_per_degree_of_freedom=n_samples / freedom,
        k_ranks={name: k for name, (k, _) in results.items()},
        k_ranks_exact=all(exact for _, exact in results.values()),
        kruskal_sum=total,
        kruskal_bound=bound,
        unique=len(modes) >= 2 and total >= bound,
    )


def live_components(cpd: CPD) -> NDArray[np.bool_]:
    """(F,) which components count: the ridge shrinks one that is not needed to zero, or almost to zero."""
    with np.errstate(divide="ignore"):  # logarithms, since products of hundreds of norms leave the range of floats
        weights = np.sum([np.log(column_norms(A)) for A in (*cpd.factors, cpd.V)], axis=0)
    largest = weights.max(initial=-np.inf)
    return np.asarray((weights > largest + np.log(_RELATIVE_TOLERANCE)) & (largest > -np.inf))


def k_rank(A: Array) -> tuple[int, bool]:
    """Kruskal rank of a matrix, and whether it is exact or a lower bound from the coherence of its columns."""
    F = A.shape[1]
    norms = column_norms(A)
    if F == 0 or not (norms > 0).all():
        return 0, True
    unit = A / norms
    rank = _numerical_rank(unit)
    if rank == F:
        return F, True
    coherence = float(np.abs(unit.T @ unit - np.eye(F)).max())
    if coherence > 1.0 - _RELATIVE_TOLERANCE:
        return 1, True
    # (k - 1) coherence < 1 makes every k columns independent (Gershgorin); at equality they may be dependent
    k = min(rank, int(np.ceil(1.0 / coherence - _RELATIVE_TOLERANCE)))
    while k < rank:
        if comb(F, k + 1) > _MOST_SUBSETS:
            return k, False
        if any(_numerical_rank(unit[:, columns]) <= k for columns in combinations(range(F), k + 1)):
            return k, True
        k += 1
    return k, True


def _numerical_rank(unit: Array) -> int:
    return int(np.linalg.matrix_rank(unit, rtol=_RELATIVE_TOLERANCE))
