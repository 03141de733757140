"""Short chains on part of the rows: how missing predictors are best treated, and what share each prior gets."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid._fit.gibbs import Chain
from csid._fit.missing_cells import LevelPMF
from csid._fit.problem import Problem
from csid.coding import Coding, Encoder, LocalTable, Table
from csid.portfolio import (
    Job,
    Setting,
    chains_per_setting,
    leaning,
    stacking_shares,
    strongest,
    values_at,
)
from csid.posterior import Mixture
from csid.spread import Spread, fit_spread

Array = NDArray[np.float64]
Run = Callable[[list[Job], int, int, str], None]

_FEWEST_ROWS = 40
_PARTS = 5
_FEWEST_LACKING = 5
_LARGEST_GAIN = 0.5
_FEWEST_CHAINS, _FEWEST_DRAWS = 2, 6
_DOUBT = 2.0


class Plan(NamedTuple):
    """How much is sampled.

    pilot_chains, pilot_burn, pilot_draws : chains of each prior in the pilot, and their sweeps.
    pilot_rows, pilot_rank : most rows, and largest rank, of the pilot.
    pilot_held_out : rows to hold out at least; a fifth at a time is held out until there are as many.
    chains, burn, draws : chains of the fit, and their sweeps.
    rows : of the fit, up to which that much is sampled. With more rows it is less: each says less that is new, and
        chains differ less.
    """

    pilot_chains: int
    pilot_burn: int
    pilot_draws: int
    pilot_rows: int
    pilot_rank: int
    pilot_held_out: int
    chains: int
    burn: int
    draws: int
    rows: int

    def on(self, n_rows: int) -> "Plan":
        """The plan for a fit to so many rows."""
        excess = max(1.0, n_rows / self.rows)
        return self._replace(
            chains=max(min(_FEWEST_CHAINS, self.chains), round(self.chains / math.sqrt(excess))),
            draws=max(min(_FEWEST_DRAWS, self.draws), round(self.draws / excess)),
        )


class Sampled(NamedTuple):
    """What the draws of some chains say of the R held-out rows.

    values : (D, R, K); noise : (D, R, K) its scales.
    """

    values: Array
    noise: Array

    @classmethod
    def at(cls, rows: Problem, chains: Sequence[Chain], pmf: LevelPMF | None) -> "Sampled":
        values = values_at(rows, chains, pmf)
        noise = np.array([1.0 / np.sqrt(draw.alpha) for chain in chains for draw in chain.draws])
        return cls(values, np.broadcast_to(noise[:, None, :], values.shape))

    @classmethod
    def beside(cls, parts: Sequence["Sampled"]) -> "Sampled":
        """What as many draws say of the rows of all parts."""
        return cls(*(np.concatenate(arrays, axis=1) for arrays in zip(*parts, strict=True)))

    @property
    def mean(self) -> Array:
        return np.asarray(self.values.mean(axis=0))


class Verdict(NamedTuple):
    """What a pilot found, of standardised targets.

    shares : (S,) of the settings; spread : of predictions; error : (K,) their mean squared error, if known.
    """

    shares: Array
    spread: Spread
    error: Array | None


@dataclass(frozen=True)
class Pilot:
    """Short chains on some rows of a table, of which a fifth is held out; of a short table, several fifths in turn.

    rank, start : as for the fit; run : runs jobs for some sweeps, keeping the draws of the later ones.
    """

    table: LocalTable
    plan: Plan
    rank: int
    start: str
    degrees_of_freedom: float
    run: Run

    @classmethod
    def on(
        cls,
        table: Table,
        plan: Plan,
        rank: int,
        start: str,
        degrees_of_freedom: float,
        run: Run,
        rng: np.random.Generator,
    ) -> "Pilot | None":
        """A pilot on rows drawn at random; none where they are too few to tell anything."""
        if len(table) < _FEWEST_ROWS:
            return None
        some = table.take(rng.permutation(len(table))[: plan.pilot_rows])
        return cls(some, plan, min(rank, plan.pilot_rank), start, degrees_of_freedom, run)

    @cached_property
    def folds(self) -> list[NDArray[np.intp]]:
        """Rows that are held out, a fifth at a time."""
        parts = np.array_split(np.arange(len(self.table)), _PARTS)
        return parts[: math.ceil(self.plan.pilot_held_out / len(parts[0]))]

    @cached_property
    def held_out(self) -> NDArray[np.intp]:
        return np.concatenate(self.folds)

    @property
    def truth(self) -> Array:
        return self.table.targets[self.held_out]

    @property
    def weights(self) -> Array:
        return self.table.weights[self.held_out]

    def _errors(self, predicted: Array) -> Array:
        """Mean squared errors (K,) on the held-out rows."""
        return np.asarray(np.average((self.truth - predicted) ** 2, axis=0, weights=self.weights))

    def _sampled(
        self,
        tries: Sequence[tuple[Sequence[Encoder], Setting]],
        error: Array | None,
        seeds: Sequence[np.random.SeedSequence],
        label: str,
    ) -> list[Sampled]:
        """The draws of each try, chain by chain; those at the rows of different folds stand side by side.

        tries : for each an encoder per fold, and a setting; all have as many folds.
        """
        jobs: list[list[Job]] = []
        held_out: list[tuple[Problem, LevelPMF | None]] = []
        for (encoders, setting), seed in zip(tries, seeds, strict=True):
            numbers = seed.generate_state(2 * len(encoders) * self.plan.pilot_chains).reshape(len(encoders), -1, 2)
            for encoder, of_fold in zip(encoders, numbers.tolist(), strict=True):
                encoded = encoder(setting)
                generators = map(np.random.default_rng, of_fold)
                given = (encoded.train, setting, error, self.rank)
                on_levels = (encoded.encoding.scores, encoded.pmf, encoded.heed)
                jobs.append([Job.new(*given, rng, self.start, *on_levels) for rng in generators])
                held_out.append((encoded.held_out, encoded.pmf))
        self.run([job for group in jobs for job in group], self.plan.pilot_burn, self.plan.pilot_draws, label)
        pairs = zip(held_out, jobs, strict=True)
        by_fold = [Sampled.at(rows, [job.chain for job in group], pmf) for (rows, pmf), group in pairs]
        n_folds = len(tries[0][0])
        return [Sampled.beside(by_fold[at : at + n_folds]) for at in range(0, len(by_fold), n_folds)]

    def best_coding(self, codings: Sequence[Coding], setting: Setting, seed: np.random.SeedSequence) -> Coding:
        """Which treatment of missing predictors predicts best the rows that lack some, half of them held out in turn.

        The first where too few rows lack any to tell; and under a setting for few rows, unless another is better by two
        standard errors.
        """
        encoding = codings[0].encoder(self.table, np.empty(0, np.intp))(setting).encoding
        lacking = np.flatnonzero((encoding.encode(self.table.X, len(self.table)).codes == encoding.levels).any(axis=1))
        if len(lacking) < _FEWEST_LACKING or len(codings) == 1:
            return codings[0]
        folds = [lacking[::2], lacking[1::2]]
        tries = [([each.encoder(self.table, fold) for fold in folds], setting) for each in codings]
        sampled = self._sampled(tries, None, [seed] * len(codings), "chains on missing predictors")
        judges = np.concatenate(folds)
        truth, weights = self.table.targets[judges], self.table.weights[judges]
        errors = np.array([weights * ((truth - each.mean) ** 2).sum(axis=1) for each in sampled])
        gains = (errors[0] - errors).sum(axis=1)
        chance = np.sqrt(len(judges)) * (errors[0] - errors).std(axis=1)
        best = int(np.argmax(gains))
        return codings[0] if setting.alike > 0.0 and gains[best] < _DOUBT * chance[best] else codings[best]

    def weigh(self, settings: Sequence[Setting], coding: Coding, seeds: np.random.SeedSequence) -> Verdict:
        """Shares by stacking. Settings without caution come first; the others heed the least of their errors."""
        encoders = [coding.encoder(self.table, fold) for fold in self.folds]
        own_seeds = seeds.spawn(len(settings))
        different = _different(settings, encoders[0])
        sampled: dict[int, Sampled] = {}
        error: Array | None = None
        for careful in (False, True):
            stage = [at for at in different if (settings[at].caution > 0.0) == careful]
            if not stage:
                continue
            tries = [(encoders, settings[at]) for at in stage]
            found = self._sampled(tries, error, [own_seeds[at] for at in stage], "pilot chains")
            sampled |= dict(zip(stage, found, strict=True))
            if error is None:
                error = min((self._errors(each.mean) for each in found), key=np.sum)
        everyone = [sampled[at] for at in different]
        means = np.array([each.mean for each in everyone])
        shares = np.zeros(len(settings))
        lean = leaning([settings[at] for at in different])
        shares[different] = strongest(stacking_shares(means, self.truth, self.weights, lean), self.plan.chains)
        draws = [len(each.values) for each in everyone]
        predictive = Mixture(
            np.concatenate([each.values for each in everyone]),
            np.concatenate([each.noise for each in everyone]),
            np.repeat(shares[different] / draws, draws),
            self.degrees_of_freedom,
        )
        error = self._errors(predictive.mean)
        narrower = np.sqrt(1.0 - self._gain(means, shares[different], error))
        return Verdict(shares, fit_spread(predictive, self.truth).times(narrower), error)

    def _gain(self, means: Array, shares: Array, error: Array) -> Array:
        """What part (K,) of the squared error goes when each setting has the chains of the fit, not those of the pilot.

        means : (S, R, K) of settings with these shares. With c chains of a setting in the pilot and n in the fit, the
        mean over all settings loses sum(s^2 (1 - c / n)) of the variance of a setting's mean in the pilot, which is
        taken to be that between settings.
        """
        some = shares > 0.0
        if some.sum() == 1:
            return np.zeros(len(error))
        s, of_settings = shares[some], means[some]
        deviations = of_settings - np.tensordot(s, of_settings, 1)
        between = np.average(np.tensordot(s, deviations**2, 1), axis=0, weights=self.weights) / (1.0 - s @ s)
        more = 1.0 - self.plan.pilot_chains / np.array(chains_per_setting(s, self.plan.chains))
        return np.asarray(np.clip(between * (s**2 @ more) / np.maximum(error, 1e-12), 0.0, _LARGEST_GAIN))


def _different(settings: Sequence[Setting], encoder: Encoder) -> list[int]:
    """Which settings to try: of those whose prior and whose levels of this table are the same, the first."""
    found: dict[tuple[Setting, tuple[int, ...]], int] = {}
    for at, setting in enumerate(settings):
        levels = tuple(encoder(setting).encoding.levels.tolist())
        found.setdefault((replace(setting, levels=0, most_rank=0), levels), at)
    return list(found.values())
