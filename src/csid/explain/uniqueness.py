"""Factor curves that mean something alone: whether they are unique, and in a form that does not depend on the fit."""

from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from csid.cpd import CPD, sign_of_largest
from csid.explain import fitted
from csid.explain.games import balanced, root_mean_squares
from csid.explain.identifiability import Identifiability, examine, live_components

Array = NDArray[np.float64]

_TIE = 1e-9  # relative difference up to which two numbers count as equal in the order of components


@dataclass(frozen=True)
class Uniqueness:
    """The components of a tensor in canonical form; those that the ridge has shrunk to nothing are left out.

    identifiability : whether Kruskal's condition makes them unique, and whether the data suffice.
    weights : (F,), or (F, K) for several outputs: what stands before the product of a component's curves. As the curves
        have a mean square of one, a weight is in units of y, and the root mean square of its component.
    curves : for each predictor (I_n, F), the columns of its factor with a mean square of one over the training
        marginal, the entry of largest magnitude positive; components come by falling weight.
    levels : for each predictor the values that the rows of its curves belong to; None is the level of missing cells.
    """

    identifiability: Identifiability
    weights: Array
    curves: dict[str, Array]
    levels: dict[str, list[Any]]

    @property
    def unique(self) -> bool:
        """Whether the curves are sure to be the only ones that give this tensor; False means "not guaranteed"."""
        return self.identifiability.unique

    def __str__(self) -> str:
        return str(self.identifiability)


def uniqueness(model: Any, *, draw: int | None = None) -> Uniqueness:
    """Whether the factors of a model are identifiable, and its factor curves in canonical form.

    Components can be put in any order, and the factors of one can trade scales and signs, without a change to the
    tensor. The canonical form fixes all that, so that it is the same for every equivalent solution: where the factors
    are unique, two fits of the same tensor show the same curves.

    Parameters
    ----------
    model : a fitted csid estimator.
    draw : int, for a `BayesianCSIDRegressor`
        Which of its posterior draws to show. The posterior mean is a sum of hundreds of components, several for each
        that the system may have, and is not meant to be unique; curves of draws may differ in order as weights do.

    Examples
    --------
    >>> import numpy as np, csid
    >>> X = np.random.default_rng(0).integers(0, 4, (500, 3)).astype(float)
    >>> y = np.prod(np.sin(X + 1), axis=1) + np.prod(np.cos(X), axis=1)
    >>> found = uniqueness(csid.CSIDRegressor(rank=2, random_state=0).fit(X, y))
    >>> found.unique, found.weights.shape, found.curves["x0"].shape
    (True, (2,), (4, 2))
    """
    check_is_fitted(model, "cpd_")
    names = fitted.names(model)
    cpd = _tensor(model, draw)
    form = canonical(cpd)
    return Uniqueness(
        examine(cpd, names, model.n_samples_),
        fitted.shaped(model, form.V.T),
        dict(zip(names, form.factors, strict=True)),
        model.levels_,
    )


def canonical(cpd: CPD) -> CPD:
    """The same tensor but for components that are next to nothing, in the form that `Uniqueness` describes."""
    live = live_components(cpd)
    tensor = balanced(CPD(tuple(A[:, live] for A in cpd.factors), cpd.V[:, live], cpd.bias, cpd.marginals))
    pairs = list(zip(tensor.factors, tensor.marginals, strict=True))
    sizes = np.array([sign_of_largest(A) * root_mean_squares(A, p) for A, p in pairs])
    factors, V = [A / size for A, size in zip(tensor.factors, sizes, strict=True)], tensor.V * np.prod(sizes, axis=0)
    order = _falling(V, np.vstack([*factors, V]))
    return CPD(tuple(A[:, order] for A in factors), V[:, order], cpd.bias, cpd.marginals)


def _falling(V: Array, entries: Array) -> list[int]:
    """The order of components by falling weight; of those that tie up to rounding, by their first other entry."""
    weights = np.linalg.norm(V, axis=0)

    def compare(f: int, g: int) -> int:
        if abs(weights[f] - weights[g]) > _TIE * max(weights[f], weights[g]):
            return -1 if weights[f] > weights[g] else 1
        gaps = entries[:, f] - entries[:, g]
        sizes = np.maximum(np.abs(entries[:, f]), np.abs(entries[:, g]))
        other = np.flatnonzero(np.abs(gaps) > _TIE * np.maximum(sizes, 1.0))
        return int(-np.sign(gaps[other[0]])) if len(other) else 0

    return sorted(range(len(weights)), key=cmp_to_key(compare))


def _tensor(model: Any, draw: int | None) -> CPD:
    """The tensor of a model, or one of its draws."""
    if not hasattr(model, "posterior_"):
        if draw is not None:
            raise ValueError(f"draw={draw}: {type(model).__name__} has no posterior draws; leave draw=None.")
        cpd: CPD = model.cpd_
        return cpd
    tensors = fitted.draws(model)[0]
    if draw is None:
        raise ValueError(
            f"draw=None: the posterior mean of a {type(model).__name__} is a sum of {len(tensors)} tensors, whose "
            f"factors are not meant to be unique. Give one of its draws, from 0 to {len(tensors) - 1}."
        )
    if not 0 <= draw < len(tensors):
        raise ValueError(f"draw={draw}: the model has draws from 0 to {len(tensors) - 1}.")
    drawn: CPD = tensors[draw]
    return drawn
