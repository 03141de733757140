"""How the prediction depends on one or two predictors: on average, and row by row. All exact.

With the values of some predictors set, the others enter through one product per component: of their means for
independent predictors, its mean over the rows of a data set, or that of one row.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from csid._fit.statistics import Workers, multiply
from csid.cpd import CPD
from csid.encoding import EncodedRows
from csid.explain import fitted
from csid.explain.bands import band, check_coverage
from csid.explain.fitted import Feature
from csid.explain.games import balanced

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Dependence:
    """The mean prediction at the levels of one or two predictors.

    features : their names; levels : the levels of each, None for the level of missing cells.
    values : (I_1,) or (I_1, I_2), with a last axis K where there are several outputs.
    lower, upper : of the same shape, the interval over the posterior draws; None for a model without any.
    """

    features: tuple[str, ...]
    levels: tuple[list[Any], ...]
    values: Array
    lower: Array | None = None
    upper: Array | None = None


def partial_dependence(model: Any, features: Feature | Sequence[Feature], *, coverage: float = 0.9) -> Dependence:
    """The mean prediction as one or two predictors vary, and the others follow their marginals independently.

    `b + sum_f V(:, f) A_n(i, f) prod_(j != n) p_j^T A_j(:, f)`, and likewise for two. Between levels it is linear for
    a model with linear interpolation, so that the levels tell all.

    Parameters
    ----------
    model : a fitted csid estimator.
    features : a predictor or two, by name or position.
    coverage : share of the posterior draws in the interval of a Bayesian model.

    Examples
    --------
    >>> import numpy as np, csid
    >>> X = np.random.default_rng(0).integers(0, 4, (500, 2)).astype(float)
    >>> model = csid.CSIDRegressor(rank=2, random_state=0).fit(X, X[:, 0] + 2 * X[:, 1])
    >>> np.diff(partial_dependence(model, "x1").values).round(1).tolist()
    [2.0, 2.0, 2.0]
    """
    return _dependence(model, features, None, coverage)


def empirical_dependence(
    model: Any, features: Feature | Sequence[Feature], X: Any, *, coverage: float = 0.9
) -> Dependence:
    """The mean prediction over the rows of X as one or two predictors vary in all of them.

    The others keep what they have together in X, and are not taken to be independent of each other. This is what
    `sklearn.inspection.partial_dependence` does by brute force. Parameters are as in `partial_dependence`.
    """
    return _dependence(model, features, fitted.encoded(model, X), coverage)


def ice_curves(model: Any, feature: Feature, X: Any, *, draws: bool = False, coverage: float = 0.9) -> Any:
    """Individual curves: the prediction for each row of X at every level of a predictor, (M, I_n) or (M, I_n, K).

    Their mean over rows is the empirical dependence. Missing cells are averaged over the marginals.

    Parameters
    ----------
    model : a fitted csid estimator.
    feature : a predictor, by name or position.
    X : data frame or array (M, N)
    draws : also give the interval of each value over the posterior draws of a Bayesian model, as a `Band`.
    coverage : share of the draws in that interval.

    Examples
    --------
    >>> import numpy as np, csid
    >>> X = np.random.default_rng(0).integers(0, 4, (500, 2)).astype(float)
    >>> model = csid.CSIDRegressor(rank=2, random_state=0).fit(X, X[:, 0] * X[:, 1])
    >>> np.diff(ice_curves(model, "x1", [[1.0, 0.0], [3.0, 0.0]])).round().tolist()
    [[1.0, 1.0, 1.0], [3.0, 3.0, 3.0]]
    """
    check_coverage(coverage)
    rows = fitted.encoded(model, X)
    (n,) = _positions(model, feature, most=1)
    with Workers(model._threads()) as workers:
        if not draws:
            return fitted.shaped(model, _curves(balanced(model.cpd_), rows, n, workers))
        tensors = [balanced(draw) for draw in fitted.draws(model)[0]]

        def each(some: EncodedRows) -> Array:
            return np.array([_curves(tensor, some, n, workers) for tensor in tensors])

        n_numbers = len(tensors[0].factors[n]) * tensors[0].n_outputs
        return fitted.shaped_band(model, fitted.band_of_rows(model, rows, n_numbers, each, coverage))


def values_on_levels(tensor: CPD, features: tuple[int, ...], others: Array, some: slice = slice(None)) -> Array:
    """(I_1, K) or (I_1, I_2, K) values on the levels of some predictors, with a product (F,) over the others.

    Only some levels of the first of them, if so asked.
    """
    first, *second = (tensor.factors[n] for n in features)
    weights = tensor.V * others
    if not second:
        return np.asarray(tensor.bias + first[some] @ weights.T)
    return np.stack([b + (first[some] * w) @ second[0].T for b, w in zip(tensor.bias, weights, strict=True)], axis=-1)


def _curves(tensor: CPD, rows: EncodedRows, n: int, workers: Workers) -> Array:
    """(M, I_n, K) values at the levels of predictor n, the others as in the rows."""
    curves = np.empty((len(rows.codes), len(tensor.factors[n]), tensor.n_outputs))
    for part, products in _products_of_others(tensor, rows, (n,), workers):
        for k, v in enumerate(tensor.V):
            curves[part, :, k] = tensor.bias[k] + (products * v) @ tensor.factors[n].T
    return curves


def _dependence(
    model: Any, features: Feature | Sequence[Feature], rows: EncodedRows | None, coverage: float
) -> Dependence:
    check_is_fitted(model, "cpd_")
    check_coverage(coverage)
    at = _positions(model, features, most=2)
    modes = [model.encoding_.modes[n] for n in at]

    def prepared(cpd: CPD) -> tuple[CPD, tuple[int, ...], Array]:
        tensor = balanced(cpd)
        return tensor, at, _mean_of_others(tensor, rows, at, model._threads())

    found = [values_on_levels(*prepared(model.cpd_))]
    if hasattr(model, "posterior_"):
        draws, shares = fitted.draws(model)
        each = [prepared(draw) for draw in draws]
        most = max(1, fitted.MOST_NUMBERS * len(found[0]) // (found[0].size * len(draws)))
        parts = [slice(start, start + most) for start in range(0, len(found[0]), most)]
        bands = [band(np.array([values_on_levels(*draw, part) for draw in each]), shares, coverage) for part in parts]
        found += [np.concatenate([part.lower for part in bands]), np.concatenate([part.upper for part in bands])]
    shaped = (fitted.shaped(model, array) for array in found)
    return Dependence(tuple(mode.name for mode in modes), tuple(mode.level_names for mode in modes), *shaped)


def _mean_of_others(tensor: CPD, rows: EncodedRows | None, features: tuple[int, ...], n_threads: int) -> Array:
    """(F,) the mean of the product over all predictors but some: of independent ones, or over rows."""
    if rows is None:
        pairs = zip(tensor.marginals, tensor.factors, strict=True)
        return np.asarray(np.prod([p @ A for n, (p, A) in enumerate(pairs) if n not in features], axis=0))
    total = np.zeros(tensor.rank)
    with Workers(n_threads) as workers:
        for _, products in _products_of_others(tensor, rows, features, workers):
            total += products.sum(axis=0)
    return total / len(rows.codes)


def _products_of_others(
    tensor: CPD, rows: EncodedRows, features: tuple[int, ...], workers: Workers
) -> Iterator[tuple[slice, Array]]:
    """Runs of rows, and for them (M', F) the products of `w_j(x)^T A_j` over all predictors but some."""
    others = np.array([n for n in range(tensor.n_modes) if n not in features], dtype=np.intp)
    S = tensor.stacked.table.shape[1]
    most = max(64, fitted.MOST_NUMBERS // S)
    for start in range(0, len(rows.codes), most):
        part = slice(start, start + most)
        problem = tensor.at(rows.codes[part], rows.fractions[part])
        products = np.empty((problem.n_rows, S))
        multiply(problem, tensor.stacked, np.empty((0, 1)), others, products, workers)
        yield part, products[:, : tensor.rank]


def _positions(model: Any, features: Feature | Sequence[Feature], most: int) -> tuple[int, ...]:
    """Where the predictors stand that are given by name or position, so many at most."""
    at = fitted.positions(model, features)
    if not 1 <= len(set(at)) == len(at) <= most:
        raise ValueError(f"features={features!r}: give one predictor{' or two different ones' if most > 1 else ''}.")
    return at
