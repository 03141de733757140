"""How the prediction depends on one or two predictors: on average, and row by row. All exact.

With the values of some predictors set, the others enter through one product per component: of their means if they are
independent, its mean over the rows of a data set, or that of one row.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid._kernels.threads import Workers
from csid.encoding import EncodedRows
from csid.explain.bands import Band, band, band_of_rows, check_coverage
from csid.explain.batches import batches
from csid.explain.features import Feature, positions
from csid.explain.games import balanced
from csid.explain.outputs import OF_THE_TARGETS, Explained, Output, Outputs
from csid.explain.probabilities import predictive_at
from csid.fitted.model import FittedModel, Model, threads_of
from csid.small_tables import SmallTable, Tabular, evenly, left_out, shown, with_bounds
from csid.tensor.cpd import CPD
from csid.tensor.evaluation import multiply

Array = NDArray[np.float64]

_MIN_BATCH = 64
_MOST_COLUMNS = 8
_HEADINGS = {
    "target": ("Mean prediction", "mean"),
    "latent": ("Mean latent value", "mean"),
    "probability": ("Probability at the mean latent value", "probability"),
}


@dataclass(frozen=True, repr=False)
class Dependence(Tabular):
    """The mean prediction at the levels of one or two predictors.

    features : their names; levels : the levels of each, None for the level of missing cells.
    values : (I_1,) or (I_1, I_2), with a last axis K if there are several outputs.
    lower, upper : of the same shape, the interval over the posterior draws; None for a model without draws.
    outputs : what the values are of.
    """

    features: tuple[str, ...]
    levels: tuple[list[Any], ...]
    values: Array
    lower: Array | None = None
    upper: Array | None = None
    outputs: Outputs = OF_THE_TARGETS

    def table(self) -> SmallTable:
        """The values at evenly spaced levels; of two predictors, those of the second in columns."""
        first, *second = self.levels
        rows, note = evenly(len(first)), left_out(len(first), "levels")
        what, heading = _HEADINGS[self.outputs.scale]
        title = f"{what} by {' and '.join(self.features)}"
        if second:
            columns = evenly(len(second[0]), _MOST_COLUMNS)
            header = [f"{self.features[0]} \\ {self.features[1]}", *(shown(second[0][at]) for at in columns)]
            values = self.values if self.values.ndim == 2 else self.values[..., 0]
            if self.values.ndim > 2:
                title += f", class {self.outputs.names[0]}" if self.outputs.names else ", first output"
            lines = [[shown(first[i]), *(float(values[i, at]) for at in columns)] for i in rows]
            return self._noted(title, header, lines, note or left_out(len(second[0]), "levels", _MOST_COLUMNS))
        parts = [part for part in (self.values, self.lower, self.upper) if part is not None]
        cells = np.stack([part.reshape(len(first), -1) for part in parts], axis=-1)
        K = cells.shape[1]
        header = [self.features[0], *self.outputs.headings(heading, K)]
        lines = [[shown(first[i]), *(with_bounds(cells[i, j]) for j in range(K))] for i in rows]
        return self._noted(title, header, lines, note)

    def _noted(self, title: str, header: list[str], lines: list[list[Any]], note: str) -> SmallTable:
        return SmallTable(title, header, lines, " ".join(filter(None, (self.outputs.note, note))))


def partial_dependence(
    model: Model,
    features: Feature | Sequence[Feature],
    *,
    output: Output = None,
    scale: Literal["latent", "probability"] = "latent",
    coverage: float = 0.9,
) -> Dependence:
    """The mean prediction as one or two predictors vary, and the others follow their marginals independently.

    `b + sum_f V(:, f) A_n(i, f) prod_(j != n) p_j^T A_j(:, f)`, and likewise for two. Between levels it is linear for
    a model with linear interpolation, so its values at the levels are all there is to know.

    Parameters
    ----------
    model : a fitted csid estimator.
    features : a predictor or two, by name or position.
    output : of several outputs, only this one, by position or name; of a classifier, only this label.
    scale : of a classifier. "latent": the mean latent values, as in `decision_function`. "probability": the calibrated
        probability of every class at the mean latent values, (I_n, C). Each posterior draw has its own mean latent
        values; the probability is the mean over the draws, and its interval contains a fraction of them. It is not the
        mean probability over rows, which is less extreme.
    coverage : fraction of the posterior draws in the interval of a Bayesian model.

    Examples
    --------
    >>> import numpy as np, csid
    >>> X = np.random.default_rng(0).integers(0, 4, (500, 2)).astype(float)
    >>> model = csid.CSIDRegressor(rank=2, random_state=0).fit(X, X[:, 0] + 2 * X[:, 1])
    >>> np.diff(partial_dependence(model, "x1").values).round(1).tolist()
    [2.0, 2.0, 2.0]
    """
    if scale not in ("latent", "probability"):
        raise ValueError(f"scale={scale!r}: give 'latent' or 'probability'.")
    explained = Explained.of(model, output)
    if scale == "latent":
        return _dependence(explained, features, None, coverage, threads_of(model))
    return _probability_dependence(explained, features, coverage)


def empirical_dependence(
    model: Model, features: Feature | Sequence[Feature], X: Any, *, output: Output = None, coverage: float = 0.9
) -> Dependence:
    """The mean prediction over the rows of X as one or two predictors vary in all of them.

    The other predictors keep their joint distribution in X; they are not assumed to be independent. This is what
    `sklearn.inspection.partial_dependence` computes by brute force; of a classifier, on the latent scale, with
    `response_method="decision_function"`. Parameters are as in `partial_dependence`.
    """
    explained = Explained.of(model, output)
    return _dependence(explained, features, explained.fitted.encoded(X), coverage, threads_of(model))


def ice_curves(
    model: Model,
    feature: Feature,
    X: Any,
    *,
    output: Output = None,
    draws: bool = False,
    coverage: float = 0.9,
) -> Any:
    """Individual curves: the prediction for each row of X at every level of a predictor, (M, I_n) or (M, I_n, K).

    Their mean over rows is the empirical dependence. Missing cells are averaged over the marginals. Of a classifier,
    they are on the latent scale, that of `decision_function`.

    Parameters
    ----------
    model : a fitted csid estimator.
    feature : a predictor, by name or position.
    X : data frame or array (M, N)
    output : of several outputs, only this one, by position or name; of a classifier, only the latent value of this
        label.
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
    explained = Explained.of(model, output)
    fitted = explained.fitted
    check_coverage(coverage)
    rows = fitted.encoded(X)
    (n,) = _positions(fitted, feature, most=1)
    with Workers(threads_of(model)) as workers:
        if not draws:
            return explained.squeeze(_curves(balanced(explained.tensor), rows, n, workers))
        posterior = fitted.require_posterior("draws=True")
        tensors = [balanced(draw) for draw in explained.draws()]

        def of_draws(some: EncodedRows) -> Array:
            return np.array([_curves(tensor, some, n, workers) for tensor in tensors])

        size = len(tensors[0].factors[n]) * explained.tensor.n_outputs
        return Band(*map(explained.squeeze, band_of_rows(of_draws, rows, size, posterior.weights, coverage)))


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


