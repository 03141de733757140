"""`CSIDRegressor`, the paper's system by alternating least squares: check, encode, fit, keep."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from csid._fit.als import ALSOptions, ALSResult, Update, fit_als, mean_squared_error
from csid._fit.completions import Completions
from csid._fit.factors import Factors, random_factors
from csid._fit.missing_cells import LevelPMF
from csid._fit.problem import Problem, merge_repeated_cells
from csid._fit.samples import LocalSamples
from csid._fit.statistics import Workers
from csid._fit.stochastic import BlockSweeps, RunningSums
from csid.cpd import CPD, ConditionalCPD
from csid.encoding import Encoding, Interpolation, Missing, column_threads, fit_encoding
from csid.estimator import TensorRegressor, centre_and_scale, problem_of
from csid.inputs import (
    categorical_flags,
    check_table,
    check_targets,
    check_together,
    check_weights,
    number_of_rows,
    smoothness_per_mode,
)
from csid.model_file import Arrays, Section, pack_cpd, pack_stream, unpack_cpd, unpack_stream
from csid.out_of_core import Encoder, Rows, roles_of, rows_of
from csid.pmf import JointPMF
from csid.progress import OnSweep, row_progress, sweep_progress
from csid.streams import Stream

Array = NDArray[np.float64]

_FEWEST_ROWS_FOR_EARLY_STOPPING = 200


def _keeps_sums(estimator: "CSIDRegressor") -> bool:
    if estimator.solver != "stochastic":
        raise AttributeError("partial_fit goes on from sums over rows, which only solver='stochastic' keeps.")
    return True


class CSIDRegressor(TensorRegressor):
    """Canonical system identification: a nonlinear function as a low-rank tensor with smooth factors.

    Each predictor is a mode of a tensor whose cells hold the function's values. The cells seen in the data are
    completed by a canonical polyadic decomposition, fitted by alternating least squares (Kargas and Sidiropoulos,
    "Nonlinear System Identification via Tensor Completion", AAAI 2020).

    Parameters
    ----------
    rank : int, default=10
        Number of components F.
    levels : int or "auto", default="auto"
        Most levels of a continuous predictor; the paper has 25. "auto" takes a quarter of the rows per predictor,
        from 16 to 255.
    interpolation : {"linear", "constant"}, default="linear"
        Between levels, interpolate the factors, or take the nearest level as in the paper.
    categorical_features : "from_dtype", None, or array-like, default="from_dtype"
        Predictors that are categories: those whose column is a string, a boolean or a categorical; none; or names,
        positions or a boolean mask (columns of strings or booleans that are not named are categories all the same).
    missing : {"marginalize", "level"}, default="marginalize"
        Average over a missing predictor with its marginal distribution, as in the paper, or give "missing" a level of
        its own in predictors that have missing cells in training.
    pmf_rank : int or "auto", default="auto"
        Classes of the joint distribution of the predictors that missing cells follow, when they are averaged over. 1 is
        the paper's: predictors are independent. With more, a prediction is the average given the observed cells, and a
        training row that lacks some stands for several completions of it. "auto" is as many as make held-out rows
        likeliest, and 1 where training rows lack nothing.
    ridge : float, default=2e-5
        Penalty rho on the squared entries of the factors; of a predictor with more than 25 levels, the paper's number,
        that times 25 over their number, so that it does not grow with them.
    smoothness : float, array-like or dict, default=0.03
        Penalty mu on squared differences of neighbouring levels, one number, one per predictor, or by name. Categories
        have no neighbours and ignore it.
    smoothness_order : {1, 2}, default=1
        First or second differences.
    output_smoothness : float, default=0.0
        The same penalty on neighbouring outputs.
    update : {"mode", "row", "cg"}, default="mode"
        Solve each factor exactly by its block-banded normal equations; pass once over its rows with the paper's closed
        form; or solve it by conjugate gradients, which never forms the blocks.
    solver : {"als", "stochastic"}, default="als"
        Update the factors from all rows at a time, or from blocks of rows in random order, each mixed with those before
        it by steps that decay: of many rows, a few passes do what takes ALS many. The fit can then go on with new rows,
        see `partial_fit`. Where rows are too few for blocks, the two are the same.
    max_iter : int, default=200
        Most passes over the rows, each of which updates all factors (with blocks, many times).
    tol : float, default=1e-4
        A sweep counts as progress when it lowers the objective, or the held-out error, by this fraction.
    early_stopping : "auto" or bool, default="auto"
        Hold out rows, and keep the factors of the sweep that predicts them best. "auto" does so from 200 rows on.
    validation_fraction : float, default=0.1
        Share of the rows held out. An ensemble uses the rows that a member did not draw instead.
    n_iter_no_change : int, default=10
        Sweeps without progress after which a fit stops.
    n_init : int, default=1
        Random starts, of which the best is kept. Every second one starts the bias at the mean of y, which suits systems
        whose effects cancel out on average; the others start it low, which suits most.
    n_estimators : int, default=1
        Members of a bagged ensemble, each with its own bootstrap rows and start, averaged into one tensor.
    warm_start : bool, default=False
        Continue from the factors and levels of the previous fit.
    random_state : int, RandomState instance or None, default=None
    n_jobs : int, default=-1
        Threads; -1 for one per core. The result does not depend on it.
    verbose : int, default=0
        Show a progress bar when positive.

    Attributes
    ----------
    cpd_ : CPD
        The fitted tensor, in the units of y.
    encoding_ : Encoding
        The levels of each predictor and their marginals.
    pmf_ : JointPMF or None
        The joint distribution that missing cells follow; None for the product of the marginals.
    n_iter_ : int
        Sweeps made (of the longest member).
    objective_history_, validation_history_ : list of arrays
        For each member of the ensemble, the objective after each sweep, and the held-out mean squared error of the
        standardised targets (empty without held-out rows).
    n_samples_ : int
        Rows that the factors were fitted to.
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

    members_: tuple[CPD, ...]
    validation_history_: list[Array]
    _stream: Stream | None
    _tamer = "a larger `ridge` or `smoothness`"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TensorRegressor._parameter_constraints,
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

    def __init__(
        self,
        rank: int = 10,
        *,
        levels: int | Literal["auto"] = "auto",
        interpolation: Interpolation = "linear",
        categorical_features: Any = "from_dtype",
        missing: Missing = "marginalize",
        pmf_rank: int | Literal["auto"] = "auto",
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
        """Identify the system from examples.

        Parameters
        ----------
        X : data frame (pandas, polars, Arrow) or array, (M, N)
            NaN, None and null are missing cells. Or rows that need not fit into memory: `ParquetRows`, `Batches`, the
            path of a Parquet file or folder, or an iterator of batches (X, y).
        y : array-like, (M,) or (M, K)
            With a path, the name of the column, or names; with other rows out of memory, nothing.
        sample_weight : array-like (M,), optional
            With a path, the name of a column.
        X_val, y_val : rows to stop early on, instead of rows held out from X.
        """
        rows_in_batches = rows_of(X, y, sample_weight)
        if rows_in_batches is not None:
            return self._fit_batches(rows_in_batches, X_val, y_val)
        continued = self.warm_start and hasattr(self, "cpd_")
        X = check_table(X, self, min_rows=2)
        validate_data(self, X, skip_check_array=True, reset=not continued)
        n_rows = number_of_rows(X)
        y = check_targets(y, n_rows)
        weights = check_weights(sample_weight, n_rows)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        check_together(X_val, y_val)
        names, options = self._names(), self._options()

        counted = np.flatnonzero(weights)
        train, held_out = self._split(counted, X_val, rng)
        if continued:
            self._check_continuable(1 if y.ndim == 1 else y.shape[1])
            encoding = self.encoding_
            rows = encoding.encode_training(X, n_rows)
        else:
            with column_threads(self._threads()) as map_columns:
                encoding, rows = fit_encoding(
                    X,
                    n_rows,
                    names,
                    weights,
                    train,
                    self.levels,
                    self.interpolation,
                    self.missing,
                    categorical_flags(self.categorical_features, names),
                    map_columns,
                )
        joint = self.pmf_ if continued else self._fit_pmf(X, train, weights, rng)
        pmf = None if joint is None else joint.on(encoding)
        targets = y.reshape(n_rows, -1)
        centre, scale = centre_and_scale(targets[train], weights[train])
        problem = problem_of(encoding, rows, weights, (targets - centre) / scale)
        validation = problem.take(held_out) if len(held_out) else None
        if X_val is not None:
            validation = self._given_validation(encoding, X_val, y_val, centre, scale)
        if len(train) < n_rows:
            problem = problem.take(train)

        starts = [member.standardised(centre, scale) for member in self.members_] if continued else []
        results, sums = self._fit_members(problem, validation, options, starts, rng, pmf)
        self._keep(results, encoding, joint, centre, scale, problem.n_rows)
        self._one_output = y.ndim == 1
        self._stream = None if sums is None else Stream.begun(sums, problem.total_weight, centre, scale)
        return self

    def _fit_batches(self, given: Rows, X_val: Any, y_val: Any) -> "CSIDRegressor":
        """The same fit to rows that are encoded into a code file; missing cells follow the product of marginals."""
        continued = self.warm_start and hasattr(self, "cpd_")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        check_together(X_val, y_val)
        with self._opened(given, reset=not continued) as rows:
            options, names = self._options(), self._names()
            roles = roles_of(rows.n_rows, *self._split(rows.counted, X_val, rng))
            with row_progress(bool(self.verbose), 2 * rows.n_rows, "rows read") as on_rows:
                encoder = Encoder(rows, roles, self._checked_batch, self._threads(), on_rows)
                survey = encoder.survey(names, categorical_flags(self.categorical_features, names))
                centre, scale = survey.moments.centre_and_scale()
                if continued:
                    self._check_continuable(len(centre))
                modes = survey.sketch.modes(self.levels, self.interpolation, self.missing)
                encoding, problem, validation = encoder.write(self.encoding_ if continued else modes, centre, scale)
            if X_val is not None:
                validation = self._given_validation(encoding, X_val, y_val, centre, scale)
            starts = [member.standardised(centre, scale) for member in self.members_] if continued else []
            results, sums = self._fit_members(problem, validation, options, starts, rng, None)
        self._keep(results, encoding, None, centre, scale, problem.n_rows)
        self._one_output = survey.one_output
        self._stream = None if sums is None else Stream.begun(sums, problem.total_weight, centre, scale)
        return self

    @available_if(_keeps_sums)  # type: ignore[untyped-decorator]
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> "CSIDRegressor":
        """Go on with new rows, by one sweep over them; the first call is `fit`. For `solver="stochastic"`.

        Levels, their marginals and the units of y stay those of the first call, so let its rows be many and typical. A
        number beyond the levels counts as the nearest of them, and a category never seen is averaged over, as in
        `predict`. A new row counts twice as much as rows before it do on average; memory does not grow with them.
        `validation_history_` goes on with the error on the new rows before they were used.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`; one row is enough once there was a first call.
        """
        if self.n_estimators > 1:
            raise ValueError(f"n_estimators={self.n_estimators}: partial_fit goes on with one system, not an ensemble.")
        if not hasattr(self, "cpd_"):
            self.fit(X, y, sample_weight)
            return self
        if self._stream is None:
            raise ValueError("the model was fitted with solver='als', which keeps no sums over rows: fit it anew.")
        X, n_rows = self._checked(X)
        y = check_targets(y, n_rows)
        self._check_continuable(1 if y.ndim == 1 else y.shape[1], "partial_fit")
        weights = check_weights(sample_weight, n_rows, fewest=1)
        rows, stream = self.encoding_.encode_training(X, n_rows), self._stream
        targets = (y.reshape(n_rows, -1) - stream.centre) / stream.scale
        problem = problem_of(self.encoding_, rows, weights, targets)
        if not weights.all():
            problem = problem.take(weights > 0)
        pmf = None if self.pmf_ is None else self.pmf_.on(self.encoding_)
        rng = np.random.default_rng([check_random_state(self.random_state).randint(2**31), self.n_iter_])
        with Workers(self._threads()) as workers:
            after = stream.after(problem, self.cpd_, self._options(), pmf, rng, workers)

        self._stream, self.cpd_, error = after
        self.members_ = (self.cpd_,)
        self._expectation = self.cpd_ if pmf is None else ConditionalCPD(self.cpd_, pmf)
        self.validation_history_ = [np.append(self.validation_history_[0], error)]
        self.n_iter_ += 1
        self.n_samples_ += problem.n_rows
        return self

    def predict(self, X: Any) -> Array:
        """Values (M,) or (M, K) of the identified system; missing and unseen cells are averaged over."""
        values = self._means(*self._checked(X))
        return values[:, 0] if self._one_output else values

    def _keep(
        self,
        results: Sequence[ALSResult],
        encoding: Encoding,
        joint: JointPMF | None,
        centre: Array,
        scale: Array,
        n_rows: int,
    ) -> None:
        """Keep what was fitted, and not before: an interrupted fit must not part the levels from the factors."""
        self.encoding_, self.pmf_ = encoding, joint
        self.members_ = tuple(CPD.of(result.factors, centre, scale) for result in results)
        self.cpd_ = self.members_[0] if len(results) == 1 else CPD.average(self.members_)
        self._expectation = self.cpd_ if joint is None else ConditionalCPD(self.cpd_, joint.on(encoding))
        self.objective_history_ = [np.array(result.objective) for result in results]
        self.validation_history_ = [np.array(result.validation) for result in results]
        self.n_iter_ = max(len(result.objective) for result in results)
        self.n_samples_ = n_rows

    def _pack_fit(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        arrays: dict[str, NDArray[Any]] = {}
        for m, (member, objective, validation) in enumerate(
            zip(self.members_, self.objective_history_, self.validation_history_, strict=True)
        ):
            arrays |= pack_cpd(member, f"member.{m}")
            arrays |= {f"member.{m}.objective": objective, f"member.{m}.validation": validation}
        entries: dict[str, Any] = {"members": len(self.members_)}
        if self._stream is not None:
            entries["stream"], more = pack_stream(self._stream, self.cpd_)
            arrays |= more
        return entries, arrays

    def _unpack_fit(self, header: Section, arrays: Arrays, outputs: int) -> None:
        places = [f"member.{m}" for m in range(header.whole("members", 1, len(arrays.left)))]
        self.members_ = tuple(unpack_cpd(self.encoding_, outputs, arrays, place) for place in places)
        self.cpd_ = self.members_[0] if len(places) == 1 else CPD.average(self.members_)
        self._expectation = self.cpd_ if self.pmf_ is None else ConditionalCPD(self.cpd_, self.pmf_.on(self.encoding_))
        self.objective_history_ = [arrays.take(f"{place}.objective", (-1,)) for place in places]
        self.validation_history_ = [arrays.take(f"{place}.validation", (-1,)) for place in places]
        goes_on = header.entries.get("stream") is not None  # not in files of version 0.1
        self._stream = unpack_stream(self.cpd_, header.section("stream"), arrays) if goes_on else None

    def _options(self) -> ALSOptions:
        if self.solver == "stochastic" and self.update == "cg":
            raise ValueError(
                "update='cg' solves without the sums over rows that solver='stochastic' mixes: "
                "use update='mode' or 'row', or solver='als'."
            )
        return ALSOptions(
            ridge=float(self.ridge),
            smoothness=smoothness_per_mode(self.smoothness, self._names()),
            smoothness_order=self.smoothness_order,
            output_smoothness=float(self.output_smoothness),
            update=self.update,
            max_iter=self.max_iter,
            tol=self.tol,
            n_iter_no_change=self.n_iter_no_change,
        )

    def _split(
        self, counted: NDArray[np.intp], X_val: Any, rng: np.random.Generator
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows to train on, and rows to hold out for early stopping."""
        if X_val is not None or self.n_estimators > 1 or not self._stops_early(len(counted)):
            return counted, counted[:0]
        n_held_out = self._number_held_out(len(counted))
        shuffled = rng.permutation(counted)
        return np.sort(shuffled[n_held_out:]), np.sort(shuffled[:n_held_out])

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

    def _given_validation(self, encoding: Encoding, X_val: Any, y_val: Any, centre: Array, scale: Array) -> Problem:
        X_val = check_table(X_val, self, min_rows=1)
        validate_data(self, X_val, skip_check_array=True, reset=False)
        n_rows = number_of_rows(X_val)
        targets = check_targets(y_val, n_rows, ("X_val", "y_val")).reshape(n_rows, -1)
        if targets.shape[1] != len(centre):
            raise ValueError(f"y_val has {targets.shape[1]} outputs, but y has {len(centre)}: give the same ones.")
        rows = encoding.encode(X_val, n_rows)
        return problem_of(encoding, rows, np.ones(n_rows), (targets - centre) / scale)

    def _check_continuable(self, outputs: int, how: str = "warm_start") -> None:
        if self.cpd_.n_outputs != outputs:
            raise ValueError(
                f"{how} continues a fit of {self.cpd_.n_outputs} output(s), but y has {outputs}: "
                "keep the outputs, or fit anew with warm_start=False."
            )
        if self.members_[0].rank != self.rank:
            raise ValueError(
                f"{how} continues a fit of rank {self.members_[0].rank}, but rank={self.rank}: "
                "keep the rank, or fit anew with warm_start=False."
            )

    def _fit_members(
        self,
        problem: Problem,
        validation: Problem | None,
        options: ALSOptions,
        starts: list[Factors],
        rng: np.random.Generator,
        pmf: LevelPMF | None,
    ) -> tuple[list[ALSResult], RunningSums | None]:
        """One result per member of the ensemble, the best of its starts; and the sums of a single one from blocks."""
        seeds = rng.integers(2**63, size=(self.n_estimators, self.n_init))
        completed = pmf is not None and len(problem.incomplete) > 0
        whole = merge_repeated_cells(problem) if self.n_estimators == 1 and not completed else problem
        interrupted = threading.Event()
        passes = [[BlockSweeps(np.random.default_rng([seed, 3])) for seed in some] for some in seeds.tolist()]

        def run(member: int, start: int, on_sweep: OnSweep, workers: Workers) -> ALSResult:
            drawn, own, held_out = problem, whole, validation
            if self.n_estimators > 1:
                drawn, out_of_bag = _bootstrap(problem, np.random.default_rng([seeds[member, 0], 1]))
                own = merge_repeated_cells(drawn) if not completed else drawn
                if validation is None and self._stops_early(problem.n_rows) and out_of_bag is not None:
                    held_out = out_of_bag
            first = (
                starts[member].copy()
                if start == 0 and member < len(starts)
                else random_factors(drawn, self.rank, np.random.default_rng([seeds[member, start], 0]), start % 2 == 0)
            )

            def watched(objective: float, error: float | None) -> None:
                if interrupted.is_set():
                    raise KeyboardInterrupt
                on_sweep(objective, error)

            samples, error, completions = LocalSamples(own, workers), None, None
            if held_out is not None:
                error = partial(mean_squared_error, LocalSamples(held_out, workers), pmf=pmf)
            if pmf is not None and completed:
                completions = Completions.of(samples, pmf, np.random.default_rng([seeds[member, start], 2]))
            one_pass = passes[member][start] if self.solver == "stochastic" else None
            return fit_als(samples, options, first, error, watched, completions, one_pass)

        jobs = [(member, start) for member in range(self.n_estimators) for start in range(self.n_init)]
        threads = self._threads()
        with sweep_progress(bool(self.verbose), self.max_iter) as open_bar:
            bars = [open_bar(_label(job, self.n_estimators, self.n_init)) for job in jobs]
            if len(jobs) == 1 or threads == 1:
                with Workers(threads) as workers:
                    results = [run(*job, bar, workers) for job, bar in zip(jobs, bars, strict=True)]
            else:
                with ThreadPoolExecutor(threads) as pool:
                    futures = [pool.submit(run, *job, bar, Workers()) for job, bar in zip(jobs, bars, strict=True)]
                    try:
                        results = [future.result() for future in futures]
                    except BaseException:
                        interrupted.set()
                        pool.shutdown(cancel_futures=True)
                        raise
        grouped = np.arange(len(jobs)).reshape(self.n_estimators, self.n_init)
        best = [min(row.tolist(), key=lambda job: results[job].score) for row in grouped]
        keeps_sums = self.solver == "stochastic" and self.n_estimators == 1
        return [results[job] for job in best], passes[0][best[0]].running if keeps_sums else None


def _label(job: tuple[int, int], members: int, starts: int) -> str:
    parts = [f"member {job[0] + 1}"] * (members > 1) + [f"start {job[1] + 1}"] * (starts > 1)
    return ", ".join(parts) or "ALS"


def _bootstrap(problem: Problem, rng: np.random.Generator) -> tuple[Problem, Problem | None]:
    """Rows drawn with replacement, and the rows that were not drawn."""
    counts = np.bincount(rng.integers(problem.n_rows, size=problem.n_rows), minlength=problem.n_rows)
    left_out = counts == 0
    out_of_bag = problem.reweighted(left_out.astype(np.float64)) if left_out.any() else None
    return problem.reweighted(counts.astype(np.float64)), out_of_bag
