"""Shapley values, Shapley interactions and Banzhaf values of single predictions, exact.

The value of a coalition is the mean prediction when its predictors are as in the row and the others as in the
background, by default independent and each with its training marginal. For a sum of products, with `a_nf = w_n(x)^T
A_n(:, f)` and `m_nf = p_n^T A_n(:, f)`,

    phi_n = sum_f V(:, f) (a_nf - m_nf) int_0^1 prod_(j != n) (m_jf + t (a_jf - m_jf)) dt,

since a predictor that comes at time t, all at uniform times, meets each other one with probability t. The integrand is
a polynomial of degree N - 1, so ceil(N / 2) nodes of Gauss and Legendre give the integral exactly.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid._fit.statistics import Workers
from csid.cpd import CPD
from csid.encoding import EncodedRows
from csid.explain.bands import Band, band, check_coverage, draws_of
from csid.explain.games import balanced, play, uniform_rule
from csid.explain.shapley_kernels import add_interactions, add_values

Array = NDArray[np.float64]
Explained = Callable[[EncodedRows], Array]

_MOST_NUMBERS = 1 << 24  # in what is computed at a time


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
    rows, others = _encoded(model, X), None if background is None else _encoded(model, background)
    with Workers(model._threads()) as workers:
        found = _over_draws(
            model, rows, draws, coverage, lambda cpd: lambda part: _values(cpd, part, others, workers), 1
        )
    shaped = Band(*(_shaped(model, values) for values in found)) if isinstance(found, Band) else _shaped(model, found)
    return _explanation(model, X, shaped, others) if as_explanation else shaped
