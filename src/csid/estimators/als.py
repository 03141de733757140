"""The base of the least-squares estimators: their parameters, the fit by alternating least squares, and its record."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from csid.data.checks import check_both_given, smoothness_per_mode
from csid.data.problem import Problem
from csid.data.samples import HeldOutSamples
from csid.data.table import EncodedTable, LocalTable, Table, present, problem_of
from csid.data.targets import ClassTargets
from csid.data.weights import WeightMeaning
from csid.encoding import Encoding, Interpolation, Levels, Missing
from csid.encoding.columns import any_missing
from csid.estimators.base import (
    COMMON_CONSTRAINTS,
    Constraints,
    HoldOut,
    OpenedTable,
    OpenOptions,
    TensorEstimator,
    TrainingData,
)
from csid.estimators.progress import OnSweep, sweep_progress
from csid.fitted.columns import Columns
from csid.fitted.model import FittedModel, LeastSquaresRecord
from csid.inference.als import ALSOptions, Update
from csid.inference.least_squares import EnsembleOptions, FitRows, Fits, fit_ensemble
from csid.inference.sampling import joint_pmf
from csid.inference.stream import Stream
from csid.likelihoods import Likelihood
from csid.missing.joint_pmf import JointPMF
from csid.tensor.cpd import CPD

Array = NDArray[np.float64]


LEAST_SQUARES_CONSTRAINTS: Constraints = {
    **COMMON_CONSTRAINTS,
    "ridge": [Interval(Real, 0, None, closed="left")],
    "smoothness": [Interval(Real, 0, None, closed="left"), "array-like", dict],
    "smoothness_order": [Interval(Integral, 1, 2, closed="both")],
    "output_smoothness": [Interval(Real, 0, None, closed="left")],
    "update": [StrOptions({"mode", "row", "cg"})],
    "solver": [StrOptions({"als", "stochastic"})],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "early_stopping": ["boolean", StrOptions({"auto"})],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    "n_init": [Interval(Integral, 1, None, closed="left")],
    "n_estimators": [Interval(Integral, 1, None, closed="left")],
}
"""Legal values of the parameters of least-squares estimators."""


class LeastSquaresEstimator(TensorEstimator):
    """An estimator fitted by alternating least squares. Its parameters are those of `CSIDRegressor`."""

    _stream: Stream | None

    _bayesian: ClassVar[str]
    """Name of the Bayesian estimator for the same targets."""

    _fewest_rows_to_stop_early: ClassVar[int] = 200

    _parameter_constraints: ClassVar[Constraints] = LEAST_SQUARES_CONSTRAINTS

    def __init__(  # noqa: PLR0913 (parameters of scikit-learn estimators are flat)
        self,
        rank: int = 10,
        *,
        levels: int | Literal["auto"] = "auto",
        interpolation: Interpolation = "linear",
        categorical_features: Any = "from_dtype",
        missing: Missing = "marginalize",
        pmf_rank: int | Literal["auto"] = "auto",
        likelihood: str | Likelihood = "gaussian",
        weights: WeightMeaning = "relative",
        ridge: float = 2e-5,
        smoothness: Any = 0.03,
        smoothness_order: int = 1,
        output_smoothness: float = 0.0,
        update: Update = "mode",
        solver: Literal["als", "stochastic"] = "als",
        max_iter: int = 200,
        tol: float = 1e-4,
        early_stopping: bool | Literal["auto"] = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        n_init: int = 1,
        n_estimators: int = 1,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ) -> None:
        self.rank = rank
        self.levels = levels
        self.interpolation = interpolation
        self.categorical_features = categorical_features
        self.missing = missing
        self.pmf_rank = pmf_rank
        self.likelihood = likelihood
        self.weights = weights
        self.ridge = ridge
        self.smoothness = smoothness
        self.smoothness_order = smoothness_order
        self.output_smoothness = output_smoothness
        self.update = update
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.n_init = n_init
        self.n_estimators = n_estimators
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, X_val: Any = None, y_val: Any = None) -> Self:
        """Fit the system to training rows.

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
        X_val, y_val : optional
            Rows for early stopping, in place of rows held out from X.

        Returns
        -------
        self
        """
        check_both_given(X_val, y_val)
        rng = np.random.default_rng(self._seed())
        earlier = self.fitted_ if self.warm_start and hasattr(self, "fitted_") else None
        open_options = OpenOptions(rng, self._hold_out(X_val))
        if earlier is not None:
            open_options = open_options._replace(columns=earlier.columns, reader=earlier.classes)
        with self._open_table(TrainingData(X, y, sample_weight), open_options) as opened:
            kept = self._fit_table(opened, earlier, None if X_val is None else (X_val, y_val), rng)
        self.__dict__.update(kept)  # last, and all at once: a fit that fails leaves the model as it was
        return self

    def _fit_table(
        self, opened: OpenedTable, earlier: FittedModel | None, given: tuple[Any, Any] | None, rng: np.random.Generator
    ) -> dict[str, Any]:
        """Fit to an opened table. given : rows for early stopping and their targets, if any. Returns what to keep."""
        table, columns, reader = opened
        likelihood = self._likelihood(reader)
        options = self._ensemble_options(columns, likelihood)
        if earlier is not None:
            self._check_continuable(earlier, likelihood.n_outputs(table.header.n_outputs))
        most = self.levels if earlier is None else earlier.encoding
        encoded = table.encoded(Levels(most, self.interpolation, self.missing), self._threads())
        joint = self._joint_pmf(table, likelihood, rng) if earlier is None else earlier.pmf
        if joint is not None and likelihood.augmented:  # of the earlier fit
            raise ValueError(
                f"likelihood={likelihood.name!r} cannot continue a fit with a joint PMF, which needs "
                "likelihood='gaussian': fit anew with warm_start=False."
            )
        held_out = encoded.held_out
        if given is not None:
            held_out = _given_validation(encoded.encoding, opened, given)
        rows = FitRows(_training(encoded), held_out, None if joint is None else joint.on(encoded.encoding))
        header = table.header
        units = likelihood.units(header.centre, header.scale)
        starts = [] if earlier is None else [each.standardised(*units) for each in self.members_]
        fits = fit_ensemble(rows, options, starts, rng, self._threads(), self._open_bars)
        return self._kept(fits, opened, encoded, joint)

    def _open_bars(self) -> AbstractContextManager[Callable[[str], OnSweep]]:
        """Open the progress display. Subclasses may override it to monitor the sweeps."""
        return sweep_progress(bool(self.verbose), self._held_out_text, self.max_iter)

    def _joint_pmf(self, table: Table, likelihood: Likelihood, rng: np.random.Generator) -> JointPMF | None:
        """The joint PMF of the predictors; None for the product of the marginals."""
        if self.missing == "level" or not isinstance(table, LocalTable):
            return None
        if likelihood.augmented:
            if self.pmf_rank not in (1, "auto"):
                raise ValueError(
                    f"pmf_rank={self.pmf_rank} is not supported by least squares with likelihood={likelihood.name!r}: "
                    f"leave it at 'auto' or 1, or use {self._bayesian}."
                )
            return None
        if self.pmf_rank == "auto" and not any_missing(table.X):
            return None
        return joint_pmf(table, self.pmf_rank, rng, self._threads())

    # --- what was found -------------------------------------------------------------------------------------------

    @property
    def members_(self) -> tuple[CPD, ...]:
        return self._record().members

    @property
    def objective_history_(self) -> list[Array]:
        return list(self._record().objective)

    @property
    def validation_history_(self) -> list[Array]:
        return list(self._record().validation)

    def _record(self) -> LeastSquaresRecord:
        record = self._fitted().training
        if not isinstance(record, LeastSquaresRecord):
            raise TypeError("the fitted model is a Bayesian fit: this attribute needs a least-squares fit.")
        return record

    def _kept(self, fits: Fits, opened: OpenedTable, encoded: EncodedTable, joint: JointPMF | None) -> dict[str, Any]:
        """The fitted model, and the stream to continue."""
        results, (table, columns, reader) = fits.results, opened
        header, rows, likelihood = table.header, _training(encoded), self._likelihood(reader)
        units = likelihood.units(header.centre, header.scale)
        members = tuple(CPD.of(result.factors, *units) for result in results)
        objective, validation = (
            tuple(np.array(getattr(result, name)) for result in results) for name in ("objective", "validation")
        )
        stream = None
        if fits.sums is not None and isinstance(rows, Problem):
            stream = Stream.start(fits.sums, rows.total_weight, header)
        fitted = FittedModel(
            columns=columns,
            encoding=encoded.encoding,
            tensor=members[0] if len(members) == 1 else CPD.average(members),
            likelihood=likelihood,
            missing=self.missing,
            pmf=joint,
            one_output=header.one_output and members[0].n_outputs == 1,
            n_samples=rows.n_rows if isinstance(rows, Problem) else len(table),
            n_iter=max(map(len, objective)),
            training=LeastSquaresRecord(members, objective, validation),
            classes=reader if isinstance(reader, ClassTargets) else None,
        )
        return {"fitted_": fitted, "_stream": stream}

    # --- fitting --------------------------------------------------------------------------------------------------

    def _options(self, columns: Columns) -> ALSOptions:
        if self.solver == "stochastic" and self.update == "cg":
            raise ValueError(
                "update='cg' does not work with solver='stochastic', because it does not form sums over rows: "
                "use update='mode' or 'row', or solver='als'."
            )
        return ALSOptions(
            ridge=float(self.ridge),
            smoothness=smoothness_per_mode(self.smoothness, columns.labels),
            smoothness_order=self.smoothness_order,
            output_smoothness=float(self.output_smoothness),
            update=self.update,
            max_iter=self.max_iter,
            tol=self.tol,
            n_iter_no_change=self.n_iter_no_change,
        )

    def _ensemble_options(self, columns: Columns, likelihood: Likelihood) -> EnsembleOptions:
        by_blocks = self.solver == "stochastic"
        counts = self.n_estimators, self.n_init
        return EnsembleOptions(self._options(columns), likelihood, self.rank, *counts, by_blocks, self._stops_early)

    def _hold_out(self, X_val: Any) -> HoldOut | None:
        """Function from the number of rows to the number held out for early stopping; None to hold out none."""
        if X_val is not None or self.n_estimators > 1 or not self.early_stopping:
            return None
        return lambda n_rows: self._number_held_out(n_rows) if self._stops_early(n_rows) else 0

    def _number_held_out(self, n_rows: int) -> int:
        n_held_out = int(np.ceil(self.validation_fraction * n_rows))
        if n_rows - n_held_out < 2:
            raise ValueError(
                f"validation_fraction={self.validation_fraction} leaves {n_rows - n_held_out} of {n_rows} "
                "sample(s) to train on: lower it, or set early_stopping=False."
            )
        return n_held_out

    def _stops_early(self, n_rows: int) -> bool:
        if self.early_stopping == "auto":
            return n_rows >= self._fewest_rows_to_stop_early
        return bool(self.early_stopping)

    def _check_continuable(self, earlier: FittedModel, outputs: int, how: str = "warm_start") -> None:
        if earlier.n_outputs != outputs:
            raise ValueError(
                f"{how} continues a fit of {earlier.n_outputs} output(s), but y has {outputs}: "
                "keep the outputs, or fit anew with warm_start=False."
            )
        if self.members_[0].rank != self.rank:
            raise ValueError(
                f"{how} continues a fit of rank {self.members_[0].rank}, but rank={self.rank}: "
                "keep the rank, or fit anew with warm_start=False."
            )


def _training(encoded: EncodedTable) -> Problem | HeldOutSamples:
    """The training rows, in memory, mapped or on a cluster."""
    return encoded.elsewhere if encoded.elsewhere is not None else present(encoded.problem)


def _given_validation(encoding: Encoding, opened: OpenedTable, given: tuple[Any, Any]) -> Problem:
    """Rows for early stopping that the user gave."""
    header = opened.table.header
    X_val, n_rows = opened.columns.checked(given[0])
    targets = opened.reader.read(given[1], n_rows, ("X_val", "y_val")).reshape(n_rows, -1)
    if targets.shape[1] != header.n_outputs:
        raise ValueError(
            f"y_val has {targets.shape[1]} outputs, but y has {header.n_outputs}: give the same outputs in both."
        )
    factors = opened.reader.factors(targets)
    weights = np.ones(n_rows) if factors is None else factors
    return problem_of(encoding, encoding.encode(X_val, n_rows), weights, header.standardised(targets))
