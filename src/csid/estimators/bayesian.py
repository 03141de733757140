"""`BayesianCSIDRegressor`: the posterior of the paper's model by Gibbs sampling, under priors weighed by a pilot."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from csid.data.checks import check_variances, flags_with_kinds
from csid.data.table import Table, TableHeader
from csid.data.weights import WeightMeaning
from csid.encoding import Interpolation, Missing
from csid.estimators.base import COMMON_CONSTRAINTS, Constraints, OpenOptions, TensorRegressor, TrainingData
from csid.estimators.progress import chain_progress
from csid.fitted.accuracy import Accuracy
from csid.fitted.columns import Columns
from csid.fitted.model import FittedModel, SamplingRecord
from csid.fitted.posterior import Posterior
from csid.inference.chains import Collected, Sampling
from csid.inference.gibbs import COMPONENTS_AT_ONCE
from csid.inference.jobs import ChainOptions, Runner, Start
from csid.inference.numerics import NumericalError
from csid.inference.pilot import PilotPlan, SamplingPlan
from csid.inference.sampling import InterruptedFitWarning, SamplingOptions, sample
from csid.inference.whole_numbers import Kind
from csid.likelihoods import Likelihood
from csid.likelihoods.calibration import Calibration
from csid.likelihoods.mixture import Mixture

__all__ = ["BayesianCSIDRegressor", "InterruptedFitWarning", "Uncertainty"]

Array = NDArray[np.float64]
Effort = Literal["fast", "default", "best"]

_LARGEST_DRIFT = 0.05

_PLANS: dict[Effort, SamplingPlan] = {
    "fast": SamplingPlan(
        pilot=PilotPlan(chains=1, burn=20, draws=15, rows=2_500, rank=16, held_out=1),
        chains=3,
        burn=30,
        draws=24,
        rows=60_000,
    ),
    "default": SamplingPlan(
        pilot=PilotPlan(chains=1, burn=40, draws=30, rows=12_000, rank=16, held_out=300),
        chains=8,
        burn=40,
        draws=48,
        rows=60_000,
    ),
    "best": SamplingPlan(
        pilot=PilotPlan(chains=3, burn=60, draws=60, rows=20_000, rank=32, held_out=1_000),
        chains=16,
        burn=150,
        draws=150,
        rows=240_000,
    ),
}


class Uncertainty(NamedTuple):
    """Standard deviations of a new observation: model uncertainty, observation noise, and both together."""

    model: Array
    noise: Array
    total: Array


class _Progress(NamedTuple):
    """What is needed to continue the chains: their states, and the units of their targets."""

    sampling: Sampling
    header: TableHeader


class BayesianCSIDRegressor(TensorRegressor):
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
    likelihood : {"gaussian", "student_t"} or Likelihood, default="gaussian"
        Distribution of the targets given the value of the system. "student_t" has heavy tails (Student's t with 4
        degrees of freedom) and is robust to outliers.
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

    _chains: _Progress

    _parameter_constraints: ClassVar[Constraints] = {
        **COMMON_CONSTRAINTS,
        "prior": [str, "array-like"],
        "smoothness_order": [Interval(Integral, 1, 2, closed="both"), StrOptions({"auto"})],
        "effort": [StrOptions(set(_PLANS))],
        "n_chains": [Interval(Integral, 1, None, closed="left"), None],
        "n_burn": [Interval(Integral, 0, None, closed="left"), None],
        "n_draws": [Interval(Integral, 1, None, closed="left"), None],
        "start": [StrOptions({"random", "als"})],
        "solver": [StrOptions({"gibbs", "stochastic"})],
        "max_rank": [Interval(Integral, 1, None, closed="left")],
        "whole_numbers": [StrOptions({"auto", "number", "category"}), dict],
        "missing": [StrOptions({"auto", "marginalize", "level"})],
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
        likelihood: str | Likelihood = "gaussian",
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
        self.rank = rank
        self.levels = levels
        self.prior = prior
        self.smoothness_order = smoothness_order
        self.effort = effort
        self.n_chains = n_chains
        self.n_burn = n_burn
        self.n_draws = n_draws
        self.likelihood = likelihood
        self.weights = weights
        self.start = start
        self.solver = solver
        self.max_rank = max_rank
        self.interpolation = interpolation
        self.categorical_features = categorical_features
        self.whole_numbers = whole_numbers
        self.missing = missing
        self.pmf_rank = pmf_rank
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "BayesianCSIDRegressor":
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

        Returns
        -------
        self
        """
        options, earlier, seed = self._options(), self._earlier(), self._seed()
        seed_of_sample = np.random.SeedSequence(seed).spawn(3)[2]  # the pilot and the chains use the first two
        open_options = OpenOptions(np.random.default_rng(seed_of_sample))
        if earlier is not None:
            self._check_continuable(earlier.sampling, options)
            units = earlier.header.centre, earlier.header.scale
            open_options = open_options._replace(columns=self.fitted_.columns, units=units)
        with self._open_table(TrainingData(X, y, sample_weight), open_options) as (table, columns):
            check_variances(table.header.centre, table.header.scale)
            runner = Runner(self._threads(), partial(chain_progress, bool(self.verbose)))
            before = None if earlier is None else earlier.sampling
            with _remedy_for_counts(self.weights):
                sampling, found = sample(table, options, runner, seed, before)
            kept = self._kept(sampling, found, table, columns)
            plan = options.plan_for(len(table))
        _warn_of_drift(found.convergence["drift"], plan)
        self.__dict__.update(kept)  # last, and all at once: a fit that fails leaves the model as it was
        return self

    def _earlier(self) -> _Progress | None:
        """The chains of an earlier fit, if this fit continues it."""
        if not self.warm_start or not hasattr(self, "fitted_"):
            return None
        if not hasattr(self, "_chains"):
            raise ValueError(
                "warm_start cannot continue a model from a file, because model files keep draws but not the state of "
                "the chains: fit anew with warm_start=False, or keep the fitted estimator."
            )
        return self._chains

    def _check_continuable(self, earlier: Sampling, options: SamplingOptions) -> None:
        """Chains that are continued keep their likelihood, rank, solver and priors."""
        old, now = earlier.options, options.chains
        priors = options.priors(self.fitted_.n_samples, self.fitted_.columns.count)
        pairs: dict[str, tuple[Any, Any]] = {
            "rank": (old.rank, now.rank),
            "solver": (_solver(old), _solver(now)),
            "likelihood": (old.likelihood.as_json(), now.likelihood.as_json()),
            "prior": (sorted(earlier.specs), sorted(priors)),
        }
        for name, (before, after) in pairs.items():
            if before != after:
                raise ValueError(
                    f"warm_start continues a fit of {name}={before!r}, but now {name}={after!r}: keep the {name}, or "
                    "fit anew with warm_start=False."
                )

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
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage={coverage}: give a probability between 0 and 1, such as 0.9.")
        bounds = (0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage)
        lower, upper = self._from_predictives(X, lambda rows: tuple(rows.ppf(q) for q in bounds))
        return self._fitted().squeeze(lower), self._fitted().squeeze(upper)

    def predict_quantiles(self, X: Any, quantiles: Sequence[float] = (0.05, 0.5, 0.95)) -> Array:
        """Predict quantiles of a new observation, (M, Q) or (M, Q, K)."""
        levels = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
        if levels.ndim != 1 or not ((levels > 0.0) & (levels < 1.0)).all():
            raise ValueError(f"quantiles={quantiles!r}: give probabilities between 0 and 1, such as (0.05, 0.95).")
        values = self._from_predictives(X, lambda rows: tuple(rows.ppf(float(q)) for q in levels))
        return self._fitted().squeeze(np.stack(values, axis=1))

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> Array:
        """Draw new observations, (M, n_samples) or (M, n_samples, K)."""
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        (draws,) = self._from_predictives(X, lambda rows: (rows.sample(n_samples, rng),))
        return self._fitted().squeeze(draws)

    # --- what was found -------------------------------------------------------------------------------------------

    @property
    def posterior_(self) -> Posterior:
        return self._fitted().require_posterior("posterior_")

    @property
    def calibration_(self) -> Calibration:
        return self._fitted().calibration or Calibration.identity(self._fitted().n_outputs)

    @property
    def stacking_weights_(self) -> dict[str, float]:
        return self._record().stacking_weights

    @property
    def convergence_(self) -> dict[str, float]:
        return self._record().convergence

    @property
    def trace_(self) -> list[Array]:
        return list(self._record().trace)

    @property
    def accuracy_(self) -> Accuracy | None:
        return self._record().accuracy

    @property
    def whole_numbers_(self) -> dict[str, str]:
        return dict(self._record().whole_numbers)

    @property
    def missing_(self) -> str:
        return self._fitted().missing

    @property
    def noise_(self) -> Array:
        posterior = self.posterior_
        return np.asarray(np.sqrt(posterior.weights @ posterior.noise**2))

    def _record(self) -> SamplingRecord:
        record = self._fitted().training
        if not isinstance(record, SamplingRecord):
            raise TypeError("the fitted model is a least-squares fit: this attribute needs a Bayesian fit.")
        return record

    def _from_predictives(self, X: Any, read: Callable[[Mixture], tuple[Array, ...]]) -> list[Array]:
        """Concatenate the arrays that `read` returns for the predictive distributions of each batch of rows."""
        parts = [read(rows) for _, rows in self._fitted().predictives(X, self._threads())]
        return [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]

    # --- fitting --------------------------------------------------------------------------------------------------

    def _options(self) -> SamplingOptions:
        likelihood = self._likelihood()
        if self.solver == "stochastic":
            if likelihood.augmented:
                raise ValueError(
                    f"likelihood={likelihood.name!r} does not work with solver='stochastic': use solver='gibbs', or "
                    "likelihood='gaussian'."
                )
            if self.rank > COMPONENTS_AT_ONCE:
                raise ValueError(
                    f"rank={self.rank}: solver='stochastic' draws at most {COMPONENTS_AT_ONCE} components. Lower the "
                    "rank, or use solver='gibbs'."
                )
        return SamplingOptions(
            ChainOptions(likelihood, self.rank, self.start, by_blocks=self.solver == "stochastic"),
            _PLANS[self.effort],
            self.prior,
            self.levels,
            self.smoothness_order,
            self.interpolation,
            self.missing,
            self.pmf_rank,
            self.max_rank,
            self.n_chains,
            self.n_burn,
            self.n_draws,
            whole_numbers="auto" if isinstance(self.whole_numbers, dict) else self.whole_numbers,
        )

    def _flags(self, columns: Columns) -> list[bool | None]:
        flags = super()._flags(columns)
        if isinstance(self.whole_numbers, dict):
            return flags_with_kinds(flags, self.whole_numbers, columns.labels)
        return flags

    def _kept(self, sampling: Sampling, found: Collected, table: Table, columns: Columns) -> dict[str, Any]:
        """The fitted model, and the chains to continue."""
        header, treatment, likelihood = table.header, sampling.treatment, sampling.options.likelihood
        traces = [np.array(member.chain.trace) for member in sampling.members]
        record = SamplingRecord(
            dict(zip(sampling.specs, sampling.pilot.weights.tolist(), strict=True)),
            found.convergence,
            tuple(likelihood.trace_in_units(trace, header.scale) for trace in traces),
            None if sampling.pilot.accuracy is None else sampling.pilot.accuracy.in_units(header.scale),
            sampling.whole_numbers,
        )
        fitted = FittedModel(
            columns=columns,
            encoding=found.posterior.encoding,
            tensor=found.posterior.mean,
            likelihood=likelihood,
            missing=treatment.missing,
            pmf=treatment.pmf,
            one_output=header.one_output,
            n_samples=len(table),
            n_iter=max(len(trace) for trace in traces),
            training=record,
            posterior=found.posterior,
            calibration=sampling.pilot.calibration.in_units(header.centre, header.scale),
        )
        if not self.warm_start:
            for member in sampling.members:
                member.chain.cells = None  # large, and only needed to continue
        return {"fitted_": fitted, "_chains": _Progress(sampling, header)}


def _solver(options: ChainOptions) -> str:
    return "stochastic" if options.by_blocks else "gibbs"


@contextmanager
def _remedy_for_counts(weights: WeightMeaning) -> Iterator[None]:
    """Large counts make a posterior so narrow that sums over rows overflow."""
    try:
        yield
    except NumericalError as error:
        if weights == "relative":
            raise
        raise NumericalError(
            f"{error} If the weights are not numbers of repeated rows, use weights='relative'."
        ) from error


def _warn_of_drift(drift: float, plan: SamplingPlan) -> None:
    if drift > _LARGEST_DRIFT:
        warnings.warn(
            f"The chains may not have converged: the noise drifted by {100.0 * drift:.0f} % of the target's standard "
            f"deviation. Increase n_burn (now {plan.burn}) or use effort='best'.",
            ConvergenceWarning,
            stacklevel=4,
        )
