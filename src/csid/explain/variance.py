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

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid._kernels.simd import WIDTH
from csid.explain.bands import Band, band, check_coverage
from csid.explain.component_pairs import ComponentBlock, ComponentPairs, component_pairs, moments_of, on_levels
from csid.explain.games import uniform_rule
from csid.explain.outputs import OF_THE_TARGETS, Explained, Output, Outputs
from csid.explain.products import before, behind
from csid.explain.shapley_kernels import add_effects
from csid.fitted.model import Model
from csid.small_tables import MOST_ROWS, SmallTable, Tabular, left_out, with_bounds

Array = NDArray[np.float64]

_DIVISIBLE = 1e-50
_NEGLIGIBLE = 1e-24  # relative to the variance if components did not cancel


@dataclass(frozen=True, repr=False)
class SobolIndices(Tabular):
    """Shares of the variance of the prediction, with a last axis K if there are several outputs; or their bands.

    first : (N,) explained by a predictor alone; total : (N,) explained by all effects that it takes part in.
    pairs : (N, N) symmetric, explained by two predictors together beyond what each explains alone; 0 on the diagonal.
    variance : of the prediction, per output; if it is zero, so are all shares.
    features : (N,) the names of the predictors; outputs : what the prediction is of.
    """

    first: Any
    total: Any
    pairs: Any
    variance: Any
    features: tuple[str, ...] = ()
    outputs: Outputs = OF_THE_TARGETS

    def table(self) -> SmallTable:
        """The predictors by their total index, each with the strongest of its pairs."""
        first, total, pairs = _by_output(self.first, 1), _by_output(self.total, 1), _by_output(self.pairs, 2)
        N, K = total.shape[:2]
        names = self.features or tuple(f"x{n}" for n in range(N))
        order = np.argsort(-total[..., 0].mean(axis=1), kind="stable")[:MOST_ROWS].tolist()
        strongest = pairs[..., 0].mean(axis=2).argmax(axis=1)
        headings = (self.outputs.headings(which, K) for which in ("first order", "total"))
        indices = [heading for pair in zip(*headings, strict=True) for heading in pair]
        rows = [
            [
                names[n],
                *(with_bounds(index[n, j]) for j in range(K) for index in (first, total)),
                f"with {names[strongest[n]]}" if pairs[n, strongest[n], :, 0].any() else "none",
            ]
            for n in order
        ]
        header = ["predictor", *indices, "strongest pair"]
        note = " ".join(filter(None, (self.outputs.note, left_out(N, "predictors"))))
        return SmallTable("Sobol indices: shares of the variance", header, rows, note)


@dataclass(frozen=True, repr=False)
class Additivity(Tabular):
    """Shares of the variance of the prediction that sum to one, a number each or (K,); or their bands.

    main : explained by main effects; pairs : by interactions of two predictors; higher : of three or more.
    outputs : what the prediction is of.
    """

    main: Any
    pairs: Any
    higher: Any
    outputs: Outputs = OF_THE_TARGETS

    def __iter__(self) -> Iterator[Any]:
        """The three shares."""
        return iter((self.main, self.pairs, self.higher))

    def table(self) -> SmallTable:
        """A row for each share."""
        parts = [_by_output(each, 0) for each in self]
        header = ["part", *self.outputs.headings("share", len(parts[0]))]
        names = ("main effects", "pairs", "higher")
        rows = [[name, *map(with_bounds, part)] for name, part in zip(names, parts, strict=True)]
        return SmallTable("Additivity: shares of the variance", header, rows, self.outputs.note)


def sobol_indices(
    model: Model, X: Any = None, *, output: Output = None, draws: bool = False, coverage: float = 0.9
) -> SobolIndices:
    """Sobol indices of a fitted model: first order, total, and pairs.

    Of a classifier, shares are on the latent scale, that of `decision_function`: of the variance of the latent value of
    the second of two classes, or of one latent value per class.

    Parameters
    ----------
    model : a fitted csid estimator.
    X : data frame or array (M, N), optional
        Rows whose marginals the variance is taken over; the training rows, for instance. Predictors are independent
        even so. Without X, a predictor takes its levels with the probabilities `p_n` that the model keeps. Under
        linear interpolation this rounds a value between two levels at random to one of them: the mean prediction is
        the same, and the variance is a little larger than that of the values themselves.
    output : of several outputs, only this one, by position or name; of a classifier, only the latent value of this
        label.
    draws : return a `Band` for each: its mean and interval over the posterior draws of a Bayesian model. A draw varies
        more than the mean of all draws does, so the indices of the mean prediction, which are the default, may lie
        outside an interval.
    coverage : fraction of the draws in that interval.

    Examples
    --------
    >>> import numpy as np, csid
    >>> X = np.random.default_rng(0).integers(0, 4, (500, 3)).astype(float)
    >>> model = csid.CSIDRegressor(rank=2, random_state=0).fit(X, X[:, 0] + X[:, 1])
    >>> sobol_indices(model).first.round(1).tolist()
    [0.5, 0.5, 0.0]
    """
    explained = Explained.of(model, output)
    first, total, pairs, variance = _read(explained, X, _sobol_shares, draws, coverage)
    return SobolIndices(first, total, pairs, variance, tuple(explained.fitted.names), explained.outputs)


