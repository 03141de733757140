"""How the prediction depends on one or two predictors: on average, and row by row. All exact.

With the values of some predictors set, the others enter through one product per component: of their means if they are
independent, its mean over the rows of a data set, or that of one row.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid._kernels.threads import Workers
from csid.encoding import EncodedRows
from csid.explain.bands import Band, band, band_of_rows, check_coverage
from csid.explain.batches import batches
from csid.explain.features import Feature, positions
from csid.explain.games import balanced
from csid.fitted.model import FittedModel, Model, fitted_model, threads_of
from csid.small_tables import SmallTable, Tabular, evenly, left_out, shown, with_bounds
from csid.tensor.cpd import CPD
from csid.tensor.evaluation import multiply

Array = NDArray[np.float64]

_MIN_BATCH = 64
_MOST_COLUMNS = 8


@dataclass(frozen=True, repr=False)
class Dependence(Tabular):
    """The mean prediction at the levels of one or two predictors.

    features : their names; levels : the levels of each, None for the level of missing cells.
    values : (I_1,) or (I_1, I_2), with a last axis K if there are several outputs.
    lower, upper : of the same shape, the interval over the posterior draws; None for a model without draws.
    """

    features: tuple[str, ...]
    levels: tuple[list[Any], ...]
    values: Array
    lower: Array | None = None
    upper: Array | None = None

    def table(self) -> SmallTable:
        """The values at evenly spaced levels; of two predictors, those of the second in columns."""
        first, *second = self.levels
        rows, note = evenly(len(first)), left_out(len(first), "levels")
        title = f"Mean prediction by {' and '.join(self.features)}"
        if second:
            columns = evenly(len(second[0]), _MOST_COLUMNS)
            header = [f"{self.features[0]} \\ {self.features[1]}", *(shown(second[0][at]) for at in columns)]
            values = self.values if self.values.ndim == 2 else self.values[..., 0]
            if self.values.ndim > 2:
                title += ", first output"
            lines = [[shown(first[i]), *(float(values[i, at]) for at in columns)] for i in rows]
            return SmallTable(title, header, lines, note or left_out(len(second[0]), "levels", _MOST_COLUMNS))
        parts = [part for part in (self.values, self.lower, self.upper) if part is not None]
        cells = np.stack([part.reshape(len(first), -1) for part in parts], axis=-1)
        K = cells.shape[1]
        header = [self.features[0], *(["mean"] if K == 1 else [f"mean of output {j + 1}" for j in range(K)])]
        lines = [[shown(first[i]), *(with_bounds(cells[i, j]) for j in range(K))] for i in rows]
        return SmallTable(title, header, lines, note)


def partial_dependence(model: Model, features: Feature | Sequence[Feature], *, coverage: float = 0.9) -> Dependence:
    """The mean prediction as one or two predictors vary, and the others follow their marginals independently.

    `b + sum_f V(:, f) A_n(i, f) prod_(j != n) p_j^T A_j(:, f)`, and likewise for two. Between levels it is linear for
    a model with linear interpolation, so its values at the levels are all there is to know.

    Parameters
    ----------
    model : a fitted csid estimator.
    features : a predictor or two, by name or position.
    coverage : fraction of the posterior draws in the interval of a Bayesian model.

    Examples
    --------
    >>> import numpy as np, csid
    >>> X = np.random.default_rng(0).integers(0, 4, (500, 2)).astype(float)
    >>> model = csid.CSIDRegressor(rank=2, random_state=0).fit(X, X[:, 0] + 2 * X[:, 1])
    >>> np.diff(partial_dependence(model, "x1").values).round(1).tolist()
    [2.0, 2.0, 2.0]
    """
    return _dependence(fitted_model(model), features, None, coverage, threads_of(model))


def empirical_dependence(
    model: Model, features: Feature | Sequence[Feature], X: Any, *, coverage: float = 0.9
) -> Dependence:
    """The mean prediction over the rows of X as one or two predictors vary in all of them.

    The other predictors keep their joint distribution in X; they are not assumed to be independent. This is what
    `sklearn.inspection.partial_dependence` computes by brute force. Parameters are as in `partial_dependence`.
    """
    fitted = fitted_model(model)
    return _dependence(fitted, features, fitted.encoded(X), coverage, threads_of(model))


def ice_curves(model: Model, feature: Feature, X: Any, *, draws: bool = False, coverage: float = 0.9) -> Any:
    """Individual curves: the prediction for each row of X at every level of a predictor, (M, I_n) or (M, I_n, K).

    Their mean over rows is the empirical dependence. Missing cells are averaged over the marginals.

    Parameters
    ----------
    model : a fitted csid estimator.
    feature : a predictor, by name or position.
    X : data frame or array (M, N)
    draws : return a `Band`: each value with its interval over the posterior draws of a Bayesian model.
    coverage : fraction of the draws in that interval.

    Examples
    --------
    >>> import numpy as np, csid
    >>> X = np.random.default_rng(0).integers(0, 4, (500, 2)).astype(float)
    >>> model = csid.CSIDRegressor(rank=2, random_state=0).fit(X, X[:, 0] * X[:, 1])
    >>> np.diff(ice_curves(model, "x1", [[1.0, 0.0], [3.0, 0.0]])).round().tolist()
    [[1.0, 1.0, 1.0], [3.0, 3.0, 3.0]]
    """
    fitted = fitted_model(model)
    check_coverage(coverage)
    rows = fitted.encoded(X)
    (n,) = _positions(fitted, feature, most=1)
    with Workers(threads_of(model)) as workers:
        if not draws:
            return fitted.squeeze(_curves(balanced(fitted.tensor), rows, n, workers))
        posterior = fitted.require_posterior("draws=True")
        tensors = [balanced(draw) for draw in posterior.draws]

        def of_draws(some: EncodedRows) -> Array:
            return np.array([_curves(tensor, some, n, workers) for tensor in tensors])

        size = len(tensors[0].factors[n]) * fitted.n_outputs
        return Band(*map(fitted.squeeze, band_of_rows(of_draws, rows, size, posterior.weights, coverage)))


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
    fitted: FittedModel,
    features: Feature | Sequence[Feature],
    rows: EncodedRows | None,
    coverage: float,
    n_threads: int,
) -> Dependence:
    check_coverage(coverage)
    at = _positions(fitted, features, most=2)
    modes = [fitted.encoding.modes[n] for n in at]

    def prepared(cpd: CPD) -> tuple[CPD, tuple[int, ...], Array]:
        tensor = balanced(cpd)
        return tensor, at, _mean_of_others(tensor, rows, at, n_threads)

    found = [values_on_levels(*prepared(fitted.tensor))]
    if fitted.posterior is not None:
        draws, weights = [prepared(draw) for draw in fitted.posterior.draws], fitted.posterior.weights
        levels = len(found[0])
        parts = batches(levels, found[0].size * len(draws) // levels)
        bands = [band(np.array([values_on_levels(*draw, part) for draw in draws]), weights, coverage) for part in parts]
        found += [np.concatenate([part.lower for part in bands]), np.concatenate([part.upper for part in bands])]
    squeeze = map(fitted.squeeze, found)
    return Dependence(tuple(mode.name for mode in modes), tuple(mode.level_names for mode in modes), *squeeze)


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
    """Batches of rows, and for them (M', F) the products of `w_j(x)^T A_j` over all predictors but some."""
    others = np.array([n for n in range(tensor.n_modes) if n not in features], dtype=np.intp)
    S = tensor.stacked.table.shape[1]
    for part in batches(len(rows.codes), S, _MIN_BATCH):
        problem = tensor.at(rows.codes[part], rows.fractions[part])
        products = np.empty((problem.n_rows, S))
        multiply(problem, tensor.stacked, np.empty((0, 1)), others, products, workers)
        yield part, products[:, : tensor.rank]


def _positions(fitted: FittedModel, features: Feature | Sequence[Feature], most: int) -> tuple[int, ...]:
    """The positions of one predictor, or of two different ones."""
    at = positions(fitted, features)
    if not 1 <= len(set(at)) == len(at) <= most:
        raise ValueError(f"features={features!r}: give one predictor{' or two different ones' if most > 1 else ''}.")
    return at