class _OnLevels(NamedTuple):
    """A tensor as some predictors vary, with a product (F,) over the others. See `values_on_levels`."""

    tensor: CPD
    features: tuple[int, ...]
    others: Array


def _dependence(
    explained: Explained,
    features: Feature | Sequence[Feature],
    rows: EncodedRows | None,
    coverage: float,
    n_threads: int,
) -> Dependence:
    check_coverage(coverage)
    fitted = explained.fitted
    at = _positions(fitted, features, most=2)

    def prepared(cpd: CPD) -> _OnLevels:
        tensor = balanced(cpd)
        return _OnLevels(tensor, at, _mean_of_others(tensor, rows, at, n_threads))

    found = [values_on_levels(*prepared(explained.tensor))]
    if fitted.posterior is not None:
        draws, weights = [prepared(draw) for draw in explained.draws()], fitted.posterior.weights
        levels = len(found[0])
        parts = batches(levels, found[0].size * len(draws) // levels)
        bands = [band(np.array([values_on_levels(*draw, part) for draw in draws]), weights, coverage) for part in parts]
        found += [np.concatenate([part.lower for part in bands]), np.concatenate([part.upper for part in bands])]
    return _found(fitted, at, list(map(explained.squeeze, found)), explained.outputs)


def _probability_dependence(explained: Explained, features: Feature | Sequence[Feature], coverage: float) -> Dependence:
    """Probabilities (..., C) at the mean latent values; of one class, without the last axis."""
    check_coverage(coverage)
    fitted, posterior = explained.fitted, explained.fitted.posterior
    if fitted.classes is None:
        raise ValueError("scale='probability' is for classifiers: leave it at 'latent' for a regressor.")
    at, labels = _positions(fitted, features, most=2), tuple(map(str, fitted.classes.labels.tolist()))
    tensors = map(balanced, (fitted.tensor,) if posterior is None else posterior.draws)
    draws = [_OnLevels(tensor, at, _mean_of_others(tensor, None, at, 1)) for tensor in tensors]
    shape, levels = [len(fitted.tensor.factors[n]) for n in at], np.array([-0.5, 0.5]) * coverage + 0.5
    parts = []
    for some in batches(shape[0], len(draws) * len(labels) * int(np.prod(shape[1:]))):
        values = np.array([values_on_levels(*draw, some) for draw in draws])
        predictive = predictive_at(fitted, values.reshape(len(draws), -1, values.shape[-1]))
        bounds = [] if posterior is None else list(predictive.quantiles(levels))
        parts.append(np.array([predictive.probabilities, *bounds]))
    found = np.concatenate(parts, axis=1).reshape(-1, *shape, len(labels))
    if explained.selected is None:
        return _found(fitted, at, list(found), Outputs(labels, "probability"))
    (label,) = explained.outputs.names
    return _found(fitted, at, list(found[..., labels.index(label)]), Outputs((label,), "probability"))


def _found(fitted: FittedModel, at: tuple[int, ...], parts: list[Array], outputs: Outputs) -> Dependence:
    """parts : the values, and their bounds if there are any."""
    modes = [fitted.encoding.modes[n] for n in at]
    names, levels = tuple(mode.name for mode in modes), tuple(mode.level_names for mode in modes)
    values, *bounds = parts
    lower, upper = bounds or (None, None)
    return Dependence(names, levels, values, lower, upper, outputs)


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
