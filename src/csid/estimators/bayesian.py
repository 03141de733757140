"""`BayesianCSIDRegressor`: the posterior of the paper's model by Gibbs sampling, under priors weighed by a pilot."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils import Tags, check_random_state

from csid.data.checks import check_weights, number_of_rows
from csid.data.count_targets import CountTargets, check_counts, check_exposure
from csid.data.labels import ClassCounts
from csid.data.targets import TargetReader
from csid.estimators.base import TrainingData
from csid.estimators.predictive_distributions import central_levels, checked_levels
from csid.estimators.regression import TensorRegressor
from csid.estimators.sampling import BayesianEstimator
from csid.inference.sampling import InterruptedFitWarning
from csid.likelihoods import LIKELIHOODS, likelihood_of
from csid.likelihoods.count_predictive import as_counts, explained_deviance
from csid.likelihoods.predictive import NumericPredictive, as_numeric

__all__ = ["BayesianCSIDRegressor", "InterruptedFitWarning", "Uncertainty"]

Array = NDArray[np.float64]


class Uncertainty(NamedTuple):
    """Standard deviations of a new observation: model uncertainty, observation noise, and both together."""

    model: Array
    noise: Array
    total: Array


class BayesianCSIDRegressor(TensorRegressor, BayesianEstimator):
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
    likelihood : str or Likelihood, default="gaussian"
        Distribution of the targets given the value of the system: "gaussian", "student_t", "censored_gaussian",
        "poisson" or "negative_binomial". "student_t" has heavy tails (Student's t with 4 degrees of freedom) and is
        robust to outliers. "censored_gaussian" is for targets of which some are only known to be above, below or
        between bounds: y is then `csid.censored(lower, upper)`, and predictions are of the value itself. "poisson" and
        "negative_binomial" are of counts, of one output: the value of the system is the logarithm of their rate, and
        predictive distributions are over whole numbers. "negative_binomial" is for counts that vary more than
        independent events: their variance is m + m^2 / r, where m is the expected count and the dispersion r is drawn.
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
        The posterior mean, in the units of y; of counts, of the logarithm of the rate. What `csid.explain` computes
        from it is on the same scale.
    posterior_ : Posterior
        The draws, with their weights and their noise.
    calibration_ : Calibration
        The factor by which predictive distributions are widened or narrowed, as a function of the predicted mean. The
        pilot fits it on held-out rows. Of negative binomial counts, a `DispersionCalibration`: a factor of r.
    encoding_ : Encoding
        The levels of each predictor and their marginals.
    stacking_weights_ : dict
        Weight of each prior in the prediction.
    accuracy_ : Accuracy or None
        R², RMSE and coverage of 90 % intervals on the held-out rows of the pilot, each (K,). The fit is usually a
        little better: it has more rows, more chains and a higher rank. None with a single prior or below 40 rows. Of
        counts, a `CountAccuracy`: mean Poisson deviance, mean log density, and coverage.
    whole_numbers_ : dict
        What each predictor of few whole numbers is, "number" or "category".
    missing_ : str
        The treatment of missing cells: "marginalize" or "level".
    pmf_ : JointPMF or None
        The joint PMF of the predictors; None for the product of the marginals.
    noise_ : array (K,)
        Noise scale; for Gaussian noise, its standard deviation. Counts have none; the dispersion r of each draw is
        `posterior_.parameters["dispersion"]`.
    convergence_ : dict
        Rank-normalised split R-hat and effective sample size (ESS) of the noise, the smoothness and the predictions.
        `prediction_error` is the Monte Carlo error of predictions, and `drift` the change of the noise between the
        halves of the kept sweeps, both in standard deviations of y.
    trace_ : list of arrays (sweeps, K)
        Noise scale after every sweep of each chain; of counts, the log loss.
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

    Counts, each over its own time:

    >>> hours = rng.uniform(0.5, 8, 400)
    >>> y = rng.poisson(hours * np.exp(X[:, 0] * X[:, 1]))
    >>> model = BayesianCSIDRegressor(rank=4, likelihood="poisson", effort="fast", random_state=0)
    >>> model = model.fit(X[:300], y[:300], exposure=hours[:300])
    >>> model.predict_quantiles(X[:2], (0.1, 0.9), exposure=[1, 100]).shape
    (2, 2)
    """

    targets = ("number", "interval", "count")

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, exposure: Any = None) -> Self:
        """Draw from the posterior given training rows. An interrupt (Ctrl-C) keeps the draws made so far.

        Parameters
        ----------
        X : data frame (pandas, polars, Arrow) or array, (M, N)
            NaN, None, null and masked cells are missing. Dates and times are numbers of days; ordered categories (of
            pandas, a polars Enum) are numbers in this order. For data that does not fit into memory: `ParquetRows`,
            `Batches`, the path of a Parquet file or folder, or an iterator of batches (X, y).
        y : array-like, (M,) or (M, K)
            If X is a path, the name of the target column, or several. None for other data out of memory.
        sample_weight : array-like (M,), optional
            See `weights`. Rows of weight zero are left out. If X is a path, the name of a column.
        exposure : array-like (M,), optional
            For counts: the time, area or number at risk over which each was counted, positive. The expected count is
            proportional to it. If X is a path, the name of a column. Default: 1.

        Returns
        -------
        self
        """
        return self._fit_to(TrainingData(X, y, sample_weight, exposure))

    def predict(self, X: Any, return_std: bool = False, exposure: Any = None) -> Array | tuple[Array, Array]:
        """Predict the posterior mean, (M,) or (M, K); of counts, the expected count.

        Parameters
        ----------
        X : data frame or array, (M, N)
        return_std : bool, default=False
            Also return the standard deviation of a new observation.
        exposure : array-like (M,) or number, optional
            Of each count. By default 1, so that the expected count is a rate.
        """
        fitted = self._fitted()
        if not return_std and exposure is None and fitted.likelihood.mean_is_value:
            return fitted.squeeze(fitted.means(X, self._threads()))
        mean, deviation = self._from_predictives(X, exposure, lambda rows: (rows.mean, np.sqrt(rows.variance)))
        return (fitted.squeeze(mean), fitted.squeeze(deviation)) if return_std else fitted.squeeze(mean)

    def predict_uncertainty(self, X: Any, exposure: Any = None) -> Uncertainty:
        """Standard deviations of model uncertainty, of observation noise, and of both, each shaped like `predict`."""

        def variances(rows: NumericPredictive) -> tuple[Array, ...]:
            return rows.model_variance, np.broadcast_to(rows.noise_variance, rows.model_variance.shape)

        model, noise = self._from_predictives(X, exposure, variances)
        squeeze = self._fitted().squeeze
        return Uncertainty(*(squeeze(np.sqrt(variance)) for variance in (model, noise, model + noise)))

    def predict_interval(self, X: Any, coverage: float = 0.9, exposure: Any = None) -> tuple[Array, Array]:
        """Predict the bounds of the central predictive interval, each shaped like `predict`.

        The bounds of counts are whole numbers, and inside the interval.

        Parameters
        ----------
        X : data frame or array, (M, N)
        coverage : float, default=0.9
            The probability that a new observation is inside.
        exposure : array-like (M,) or number, optional
            Of each count; 1 by default.
        """
        lower, upper = self._quantiles(X, exposure, central_levels(coverage))
        return self._fitted().squeeze(lower), self._fitted().squeeze(upper)

    def predict_quantiles(self, X: Any, quantiles: Sequence[float] = (0.05, 0.5, 0.95), exposure: Any = None) -> Array:
        """Predict quantiles of a new observation, (M, Q) or (M, Q, K). Those of counts are whole numbers."""
        return self._fitted().squeeze(np.stack(self._quantiles(X, exposure, checked_levels(quantiles)), axis=1))

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0, exposure: Any = None) -> Array:
        """Draw new observations, (M, n_samples) or (M, n_samples, K)."""
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        (draws,) = self._from_predictives(X, exposure, lambda rows: (rows.sample(n_samples, rng),))
        return self._fitted().squeeze(draws)

    def score(self, X: Any, y: Any, sample_weight: Any = None, exposure: Any = None) -> float:
        """R² of the predictions; with several outputs, its mean over them.

        Of counts, D² of the Poisson deviance: the fraction of the deviance from a constant rate that the expected
        counts explain. With equal exposure it is `sklearn.metrics.d2_tweedie_score(power=1)`.
        """
        fitted = self._fitted()
        if fitted.likelihood.target != "count":
            if exposure is not None:
                self._check_takes_exposure(fitted.likelihood)
            return super().score(X, y, sample_weight)
        expected = np.asarray(self.predict(X, exposure=exposure))
        counts, n_rows = check_counts(y, len(expected)), len(expected)
        weights = check_weights(sample_weight, n_rows)
        return explained_deviance(counts, expected, check_exposure(exposure, n_rows), weights)

    @property
    def noise_(self) -> Array:
        posterior = self.posterior_
        if "noise" not in posterior.parameters:
            name = posterior.likelihood.name
            raise AttributeError(f"likelihood={name!r} has no scale of additive noise: see posterior_.parameters.")
        return np.asarray(np.sqrt(posterior.weights @ posterior.noise**2))

    def _target_reader(self, earlier: TargetReader | None, count: Callable[[], ClassCounts]) -> TargetReader:
        if likelihood_of(self.likelihood, *self.targets).target == "count":
            return CountTargets()
        return super()._target_reader(earlier, count)

    def _quantiles(self, X: Any, exposure: Any, levels: Sequence[float]) -> list[Array]:
        """Quantiles (M, K) of a new observation, one array for each level."""
        return self._from_predictives(X, exposure, lambda rows: tuple(rows.ppf(level) for level in levels))

    def _from_predictives(
        self, X: Any, exposure: Any, read: Callable[[NumericPredictive], tuple[Array, ...]]
    ) -> list[Array]:
        """Concatenate the arrays that `read` returns for the predictive distributions of each batch of rows."""
        fitted = self._fitted()
        if exposure is None:
            parts = [read(as_numeric(rows)) for _, rows in fitted.predictives(X, self._threads())]
        else:
            self._check_takes_exposure(fitted.likelihood)
            given = check_exposure(exposure, number_of_rows(X))
            pairs = fitted.predictives(X, self._threads())
            parts = [read(as_counts(rows).with_exposure(given[at])) for at, rows in pairs]
        return [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        name = self.likelihood if isinstance(self.likelihood, str) else self.likelihood.name
        counts = name in LIKELIHOODS and LIKELIHOODS[name].target == "count"
        tags.target_tags.multi_output = not counts
        tags.target_tags.positive_only = counts
        return tags
