"""The base of the Bayesian estimators: their parameters, the fit by Gibbs sampling, and what it has found."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from csid.data.checks import check_variances, flags_with_kinds
from csid.data.table import TableHeader
from csid.data.targets import ClassTargets, TargetReader
from csid.data.weights import WeightMeaning
from csid.encoding import Interpolation, Missing
from csid.estimators.base import (
    COMMON_CONSTRAINTS,
    Constraints,
    OpenedTable,
    OpenOptions,
    TensorEstimator,
    TrainingData,
)
from csid.estimators.progress import chain_progress
from csid.fitted.accuracy import AnyAccuracy
from csid.fitted.columns import Columns
from csid.fitted.model import FittedModel, SamplingRecord
from csid.fitted.posterior import Posterior
from csid.inference.chains import Collected, Sampling
from csid.inference.gibbs import COMPONENTS_AT_ONCE
from csid.inference.jobs import ChainOptions, Runner, Start
from csid.inference.numerics import NumericalError
from csid.inference.pilot import PilotPlan, SamplingPlan
from csid.inference.sampling import SamplingOptions, sample
from csid.inference.whole_numbers import Kind
from csid.likelihoods import Likelihood
from csid.likelihoods.predictive import PredictiveCalibration

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


class _Progress(NamedTuple):
    """What is needed to continue the chains: their states, and how their targets are read."""

    sampling: Sampling
    header: TableHeader
    reader: TargetReader


SAMPLING_CONSTRAINTS: Constraints = {
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
"""Legal values of the parameters of Bayesian estimators."""


class BayesianEstimator(TensorEstimator):
    """An estimator that draws from the posterior. Its parameters are those of `BayesianCSIDRegressor`."""

    _chains: _Progress

    _parameter_constraints: ClassVar[Constraints] = SAMPLING_CONSTRAINTS

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
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
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
        return self._fit_to(TrainingData(X, y, sample_weight))

    def _fit_to(self, given: TrainingData) -> Self:
        """Draw from the posterior given these rows."""
        self._check_solver()
        earlier, seed = self._earlier(), self._seed()
        seed_of_sample = np.random.SeedSequence(seed).spawn(3)[2]  # the pilot and the chains use the first two
        open_options = OpenOptions(np.random.default_rng(seed_of_sample))
        if earlier is not None:
            self._check_continuable(earlier.sampling, self._options(self._likelihood(earlier.reader)))
            units = earlier.header.centre, earlier.header.scale
            open_options = open_options._replace(columns=self.fitted_.columns, units=units, reader=earlier.reader)
        with self._open_table(given, open_options) as opened:
            table, options = opened.table, self._options(self._likelihood(opened.reader))
            check_variances(table.header.centre, table.header.scale)
            runner = Runner(self._threads(), partial(chain_progress, bool(self.verbose), self._residual_text))
            before = None if earlier is None else earlier.sampling
            with _remedy_for_counts(self.weights):
                sampling, found = sample(table, options, runner, seed, before)
            kept = self._kept(sampling, found, opened)
            plan = options.plan_for(len(table))
        self._warn_of_drift(found.convergence["drift"], plan)
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

    # --- what was found -------------------------------------------------------------------------------------------

    @property
    def posterior_(self) -> Posterior:
        return self._fitted().require_posterior("posterior_")

    @property
    def calibration_(self) -> PredictiveCalibration:
        fitted = self._fitted()
        return fitted.calibration or fitted.likelihood.no_calibration(fitted.n_outputs)

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
    def accuracy_(self) -> AnyAccuracy | None:
        return self._record().accuracy

    @property
    def whole_numbers_(self) -> dict[str, str]:
        return dict(self._record().whole_numbers)

    @property
    def missing_(self) -> str:
        return self._fitted().missing

    def _record(self) -> SamplingRecord:
        record = self._fitted().training
        if not isinstance(record, SamplingRecord):
            raise TypeError("the fitted model is a least-squares fit: this attribute needs a Bayesian fit.")
        return record

    # --- fitting --------------------------------------------------------------------------------------------------

    def _check_solver(self) -> None:
        if self.solver == "stochastic" and self.rank > COMPONENTS_AT_ONCE:
            raise ValueError(
                f"rank={self.rank}: solver='stochastic' draws at most {COMPONENTS_AT_ONCE} components. Lower the "
                "rank, or use solver='gibbs'."
            )

    def _options(self, likelihood: Likelihood) -> SamplingOptions:
        if self.solver == "stochastic" and likelihood.augmented:
            raise ValueError(
                f"likelihood={likelihood.name!r} does not work with solver='stochastic': use solver='gibbs'."
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

    def _kept(self, sampling: Sampling, found: Collected, opened: OpenedTable) -> dict[str, Any]:
        """The fitted model, and the chains to continue."""
        table, columns, reader = opened
        header, treatment, likelihood = table.header, sampling.treatment, sampling.options.likelihood
        centre, scale = likelihood.units(header.centre, header.scale)
        traces = [np.array(member.chain.trace) for member in sampling.members]
        record = SamplingRecord(
            dict(zip(sampling.specs, sampling.pilot.weights.tolist(), strict=True)),
            found.convergence,
            tuple(likelihood.trace_in_units(trace, scale) for trace in traces),
            None if sampling.pilot.accuracy is None else sampling.pilot.accuracy.in_units(scale),
            sampling.whole_numbers,
        )
        fitted = FittedModel(
            columns=columns,
            encoding=found.posterior.encoding,
            tensor=found.posterior.mean,
            likelihood=likelihood,
            missing=treatment.missing,
            pmf=treatment.pmf,
            one_output=header.one_output and found.posterior.mean.n_outputs == 1,
            n_samples=len(table),
            n_iter=max(len(trace) for trace in traces),
            training=record,
            posterior=found.posterior,
            calibration=sampling.pilot.calibration.in_units(centre, scale),
            classes=reader if isinstance(reader, ClassTargets) else None,
        )
        if not self.warm_start:
            for member in sampling.members:
                member.chain.cells = None  # large, and only needed to continue
        return {"fitted_": fitted, "_chains": _Progress(sampling, header, reader)}

    def _warn_of_drift(self, drift: float, plan: SamplingPlan) -> None:
        if drift > _LARGEST_DRIFT:
            warnings.warn(
                f"The chains may not have converged: {self._drift_text(drift)}. Increase n_burn (now {plan.burn}) or "
                "use effort='best'.",
                ConvergenceWarning,
                stacklevel=5,
            )


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