def shapley_effects(
    model: Model, X: Any = None, *, output: Output = None, draws: bool = False, coverage: float = 0.9
) -> Any:
    """Shapley effects (N,) or (N, K): shares of the variance of the prediction, which sum to one.

    What predictors explain together is divided equally among them (Owen, 2014), so each share lies between the first
    order and the total Sobol index. Parameters and scale are as in `sobol_indices`.
    """
    return _read(Explained.of(model, output), X, lambda components: (effect_shares(components),), draws, coverage)[0]


def additivity(
    model: Model, X: Any = None, *, output: Output = None, draws: bool = False, coverage: float = 0.9
) -> Additivity:
    """How much of the variance main effects and pairs explain. Parameters and scale are as in `sobol_indices`."""
    explained = Explained.of(model, output)
    main, pairs, higher = _read(explained, X, _additive_shares, draws, coverage)
    return Additivity(main, pairs, higher, explained.outputs)


def _by_output(shares: Any, axes: int) -> Array:
    """Shares, or their bands, as (..., K, 1 or 3): for each output the value, and with bands the bounds."""
    parts = [np.asarray(part) for part in (shares if isinstance(shares, Band) else (shares,))]
    return np.stack([part if part.ndim > axes else part[..., None] for part in parts], axis=-1)


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
    """The numerators of Sobol indices: all (K,), first (N, K), total (N, K) and pairs (N, N, K)."""

    all: Array
    first: Array
    total: Array
    pairs: Array


def sobol_variances(components: ComponentPairs) -> Variances:
    """In one pass over the pairs of components."""
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


def _pair_variances(V: Array, means: Array, block: ComponentBlock) -> Array:
    """(N, N, K) of a block: one matrix product, unless a mean is too small to divide by."""
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


def _pairs_of(x: Array, block: ComponentBlock) -> Array:
    """(K, P) the products of x (K, F) over the pairs of components of a block, times how often the block counts."""
    return np.asarray(block.times * x[:, block.f, None] * x[:, None, block.g]).reshape(len(x), -1)


def effect_variances(components: ComponentPairs) -> Array:
    """(N, K) Shapley effects, which sum to the variance."""
    V, N = components.V, len(components.means)
    effects = np.zeros((N, len(V)))
    rule = uniform_rule(N - 1)
    for block in components.blocks():
        add_effects(_in_lanes(block.C), _in_lanes(block.mm), _padded(_pairs_of(V, block)), rule, effects)
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
    explained: Explained, X: Any, shares_of: Callable[[ComponentPairs], tuple[Array, ...]], draws: bool, coverage: float
) -> tuple[Array | Band, ...]:
    """Shares (..., K) of a model, or their bands over its posterior draws."""
    fitted = explained.fitted
    check_coverage(coverage)
    marginals = fitted.tensor.marginals
    moments = [on_levels(p) for p in marginals]
    if X is not None:
        rows = fitted.encoded(X)
        moments = [moments_of(rows, n, p) for n, p in enumerate(marginals)]
    if not draws:
        return tuple(explained.squeeze(part) for part in shares_of(component_pairs(explained.tensor, moments)))
    posterior = fitted.require_posterior("draws=True")
    each = zip(*(shares_of(component_pairs(draw, moments)) for draw in explained.draws()), strict=True)
    bands = [band(np.array(parts), posterior.weights, coverage) for parts in each]
    return tuple(Band(*map(explained.squeeze, found)) for found in bands)


def _shares(components: ComponentPairs, part: Array, whole: Array) -> Array:
    """A part as a share of the whole; zero if the whole is the rounding error of a constant."""
    rounding = _NEGLIGIBLE * np.abs(components.V).sum(axis=1) ** 2
    return np.where(whole > rounding, part / np.where(whole > rounding, whole, 1.0), 0.0)
