"""Short chains on part of the rows: how missing predictors are best treated, and what share each prior gets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from csid._fit.gibbs import Chain
from csid._fit.problem import Problem, merge_repeated_cells, ordered_by_cell
from csid.encoding import Encoding, Interpolation, Missing, fit_encoding
from csid.estimator import problem_of
from csid.portfolio import Job, Setting, stacking_shares, values_at
from csid.posterior import Mixture
from csid.spread import Spread, fit_spread

Array = NDArray[np.float64]
Run = Callable[[list[Job], int, int, str], None]

_FEWEST_ROWS = 60
_HELD_OUT_SHARE = 0.2
_FEWEST_LEVELS = 32
_FEWEST_LACKING = 5


@dataclass(frozen=True)
class Table:
    """A checked table with standardised targets."""

    X: Any
    targets: Array
    weights: Array
    names: list[str]
    flags: Sequence[bool | None]

    def __len__(self) -> int:
        return len(self.targets)

    def take(self, rows: NDArray[np.intp]) -> "Table":
        return replace(self, X=_safe_indexing(self.X, rows), targets=self.targets[rows], weights=self.weights[rows])


@dataclass(frozen=True)
class Coding:
    """How a table becomes levels.

    levels : most levels of a number, or "auto" for those of the setting, but from 32 on at most one for every 8 rows.
    merge : whether rows on the same cell may become one, as they may when all rows have the same noise.
    """

    levels: int | Literal["auto"]
    interpolation: Interpolation
    missing: Missing
    merge: bool

    def encode(self, table: Table, setting: Setting, train: NDArray[np.intp]) -> tuple[Encoding, Problem]:
        """Levels fitted on some rows, and all rows on them."""
        most = max(_FEWEST_LEVELS, len(train) // 8)
        encoding, rows = fit_encoding(
            table.X,
            len(table),
            table.names,
            table.weights,
            train,
            setting.levels if self.levels != "auto" else min(setting.levels, most),
            self.interpolation,
            self.missing,
            table.flags,
        )
        return encoding, problem_of(encoding, rows, table.weights, table.targets)

    def settled(self, problem: Problem) -> Problem:
        """Repeated cells merged, and the rows in an order of their own."""
        return ordered_by_cell(merge_repeated_cells(problem) if self.merge else problem)


class Plan(NamedTuple):
    """How much is sampled: chains, sweeps, most rows and largest rank of the pilot; chains and sweeps of the fit."""

    pilot_chains: int
    pilot_burn: int
    pilot_draws: int
    pilot_rows: int
    pilot_rank: int
    chains: int
    burn: int
    draws: int


class Verdict(NamedTuple):
    """What a pilot found, of standardised targets.

    shares : (S,) of the settings; spread : of predictions; error : (K,) their mean squared error, if known.
    """

    shares: Array
    spread: Spread
    error: Array | None


@dataclass(frozen=True)
class Pilot:
    """Short chains on some rows of a table, of which the last fifth is held out.

    rank, start : as for the fit; run : runs jobs for some sweeps, keeping the draws of the later ones.
    """

    table: Table
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

    @property
    def n_train(self) -> int:
        return len(self.table) - int(_HELD_OUT_SHARE * len(self.table))

    @property
    def truth(self) -> Array:
        return self.table.targets[self.n_train :]

    def _errors(self, predicted: Array) -> Array:
        """Mean squared errors (K,) on the held-out rows."""
        weights = self.table.weights[self.n_train :]
        return np.asarray(np.average((self.truth - predicted) ** 2, axis=0, weights=weights))

    def _sampled(
        self,
        tries: Sequence[tuple[Coding, Setting]],
        error: Array | None,
        seeds: Sequence[np.random.SeedSequence],
        label: str,
    ) -> list[tuple[list[Chain], Array]]:
        """For each try, its chains and the values (draws, rows, K) of their draws at the held-out rows."""
        train, rest = np.arange(self.n_train), np.arange(self.n_train, len(self.table))
        jobs, held_out = [], []
        for (coding, setting), seed in zip(tries, seeds, strict=True):
            _, problem = coding.encode(self.table, setting, train)
            held_out.append(problem.take(rest))
            problem = coding.settled(problem.take(train))
            generators = map(
                np.random.default_rng, seed.generate_state(2 * self.plan.pilot_chains).reshape(-1, 2).tolist()
            )
            jobs.append([Job.new(problem, setting, error, self.rank, rng, self.start) for rng in generators])
        self.run([job for group in jobs for job in group], self.plan.pilot_burn, self.plan.pilot_draws, label)
        groups = [[job.chain for job in group] for group in jobs]
        return [
            (chains, np.concatenate([values_at(problem, chain) for chain in chains]))
            for chains, problem in zip(groups, held_out, strict=True)
        ]

    def best_missing(self, coding: Coding, setting: Setting, seed: np.random.SeedSequence) -> Missing:
        """Which treatment of missing predictors predicts better the held-out rows that lack some.

        The first, the paper's, where too few rows lack any to tell.
        """
        _, problem = coding.encode(self.table, setting, np.arange(self.n_train))
        lacking = (problem.codes == problem.levels).any(axis=1)[self.n_train :]
        if np.count_nonzero(lacking) < _FEWEST_LACKING:
            return "marginalize"
        treatments: tuple[Missing, ...] = ("marginalize", "level")
        tries = [(replace(coding, missing=missing), setting) for missing in treatments]
        sampled = self._sampled(tries, None, [seed, seed], "chains on missing predictors")
        weights = self.table.weights[self.n_train :][lacking]
        errors = [weights @ ((self.truth - values.mean(axis=0))[lacking] ** 2).sum(axis=1) for _, values in sampled]
        return treatments[int(np.argmin(errors))]

    def weigh(self, settings: Sequence[Setting], coding: Coding, seeds: np.random.SeedSequence) -> Verdict:
        """Shares by stacking. Settings without caution come first; the others heed the least of their errors."""
        chains: dict[int, list[Chain]] = {}
        values: dict[int, Array] = {}
        error: Array | None = None
        own_seeds = seeds.spawn(len(settings))
        for careful in (False, True):
            stage = [at for at, setting in enumerate(settings) if (setting.caution > 0.0) == careful]
            if not stage:
                continue
            tries = [(coding, settings[at]) for at in stage]
            sampled = self._sampled(tries, error, [own_seeds[at] for at in stage], "pilot chains")
            chains |= {at: group for at, (group, _) in zip(stage, sampled, strict=True)}
            values |= {at: each for at, (_, each) in zip(stage, sampled, strict=True)}
            if error is None:
                error = min((self._errors(values[at].mean(axis=0)) for at in stage), key=np.sum)
        everything = [values[at] for at in range(len(settings))]
        means = np.array([each.mean(axis=0) for each in everything])
        shares = stacking_shares(means, self.truth, self.table.weights[self.n_train :])
        predictive = Mixture(
            np.concatenate(everything),
            np.array(
                [1.0 / np.sqrt(draw.alpha) for at in range(len(settings)) for one in chains[at] for draw in one.draws]
            )[:, None, :],
            np.concatenate(
                [np.full(len(each), share / len(each)) for share, each in zip(shares, everything, strict=True)]
            ),
            self.degrees_of_freedom,
        )
        return Verdict(shares, fit_spread(predictive, self.truth), self._errors(predictive.mean))
