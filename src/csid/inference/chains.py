"""The chains of a fit: start or continue them, and collect their draws into one posterior on common levels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from csid.data.table import Table
from csid.encoding import Encoding
from csid.fitted.posterior import LARGEST_IN_SINGLE, Draws, Posterior
from csid.inference.diagnostics import convergence
from csid.inference.jobs import ChainOptions, Job, Runner, model_of, new_job
from csid.inference.pilot import PilotResult
from csid.inference.stacking import chains_per_prior
from csid.inference.state import Chain
from csid.inference.treatments import Treatment
from csid.inference.whole_numbers import Kind
from csid.priors.catalogue import PriorSpec
from csid.tensor.cpd import CPD

Array = NDArray[np.float64]
T = TypeVar("T")

_WATCHED_ROWS = 100


class Member(NamedTuple):
    """A chain. encoding : its levels; owner : the index of its prior."""

    encoding: Encoding
    chain: Chain
    owner: int


@dataclass(frozen=True)
class Sampling:
    """Everything needed to start chains, and to continue them.

    specs : the priors by name; pilot : their weights, the calibration and the held-out error.
    whole_numbers : what each predictor of few whole numbers is, by name.
    members : the chains so far.
    """

    specs: dict[str, PriorSpec]
    treatment: Treatment
    pilot: PilotResult
    options: ChainOptions
    whole_numbers: dict[str, Kind] = field(default_factory=dict)
    members: tuple[Member, ...] = ()

    @property
    def priors(self) -> list[PriorSpec]:
        return list(self.specs.values())


class ChainBatch(NamedTuple):
    """Chains that run at the same time."""

    members: list[Member]
    jobs: list[Job]


def start_chains(
    sampling: Sampling, table: Table, n_chains: int, seeds: np.random.SeedSequence
) -> Iterator[ChainBatch]:
    """New chains under the priors with a positive weight: all in one batch, or one batch per prior."""
    counts = chains_per_prior(sampling.pilot.weights, n_chains)
    owned = [(owner, seed) for owner, seed in enumerate(seeds.spawn(len(counts))) if counts[owner]]
    for part in _batches(owned, table):
        encoder, batch = sampling.treatment.encoder(table), ChainBatch([], [])
        for owner, seed in part:
            spec = sampling.priors[owner]
            for rng in map(np.random.default_rng, seed.spawn(counts[owner])):
                fold = encoder(spec)
                power, error = sampling.treatment.likelihood_power, sampling.pilot.error
                model = model_of(fold, spec, sampling.options.likelihood, error, power)
                batch.jobs.append(new_job(fold, spec, sampling.options, model, rng))
                batch.members.append(Member(fold.encoding, batch.jobs[-1].chain, owner))
        yield batch


def continue_chains(sampling: Sampling, table: Table, seeds: np.random.SeedSequence) -> Iterator[ChainBatch]:
    """Copies of the chains of an earlier fit, to continue on these rows. If this fit fails, that one is unchanged."""
    members = [member._replace(chain=member.chain.copy()) for member in sampling.members]
    pairs = list(zip(members, seeds.spawn(len(members)), strict=True))
    owners = list(dict.fromkeys(member.owner for member in members))
    for part in _batches(owners, table):
        batch = ChainBatch([], [])
        for owner in part:
            own = [(member, seed) for member, seed in pairs if member.owner == owner]
            fold = sampling.treatment.on(table, own[0][0].encoding)
            power, error = sampling.treatment.likelihood_power, sampling.pilot.error
            model = model_of(fold, sampling.priors[owner], sampling.options.likelihood, error, power)
            for member, seed in own:
                rng, by_blocks = np.random.default_rng(seed), sampling.options.by_blocks
                batch.jobs.append(Job(fold.train, model, member.chain, rng, fold.elsewhere, by_blocks))
                batch.members.append(member)
        yield batch


def _batches(items: Sequence[T], table: Table) -> list[list[T]]:
    return [[item] for item in items] if table.one_at_a_time else [list(items)]


def run(batches: Iterator[ChainBatch], table: Table, runner: Runner, n_burn: int, n_draws: int) -> Iterator[Member]:
    """Run chains. Each is yielded before it runs, so that an interrupt loses no draws."""
    for members, jobs in batches:
        yield from members
        runner.run(jobs, n_burn, n_draws, "chains")
        table.release()


def drop_empty_chains(members: Sequence[Member], pilot: PilotResult) -> tuple[list[Member], PilotResult]:
    """The chains that have draws, with the stacking weights restricted to their priors."""
    remaining = [member for member in members if member.chain.draws]
    owners = [member.owner for member in remaining]
    weights = np.where(np.isin(np.arange(len(pilot.weights)), owners), pilot.weights, 0.0)
    return remaining, pilot._replace(weights=weights / weights.sum() if remaining else weights)


class Collected(NamedTuple):
    """The posterior on common levels, and convergence diagnostics."""

    posterior: Posterior
    convergence: dict[str, float]


def collect(sampling: Sampling, table: Table, max_rank: int) -> Collected:
    """Collect the draws of all chains in the units of y. The chains of a prior split its stacking weight equally.

    max_rank : bound on the sum of the ranks of all draws. Chains are thinned to evenly spaced draws to respect it.
    """
    members, weights, likelihood = sampling.members, sampling.pilot.weights, sampling.options.likelihood
    centre, scale = likelihood.units(table.header.centre, table.header.scale)
    encodings = list({id(member.encoding): member.encoding for member in members}.values())
    same = all(np.array_equal(encoding.levels, encodings[0].levels) for encoding in encodings)
    common = encodings[0] if same else table.refined(encodings)
    ranks = np.array([member.chain.state.factors.rank for member in members])
    numbers = int(ranks @ [member.encoding.levels.sum() for member in members])  # in the factors of one draw of each
    most = max(1, max_rank // int(ranks.sum()))
    half = min(most, max(len(member.chain.draws) for member in members)) * numbers > LARGEST_IN_SINGLE
    per_prior = np.bincount([member.owner for member in members], minlength=len(weights))
    total = weights[np.unique([member.owner for member in members])].sum()
    groups, ordered, counts = [], [], []
    for encoding in encodings:
        cpds, of_draws, parameters = [], [], []
        for member in (member for member in members if member.encoding is encoding):
            draws = member.chain.draws
            some = np.linspace(0, len(draws) - 1, min(most, len(draws))).round().astype(int)
            in_units = [likelihood.in_units(draws[at].factors, draws[at].parameters) for at in some]
            cpds += [CPD.of(factors, centre, scale) for factors in in_units]
            parameters += [likelihood.parameters_in_units(draws[at].parameters, centre, scale) for at in some]
            of_draws += [weights[member.owner] / (total * per_prior[member.owner] * len(some))] * len(some)
            ordered.append(member)
            counts.append(len(some))
        groups.append(Draws.of(encoding.modes, cpds, parameters, np.array(of_draws), half))
    pmf = sampling.treatment.pmf
    joint = None if pmf is None else pmf.on(common)
    posterior = Posterior(tuple(groups), common, likelihood, joint, sampling.pilot.imputation_factor)
    watched = table.first(_WATCHED_ROWS)
    rows = common.encode(watched.X, len(watched))
    standardised = (posterior.expected_values(rows.codes, rows.fractions) - centre) / scale
    ends = np.cumsum(counts)[:-1]
    diagnostics = convergence(
        [_kept_trace(member.chain) for member in ordered],
        [member.owner for member in ordered],
        [np.log([draw.mu for draw in member.chain.draws]).mean(axis=2) for member in ordered],
        np.split(standardised.reshape(sum(counts), -1), ends),
        np.array([part.sum() for part in np.split(posterior.weights, ends)]),
    )
    return Collected(posterior, diagnostics)


def _kept_trace(chain: Chain) -> Array:
    """The trace (sweeps, Q) of a chain from its first kept draw on."""
    return np.array(chain.trace[chain.kept[0] if chain.kept else 0 :])
