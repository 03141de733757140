"""`BayesianCSIDRegressor`: the posterior of the paper's model by Gibbs sampling, under priors that a pilot weighs."""

import threading
import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from csid._fit.gibbs import COMPONENTS_AT_ONCE, Chain
from csid.coding import Coding, LocalTable, Sampled, Table
from csid.encoding import Interpolation, Missing
from csid.ensemble import Member, begun, continued, gathered, interrupted
from csid.estimator import TensorRegressor, centre_and_scale
from csid.inputs import categorical_flags, check_table, check_targets, check_weights, number_of_rows
from csid.model_file import Arrays, Section, json_number, pack_draws, unpack_draws
from csid.out_of_core import Encoder, Rows, roles_of, rows_of
from csid.pilot import Pilot, Plan, Verdict
from csid.portfolio import SETTINGS, Job, Setting, chosen_settings, run_jobs
from csid.posterior import Posterior
from csid.progress import chain_progress
from csid.spread import Spread
from csid.stored import StoredTable

Array = NDArray[np.float64]
Effort = Literal["fast", "default", "best"]

_PREDICTED_ROWS = 1 << 12
_DRIFT = 0.05
_HEAVY_TAILS = 4.0
_HEEDS = (1.0, 0.25)

_PLANS: dict[Effort, Plan] = {
    "fast": Plan(1, 20, 15, 2_500, 16, 1, 3, 30, 24, 60_000),
    "default": Plan(1, 40, 30, 12_000, 16, 300, 8, 40, 48, 60_000),
    "best": Plan(3, 60, 60, 20_000, 32, 1_000, 16, 150, 150, 240_000),
}


class InterruptedFitWarning(ConvergenceWarning):  # type: ignore[misc]
    """A fit was interrupted, and has the draws that were made before."""


class Uncertainty(NamedTuple):
    """Standard deviations of a prediction: what the model does not know, what no model can, and both."""

    model: Array
    noise: Array
    total: Array


