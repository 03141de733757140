"""Which predictors the variance of the prediction comes from: Sobol indices and Shapley effects, exact.

Predictors are taken to be independent. With `m_n = E[a_n]`, `G_n = E[a_n a_n^T]` and `C_n = G_n - m_n m_n^T`, matrices
over pairs of components, variances of an output are sums over all pairs f, g, weighted by V(f) V(g), of

    all                   prod_n G_n - prod_n m_n m_n^T
    first order           C_n * prod_(j != n) m_j m_j^T
    pair i, n             C_i * C_n * prod_(j != i, n) m_j m_j^T
    total                 C_n * prod_(j != n) G_j
    Shapley effect        C_n * int_0^1 prod_(j != n) (m_j m_j^T + t C_j) dt,

products taken entry by entry. The sums go over blocks of pairs, so that memory does not grow with the rank.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from csid.explain import fitted
from csid.explain.component_pairs import ComponentPairs, component_pairs, moments_of, on_levels
from csid.explain.games import uniform_rule

Array = NDArray[np.float64]

_NOTHING = 1e-24  # of what the variance would be if components did not cancel


@dataclass(frozen=True)
class SobolIndices:
    """Shares of the variance of the prediction, with a last axis K where there are several outputs.

    first : (N,) of what a predictor explains alone; total : (N,) of all that it has a part in.
    pairs : (N, N) symmetric, of what two predictors explain together beyond what each does; 0 on the diagonal.
    variance : of the prediction, per output; where it is zero, so are all shares.
    """

    first: Array
    total: Array
    pairs: Array
    variance: Array


class Additivity(NamedTuple):
    """Shares of the variance of the prediction that sum to one, a number each or (K,).

    main : explained by the predictors alone; pairs : by pairs of them beyond that; higher : by three or more.
    """

    main: Array
    pairs: Array
    higher: Array


def sobol_indices(model: Any, X: Any = None) -> SobolIndices:
    """Sobol indices of a fitted model: first order, total, and pairs.

    Parameters
    ----------
    model : a fitted csid estimator.
    X : data frame or array (M, N), optional
        Rows that have the marginals over which the variance is; those of the training, for instance. Predictors are
        independent all the same. Without it, a predictor is at its levels, with the probabilities that the model
        keeps, `p_n`. Under linear interpolation that puts a value between two levels now at one, now at the other: the
        mean prediction is the same, and the variance is a little larger than that of the values between.

    Examples
    --------
    >>> import numpy as np, csid
    >>> X = np.random.default_rng(0).integers(0, 4, (500, 3)).astype(float)
    >>> model = csid.CSIDRegressor(rank=2, random_state=0).fit(X, X[:, 0] + X[:, 1])
    >>> sobol_indices(model).first.round(1).tolist()
    [0.5, 0.5, 0.0]
    """
    components = _components(model, X)
    found = sobol_variances(components)
    parts = (found.first, found.total, found.pairs)
    first, total, pairs = (_shared(model, components, part, found.all) for part in parts)
    return SobolIndices(first, total, pairs, fitted.shaped(model, found.all))


def shapley_effects(model: Any, X: Any = None) -> Array:
    """Shapley effects (N,) or (N, K): shares of the variance of the prediction, which sum to one.

    What predictors explain together is shared out evenly among them (Owen, 2014), so that each share lies between the
    first order and the total Sobol index. Parameters are as in `sobol_indices`.
    """
    components = _components(model, X)
    effects = effect_variances(components)
    return _shared(model, components, effects, effects.sum(axis=0))


def additivity(model: Any, X: Any = None) -> Additivity:
    """How much of the variance main effects and pairs explain. Parameters are as in `sobol_indices`."""
    indices = sobol_indices(model, X)
    main, pairs = indices.first.sum(axis=0), 0.5 * indices.pairs.sum(axis=(0, 1))
    constant = (indices.total == 0.0).all(axis=0)
    return Additivity(main, pairs, np.where(constant, 0.0, 1.0 - main - pairs))


class Variances(NamedTuple):
    """Sobol's variances before they are shares: all (K,), first (N, K), total (N, K) and pairs (N, N, K)."""

    all: Array
    first: Array
    total: Array
    pairs: Array


def sobol_variances(components: ComponentPairs) -> Variances:
    """All that Sobol indices are made of, in one pass over the pairs of components."""
    V, means = components.V, components.means
    (K, _), N = V.shape, len(means)
    found = Variances(np.zeros(K), np.zeros((N, K)), np.zeros((N, K)), np.zeros((N, N, K)))
    before, behind = _before(means), _behind(means)
    for block in components.blocks():
        C, mm = block.C, block.mm
        G = C + mm
        found.all[:] += block.form(V, (_before(mm) * C * _behind(G)).sum(axis=0))  # the difference of both products
        for n, matrix in enumerate(_before(G) * C * _behind(G)):
            found.total[n] += block.form(V, matrix)
            found.first[n] += block.form(V * before[n] * behind[n], C[n])
        for i in range(N):
            others = V * before[i]
            for n in range(i + 1, N):
                found.pairs[i, n] += block.form(others * behind[n], C[i] * C[n])
                others = others * means[n]
    return found._replace(pairs=found.pairs + found.pairs.transpose(1, 0, 2))


def effect_variances(components: ComponentPairs) -> Array:
    """(N, K) Shapley effects, which sum to the variance."""
    N = len(components.means)
    effects = np.zeros((N, len(components.V)))
    nodes, weights = uniform_rule(N - 1)
    for block in components.blocks():
        for t, weight in zip(nodes, weights, strict=True):
            c = block.mm + t * block.C
            for n, matrix in enumerate(_before(c) * block.C * _behind(c)):
                effects[n] += weight * block.form(components.V, matrix)
    return effects


def _before(values: Array) -> Array:
    """Products over all that come before, along the first axis."""
    return np.asarray(np.cumprod(np.concatenate([np.ones_like(values[:1]), values[:-1]]), axis=0))


def _behind(values: Array) -> Array:
    """Products over all that come after, along the first axis."""
    return _before(values[::-1])[::-1]


def _components(model: Any, X: Any) -> ComponentPairs:
    check_is_fitted(model, "cpd_")
    levels = model.cpd_.marginals
    if X is None:
        return component_pairs(model.cpd_, [on_levels(p) for p in levels])
    rows = fitted.encoded(model, X)
    return component_pairs(model.cpd_, [moments_of(rows, n, p) for n, p in enumerate(levels)])


def _shared(model: Any, components: ComponentPairs, part: Array, whole: Array) -> Array:
    """A part as a share of the whole; none where that is rounding of a constant."""
    rounding = _NOTHING * np.abs(components.V).sum(axis=1) ** 2
    return fitted.shaped(model, np.where(whole > rounding, part / np.where(whole > rounding, whole, 1.0), 0.0))
