"""Whether factors are unique, and factor curves in a canonical form that does not depend on the fit."""

from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.explain.games import balanced, root_mean_squares
from csid.explain.identifiability import Identifiability, examine, live_components
from csid.fitted.model import FittedModel, Model, fitted_model
from csid.tensor.cpd import CPD, column_norms, sign_of_largest

Array = NDArray[np.float64]

_TIE = 1e-9  # relative difference up to which two numbers count as equal in the order of components


@dataclass(frozen=True, repr=False)
class Uniqueness:
    """The components of a tensor in canonical form, without those that the ridge has shrunk to zero.

    identifiability : whether Kruskal's condition makes them unique, and whether the data suffice.
    weights : (F,), or (F, K) for several outputs: the coefficient of the product of a component's curves. The curves
        have a mean square of one, so a weight is in units of y: the root mean square of its component.
    curves : for each predictor (I_n, F), the columns of its factor with a mean square of one over the training
        marginal and a positive entry of largest magnitude; components come by decreasing weight.
    levels : for each predictor the values that the rows of its curves belong to; None is the level of missing cells.
    """

    identifiability: Identifiability
    weights: Array
    curves: dict[str, Array]
    levels: dict[str, list[Any]]

    @property
    def unique(self) -> bool:
        """Whether no other curves give this tensor; False means "not guaranteed"."""
        return self.identifiability.unique

    def __str__(self) -> str:
        return str(self.identifiability)

    __repr__ = __str__


def uniqueness(model: Model, *, draw: int | None = None) -> Uniqueness:
    """Whether the factors of a model are identifiable, and its factor curves in canonical form.

    Reordering components, or moving scales and signs between the factors of a component, does not change the tensor.
    The canonical form fixes all of these, so it is the same for every equivalent solution: if the factors are unique,
    two fits of the same tensor show the same curves.

    Parameters
    ----------
    model : a fitted csid estimator.
    draw : int, for a `BayesianCSIDRegressor`
        Which of its posterior draws to show. The posterior mean is a sum of all draws, with hundreds of components, and
        its factors are not unique. Components of different draws may come in a different order.

    Examples
    --------
    >>> import numpy as np, csid
    >>> X = np.random.default_rng(0).integers(0, 4, (500, 3)).astype(float)
    >>> y = np.prod(np.sin(X + 1), axis=1) + np.prod(np.cos(X), axis=1)
    >>> found = uniqueness(csid.CSIDRegressor(rank=2, random_state=0).fit(X, y))
    >>> found.unique, found.weights.shape, found.curves["x0"].shape
    (True, (2,), (4, 2))
    """
    fitted = fitted_model(model)
    tensor = _tensor(fitted, draw)
    form = canonical(tensor)
    return Uniqueness(
        examine(tensor, fitted.names, fitted.n_samples),
        fitted.squeeze(form.V.T),
        dict(zip(fitted.names, form.factors, strict=True)),
        {mode.name: mode.level_names for mode in fitted.encoding.modes},
    )


def canonical(cpd: CPD) -> CPD:
    """The same tensor in the form that `Uniqueness` describes, without components that are almost zero."""
    live = live_components(cpd)
    tensor = balanced(CPD(tuple(A[:, live] for A in cpd.factors), cpd.V[:, live], cpd.bias, cpd.marginals))
    pairs = list(zip(tensor.factors, tensor.marginals, strict=True))
    sizes = np.array([sign_of_largest(A) * root_mean_squares(A, p) for A, p in pairs])
    factors, V = [A / size for A, size in zip(tensor.factors, sizes, strict=True)], tensor.V * np.prod(sizes, axis=0)
    order = _falling(V, np.vstack([*factors, V]))
    return CPD(tuple(A[:, order] for A in factors), V[:, order], cpd.bias, cpd.marginals)


def _falling(V: Array, entries: Array) -> list[int]:
    """The order of components by decreasing weight; if weights tie up to rounding, by the first entry that differs."""
    weights = column_norms(V)

    def compare(f: int, g: int) -> int:
        if abs(weights[f] - weights[g]) > _TIE * max(weights[f], weights[g]):
            return -1 if weights[f] > weights[g] else 1
        gaps = entries[:, f] - entries[:, g]
        sizes = np.maximum(np.abs(entries[:, f]), np.abs(entries[:, g]))
        other = np.flatnonzero(np.abs(gaps) > _TIE * np.maximum(sizes, 1.0))
        return int(-np.sign(gaps[other[0]])) if len(other) else 0

    return sorted(range(len(weights)), key=cmp_to_key(compare))


def _tensor(fitted: FittedModel, draw: int | None) -> CPD:
    """The tensor of a model, or one of its draws."""
    if fitted.posterior is None:
        if draw is not None:
            raise ValueError(f"draw={draw}: a {fitted.estimator} has no posterior draws; leave draw=None.")
        return fitted.tensor
    draws = fitted.posterior.draws
    if draw is None:
        raise ValueError(
            f"draw=None: the posterior mean of a {fitted.estimator} is a sum of {len(draws)} tensors, so its factors "
            f"are not unique. Give one of its draws, from 0 to {len(draws) - 1}."
        )
    if not 0 <= draw < len(draws):
        raise ValueError(f"draw={draw}: the model has draws from 0 to {len(draws) - 1}.")
    return draws[draw]
