"""`BayesianCSIDRegressor`: the posterior of the paper's model by Gibbs sampling, under priors that a pilot weighs."""

import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from csid._fit.gibbs import Chain
from csid._fit.problem import Problem, merge_repeated_cells, ordered_by_cell
from csid.cpd import CPD
from csid.diagnostics import convergence
from csid.encoding import Encoding, Interpolation, Missing, fit_encoding, moved_factor, refine
from csid.estimator import TensorRegressor, centre_and_scale, problem_of
from csid.inputs import categorical_flags, check_table, check_targets, check_weights, number_of_rows
from csid.portfolio import (
    SETTINGS,
    Job,
    Setting,
    adapted_prior,
    chains_per_setting,
    chosen_settings,
    run_jobs,
    stacking_shares,
    stretch_of,
    values_at,
)
from csid.posterior import Mixture, Posterior
from csid.progress import chain_progress

Array = NDArray[np.float64]
Effort = Literal["fast", "default", "best"]

_FEWEST_ROWS_FOR_PILOT = 60
_HELD_OUT_SHARE = 0.2
_PREDICTED_ROWS = 1 << 12
_DRIFT = 0.05
_FEWEST_LEVELS = 32
_HEAVY_TAILS = 4.0


class _Plan(NamedTuple):
    """How much is sampled: sweeps and chains of the pilot and of the fit, and most rows of the pilot."""

    pilot_chains: int
    pilot_burn: int
    pilot_draws: int
    pilot_rows: int
    chains: int
    burn: int
    draws: int


_PLANS: dict[Effort, _Plan] = {
    "fast": _Plan(1, 20, 20, 3_000, 3, 40, 32),
    "default": _Plan(1, 40, 40, 5_000, 8, 50, 52),
    "best": _Plan(3, 60, 60, 20_000, 16, 150, 150),
}


class Uncertainty(NamedTuple):
    """Standard deviations of a prediction: what the model does not know, what no model can, and both."""

    model: Array
    noise: Array
    total: Array


@dataclass(frozen=True)
class _Data:
    """A checked table with standardised targets."""

    X: Any
    targets: Array
    weights: Array
    names: list[str]
    flags: Sequence[bool | None]


