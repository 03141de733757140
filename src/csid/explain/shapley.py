"""Shapley values, Shapley interactions and Banzhaf values of single predictions, exact.

The value of a coalition is the mean prediction if its predictors are as in the row and the others as in the
background, by default independent and each with its training marginal. For a sum of products, with `a_nf = w_n(x)^T
A_n(:, f)` and `m_nf = p_n^T A_n(:, f)`,

    phi_n = sum_f V(:, f) (a_nf - m_nf) int_0^1 prod_(j != n) (m_jf + t (a_jf - m_jf)) dt,

because, if all predictors arrive at independent uniform times, one that arrives at time t finds each other one there
with probability t. The integrand is a polynomial of degree N - 1, so a Gauss-Legendre rule with ceil(N / 2) nodes is
exact.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid._kernels.threads import Workers
from csid.data.checks import without_mask
from csid.encoding import EncodedRows
from csid.explain.bands import Band, band_of_rows, check_coverage
from csid.explain.games import balanced, play, uniform_rule
from csid.explain.outputs import Explained, Output
from csid.explain.shapley_kernels import add_interactions, add_values
from csid.fitted.model import Model, threads_of
from csid.tensor.factors import Factors

Array = NDArray[np.float64]
Game = Callable[[Factors, EncodedRows, EncodedRows | None, Workers], Array]


def shapley_values(
    model: Model,
    X: Any,
    *,
    output: Output = None,
    background: Any = None,
    draws: bool = False,
    coverage: float = 0.9,
    as_explanation: bool = False,
) -> Any:
    """Shapley values (M, N) or, with several outputs, (M, N, K): what each predictor adds to a prediction.

    They sum to the prediction minus the mean prediction over the background. A missing predictor gets exactly 0 under
    the default background. Missing cells are averaged over the marginals here, even if the model predicts with a joint
    distribution of the predictors (`pmf_`).

    Of a classifier, they are on the latent scale, that of `decision_function`: of the latent value of the second of two
    classes, or of one latent value per class. Noise of variance one is added to them.

    Parameters
    ----------
    model : a fitted csid estimator.
    X : data frame or array (M, N)
    output : of several outputs, only this one, by position or name; of a classifier, only the latent value of this
        label. The result then has no axis K.
    background : data frame or array (B, N), optional
        Rows from which predictors outside a coalition take their values, averaged over all B (the interventional game
        of a data set); this costs B times as much. By default predictors are independent with their training
        marginals. A cell that is missing here or in X is averaged over its marginal.
    draws : return a `Band`: each value with its interval over the posterior draws of a Bayesian model.
    coverage : fraction of the draws in that interval.
    as_explanation : return a `shap.Explanation` instead, for the plots of the package shap; an interval is then in its
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
    found = _played(model, output, values_of_rows, X, background, draws, coverage)
    if not as_explanation:
        return found
    return _explanation(Explained.of(model, output), X, background, *(found if draws else (found,)))


def shapley_interactions(
    model: Model,
    X: Any,
    *,
    output: Output = None,
    background: Any = None,
    draws: bool = False,
    coverage: float = 0.9,
) -> Any:
    """Shapley values divided among pairs, (M, N, N) or (M, N, N, K), as `shap.TreeExplainer` does for trees.

    An entry off the diagonal is half the Shapley interaction index of a pair, the mean over coalitions of the others of
    what the two add together minus what they add alone:

        I_in = sum_f V(:, f) (a_if - m_if) (a_nf - m_nf) int_0^1 prod_(j != i, n) (m_jf + t (a_jf - m_jf)) dt.

    The diagonal is the rest of a predictor's Shapley value. So rows sum to the Shapley values, and the whole matrix to
    the prediction minus its mean. It is symmetric. (`shap.explainers.Exact` computes the Shapley-Taylor index instead,
    whose diagonal is what a predictor adds to the empty coalition.) Parameters and scale are as in `shapley_values`.
    """
    return _played(model, output, interactions_of_rows, X, background, draws, coverage)


def banzhaf_values(
    model: Model,
    X: Any,
    *,
    output: Output = None,
    background: Any = None,
    draws: bool = False,
    coverage: float = 0.9,
) -> Any:
    """Banzhaf values (M, N) or (M, N, K): what a predictor adds, averaged over all coalitions with equal weights.

    `sum_f V(:, f) (a_nf - m_nf) prod_(j != n) (m_jf + a_jf) / 2`: the integrand of the Shapley value at t = 1/2. They
    do not sum to the prediction minus its mean. Parameters and scale are as in `shapley_values`.
    """
    return _played(model, output, banzhaf_of_rows, X, background, draws, coverage)


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


def _played(model: Model, output: Output, game: Game, X: Any, background: Any, draws: bool, coverage: float) -> Any:
    """The values of a game at each row of X: of the model, or their band over its posterior draws."""
    explained = Explained.of(model, output)
    fitted, tensor = explained.fitted, explained.tensor
    check_coverage(coverage)
    rows, others = fitted.encoded(X), None if background is None else fitted.encoded(background)
    with Workers(threads_of(model)) as workers:
        if not draws:
            return explained.squeeze(game(balanced(tensor).stacked, rows, others, workers))
        posterior = fitted.require_posterior("draws=True")
        tensors = [balanced(draw).stacked for draw in explained.draws()]

        def of_draws(some: EncodedRows) -> Array:
            return np.array([game(factors, some, others, workers) for factors in tensors])

        players = 2 if game is interactions_of_rows else 1
        size = tensor.n_modes**players * tensor.n_outputs
        return Band(*map(explained.squeeze, band_of_rows(of_draws, rows, size, posterior.weights, coverage)))


def _explanation(
    explained: Explained,
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
        raise ImportError("as_explanation=True returns a shap.Explanation: install the package shap first.") from error
    fitted, tensor = explained.fitted, balanced(explained.tensor)
    if background is None:
        mean = tensor.mean()
    else:
        others = fitted.encoded(background)
        mean = tensor.evaluate(others.codes, others.fractions).mean(axis=0)
    return shap.Explanation(
        values=values,
        base_values=explained.squeeze(np.tile(mean, (len(values), 1))),
        data=np.asarray(without_mask(X)),
        feature_names=fitted.names,
        output_names=list(explained.outputs.names) if tensor.n_outputs > 1 and explained.outputs.names else None,
        lower_bounds=lower,
        upper_bounds=upper,
    )
