"""`BayesianCSIDSurvival`: times of events, some of them censored, as log-normal times around a low-rank tensor."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from csid.data.censored_targets import bounds_of
from csid.data.checks import check_weights
from csid.data.labels import ClassCounts
from csid.data.survival_targets import SurvivalTargets
from csid.data.targets import TargetReader
from csid.data.weights import WeightMeaning
from csid.encoding import Interpolation, Missing
from csid.estimators.base import Constraints
from csid.estimators.predictive_distributions import MixtureEstimator, central_levels, checked_levels
from csid.estimators.sampling import SAMPLING_CONSTRAINTS, Effort
from csid.fitted.survival_metrics import concordance_of_intervals
from csid.inference.jobs import Start
from csid.inference.whole_numbers import Kind
from csid.likelihoods import Likelihood, likelihood_of
from csid.likelihoods.mixture import Mixture
from csid.likelihoods.predictive import quantiles_over_draws

Array = NDArray[np.float64]


class BayesianCSIDSurvival(MixtureEstimator):
    """Survival analysis by canonical system identification: times of events, of which some are not seen.

    The logarithm of the time is a low-rank tensor of the predictors plus normal noise (an accelerated failure time
    model). Gibbs sampling draws the times of rows that were censored, and the tensor, from their posterior; a pilot
    weighs several priors by what they predict of held-out rows.

    Parameters
    ----------
    likelihood : {"log_normal"}, default="log_normal"
        Distribution of the times given the value of the system.
    rank, levels, prior, smoothness_order, effort, n_chains, n_burn, n_draws, weights, start, solver, max_rank,
    interpolation, categorical_features, whole_numbers, missing, pmf_rank, warm_start, random_state, n_jobs, verbose :
        As in `BayesianCSIDRegressor`.

    Attributes
    ----------
    cpd_ : CPD
        The posterior mean of the logarithm of the time.
    calibration_ : Calibration
        The factor by which distributions of log times are widened or narrowed. The pilot fits it on held-out rows, with
        a time for each censored row that is drawn from what the model predicts beyond its last observation.
    accuracy_ : CensoredAccuracy or None
        The concordance index on the held-out rows of the pilot, and the fraction of them with an event.
    noise_ : array (1,)
        Standard deviation of the noise of log times.
    posterior_, encoding_, stacking_weights_, whole_numbers_, missing_, pmf_, convergence_, trace_ :
        As in `BayesianCSIDRegressor`, for log times.

    Examples
    --------
    >>> import numpy as np
    >>> from csid import BayesianCSIDSurvival
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (300, 2))
    >>> time = np.exp(X[:, 0] + 0.3 * rng.standard_normal(300))
    >>> seen = time < 2.0
    >>> y = np.array(list(zip(seen, np.minimum(time, 2.0))), [("event", bool), ("time", float)])
    >>> model = BayesianCSIDSurvival(rank=2, effort="fast", prior="medium", random_state=0).fit(X, y)
    >>> model.predict_survival_function(X[:5], times=[0.5, 1.0, 2.0]).shape
    (5, 3)
    >>> bool(model.score(X, y) > 0.8)
    True
    """

    targets = ("survival",)

    _parameter_constraints: ClassVar[Constraints] = {
        **SAMPLING_CONSTRAINTS,
        "likelihood": [StrOptions({"log_normal"}), Likelihood],
    }

    def __init__(  # noqa: PLR0913 (parameters of scikit-learn estimators are flat)
        self,
        rank: int = 32,
        *,
        levels: int | Literal["auto"] = "auto",
        prior: str | Sequence[str] = "auto",
        smoothness_order: int | Literal["auto"] = "auto",
        effort: Effort = "default",
        n_chains: int | None = None,
        n_burn: int | None = None,
        n_draws: int | None = None,
        likelihood: str | Likelihood = "log_normal",
        weights: WeightMeaning = "relative",
        start: Start = "random",
        solver: Literal["gibbs", "stochastic"] = "gibbs",
        max_rank: int = 2048,
        interpolation: Interpolation = "linear",
        categorical_features: Any = "from_dtype",
        whole_numbers: Kind | Literal["auto"] | dict[str, Kind] = "auto",
        missing: Missing | Literal["auto"] = "auto",
        pmf_rank: int | Literal["auto"] = "auto",
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            rank,
            levels=levels,
            prior=prior,
            smoothness_order=smoothness_order,
            effort=effort,
            n_chains=n_chains,
            n_burn=n_burn,
            n_draws=n_draws,
            likelihood=likelihood,
            weights=weights,
            start=start,
            solver=solver,
            max_rank=max_rank,
            interpolation=interpolation,
            categorical_features=categorical_features,
            whole_numbers=whole_numbers,
            missing=missing,
            pmf_rank=pmf_rank,
            warm_start=warm_start,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )

    def predict(self, X: Any) -> Array:
        """Predict the median time of the event, (M,)."""
        return np.exp(self._quantiles_at(X, (0.5,))[:, 0, 0])

    def predict_quantiles(self, X: Any, quantiles: Sequence[float] = (0.05, 0.5, 0.95)) -> Array:
        """Predict quantiles of the time of the event, (M, Q)."""
        return np.exp(self._quantiles_at(X, checked_levels(quantiles))[:, :, 0])

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Predict the bounds (M,) of the central predictive interval of the time of the event.

        Parameters
        ----------
        X : data frame or array, (M, N)
        coverage : float, default=0.9
            The probability that the event is inside.
        """
        lower, upper = np.exp(self._quantiles_at(X, central_levels(coverage))[:, :, 0]).T
        return lower, upper

    def predict_survival_function(self, X: Any, times: Any) -> Array:
        """Predict the probability (M, T) that the event is after each time.

        Parameters
        ----------
        X : data frame or array, (M, N)
        times : array-like, (T,)
            Times above zero.
        """
        logs = _log_times(times)
        found = self._from_predictives(X, lambda rows: tuple(1.0 - rows.cdf(log) for log in logs))
        return np.concatenate(found, axis=1)

    def predict_survival_interval(self, X: Any, times: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Bounds (M, T) of these probabilities over posterior draws: how sure the model is of them.

        Parameters
        ----------
        X : data frame or array, (M, N)
        times : array-like, (T,)
            Times above zero.
        coverage : float, default=0.9
            The posterior probability that the probability of survival is inside.
        """
        logs, levels = _log_times(times), np.array(central_levels(coverage))

        def bounds(rows: Mixture) -> tuple[Array, ...]:
            each = (1.0 - rows.cdf_of_draws(log)[..., 0] for log in logs)
            return tuple(quantiles_over_draws(of_time, rows.weights, levels).T for of_time in each)

        lower, upper = np.stack(self._from_predictives(X, bounds), axis=-1).swapaxes(0, 1)
        return lower, upper

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Harrell's concordance index of the median times: the fraction of comparable pairs in the right order."""
        predicted = self.predict(X)
        bounds = bounds_of(SurvivalTargets().read(y, len(predicted)))
        return concordance_of_intervals(*bounds, predicted, check_weights(sample_weight, len(predicted)))

    def _target_reader(self, earlier: TargetReader | None, count: Callable[[], ClassCounts]) -> TargetReader:
        return SurvivalTargets()

    def _likelihood(self, reader: TargetReader) -> Likelihood:
        return likelihood_of(self.likelihood, *self.targets)

    def _residual_text(self, residual: float) -> str:
        return ""  # of drawn times, it does not tell how good the fit is

    def _drift_text(self, drift: float) -> str:
        return f"the noise drifted by {100.0 * drift:.0f} % of the standard deviation of log times"


def _log_times(times: Any) -> Array:
    """Logarithms (T, 1, 1) of times."""
    at = np.atleast_1d(np.asarray(times, np.float64))
    if at.ndim != 1 or not ((at > 0.0) & np.isfinite(at)).all():
        raise ValueError(f"times={times!r}: give times above zero, such as [1.0, 2.0].")
    return np.log(at)[:, None, None]
