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

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from csid._fit.lanes import WIDTH
from csid.explain import fitted
from csid.explain.bands import Band, band, check_coverage
from csid.explain.component_pairs import Block, ComponentPairs, component_pairs, moments_of, on_levels
from csid.explain.games import uniform_rule
from csid.explain.products import before, behind
from csid.explain.shapley_kernels import add_effects

Array = NDArray[np.float64]

_DIVISIBLE = 1e-50
_NOTHING = 1e-24  # of what the variance would be if components did not cancel


@dataclass(frozen=True)
class SobolIndices:
    """Shares of the variance of the prediction, with a last axis K where there are several outputs; or their bands.

    first : (N,) of what a predictor explains alone; total : (N,) of all that it has a part in.
    pairs : (N, N) symmetric, of what two predictors explain together beyond what each does; 0 on the diagonal.
    variance : of the prediction, per output; where it is zero, so are all shares.
    """

    first: Any
    total: Any
    pairs: Any
    variance: Any


class Additivity(NamedTuple):
    """Shares of the variance of the prediction that sum to one, a number each or (K,); or their bands.

    main : explained by the predictors alone; pairs : by pairs of them beyond that; higher : by three or more.
    """

    main: Any
    pairs: Any
    higher: Any


def sobol_indices(model: Any, X: Any = None, *, draws: bool = False, coverage: float = 0.9) -> SobolIndices:
    """Sobol indices of a fitted model: first order, total, and pairs.

    Parameters
    ----------
    model : a fitted csid estimator.
    X : data frame or array (M, N), optional
        Rows that have the marginals over which the variance is; those of the training, for instance. Predictors are
        independent all the same. Without it, a predictor is at its levels, with the probabilities that the model
        keeps, `p_n`. Under linear interpolation that puts a value between two levels now at one, now at the other: the
        mean prediction is the same, and the variance is a little larger than that of the values between.
    draws : give each of them as a `Band` over the posterior draws of a Bayesian model. Its mean is that of the indices
        of the draws. Draws vary more than their mean does, so that the indices of the mean prediction, which stand
        here otherwise, may lie outside of an interval.
    coverage : share of the draws in that interval.

    Examples
    --------
    >>> import numpy as np, csid
    >>> X = np.random.default_rng(0).integers(0, 4, (500, 3)).astype(float)
    >>> model = csid.CSIDRegressor(rank=2, random_state=0).fit(X, X[:, 0] + X[:, 1])
    >>> sobol_indices(model).first.round(1).tolist()
    [0.5, 0.5, 0.0]
    """
    return SobolIndices(*_read(model, X, _sobol_shares, draws, coverage))


def shapley_effects(model: Any, X: Any = None, *, draws: bool = False, coverage: float = 0.9) -> Any:
    """Shapley effects (N,) or (N, K): shares of the variance of the prediction, which sum to one.

    What predictors explain together is shared out evenly among them (Owen, 2014), so that each share lies between the
    first order and the total Sobol index. Parameters are as in `sobol_indices`.
    """
    return _read(model, X, lambda components: (effect_shares(components),), draws, coverage)[0]


def additivity(model: Any, X: Any = None, *, draws: bool = False, coverage: float = 0.9) -> Additivity:
    """How much of the variance main effects and pairs explain. Parameters are as in `sobol_indices`."""
    return Additivity(*_read(model, X, _additive_shares, draws, coverage))


def effect_shares(components: ComponentPairs) -> Array:
    """(N, K) Shapley effects as shares of the variance."""
    effects = effect_variances(components)
    return _shares(components, effects, effects.sum(axis=0))


def _sobol_shares(components: ComponentPairs) -> tuple[Array, ...]:
    found = sobol_variances(components)
    parts = (found.first, found.total, found.pairs)
    return *(_shares(components, part, found.all) for part in parts), found.all