class BayesianCSIDRegressor(TensorRegressor):
    """Canonical system identification with a posterior: nothing to tune, and intervals.

    The model is that of `CSIDRegressor`, a low-rank tensor with smooth factors. Its factors, weights, bias, smoothness
    and noise are drawn from their posterior by Gibbs sampling. A pilot on part of the rows weighs several priors by how
    well they predict the rest; the prediction is the mean over draws of several chains, kept as one tensor.

    Parameters
    ----------
    rank : int, default=16
        Number of components of each draw.
    levels : int or "auto", default="auto"
        Most levels of a continuous predictor; "auto" leaves it to the priors (32, 64 or 200, but from 32 on
        at most one for every 8 rows).
    prior : "auto", str or list of str, default="auto"
        Priors that the pilot weighs, by name: "medium", "smooth", "stiff", "rough", "fine", "steady", "curved", "near
        one". With a single one there is no pilot.
    smoothness_order : {"auto", 1, 2}, default="auto"
        Differences that are small under the prior: first, second, or as the prior has it.
    effort : {"fast", "default", "best"}, default="default"
        How much is sampled, in the pilot and in the fit.
    n_chains, n_burn, n_draws : int or None, default=None
        Chains, sweeps dropped from the start of each and sweeps after them, instead of those of `effort`.
    noise : {"normal", "student"}, default="normal"
        What the noise is taken to be: "student" has heavy tails (Student's t with 4 degrees of freedom), so that single
        rows far off pull less at the fit.
    start : {"random", "als"}, default="random"
        Where chains start: at random, or at a short fit by alternating least squares.
    max_rank : int, default=2048
        Bound on the rank of the tensor that predicts: fewer draws of each chain are kept, at least one, when `rank`
        times their number exceeds it. The time of a prediction grows with it; its error falls with the number of draws.
    interpolation, categorical_features, missing : as in `CSIDRegressor`.
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
    encoding_ : Encoding
        The levels of each predictor and their marginals.
    shares_ : dict
        Share of each prior in the prediction.
    noise_ : array (K,)
        Scale of the noise: its standard deviation when it is normal.
    convergence_ : dict
        Of the noise's standard deviation: the largest split R-hat over priors, the effective number of draws, and how
        far it still drifted between the halves of the kept sweeps, as a fraction of the spread of y.
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
    _held_out: tuple[Array, Array | None]
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
        "max_rank": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        rank: int = 16,
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
        max_rank: int = 2048,
        interpolation: Interpolation = "linear",
        categorical_features: Any = "from_dtype",
        missing: Missing = "marginalize",
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
        self.max_rank = max_rank
        self.interpolation = interpolation
        self.categorical_features = categorical_features
        self.missing = missing
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "BayesianCSIDRegressor":
        """Draw from the posterior given examples. Interrupted (Ctrl-C), it keeps the draws made so far.

        Parameters
        ----------
        X : data frame (pandas, polars, Arrow) or array, (M, N)
            NaN, None and null are missing cells.
        y : array-like, (M,) or (M, K)
        sample_weight : array-like (M,), optional
            A row of weight 2 counts as two rows.
        """
        continued = self.warm_start and hasattr(self, "cpd_")
        X = check_table(X, self, min_rows=2)
        validate_data(self, X, skip_check_array=True, reset=not continued)
        n_rows = number_of_rows(X)
        y = check_targets(y, n_rows)
        weights = check_weights(sample_weight, n_rows)
        names = self._names()
        targets = y.reshape(n_rows, -1)
        counted = np.flatnonzero(weights)
        if len(counted) < n_rows:
            X, targets, weights = _safe_indexing(X, counted), targets[counted], weights[counted]
        if continued and targets.shape[1] != self.cpd_.n_outputs:
            raise ValueError(
                f"warm_start continues a fit of {self.cpd_.n_outputs} output(s), but y has {targets.shape[1]}: "
                "keep the outputs, or fit anew with warm_start=False."
            )
        centre, scale = (self._centre, self._scale) if continued else centre_and_scale(targets, weights)
        data = _Data(X, (targets - centre) / scale, weights, names, categorical_flags(self.categorical_features, names))
        plan = self._plan()
        seeds = np.random.SeedSequence(check_random_state(self.random_state).randint(2**31))
        pilot_seeds, chain_seeds = seeds.spawn(2)
        if continued:
            settings, shares, (stretch, error) = self._settings, np.array(list(self.shares_.values())), self._held_out
            encodings, jobs, owners = self._continued_jobs(data, error, chain_seeds)
            n_burn = 0
        else:
            settings = self._chosen_settings()
            shares, stretch, error = self._weigh(settings, data, plan, pilot_seeds)
            encodings, jobs, owners = self._new_jobs(settings, shares, data, error, plan, chain_seeds)
            n_burn = plan.burn
        try:
            self._run(jobs, n_burn, plan.draws, "chains")
        except KeyboardInterrupt:
            with_draws = [at for at, job in enumerate(jobs) if job.chain.draws]
            if not with_draws:
                raise
            encodings, owners = [encodings[at] for at in with_draws], [owners[at] for at in with_draws]
            jobs = [jobs[at] for at in with_draws]
            shares = np.where(np.bincount(owners, minlength=len(shares)) > 0, shares, 0.0)
            shares /= shares.sum()
            warnings.warn(
                f"Interrupted: the fit keeps the draws made so far, of {len(jobs)} chain(s). "
                "With warm_start=True, fit again to add to them.",
                ConvergenceWarning,
                stacklevel=3,
            )

        self._keep(settings, shares, stretch, encodings, jobs, owners, data, centre, scale)
        self._held_out = stretch, error
        self._one_output = y.ndim == 1
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

    def _shaped(self, values: Array) -> Array:
        return values[:, 0] if self._one_output else values

    def _from_mixtures(self, X: Any, read: Any) -> list[Array]:
        """Arrays that `read` takes from the predictive distribution, put together over parts of the rows."""
        X, n_rows = self._checked(X)
        parts = [
            read(self.posterior_.predictive(self.posterior_.each(rows.codes, rows.fractions, self._threads())))
            for _, rows in self._encoded_parts(X, n_rows, _PREDICTED_ROWS)
        ]
        return [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]

    def _plan(self) -> _Plan:
        plan = _PLANS[self.effort]
        given = {"chains": self.n_chains, "burn": self.n_burn, "draws": self.n_draws}
        return plan._replace(**{name: value for name, value in given.items() if value is not None})

    def _chosen_settings(self) -> dict[str, Setting]:
        names = [self.prior] if isinstance(self.prior, str) else list(self.prior)
        unknown = [name for name in names if name != "auto" and name not in SETTINGS]
        if unknown or not names:
            raise ValueError(f"prior={self.prior!r}: give 'auto', or some of {', '.join(map(repr, SETTINGS))}.")
        levels: int | str = self.levels
        if levels == "auto" and self.interpolation == "constant":
            levels = 25  # tensors of different levels have no common ones unless they are linear in between
        return chosen_settings(self.prior, levels, self.smoothness_order, self._degrees_of_freedom)

    @property
    def _degrees_of_freedom(self) -> float:
        return _HEAVY_TAILS if self.noise == "student" else np.inf

    def _merged(self, problem: Problem) -> Problem:
        """Repeated cells merged, unless every row has noise of its own scale, and rows in an order of their own."""
        return ordered_by_cell(problem if self.noise == "student" else merge_repeated_cells(problem))

    def _problem(self, setting: Setting, data: _Data, train: NDArray[np.intp]) -> tuple[Encoding, Problem]:
        """Levels fitted on some rows, and all rows on them."""
        encoding, rows = fit_encoding(
            data.X,
            len(data.targets),
            data.names,
            data.weights,
            train,
            setting.levels if self.levels != "auto" else min(setting.levels, max(_FEWEST_LEVELS, len(train) // 8)),
            self.interpolation,
            self.missing,
            data.flags,
        )
        return encoding, problem_of(encoding, rows, data.weights, data.targets)

    def _weigh(
        self, settings: dict[str, Setting], data: _Data, plan: _Plan, seeds: np.random.SeedSequence
    ) -> tuple[Array, Array, Array | None]:
        """The pilot: shares (S,) of the settings, by what factor (K,) their spread is too narrow, and their error (K,).

        Settings without caution come first; the least of their errors on the held-out rows is what the others heed.
        """
        n_rows, K = data.targets.shape
        if len(settings) == 1 or n_rows < _FEWEST_ROWS_FOR_PILOT:
            return np.full(len(settings), 1.0 / len(settings)), np.ones(K), None
        rows = np.random.default_rng(seeds).permutation(n_rows)[: plan.pilot_rows]
        n_train = len(rows) - int(_HELD_OUT_SHARE * len(rows))
        some = _Data(_safe_indexing(data.X, rows), data.targets[rows], data.weights[rows], data.names, data.flags)
        truth, weights = some.targets[n_train:], some.weights[n_train:]
        groups: list[list[Chain]] = [[] for _ in settings]
        each: list[Array] = [np.empty(0)] * len(settings)  # (draws, rows, K): values of each setting's draws
        error: Array | None = None
        own_seeds = seeds.spawn(len(settings))
        for careful in (False, True):
            stage = [at for at, setting in enumerate(settings.values()) if (setting.caution > 0.0) == careful]
            jobs, held_out = [], []
            for at in stage:
                setting = list(settings.values())[at]
                _, problem = self._problem(setting, some, np.arange(n_train))
                train = self._merged(problem.take(np.arange(n_train)))
                held_out.append(problem.take(np.arange(n_train, len(rows))))
                generators = map(np.random.default_rng, own_seeds[at].spawn(plan.pilot_chains))
                jobs.append([Job.new(train, setting, error, self.rank, rng, self.start) for rng in generators])
            if not stage:
                continue
            self._run([job for group in jobs for job in group], plan.pilot_burn, plan.pilot_draws, "pilot chains")
            for at, problem, group in zip(stage, held_out, jobs, strict=True):
                groups[at] = [job.chain for job in group]
                each[at] = np.concatenate([values_at(problem, chain) for chain in groups[at]])
            if error is None:
                errors = [np.average((truth - each[at].mean(axis=0)) ** 2, axis=0, weights=weights) for at in stage]
                error = min(errors, key=np.sum)
        shares = stacking_shares(np.array([values.mean(axis=0) for values in each]), truth, weights)
        predictive = Mixture(
            np.concatenate(each),
            np.array([1.0 / np.sqrt(draw.alpha) for group in groups for chain in group for draw in chain.draws]),
            np.concatenate(
                [np.full(len(values), share / len(values)) for share, values in zip(shares, each, strict=True)]
            ),
            self._degrees_of_freedom,
        )
        missed = np.average((truth - predictive.mean) ** 2, axis=0, weights=weights)
        return shares, stretch_of(predictive, truth), missed

    def _new_jobs(
        self,
        settings: dict[str, Setting],
        shares: Array,
        data: _Data,
        error: Array | None,
        plan: _Plan,
        seeds: np.random.SeedSequence,
    ) -> tuple[list[Encoding], list[Job], list[int]]:
        """Encodings of the settings with a share, their chains, and the setting that each chain belongs to."""
        everyone = np.arange(len(data.targets))
        encodings, jobs, owners = [], [], []
        counts = chains_per_setting(shares, plan.chains)
        for at, (setting, count, seed) in enumerate(
            zip(settings.values(), counts, seeds.spawn(len(settings)), strict=True)
        ):
            if count == 0:
                continue
            encoding, problem = self._problem(setting, data, everyone)
            problem = self._merged(problem)
            for chain_seed in seed.spawn(count):
                encodings.append(encoding)
                owners.append(at)
                jobs.append(Job.new(problem, setting, error, self.rank, np.random.default_rng(chain_seed), self.start))
        return encodings, jobs, owners

    def _continued_jobs(
        self, data: _Data, error: Array | None, seeds: np.random.SeedSequence
    ) -> tuple[list[Encoding], list[Job], list[int]]:
        """The chains of the previous fit, on these rows."""
        problems: dict[int, Problem] = {}
        jobs = []
        settings = list(self._settings.values())
        for (encoding, chain, owner), seed in zip(self._chains, seeds.spawn(len(self._chains)), strict=True):
            if owner not in problems:
                rows = encoding.encode(data.X, len(data.targets))
                problems[owner] = self._merged(problem_of(encoding, rows, data.weights, data.targets))
            prior = adapted_prior(settings[owner], problems[owner], error)
            jobs.append(Job(problems[owner], prior, chain, np.random.default_rng(seed)))
        return [encoding for encoding, _, _ in self._chains], jobs, [owner for _, _, owner in self._chains]

    def _run(self, jobs: list[Job], n_burn: int, n_draws: int, label: str) -> None:
        """Run the chains, with a progress bar; when interrupted, they stop after their sweep."""
        interrupted = threading.Event()
        thin = max(1, min(4, n_draws // 10))
        with chain_progress(bool(self.verbose), len(jobs), n_burn + n_draws, label) as advance:

            def go_on(chain: Chain) -> bool:
                advance(float(np.mean(chain.residual[-1])))
                return not interrupted.is_set()

            run_jobs(jobs, n_burn, n_draws, thin, self._threads(), go_on, interrupted)

    def _keep(
        self,
        settings: dict[str, Setting],
        shares: Array,
        stretch: Array,
        encodings: list[Encoding],
        jobs: list[Job],
        owners: list[int],
        data: _Data,
        centre: Array,
        scale: Array,
    ) -> None:
        """Put the draws of all chains on common levels, and keep what predictions and further draws need."""
        kept = list({id(encoding): encoding for encoding in encodings}.values())
        same = all(np.array_equal(encoding.levels, kept[0].levels) for encoding in kept)
        common = kept[0] if same else refine(kept, data.X, len(data.targets), data.weights)
        most = max(1, self.max_rank // (self.rank * len(jobs)))
        draws, weights, noise = [], [], []
        per_setting = np.bincount(owners, minlength=len(shares))
        for encoding, job, owner in zip(encodings, jobs, owners, strict=True):
            chosen = job.chain.draws[:: -(-len(job.chain.draws) // most)]
            for draw in chosen:
                cpd = CPD.of(draw.factors, centre, scale)
                moved = tuple(
                    moved_factor(A, old, new)
                    for A, old, new in zip(cpd.factors, encoding.modes, common.modes, strict=True)
                )
                draws.append(CPD(moved, cpd.V, cpd.bias, common.marginals))
                weights.append(shares[owner] / (per_setting[owner] * len(chosen)))
                noise.append(scale / np.sqrt(draw.alpha))
        shares_of_draws = np.array(weights) / np.sum(weights)
        self.posterior_ = Posterior(tuple(draws), shares_of_draws, np.array(noise), stretch, self._degrees_of_freedom)
        self.encoding_ = common
        self.cpd_ = self.posterior_.mean
        self.shares_ = dict(zip(settings, shares.tolist(), strict=True))
        self.history_ = [scale / np.sqrt(np.array(job.chain.alpha)) for job in jobs]
        self.convergence_ = convergence([job.chain for job in jobs], owners)
        self.noise_ = np.sqrt(self.posterior_.shares @ self.posterior_.noise**2)
        self.n_iter_ = max(len(job.chain.alpha) for job in jobs)
        self.n_samples_ = len(data.targets)
        self._settings, self._centre, self._scale = settings, centre, scale
        self._chains = list(zip(encodings, (job.chain for job in jobs), owners, strict=True))

    def _warn_of_drift(self, plan: _Plan) -> None:
        if self.convergence_["drift"] > _DRIFT:
            warnings.warn(
                f"Between the halves of the kept sweeps the noise still changed by "
                f"{100 * self.convergence_['drift']:.0f} % of the spread of y: the chains may not have forgotten their "
                f"starts. Raise n_burn (now {plan.burn}), or use effort='best'.",
                ConvergenceWarning,
                stacklevel=4,
            )
