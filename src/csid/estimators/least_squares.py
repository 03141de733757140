"""`CSIDRegressor`: the paper's system by alternating least squares."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from csid._kernels.threads import Workers
from csid.data.checks import check_both_given, check_targets, check_weights, smoothness_per_mode
from csid.data.problem import Problem
from csid.data.samples import HeldOutSamples
from csid.data.table import EncodedTable, LocalTable, Table, TableHeader, present, problem_of
from csid.data.targets import NumericTargets
from csid.data.weights import WeightMeaning
from csid.encoding import Encoding, Interpolation, Levels, Missing
from csid.encoding.columns import any_missing
from csid.estimators.base import (
    COMMON_CONSTRAINTS,
    Constraints,
    HoldOut,
    OpenedTable,
    OpenOptions,
    TrainingData,
)
from csid.estimators.progress import OnSweep, sweep_progress
from csid.estimators.regression import TensorRegressor
from csid.fitted.columns import Columns
from csid.fitted.model import FittedModel, LeastSquaresRecord
from csid.inference.als import ALSOptions, Update
from csid.inference.least_squares import EnsembleOptions, FitRows, Fits, fit_ensemble
from csid.inference.sampling import joint_pmf
from csid.inference.stream import Stream, StreamBatch
from csid.likelihoods import Likelihood
from csid.missing.joint_pmf import JointPMF
from csid.tensor.cpd import CPD

Array = NDArray[np.float64]

_FEWEST_ROWS_FOR_EARLY_STOPPING = 200


def _keeps_sums(estimator: "CSIDRegressor") -> bool:
    if estimator.solver != "stochastic":
        raise AttributeError(
            f"solver={estimator.solver!r} does not support partial_fit: only solver='stochastic' keeps sums over rows."
        )
    return True


class CSIDRegressor(TensorRegressor):
    """Canonical system identification: a nonlinear function as a low-rank tensor with smooth factors.

    Each predictor is a mode of a tensor whose cells hold the values of the function. A canonical polyadic decomposition
    completes the cells not seen in the data. It is fitted by alternating least squares (Kargas and Sidiropoulos,
    "Nonlinear System Identification via Tensor Completion", AAAI 2020).

    Parameters
    ----------
    rank : int, default=10
        Number of components F.
    levels : int or "auto", default="auto"
        Largest number of levels of a continuous predictor; 25 in the paper. "auto" is one for every 4 rows per
        predictor, from 16 to 255.
    interpolation : {"linear", "constant"}, default="linear"
        Interpolate the factors between levels, or take the nearest level as in the paper.
    categorical_features : "from_dtype", None, or array-like, default="from_dtype"
        Which predictors are categorical. "from_dtype": columns of strings, booleans or unordered categoricals. None: no
        column. Else names, positions or a boolean mask, in addition to columns of strings or booleans. A column of
        numbers that are codes is a number unless it is named here.
    missing : {"marginalize", "level"}, default="marginalize"
        Treatment of missing cells. "marginalize" averages over their distribution, as in the paper. "level" gives
        missing cells a level of their own in each predictor that has some in training.
    pmf_rank : int or "auto", default="auto"
        Number of latent classes of the joint PMF of the predictors, for missing="marginalize". With 1, as in the paper,
        predictors are independent. With more, predictions average over missing cells given the observed cells, and an
        incomplete training row is replaced by several completions of it. "auto" maximises the likelihood of held-out
        rows; it is 1 if training rows are complete.
    likelihood : {"gaussian", "student_t"} or Likelihood, default="gaussian"
        Distribution of the targets given the value of the system. "gaussian" gives the paper's squared error.
        "student_t" is robust to outliers (expectation maximisation: rows are reweighted before every sweep).
    weights : {"relative", "counts"}, default="relative"
        What `sample_weight` means. "relative": how much a row counts compared with others, such as survey weights or
        1 / n. They are divided by their mean, so their scale does not matter, and the fit is as sure as its number of
        rows allows. "counts": whole numbers, how often a row was observed; the fit is that of repeated rows.
    ridge : float, default=2e-5
        Penalty rho on the squared entries of the factors. For a predictor with more than 25 levels, the number in the
        paper, it is multiplied by 25 / levels, so that the penalty does not grow with the number of levels.
    smoothness : float, array-like or dict, default=0.03
        Penalty mu on squared differences of neighbouring levels: one number, one per predictor, or a dict by name.
        Categorical predictors ignore it.
    smoothness_order : {1, 2}, default=1
        Penalise first or second differences.
    output_smoothness : float, default=0.0
        The same penalty on neighbouring outputs.
    update : {"mode", "row", "cg"}, default="mode"
        "mode" solves each factor exactly by its block-banded normal equations. "row" updates its rows once, one by one,
        by the paper's closed form. "cg" solves it by conjugate gradients, without forming the blocks.
    solver : {"als", "stochastic"}, default="als"
        "als" updates the factors from all rows. "stochastic" updates them from one random block of rows at a time,
        mixed with the sums of earlier blocks with decaying step sizes; with many rows it needs far fewer passes. It
        also supports `partial_fit`. With too few rows for several blocks, both are the same.
    max_iter : int, default=200
        Largest number of passes over the rows. Each pass updates all factors, with blocks many times.
    tol : float, default=1e-4
        A sweep is progress if it lowers the objective, or the held-out error, by this fraction.
    early_stopping : "auto" or bool, default="auto"
        Hold out rows, and keep the factors of the sweep that predicts them best. "auto" does so with at least 200 rows.
    validation_fraction : float, default=0.1
        Fraction of the rows to hold out. The members of an ensemble use their out-of-bag rows instead.
    n_iter_no_change : int, default=10
        Stop after this number of sweeps without progress.
    n_init : int, default=1
        Number of random starts, of which the best is kept. Every second one starts the bias at the mean of y, which
        suits systems whose effects cancel out on average; the others start it low, which suits most systems.
    n_estimators : int, default=1
        Members of a bagged ensemble, each with its own bootstrap rows and start, averaged into one tensor.
    warm_start : bool, default=False
        Continue from the factors and levels of the previous fit.
    random_state : int, RandomState instance or None, default=None
    n_jobs : int, default=-1
        Number of threads; -1 for one per core. The result does not depend on it.
    verbose : int, default=0
        Show a progress bar when positive.

    Attributes
    ----------
    cpd_ : CPD
        The fitted tensor, in the units of y.
    encoding_ : Encoding
        The levels of each predictor and their marginals.
    pmf_ : JointPMF or None
        The joint PMF of the predictors; None for the product of the marginals.
    n_iter_ : int
        Number of sweeps, of the longest member.
    objective_history_, validation_history_ : list of arrays
        For each member of the ensemble, the objective after each sweep, and the held-out mean squared error of the
        standardised targets (empty without held-out rows).
    n_samples_ : int
        Number of training rows.
    n_features_in_ : int
    feature_names_in_ : array of str, when X has column names.

    Examples
    --------
    >>> import numpy as np
    >>> from csid import CSIDRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (2000, 3))
    >>> y = np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2
    >>> model = CSIDRegressor(rank=4, random_state=0).fit(X[:1500], y[:1500])
    >>> bool(model.score(X[1500:], y[1500:]) > 0.99)
    True
    """

    _stream: Stream | None

    _parameter_constraints: ClassVar[Constraints] = {
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
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, X_val: Any = None, y_val: Any = None
    ) -> "CSIDRegressor":
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
        open_options = OpenOptions(rng, self._hold_out(X_val), None if earlier is None else earlier.columns)
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
            self._check_continuable(earlier, table.header.n_outputs)
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
            held_out = self._given_validation(encoded.encoding, columns, table.header, given)
        rows = FitRows(_training(encoded), held_out, None if joint is None else joint.on(encoded.encoding))
        header = table.header
        starts = [] if earlier is None else [each.standardised(header.centre, header.scale) for each in self.members_]
        fits = fit_ensemble(rows, options, starts, rng, self._threads(), self._open_bars)
        return self._kept(fits, opened, encoded, joint)

    def _open_bars(self) -> AbstractContextManager[Callable[[str], OnSweep]]:
        """Open the progress display. Subclasses may override it to monitor the sweeps."""
        return sweep_progress(bool(self.verbose), self.max_iter)

    def _joint_pmf(self, table: Table, likelihood: Likelihood, rng: np.random.Generator) -> JointPMF | None:
        """The joint PMF of the predictors; None for the product of the marginals."""
        if self.missing == "level" or not isinstance(table, LocalTable):
            return None
        if likelihood.augmented:
            if self.pmf_rank not in (1, "auto"):
                raise ValueError(
                    f"pmf_rank={self.pmf_rank} needs likelihood='gaussian': with likelihood="
                    f"{likelihood.name!r} leave it at 'auto' or 1, or use BayesianCSIDRegressor."
                )
            return None
        if self.pmf_rank == "auto" and not any_missing(table.X):
            return None
        return joint_pmf(table, self.pmf_rank, rng, self._threads())

    @available_if(_keeps_sums)  # type: ignore[untyped-decorator]
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> "CSIDRegressor":
        """Update the model by one sweep over new rows; the first call is `fit`. Requires `solver="stochastic"`.

        Levels, their marginals and the units of y stay those of the first call, so it should have many, typical rows. A
        number beyond the levels takes the nearest level, and an unseen category is averaged over, as in `predict`. A
        new row counts twice as much as an earlier row does on average. Memory use is constant.
        `validation_history_` records the error on the new rows before they are used.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
            After the first call, a single row is enough. Relative weights are relative to the mean of the first call.

        Returns
        -------
        self
        """
        if self.n_estimators > 1:
            raise ValueError(
                f"n_estimators={self.n_estimators}: partial_fit updates a single model, not an ensemble. Set "
                "n_estimators=1."
            )
        if self._likelihood(NumericTargets()).augmented:
            raise ValueError(f"likelihood={self.likelihood!r}: partial_fit supports likelihood='gaussian' only.")
        if not hasattr(self, "fitted_"):
            self.fit(X, y, sample_weight)
            return self
        fitted, stream = self.fitted_, self._stream
        if stream is None:
            raise ValueError(
                "the earlier fit kept no sums over rows: fit anew with solver='stochastic' and likelihood='gaussian'."
            )
        X, n_rows = fitted.columns.checked(X)
        y = check_targets(y, n_rows)
        self._check_continuable(fitted, 1 if y.ndim == 1 else y.shape[1], "partial_fit")
        weights = check_weights(sample_weight, n_rows, fewest=1)
        if sample_weight is not None:
            weights = stream.weight_unit.of(weights)
        rows = fitted.encoding.encode_training(X, n_rows)
        targets = (y.reshape(n_rows, -1) - stream.centre) / stream.scale
        problem = problem_of(fitted.encoding, rows, weights, targets)
        if not weights.all():
            problem = problem.take(weights > 0)
        rng = np.random.default_rng([self._seed(), fitted.n_iter])
        with Workers(self._threads()) as workers:
            batch = StreamBatch(problem, fitted.level_pmf, rng, workers)
            after, tensor, error = stream.after(batch, fitted.tensor, self._options(fitted.columns))

        record = LeastSquaresRecord(
            (tensor,), tuple(self.objective_history_), (np.append(self.validation_history_[0], error),)
        )
        n_samples = fitted.n_samples + problem.n_rows
        new = replace(fitted, tensor=tensor, n_iter=fitted.n_iter + 1, n_samples=n_samples, training=record)
        self.__dict__.update(fitted_=new, _stream=after)
        return self

    def predict(self, X: Any) -> Array:
        """Predict the value of the system, (M,) or (M, K). Missing and unseen cells are averaged over."""
        fitted = self._fitted()
        return fitted.squeeze(fitted.means(X, self._threads()))

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
            one_output=header.one_output,
            n_samples=rows.n_rows if isinstance(rows, Problem) else len(table),
            n_iter=max(map(len, objective)),
            training=LeastSquaresRecord(members, objective, validation),
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
            return n_rows >= _FEWEST_ROWS_FOR_EARLY_STOPPING
        return bool(self.early_stopping)

    def _given_validation(
        self, encoding: Encoding, columns: Columns, header: TableHeader, given: tuple[Any, Any]
    ) -> Problem:
        X_val, n_rows = columns.checked(given[0])
        targets = check_targets(given[1], n_rows, ("X_val", "y_val")).reshape(n_rows, -1)
        if targets.shape[1] != header.n_outputs:
            raise ValueError(
                f"y_val has {targets.shape[1]} outputs, but y has {header.n_outputs}: give the same outputs in both."
            )
        rows = encoding.encode(X_val, n_rows)
        return problem_of(encoding, rows, np.ones(n_rows), header.standardised(targets))

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
