"""`BayesianCSIDRegressor`: the posterior of the paper's model by Gibbs sampling, under priors weighed by a pilot."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from csid.estimators.predictive_distributions import MixtureEstimator, central_levels, checked_levels
from csid.estimators.regression import TensorRegressor
from csid.inference.sampling import InterruptedFitWarning
from csid.likelihoods.mixture import Mixture

__all__ = ["BayesianCSIDRegressor", "InterruptedFitWarning", "Uncertainty"]

Array = NDArray[np.float64]


class Uncertainty(NamedTuple):
    """Standard deviations of a new observation: model uncertainty, observation noise, and both together."""

    model: Array
    noise: Array
    total: Array


class BayesianCSIDRegressor(TensorRegressor, MixtureEstimator):
    """Canonical system identification with a Bayesian posterior: predictive intervals, and nothing to tune.

    The model is that of `CSIDRegressor`, a low-rank tensor with smooth factors. Gibbs sampling draws its factors,
    weights, bias, smoothness and noise from their posterior. A pilot on part of the rows weighs several priors by their
    predictions of held-out rows. Predictions are the weighted mean over the draws of several chains, stored as one
    tensor.

    Parameters
    ----------
    rank : int, default=32
        Number of components of each draw; at most 16 under the prior with the most levels, "finest_grid", and with
        fewer than four rows per predictor at most eight for each row per predictor, but always eight.
    levels : int or "auto", default="auto"
        Largest number of levels of a continuous predictor. "auto" uses that of each prior (32, 64, 200 or 800), but
        above 32 at most one level for every 8 rows.
    prior : "auto", str or list of str, default="auto"
        Priors that the pilot weighs, by name. `csid.priors.CATALOGUE` describes each. "auto" tries all of them; those
        with a shared slope only on tables with fewer than 2 N^2 rows, where N is the number of predictors. With a
        single prior there is no pilot for the priors, and `calibration_` is one.
    smoothness_order : {"auto", 1, 2}, default="auto"
        The prior penalises first or second differences of neighbouring levels. "auto" leaves it to the prior.
    effort : {"fast", "default", "best"}, default="default"
        Amount of sampling in the pilot and in the fit. Above 60,000 rows (240,000 for "best") there are fewer chains
        and draws, because chains then differ less, and most of the burn-in is on part of the rows.
    n_chains, n_burn, n_draws : int or None, default=None
        Number of chains, and the burn-in sweeps and later sweeps of each. None for the values of `effort`.
    likelihood : {"gaussian", "student_t", "censored_gaussian"} or Likelihood, default="gaussian"
        Distribution of the targets given the value of the system. "student_t" has heavy tails (Student's t with 4
        degrees of freedom) and is robust to outliers. "censored_gaussian" is for targets of which some are only known
        to be above, below or between bounds: y is then `csid.censored(lower, upper)`, and predictions are of the value
        itself.
    weights : {"relative", "counts"}, default="relative"
        What `sample_weight` means. "relative": how much a row counts compared with others, such as survey weights or
        1 / n. They are divided by their mean, so their scale does not matter, and the fit is as sure as its number of
        rows allows. "counts": whole numbers, how often a row was observed; the fit is that of repeated rows.
    start : {"random", "als"}, default="random"
        Start chains at random, or at a short fit by alternating least squares.
    solver : {"gibbs", "stochastic"}, default="gibbs"
        "gibbs" draws given all rows. "stochastic" is approximate: each sweep reads one block of rows, mixed with the
        sums of earlier blocks as in `CSIDRegressor`; after a burn-in on part of the rows it takes about four passes
        over all of them. It somewhat overestimates model uncertainty. It needs the Gaussian likelihood and a rank of at
        most 32, and does not draw missing cells.
    max_rank : int, default=2048
        Bound on the rank of the tensor for predictions. If the draws exceed it, each chain keeps fewer, but at least
        one. Prediction time grows with this rank; the Monte Carlo error falls with the number of draws.
    interpolation, categorical_features : as in `CSIDRegressor`.
    whole_numbers : {"auto", "number", "category"} or dict, default="auto"
        What numeric predictors of 3 to 64 different whole numbers are, such as a month or a code: numbers, whose
        neighbours are alike, or categories. "auto" takes those as categories that clearly predict held-out rows of the
        pilot better so. A dict from names decides for these predictors ("number" or "category"), and leaves the others
        to "auto". Predictors that `categorical_features` declares are not considered.
    missing : {"auto", "marginalize", "level"}, default="auto"
        Treatment of missing cells. "marginalize" averages over their distribution, as in the paper. "level" gives them
        a level of their own, which can learn from the fact that a value is missing. "auto" lets the pilot choose.
    pmf_rank : int or "auto", default="auto"
        Number of latent classes of the joint PMF of the predictors. With 1, as in the paper, predictors are independent
        and missing cells are averaged over. With more, they are drawn given the observed cells and the target, and
        predictions average over them given the observed cells. "auto" maximises the likelihood of held-out rows. If
        training rows have missing cells and missing="auto", the pilot must also prefer it; if they have none, it only
        serves predictions of incomplete rows. Predictive intervals are wider where cells are missing, with any value.
    warm_start : bool, default=False
        Continue the chains of the previous fit on the same rows, and add to its draws.
    random_state : int, RandomState instance or None, default=None
    n_jobs : int, default=-1
        Number of threads; -1 for one per core. The result does not depend on it.
    verbose : int, default=0
        Show a progress bar when positive.

    Attributes
    ----------
    cpd_ : CPD
        The posterior mean, in the units of y.
    posterior_ : Posterior
        The draws, with their weights and their noise.
    calibration_ : Calibration
        The factor by which predictive distributions are widened or narrowed, as a function of the predicted mean. The
        pilot fits it on held-out rows.
    encoding_ : Encoding
        The levels of each predictor and their marginals.
    stacking_weights_ : dict
        Weight of each prior in the prediction.
    accuracy_ : Accuracy or None
        R², RMSE and coverage of 90 % intervals on the held-out rows of the pilot, each (K,). The fit is usually a
        little better: it has more rows, more chains and a higher rank. None with a single prior or below 40 rows.
    whole_numbers_ : dict
        What each predictor of few whole numbers is, "number" or "category".
    missing_ : str
        The treatment of missing cells: "marginalize" or "level".
    pmf_ : JointPMF or None
        The joint PMF of the predictors; None for the product of the marginals.
    noise_ : array (K,)
        Noise scale; for Gaussian noise, its standard deviation.
    convergence_ : dict
        Rank-normalised split R-hat and effective sample size (ESS) of the noise, the smoothness and the predictions.
        `prediction_error` is the Monte Carlo error of predictions, and `drift` the change of the noise between the
        halves of the kept sweeps, both in standard deviations of y.
    trace_ : list of arrays (sweeps, K)
        Noise scale after every sweep of each chain.
    n_iter_ : int
        Sweeps of the longest chain.
    n_samples_ : int
        Number of training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from csid import BayesianCSIDRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (400, 3))
    >>> y = np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2 + 0.1 * rng.standard_normal(400)
    >>> model = BayesianCSIDRegressor(rank=4, effort="fast", random_state=0).fit(X[:300], y[:300])
    >>> lower, upper = model.predict_interval(X[300:], coverage=0.9)
    >>> bool(0.8 < np.mean((lower < y[300:]) & (y[300:] < upper)) <= 1.0)
    True
    """

    def predict(self, X: Any, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Predict the posterior mean, (M,) or (M, K).

        Parameters
        ----------
        X : data frame or array, (M, N)
        return_std : bool, default=False
            Also return the standard deviation of a new observation.
        """
        fitted = self._fitted()
        if not return_std:
            return fitted.squeeze(fitted.means(X, self._threads()))
        mean, deviation = self._from_predictives(X, lambda rows: (rows.mean, np.sqrt(rows.variance)))
        return fitted.squeeze(mean), fitted.squeeze(deviation)

    def predict_uncertainty(self, X: Any) -> Uncertainty:
        """Standard deviations of model uncertainty, of observation noise, and of both, each shaped like `predict`."""

        def variances(rows: Mixture) -> tuple[Array, ...]:
            return rows.model_variance, np.broadcast_to(rows.noise_variance, rows.model_variance.shape)

        model, noise = self._from_predictives(X, variances)
        squeeze = self._fitted().squeeze
        return Uncertainty(*(squeeze(np.sqrt(variance)) for variance in (model, noise, model + noise)))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Predict the bounds of the central predictive interval, each shaped like `predict`.

        Parameters
        ----------
        X : data frame or array, (M, N)
        coverage : float, default=0.9
            The probability that a new observation is inside.
        """
        bounds = self._fitted().squeeze(self._quantiles_at(X, central_levels(coverage)))
        return bounds[:, 0], bounds[:, 1]

    def predict_quantiles(self, X: Any, quantiles: Sequence[float] = (0.05, 0.5, 0.95)) -> Array:
        """Predict quantiles of a new observation, (M, Q) or (M, Q, K)."""
        return self._fitted().squeeze(self._quantiles_at(X, checked_levels(quantiles)))

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> Array:
        """Draw new observations, (M, n_samples) or (M, n_samples, K)."""
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        (draws,) = self._from_predictives(X, lambda rows: (rows.sample(n_samples, rng),))
        return self._fitted().squeeze(draws)