class BayesianCSIDRegressor(TensorRegressor):
    """Canonical system identification with a posterior: nothing to tune, and intervals.

    The model is that of `CSIDRegressor`, a low-rank tensor with smooth factors. Its factors, weights, bias, smoothness
    and noise are drawn from their posterior by Gibbs sampling. A pilot on part of the rows weighs several priors by how
    well they predict the rest; the prediction is the mean over draws of several chains, kept as one tensor.

    Parameters
    ----------
    rank : int, default=32
        Number of components of each draw; at most 16 under the prior with the most levels, "finest".
    levels : int or "auto", default="auto"
        Most levels of a continuous predictor; "auto" leaves it to the priors (32, 64, 200 or 800, but from
        32 on at most one for every 8 rows).
    prior : "auto", str or list of str, default="auto"
        Priors that the pilot weighs, by name: "medium", "smooth", "stiff", "rough", "fine", "finest", "steady",
        "curved", "near one"; "lean" and "sparse", under which predictors may have no effect at all; and "alike" and
        "akin", under which they act alike or nearly so, which "auto" tries on tables of fewer rows than twice the
        square of the number of predictors, and leans to. With a single one there is nothing to weigh, and `spread_` is
        one.
    smoothness_order : {"auto", 1, 2}, default="auto"
        Differences that are small under the prior: first, second, or as the prior has it.
    effort : {"fast", "default", "best"}, default="default"
        How much is sampled, in the pilot and in the fit; of more than 60,000 rows (240,000 for "best") less, since
        chains differ less, and most of their burn-in is on part of the rows.
    n_chains, n_burn, n_draws : int or None, default=None
        Chains, sweeps dropped from the start of each and sweeps after them, instead of those of `effort`.
    noise : {"normal", "student"}, default="normal"
        What the noise is taken to be: "student" has heavy tails (Student's t with 4 degrees of freedom), so that single
        rows far off pull less at the fit.
    start : {"random", "als"}, default="random"
        Where chains start: at random, or at a short fit by alternating least squares.
    solver : {"gibbs", "stochastic"}, default="gibbs"
        Draw given all rows; or, approximately, each time given a block of them, mixed with the blocks before it as in
        `CSIDRegressor`: four passes over the rows in all once the chains have forgotten their starts. What the model
        does not know then seems somewhat larger than it is. For normal noise and a rank up to 32; missing cells are
        averaged over, or have a level.
    max_rank : int, default=2048
        Bound on the rank of the tensor that predicts: fewer draws of each chain are kept, at least one, when `rank`
        times their number exceeds it. The time of a prediction grows with it; its error falls with the number of draws.
    interpolation, categorical_features : as in `CSIDRegressor`.
    missing : {"auto", "marginalize", "level"}, default="auto"
        How a missing predictor enters: averaged over its distribution, as in the paper; as a level of its own, which
        can learn what it means that a value is missing; or "auto", whichever of the two a pilot finds better.
    pmf_rank : int or "auto", default="auto"
        Classes of the joint distribution of the predictors that missing cells follow. 1 is the paper's: predictors are
        independent, and missing cells averaged over. With more, they are drawn given the observed cells and the target,
        and predictions are averaged over them given the observed cells. "auto" is as many as make held-out rows
        likeliest, where training rows lack cells; with missing="auto" only if the pilot finds that better.
    warm_start : bool, default=False
        Continue the chains of the previous fit on the same rows, and add to its draws.
    random_state : int, RandomState instance or None, default=None
    n_jobs : int, default=-1
        Threads; -1 for one per core. The result does not depend on it.
    verbose : int, default=0
        Show a progress bar when positive.

    Attributes
    ----------
    cpd_ : CPD
        The posterior mean, in the units of y.
    posterior_ : Posterior
        The draws, their shares and their noise.
    spread_ : Spread
        By what factor predictions miss more, or less, than the draws say, depending on the prediction; found in the
        pilot on held-out rows.
    encoding_ : Encoding
        The levels of each predictor and their marginals.
    shares_ : dict
        Share of each prior in the prediction.
    missing_ : str
        How missing predictors were treated: "marginalize" or "level".
    pmf_ : JointPMF or None
        The joint distribution that missing cells follow; None for the product of the marginals.
    noise_ : array (K,)
        Scale of the noise: its standard deviation when it is normal.
    convergence_ : dict
        Split R-hat and effective number of draws of the noise, of the smoothness and of predictions;
        `prediction_error`, by how much predictions would change with other chains, and `drift`, how far the noise still
        moved between the halves of the kept sweeps, both as fractions of the spread of y.
    history_ : list of arrays (sweeps, K)
        Scale of the noise after every sweep of each chain.
    n_iter_ : int
        Sweeps of the longest chain.
    n_samples_ : int
        Rows that the chains were run on.

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

    posterior_: Posterior
    _coding: Coding
    _verdict: Verdict
    _chains: list[Member]
    _tamer = "a smaller `rank`"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TensorRegressor._parameter_constraints,
        "prior": [StrOptions({"auto", *SETTINGS}), "array-like"],
        "smoothness_order": [Interval(Integral, 1, 2, closed="both"), StrOptions({"auto"})],
        "effort": [StrOptions(set(_PLANS))],
        "n_chains": [Interval(Integral, 1, None, closed="left"), None],
        "n_burn": [Interval(Integral, 0, None, closed="left"), None],
        "n_draws": [Interval(Integral, 1, None, closed="left"), None],
        "noise": [StrOptions({"normal", "student"})],
        "start": [StrOptions({"random", "als"})],
        "solver": [StrOptions({"gibbs", "stochastic"})],
        "max_rank": [Interval(Integral, 1, None, closed="left")],
        "missing": [StrOptions({"auto", "marginalize", "level"})],
    }

    def __init__(
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
        noise: Literal["normal", "student"] = "normal",
        start: Literal["random", "als"] = "random",
        solver: Literal["gibbs", "stochastic"] = "gibbs",
        max_rank: int = 2048,
        interpolation: Interpolation = "linear",
        categorical_features: Any = "from_dtype",
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
        self.noise = noise
        self.start = start
        self.solver = solver
        self.max_rank = max_rank
        self.interpolation = interpolation
        self.categorical_features = categorical_features
        self.missing = missing
        self.pmf_rank = pmf_rank
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "BayesianCSIDRegressor":
        """Draw from the posterior given examples. Interrupted (Ctrl-C), it keeps the draws made so far.

        Parameters
        ----------
        X : data frame (pandas, polars, Arrow) or array, (M, N)
            NaN, None and null are missing cells. Or rows that need not fit into memory: `ParquetRows`, `Batches`, the
            path of a Parquet file or folder, or an iterator of batches (X, y).
        y : array-like, (M,) or (M, K)
            With a path, the name of the column, or names; with other rows out of memory, nothing.
        sample_weight : array-like (M,), optional
            A row of weight 2 counts as two rows. With a path, the name of a column.
        """
        goes_on = self.warm_start and hasattr(self, "cpd_")
        if goes_on and not hasattr(self, "_chains"):
            raise ValueError(
                "warm_start cannot continue a model from a file, which keeps draws but not the state of the chains: "
                "fit anew with warm_start=False, or keep the fitted estimator."
            )
        rows_in_batches = rows_of(X, y, sample_weight)
        if rows_in_batches is not None:
            return self._fit_batches(rows_in_batches, goes_on)
        X = check_table(X, self, min_rows=2)
        validate_data(self, X, skip_check_array=True, reset=not goes_on)
        n_rows = number_of_rows(X)
        y = check_targets(y, n_rows)
        weights = check_weights(sample_weight, n_rows)
        names = self._names()
        targets = y.reshape(n_rows, -1)
        counted = np.flatnonzero(weights)
        if len(counted) < n_rows:
            X, targets, weights = _safe_indexing(X, counted), targets[counted], weights[counted]
        if goes_on:
            self._check_outputs(targets.shape[1])
        centre, scale = (self._centre, self._scale) if goes_on else centre_and_scale(targets, weights)
        flags = categorical_flags(self.categorical_features, names)
        table = LocalTable(X, (targets - centre) / scale, weights, names, flags)
        return self._fit_table(table, centre, scale, y.ndim == 1, goes_on)

    def _fit_batches(self, given: Rows, goes_on: bool) -> "BayesianCSIDRegressor":
        """The same fit to rows that are encoded into code files; missing cells follow the product of marginals."""
        with self._opened(given, reset=not goes_on) as rows:
            names = self._names()
            roles = roles_of(rows.n_rows, rows.counted, rows.counted[:0])
            encoder = Encoder(rows, roles, self._checked_batch, self._threads())
            survey = encoder.survey(names, categorical_flags(self.categorical_features, names))
            centre, scale = survey.moments.centre_and_scale()
            if goes_on:
                self._check_outputs(len(centre))
                centre, scale = self._centre, self._scale
            table = StoredTable(encoder, survey, centre, scale)
            return self._fit_table(table, centre, scale, survey.one_output, goes_on)

    def _check_outputs(self, outputs: int) -> None:
        if outputs != self.cpd_.n_outputs:
            raise ValueError(
                f"warm_start continues a fit of {self.cpd_.n_outputs} output(s), but y has {outputs}: "
                "keep the outputs, or fit anew with warm_start=False."
            )

    def _check_solver(self) -> None:
        if self.solver == "gibbs":
            return
        if self.noise == "student":
            raise ValueError("noise='student' scales rows one by one: use solver='gibbs', or noise='normal'.")
        if self.rank > COMPONENTS_AT_ONCE:
            raise ValueError(f"rank={self.rank}: solver='stochastic' draws at most {COMPONENTS_AT_ONCE} components.")

    def _fit_table(
        self, table: Table, centre: Array, scale: Array, one_output: bool, goes_on: bool
    ) -> "BayesianCSIDRegressor":
        self._check_solver()
        plan = self._plan(len(table))
        seeds = np.random.SeedSequence(check_random_state(self.random_state).randint(2**31))
        pilot_seeds, chain_seeds = seeds.spawn(2)
        if goes_on:
            settings, coding, verdict, members = self._settings, self._coding, self._verdict, self._chains
            jobs = continued(members, list(settings.values()), coding, verdict, table, chain_seeds)
        else:
            settings = self._chosen_settings(len(table))
            coding, verdict = self._pilot(settings, table, plan, pilot_seeds)
            given = (plan.chains, self.rank, self.start, chain_seeds)
            members, jobs = begun(list(settings.values()), coding, verdict, table, *given)
        if self.solver == "stochastic":
            jobs = [replace(job, by_blocks=True) for job in jobs]
        try:
            self._run(jobs, 0 if goes_on else plan.burn, plan.draws, "chains")
        except KeyboardInterrupt:
            members, verdict = interrupted(members, verdict)
            if not members:
                raise
            warnings.warn(
                f"Interrupted: the fit keeps the draws made so far, of {len(members)} chain(s). "
                "With warm_start=True, fit again to add to them.",
                InterruptedFitWarning,
                stacklevel=4,
            )
        self._keep(settings, coding, verdict, members, table, centre, scale)
        self._one_output = one_output
        self._warn_of_drift(plan)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Posterior mean (M,) or (M, K); with `return_std`, also the standard deviation of a new observation."""
        if not return_std:
            return self._shaped(self._means(*self._checked(X)))
        mean, deviation = self._from_mixtures(X, lambda mixture: (mixture.mean, np.sqrt(mixture.variance)))
        return self._shaped(mean), self._shaped(deviation)

    def predict_uncertainty(self, X: Any) -> Uncertainty:
        """Standard deviations, each shaped like the prediction: of the model, of the noise, and of both together."""
        model, noise = self._from_mixtures(
            X,
            lambda mixture: (
                mixture.model_variance,
                np.broadcast_to(mixture.noise_variance, mixture.model_variance.shape),
            ),
        )
        return Uncertainty(*(self._shaped(np.sqrt(variance)) for variance in (model, noise, model + noise)))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Bounds, each shaped like the prediction, between which a new observation falls with this probability."""
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage={coverage}: give a probability between 0 and 1, such as 0.9.")
        bounds = (0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage)
        lower, upper = self._from_mixtures(X, lambda mixture: tuple(mixture.quantile(q) for q in bounds))
        return self._shaped(lower), self._shaped(upper)

    def predict_quantiles(self, X: Any, quantiles: Sequence[float] = (0.05, 0.5, 0.95)) -> Array:
        """Quantiles of a new observation, (M, Q) or (M, Q, K)."""
        levels = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
        if levels.ndim != 1 or not ((levels > 0.0) & (levels < 1.0)).all():
            raise ValueError(f"quantiles={quantiles!r}: give probabilities between 0 and 1, such as (0.05, 0.95).")
        values = self._from_mixtures(X, lambda mixture: tuple(mixture.quantile(float(q)) for q in levels))
        stacked = np.stack(values, axis=1)
        return stacked[:, :, 0] if self._one_output else stacked

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> Array:
        """Draws of new observations, (M, n) or (M, n, K)."""
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        (draws,) = self._from_mixtures(X, lambda mixture: (mixture.sample(n_samples, rng),))
        return draws[:, :, 0] if self._one_output else draws

    def _pack_fit(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        arrays: dict[str, NDArray[Any]] = {"spread.knots": self.spread_.knots, "spread.logs": self.spread_.logs}
        arrays |= {f"history.{c}": history for c, history in enumerate(self.history_)}
        for g, group in enumerate(self.posterior_.groups):
            arrays |= pack_draws(group, f"draws.{g}")
        entries = {
            "groups": len(self.posterior_.groups),
            "chains": len(self.history_),
            "degrees_of_freedom": json_number(self.posterior_.degrees_of_freedom),
            "missing": self.missing_,
            "shares": self.shares_,
            "convergence": {name: json_number(value) for name, value in self.convergence_.items()},
        }
        return entries, arrays

    def _unpack_fit(self, header: Section, arrays: Arrays, outputs: int) -> None:
        numbers = range(header.whole("groups", 1, len(arrays.left)))
        groups = tuple(unpack_draws(self.encoding_, outputs, arrays, f"draws.{g}") for g in numbers)
        df = header.number("degrees_of_freedom")
        if not df > 2.0:
            raise header.wrong("degrees_of_freedom", f"is {df}, not above 2")
        chains = range(header.whole("chains", 1, len(arrays.left)))
        self.history_ = [arrays.take(f"history.{c}", (-1, outputs)) for c in chains]
        knots = arrays.take("spread.knots", (outputs, -1))
        self.spread_ = Spread(knots, arrays.take("spread.logs", knots.shape))
        shares, figures = header.section("shares"), header.section("convergence")
        self.shares_ = {name: shares.number(name) for name in shares.entries}
        self.convergence_ = {name: figures.number(name) for name in figures.entries}
        self.missing_ = header.text("missing")
        pmf = None if self.pmf_ is None else self.pmf_.on(self.encoding_)
        self.posterior_ = Posterior(groups, self.encoding_, df, pmf)
        self.cpd_, self._expectation = self.posterior_.mean, self.posterior_.expectation
        self.noise_ = np.sqrt(self.posterior_.shares @ self.posterior_.noise**2)

    def _shaped(self, values: Array) -> Array:
        return values[:, 0] if self._one_output else values

    def _from_mixtures(self, X: Any, read: Any) -> list[Array]:
        """Arrays that `read` takes from the predictive distribution, put together over parts of the rows."""
        X, n_rows = self._checked(X)
        parts = []
        for _, rows in self._encoded_parts(X, n_rows, _PREDICTED_ROWS):
            each = self.posterior_.each(rows.codes, rows.fractions, self._threads())
            parts.append(read(self.spread_.of(self.posterior_.predictive(each))))
        return [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]

    def _plan(self, n_rows: int) -> Plan:
        plan = _PLANS[self.effort].on(n_rows)
        given = {"chains": self.n_chains, "burn": self.n_burn, "draws": self.n_draws}
        return plan._replace(**{name: value for name, value in given.items() if value is not None})

    def _chosen_settings(self, n_rows: int) -> dict[str, Setting]:
        names = [self.prior] if isinstance(self.prior, str) else list(self.prior)
        unknown = [name for name in names if name != "auto" and name not in SETTINGS]
        if unknown or not names:
            raise ValueError(f"prior={self.prior!r}: give 'auto', or some of {', '.join(map(repr, SETTINGS))}.")
        levels: int | str = self.levels
        if levels == "auto" and self.interpolation == "constant":
            levels = 25  # tensors of different levels have no common ones unless they are linear in between
        shape = n_rows, self.n_features_in_
        return chosen_settings(self.prior, levels, self.smoothness_order, self._degrees_of_freedom, shape)

    @property
    def _degrees_of_freedom(self) -> float:
        return _HEAVY_TAILS if self.noise == "student" else np.inf

    def _pilot(
        self, settings: dict[str, Setting], table: Table, plan: Plan, seeds: np.random.SeedSequence
    ) -> tuple[Coding, Verdict]:
        """How the table becomes levels, and what each setting is worth: all the same where rows are too few to tell."""
        seeds_of_missing, seeds_of_settings, seed_of_pmf = seeds.spawn(3)
        codings = self._codings(table, np.random.default_rng(seed_of_pmf))
        some = list(settings.values())
        for_few_rows = [setting for setting in some if setting.alike > 0.0]
        if for_few_rows:  # cells that are drawn come first
            codings.sort(key=lambda coding: coding.pmf is None)
        equal = Verdict(np.full(len(some), 1.0 / len(some)), Spread.none(table.n_outputs), None)
        rng = np.random.default_rng(seeds)
        pilot = Pilot.on(table, plan, self.rank, self.start, self._degrees_of_freedom, self._run, rng)
        if pilot is None:
            return codings[0], equal
        coding = pilot.best_coding(codings, (for_few_rows or some)[0], seeds_of_missing)
        return coding, equal if len(some) == 1 else pilot.weigh(some, coding, seeds_of_settings)

    def _codings(self, table: Table, rng: np.random.Generator) -> list[Coding]:
        """The treatments of missing predictors to choose from, that for too few rows to tell first."""
        averaged = Coding(self.levels, self.interpolation, "marginalize", merge=self.noise != "student")
        as_level = replace(averaged, missing="level")
        pmf = None
        if isinstance(table, LocalTable) and self.solver == "gibbs":
            pmf = self._fit_pmf(table.X, np.arange(len(table)), table.weights, rng)
        drawn = [] if pmf is None else [replace(averaged, pmf=pmf, heed=heed) for heed in _HEEDS]
        if self.missing == "level":
            return [as_level]
        if self.missing == "marginalize":
            return drawn or [averaged]
        return [averaged, as_level, *drawn] if self.pmf_rank == "auto" else [*(drawn or [averaged]), as_level]

    def _run(self, jobs: list[Job], n_burn: int, n_draws: int, label: str) -> None:
        """Run the chains, with a progress bar; when interrupted, they stop after their sweep."""
        stop = threading.Event()
        thin = max(1, min(4, n_draws // 10))
        sweeps = max(sum(stage.burn + stage.draws for stage in job.stages(n_burn, n_draws, thin)) for job in jobs)
        with chain_progress(bool(self.verbose), len(jobs), sweeps, label) as advance:

            def go_on(chain: Chain) -> bool:
                advance(float(np.mean(chain.residual[-1])))
                return not stop.is_set()

            run_jobs(jobs, n_burn, n_draws, thin, self._threads(), go_on, stop)

    def _keep(
        self,
        settings: dict[str, Setting],
        coding: Coding,
        verdict: Verdict,
        members: list[Member],
        table: Sampled,
        centre: Array,
        scale: Array,
    ) -> None:
        """Keep what predictions and further draws need."""
        self.encoding_, self.posterior_, self.convergence_ = gathered(
            members, verdict.shares, table, self.max_rank, centre, scale, self._degrees_of_freedom, coding.pmf
        )
        self.pmf_, self._expectation = coding.pmf, self.posterior_.expectation
        self.spread_ = verdict.spread.in_units(centre, scale)
        self.cpd_ = self.posterior_.mean
        self.missing_ = coding.missing
        self.shares_ = dict(zip(settings, verdict.shares.tolist(), strict=True))
        self.history_ = [scale / np.sqrt(np.array(member.chain.alpha)) for member in members]
        self.noise_ = np.sqrt(self.posterior_.shares @ self.posterior_.noise**2)
        self.n_iter_ = max(len(member.chain.alpha) for member in members)
        self.n_samples_ = len(table)
        self._settings, self._coding, self._verdict, self._chains = settings, coding, verdict, members
        self._centre, self._scale = centre, scale
        if not self.warm_start:
            for member in members:
                member.chain.cells = None  # large, and only needed to go on

    def _warn_of_drift(self, plan: Plan) -> None:
        if self.convergence_["drift"] > _DRIFT:
            warnings.warn(
                f"Between the halves of the kept sweeps the noise still changed by "
                f"{100 * self.convergence_['drift']:.0f} % of the spread of y: the chains may not have forgotten their "
                f"starts. Raise n_burn (now {plan.burn}), or use effort='best'.",
                ConvergenceWarning,
                stacklevel=5,
            )
