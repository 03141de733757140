"""The pilot: short chains on part of the rows, to choose the treatment of missing cells and weigh the priors."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid.data.table import LocalTable, Table, present
from csid.fitted.accuracy import AnyAccuracy, accuracy_of, held_out_accuracy
from csid.inference.held_out_draws import HeldOutDraws
from csid.inference.jobs import ChainOptions, Job, Runner, model_of, new_job
from csid.inference.stacking import chains_per_prior, largest_weights, stack_densities, stack_means
from csid.inference.treatments import EncodedFold, FoldEncoder, Treatment
from csid.likelihoods import Likelihood
from csid.likelihoods.calibration import as_noise_calibration, fit_imputation_factor
from csid.likelihoods.mixture import Mixture
from csid.likelihoods.predictive import Predictive, PredictiveCalibration
from csid.priors.catalogue import PriorSpec, weights_for_few_rows

Array = NDArray[np.float64]

_FEWEST_ROWS = 40
_PARTS = 5
_FEWEST_INCOMPLETE = 5
_LARGEST_GAIN = 0.5
_FEWEST_CHAINS, _FEWEST_DRAWS = 2, 6
_STANDARD_ERRORS = 2.0
_FEWEST_TO_CALIBRATE, _HIDDEN_ROWS = 50, 500


class PilotPlan(NamedTuple):
    """The size of the pilot.

    chains, burn, draws : for each prior; rows, rank : the most rows, and the largest rank.
    held_out : the number of held-out rows to reach, by holding out one fifth after another.
    """

    chains: int
    burn: int
    draws: int
    rows: int
    rank: int
    held_out: int


class SamplingPlan(NamedTuple):
    """The size of a Bayesian fit.

    chains, burn, draws : of the fit.
    rows : with more rows than this there are fewer chains and draws, because chains then differ less.
    """

    pilot: PilotPlan
    chains: int
    burn: int
    draws: int
    rows: int

    def on(self, n_rows: int) -> "SamplingPlan":
        """The plan for a fit to `n_rows` rows."""
        excess = max(1.0, n_rows / self.rows)
        return self._replace(
            chains=max(min(_FEWEST_CHAINS, self.chains), round(self.chains / math.sqrt(excess))),
            draws=max(min(_FEWEST_DRAWS, self.draws), round(self.draws / excess)),
        )


class PilotResult(NamedTuple):
    """The result of a pilot, for standardised targets.

    weights : (S,) stacking weights of the priors; error : (K,) held-out mean squared error, if known.
    imputation_factor : (K,) calibration factor of the deviations of the draws from their mean, in incomplete rows.
    accuracy : of the stacked predictions of the pilot, if it had held-out rows.
    """

    weights: Array
    calibration: PredictiveCalibration
    error: Array | None
    imputation_factor: Array
    accuracy: AnyAccuracy | None = None


class Trial(NamedTuple):
    """A prior to try on the folds of a table, with an encoder for each fold. likelihood_power : see `Treatment`."""

    encoders: Sequence[FoldEncoder]
    spec: PriorSpec
    likelihood_power: float
    seed: np.random.SeedSequence


@dataclass(frozen=True)
class Pilot:
    """Short chains on some rows of a table with one fifth held out; on a short table, several fifths in turn.

    options : of the fit, with a rank that may be lower; chains : the number of chains of the fit.
    """

    table: LocalTable
    plan: PilotPlan
    options: ChainOptions
    chains: int
    runner: Runner

    @classmethod
    def on(
        cls, table: Table, plan: SamplingPlan, options: ChainOptions, runner: Runner, rng: np.random.Generator
    ) -> "Pilot | None":
        """A pilot on randomly drawn rows; None for fewer than 40 rows."""
        if len(table) < _FEWEST_ROWS:
            return None
        lower = options._replace(rank=min(options.rank, plan.pilot.rank))
        return cls(table.sampled(plan.pilot.rows, rng), plan.pilot, lower, plan.chains, runner)

    @property
    def likelihood(self) -> Likelihood:
        return self.options.likelihood

    @cached_property
    def folds(self) -> list[NDArray[np.intp]]:
        """The held-out rows of each fold, a fifth of the rows each."""
        parts = np.array_split(np.arange(len(self.table)), _PARTS)
        return parts[: math.ceil(self.plan.held_out / len(parts[0]))]

    @cached_property
    def held_out(self) -> NDArray[np.intp]:
        return np.concatenate(self.folds)

    @property
    def truth(self) -> Array:
        return self.table.targets[self.held_out]

    @property
    def row_weights(self) -> Array:
        return self.table.weights[self.held_out]

    def best_treatment(
        self, treatments: Sequence[Treatment], spec: PriorSpec, seed: np.random.SeedSequence
    ) -> Treatment:
        """The treatment that best predicts incomplete rows, by two-fold cross-validation over these.

        The first treatment if there are fewer than 5 incomplete rows. Under a prior for few rows, also the first unless
        another is better by two standard errors.
        """
        encoding = treatments[0].encoder(self.table)(spec).encoding
        codes = encoding.encode(self.table.X, len(self.table)).codes
        incomplete = np.flatnonzero((codes == encoding.levels).any(axis=1))
        if len(incomplete) < _FEWEST_INCOMPLETE or len(treatments) == 1:
            return treatments[0]
        folds = [incomplete[::2], incomplete[1::2]]
        trials = [self._trial(treatment, folds, spec, seed) for treatment in treatments]
        rows = np.concatenate(folds)
        truth, weights = self.table.targets[rows], self.table.weights[rows]
        found = self._draws(trials, None, "chains on missing predictors")
        losses = np.array([weights * self._losses(each, truth) for each in found])
        gains = (losses[0] - losses).sum(axis=1)
        standard_errors = np.sqrt(len(rows)) * (losses[0] - losses).std(axis=1)
        best = int(np.argmax(gains))
        clearly = gains[best] >= _STANDARD_ERRORS * standard_errors[best]
        return treatments[best] if spec.shared_slope == 0.0 or clearly else treatments[0]

    def losses(self, trials: Sequence[Trial], label: str) -> Array:
        """Losses (T, R) of the held-out rows under each trial, times their weights."""
        return np.array(
            [self.row_weights * self._losses(each, self.truth) for each in self._draws(trials, None, label)]
        )

    def weigh(self, specs: Sequence[PriorSpec], treatment: Treatment, seeds: np.random.SeedSequence) -> PilotResult:
        """Stacking weights of the priors. Priors that use the held-out error run last, with the best error so far."""
        own_seeds = seeds.spawn(len(specs))
        first = self._trial(treatment, self.folds, specs[0], seeds)
        incomplete = len(present(first.encoders[0](specs[0]).held_out).cells.incomplete) * len(self.folds)
        calibrated = incomplete >= _FEWEST_TO_CALIBRATE or self.likelihood.latent
        hide = 0 if calibrated else math.ceil(_HIDDEN_ROWS / len(self.folds))
        different = _distinct(specs, first.encoders[0], self.likelihood)
        draws: dict[int, HeldOutDraws] = {}
        error: Array | None = None
        for informed in (False, True):
            stage = [at for at in different if self._needs_error(specs[at]) == informed]
            if not stage:
                continue
            trials = [first._replace(spec=specs[at], seed=own_seeds[at]) for at in stage]
            found = self._draws(trials, error, "pilot chains", hide)
            draws |= dict(zip(stage, found, strict=True))
            if error is None and self.likelihood.noise_prior:
                error = min((self._errors(each, each.mixture(self.likelihood)) for each in found), key=np.sum)
        each = [draws[at] for at in different]
        weights = np.zeros(len(specs))
        weights[different] = self._stacking_weights(each, weights_for_few_rows([specs[at] for at in different]))
        counts = [len(one.values) for one in each]
        of_draws = np.repeat(weights[different] / counts, counts)
        joined = HeldOutDraws.join_draws(each)
        if self.likelihood.latent:
            return self._of_latent(weights, joined.predictive(self.likelihood, of_draws))
        predictive = joined.mixture(self.likelihood, of_draws)
        error = self._errors(joined, predictive)
        fractions = joined.noise_fractions(predictive)
        means = np.array([one.mean for one in each])
        gain = self._gain(means, weights[different], error, fractions) * fractions.mean(axis=0)
        narrower = np.sqrt(1.0 - gain)
        calibration = as_noise_calibration(self.likelihood.fit_calibration(predictive, self.truth, fractions))
        rows = self._versions(hide) if hide else np.flatnonzero(joined.incomplete)
        imputed = joined.take(rows)._replace(values=joined.hidden) if hide else joined.take(rows)
        factor = fit_imputation_factor(imputed.mixture(self.likelihood, of_draws), self.truth[rows], calibration)
        widened = predictive.widened(np.where(joined.incomplete[:, None], factor, 1.0))
        accuracy = accuracy_of(widened, self.truth, self.row_weights, self.likelihood, fractions)
        return PilotResult(weights, calibration.times(narrower), error, factor, accuracy)

    def _needs_error(self, spec: PriorSpec) -> bool:
        """Whether a prior uses the held-out error of other priors."""
        return self.likelihood.noise_prior and spec.noise_prior_weight > 0.0

    def _of_latent(self, weights: Array, predictive: Predictive) -> PilotResult:
        """The result for latent targets, which have no squared errors. Draws at incomplete rows keep their variance."""
        K = self.likelihood.n_outputs(self.truth.shape[1])
        calibration = self.likelihood.fit_calibration(predictive, self.truth, self.row_weights[:, None])
        accuracy = held_out_accuracy(predictive, self.truth, self.row_weights, self.likelihood)
        return PilotResult(weights, calibration, None, np.ones(K), accuracy)

    def _versions(self, hide: int) -> NDArray[np.intp]:
        """For each version with hidden cells, the held-out row that it is a version of."""
        starts = np.cumsum([0, *(len(fold) for fold in self.folds[:-1])])
        pairs = zip(starts, self.folds, strict=True)
        return np.concatenate([start + np.arange(hide) % len(fold) for start, fold in pairs])

    def _trial(
        self,
        treatment: Treatment,
        folds: Sequence[NDArray[np.intp]],
        spec: PriorSpec,
        seed: np.random.SeedSequence,
    ) -> Trial:
        encoders = [treatment.encoder(self.table.holding_out(fold)) for fold in folds]
        return Trial(encoders, spec, treatment.likelihood_power, seed)

    def _draws(self, trials: Sequence[Trial], error: Array | None, label: str, hide: int = 0) -> list[HeldOutDraws]:
        """The draws of each trial, chain by chain, at the held-out rows of all its folds.

        error : (K,) held-out mean squared error, if known. All trials have the same number of folds.
        hide : the number of versions of the rows of each fold to predict with hidden cells.
        """
        jobs: list[list[Job]] = []
        used: list[tuple[EncodedFold, int]] = []
        for encoders, spec, power, seed in trials:
            numbers = seed.generate_state(2 * len(encoders) * self.plan.chains).reshape(len(encoders), -1, 2)
            for encoder, of_fold in zip(encoders, numbers.tolist(), strict=True):
                fold = encoder(spec)
                model = model_of(fold, spec, self.likelihood, error, power)
                generators = map(np.random.default_rng, of_fold)
                jobs.append([new_job(fold, spec, self.options, model, rng) for rng in generators])
                used.append((fold, of_fold[0][0]))
        self.runner.run([job for group in jobs for job in group], self.plan.burn, self.plan.draws, label)
        by_fold = [HeldOutDraws.at(fold, group, hide, seed) for (fold, seed), group in zip(used, jobs, strict=True)]
        n_folds = len(trials[0].encoders)
        return [HeldOutDraws.join_rows(by_fold[at : at + n_folds]) for at in range(0, len(by_fold), n_folds)]

    def _errors(self, draws: HeldOutDraws, predictive: Mixture) -> Array:
        """Mean squared errors (K,) on the held-out rows, without the variance over missing cells."""
        noise = draws.noise_fractions(predictive)
        return self._average((self.truth - predictive.mean) ** 2, noise)

    def _average(self, squares: Array, fractions: Array) -> Array:
        """Means (K,) of squares (R, K) of which a fraction (R, K) is expected to be noise, without the rest."""
        weights = self.row_weights[:, None] * fractions
        return np.asarray((weights * fractions * squares).sum(axis=0) / weights.sum(axis=0))

    def _losses(self, draws: HeldOutDraws, truth: Array) -> Array:
        """Losses (R,) of held-out rows, by which treatments are compared."""
        if self.likelihood.held_out_score == "squared_error":
            return np.asarray(((truth - draws.mean) ** 2).sum(axis=1))
        return -draws.log_density(self.likelihood, truth)

    def _stacking_weights(self, each: Sequence[HeldOutDraws], target: Array | None) -> Array:
        """Stacking weights of the priors. each : the draws of each prior; target : weights to shrink towards."""
        if self.likelihood.held_out_score == "squared_error":
            means = np.array([one.mean for one in each])
            return largest_weights(stack_means(means, self.truth, self.row_weights, target), self.chains)
        densities = np.array([one.log_density(self.likelihood, self.truth) for one in each])
        return largest_weights(stack_densities(densities, self.row_weights, target), self.chains)

    def _gain(self, means: Array, weights: Array, error: Array, fractions: Array) -> Array:
        """The fraction (K,) by which the squared error falls because the fit has more chains than the pilot.

        means : (S, R, K) predictions of the priors, with these weights; fractions : see `_average`. With c chains of a
        prior in the pilot and n in the fit, the variance of the stacked mean falls by sum(w^2 (1 - c / n)) times the
        variance of a prior's mean in the pilot, which is estimated by the variance between priors.
        """
        some = weights > 0.0
        if some.sum() == 1:
            return np.zeros(len(error))
        w, of_priors = weights[some], means[some]
        deviations = of_priors - np.tensordot(w, of_priors, 1)
        between = self._average(np.tensordot(w, deviations**2, 1), fractions) / (1.0 - w @ w)
        more = 1.0 - self.plan.chains / np.array(chains_per_prior(w, self.chains))
        return np.asarray(np.clip(between * (w**2 @ more) / np.maximum(error, 1e-12), 0.0, _LARGEST_GAIN))


def _distinct(specs: Sequence[PriorSpec], encoder: FoldEncoder, likelihood: Likelihood) -> list[int]:
    """Indices of the priors to try: the first of those that are equal and have the same levels on this table."""
    found: dict[tuple[PriorSpec, tuple[int, ...]], int] = {}
    for at, spec in enumerate(specs):
        levels = tuple(encoder(spec).encoding.levels.tolist())
        informed = spec.noise_prior_weight if likelihood.noise_prior else 0.0
        found.setdefault((replace(spec, summary="", levels=0, max_rank=0, noise_prior_weight=informed), levels), at)
    return list(found.values())