def _additive_shares(components: ComponentPairs) -> tuple[Array, ...]:
    first, total, of_pairs, _ = _sobol_shares(components)
    main, pairs = first.sum(axis=0), 0.5 * of_pairs.sum(axis=(0, 1))
    return main, pairs, np.where((total == 0.0).all(axis=0), 0.0, 1.0 - main - pairs)


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
    others = V * (before(means) * behind(means))[:, None]
    for block in components.blocks():
        C, G, VV = block.C, block.C + block.mm, _pairs_of(V, block)
        found.all[:] += VV @ (before(block.mm) * C * behind(G)).sum(axis=0).ravel()  # the difference of both products
        found.total[:] += (before(G) * C * behind(G)).reshape(N, -1) @ VV.T
        found.first[:] += block.times * ((others[:, :, block.f] @ C) * others[:, :, block.g]).sum(axis=2)
        found.pairs[:] += _pair_variances(V, means, block)
    return found


def _pair_variances(V: Array, means: Array, block: Block) -> Array:
    """(N, N, K) of a block: one matrix product, where no mean is so small that it cannot be divided by."""
    N = len(means)
    pairs = np.zeros((N, N, len(V)))
    if min(np.abs(means[:, block.f]).min(), np.abs(means[:, block.g]).min()) > _DIVISIBLE:
        C = (block.C / block.mm).reshape(N, -1)
        weights = _pairs_of(V * np.prod(means, axis=0), block)
        for k, w in enumerate(weights):
            pairs[:, :, k] = (C * w) @ C.T
        pairs[np.arange(N), np.arange(N)] = 0.0
        return pairs
    first, last = before(means), behind(means)
    for i in range(N):
        others = V * first[i]
        for n in range(i + 1, N):
            pairs[i, n] = pairs[n, i] = block.form(others * last[n], block.C[i] * block.C[n])
            others = others * means[n]
    return pairs


def _pairs_of(x: Array, block: Block) -> Array:
    """(K, P) the products of x (K, F) over the pairs of components of a block, as often as they count."""
    return np.asarray(block.times * x[:, block.f, None] * x[:, None, block.g]).reshape(len(x), -1)


def effect_variances(components: ComponentPairs) -> Array:
    """(N, K) Shapley effects, which sum to the variance."""
    V, N = components.V, len(components.means)
    effects = np.zeros((N, len(V)))
    rule = uniform_rule(N - 1)
    for block in components.blocks():
        add_effects(_in_lanes(block.C), _in_lanes(block.mm), _padded(_pairs_of(V, block)), *rule, effects)
    return effects


def _in_lanes(matrices: Array) -> Array:
    """(N, F', F'') as the compiled loop reads it, (P / 8, N, 8)."""
    padded = _padded(matrices)
    return np.ascontiguousarray(padded.reshape(len(padded), -1, WIDTH).transpose(1, 0, 2))


def _padded(matrices: Array) -> Array:
    """(..., F', F'') with pairs in a row, (..., P), and zeros up to a whole lane."""
    flat = matrices.reshape(len(matrices), -1)
    return np.pad(flat, ((0, 0), (0, -flat.shape[1] % WIDTH)))


def _read(
    model: Any, X: Any, shares_of: Callable[[ComponentPairs], tuple[Array, ...]], draws: bool, coverage: float
) -> tuple[Array | Band, ...]:
    """Shares (..., K) of a model, or their bands over its posterior draws."""
    check_is_fitted(model, "cpd_")
    check_coverage(coverage)
    moments = [on_levels(p) for p in model.cpd_.marginals]
    if X is not None:
        rows = fitted.encoded(model, X)
        moments = [moments_of(rows, n, p) for n, p in enumerate(model.cpd_.marginals)]
    if not draws:
        return tuple(fitted.shaped(model, part) for part in shares_of(component_pairs(model.cpd_, moments)))
    tensors, weights = fitted.draws(model)
    each = zip(*(shares_of(component_pairs(tensor, moments)) for tensor in tensors), strict=True)
    return tuple(fitted.shaped_band(model, band(np.array(parts), weights, coverage)) for parts in each)


def _shares(components: ComponentPairs, part: Array, whole: Array) -> Array:
    """A part as a share of the whole; none where that is rounding of a constant."""
    rounding = _NOTHING * np.abs(components.V).sum(axis=1) ** 2
    return np.where(whole > rounding, part / np.where(whole > rounding, whole, 1.0), 0.0)
