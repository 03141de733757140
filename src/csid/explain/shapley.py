"""Shapley values, Shapley interactions and Banzhaf values of single predictions, exact.

The value of a coalition is the mean prediction when its predictors are as in the row and the others as in the
background, by default independent and each with its training marginal. For a sum of products, with `a_nf = w_n(x)^T
A_n(:, f)` and `m_nf = p_n^T A_n(:, f)`,

    phi_n = sum_f V(:, f) (a_nf - m_nf) int_0^1 prod_(j != n) (m_jf + t (a_jf - m_jf)) dt,

since a predictor that comes at time t, all at uniform times, meets each other one with probability t. The integrand is
a polynomial of degree N - 1, so ceil(N / 2) nodes of Gauss and Legendre give the integral exactly.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid._fit.factors import Factors
from csid._fit.statistics import Workers
from csid.encoding import EncodedRows
from csid.explain import fitted
from csid.explain.bands import check_coverage
from csid.explain.games import balanced, play, uniform_rule
from csid.explain.shapley_kernels import add_interactions, add_values

Array = NDArray[np.float64]
Game = Callable[[Factors, EncodedRows, EncodedRows | None, Workers], Array]


def shapley_values(
    model: Any,
    X: Any,
    *,
    background: Any = None,
    draws: bool = False,
    coverage: float = 0.9,
    as_explanation: bool = False,
) -> Any:
    """Shapley values (M, N) or, with several outputs, (M, N, K): what each predictor adds to a prediction.

    They sum to the prediction less the mean prediction over the background. A missing predictor gets exactly 0 under
    the default background. Missing cells are averaged over the marginals here, also in a model that predicts with a
    joint distribution of the predictors (`pmf_`).

    Parameters
    ----------
    model : a fitted csid estimator.
    X : data frame or array (M, N)
    background : data frame or array (B, N), optional
        Rows whose values predictors outside a coalition have, all B in turn (the interventional game of a data set);
        the cost is B times as high. By default predictors are independent with their training marginals. A cell that
        is missing here or in X stands for the mean over its marginal.
    draws : also give the interval of each value over the posterior draws of a Bayesian model, as a `Band`.
    coverage : share of the draws in that interval.
    as_explanation : give a `shap.Explanation` instead, for the plots of the package shap; an interval is then in its
        `lower_bounds` and `upper_bounds`.

    Examples
    --------
    >>> import numpy as np, csid
    >>> X = np.random.default_rng(0).integers(0, 4, (500, 2)).astype(float)
    >>> model = csid.CSIDRegressor(rank=2, random_state=0).fit(X, X[:, 0] * X[:, 1])
    >>> phi = shapley_values(model, X[:3])
    >>> bool(np.allclose(phi.sum(axis=1), model.predict(X[:3]) - model.cpd_.mean()))
    True
    """
    found = _played(model, values_of_rows, X, background, draws, coverage)
    if not as_explanation:
        return found
    return _explanation(model, X, background, *(found if draws else (found,)))


def shapley_interactions(
    model: Any, X: Any, *, background: Any = None, draws: bool = False, coverage: float = 0.9
) -> Any:
    """Shapley values shared out over pairs, (M, N, N) or (M, N, N, K), as `shap.TreeExplainer` does for trees.

    Off the diagonal stands half the Shapley interaction index of a pair, the mean over coalitions of the others of what
    the two add together less what they add alone:

        I_in = sum_f V(:, f) (a_if - m_if) (a_nf - m_nf) int_0^1 prod_(j != i, n) (m_jf + t (a_jf - m_jf)) dt.

    On it stands what is left of a predictor's Shapley value. So rows sum to the Shapley values, and the whole matrix to
    the prediction less its mean. It is symmetric. (`shap.explainers.Exact` gives another index, of Shapley and Taylor,
    whose diagonal has what a predictor adds first of all.) Parameters are as in `shapley_values`.
    """
    return _played(model, interactions_of_rows, X, background, draws, coverage)


def banzhaf_values(model: Any, X: Any, *, background: Any = None, draws: bool = False, coverage: float = 0.9) -> Any:
    """Banzhaf values (M, N) or (M, N, K): what a predictor adds, as a mean in which all coalitions count alike.

    `sum_f V(:, f) (a_nf - m_nf) prod_(j != n) (m_jf + a_jf) / 2`: the integrand of the Shapley value at t = 1/2. They
    do not sum to the prediction less its mean. Parameters are as in `shapley_values`.
    """
    return _played(model, banzhaf_of_rows, X, background, draws, coverage)


def values_of_rows(factors: Factors, rows: EncodedRows, background: EncodedRows | None, workers: Workers) -> Array:
    """Shapley values (M, N, K) at encoded rows, from the factors of a balanced tensor."""
    N = factors.n_modes
    return play(add_values, factors, rows, background, uniform_rule(N - 1), (N,), workers)


def interactions_of_rows(
    factors: Factors, rows: EncodedRows, background: EncodedRows | None, workers: Workers
) -> Array:
    """Shapley interactions (M, N, N, K) at encoded rows, from the factors of a balanced tensor."""
    N = factors.n_modes
    values = 0.5 * play(add_interactions, factors, rows, background, uniform_rule(max(N - 2, 0)), (N, N), workers)
    values += values.transpose(0, 2, 1, 3)
    n = np.arange(N)
    values[:, n, n] = values_of_rows(factors, rows, background, workers) - values.sum(axis=2)
    return values


def banzhaf_of_rows(factors: Factors, rows: EncodedRows, background: EncodedRows | None, workers: Workers) -> Array:
    """Banzhaf values (M, N, K) at encoded rows, from the factors of a balanced tensor."""
    middle = np.array([0.5]), np.array([1.0])
    return play(add_values, factors, rows, background, middle, (factors.n_modes,), workers)


def _played(model: Any, game: Game, X: Any, background: Any, draws: bool, coverage: float) -> Any:
    """What a game gives at each row of X: of the model, or the band over its posterior draws."""
    check_coverage(coverage)
    rows, others = fitted.encoded(model, X), None if background is None else fitted.encoded(model, background)
    with Workers(model._threads()) as workers:
        if not draws:
            return fitted.shaped(model, game(balanced(model.cpd_).stacked, rows, others, workers))
        tables = [balanced(draw).stacked for draw in fitted.draws(model)[0]]

        def each(some: EncodedRows) -> Array:
            return np.array([game(factors, some, others, workers) for factors in tables])

        players = 2 if game is interactions_of_rows else 1
        n_numbers = model.cpd_.n_modes**players * model.cpd_.n_outputs
        return fitted.shaped_band(model, fitted.band_of_rows(model, rows, n_numbers, each, coverage))


def _explanation(
    model: Any,
    X: Any,
    background: Any,
    values: Array,
    lower: Array | None = None,
    upper: Array | None = None,
) -> Any:
    """The same for the package shap."""
    try:
        shap = import_module("shap")
    except ImportError as error:
        raise ImportError("as_explanation=True gives a shap.Explanation: install the package shap first.") from error
    cpd = balanced(model.cpd_)
    if background is None:
        mean = cpd.mean()
    else:
        others = fitted.encoded(model, background)
        mean = cpd.evaluate(others.codes, others.fractions).mean(axis=0)
    base = np.tile(mean, (len(values), 1))
    return shap.Explanation(
        values=values,
        base_values=base[:, 0] if model._one_output else base,
        data=np.asarray(X),
        feature_names=fitted.names(model),
        lower_bounds=lower,
        upper_bounds=upper,
    )
