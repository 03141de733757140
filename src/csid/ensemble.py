"""The chains of a fit: begun, continued, and gathered into one posterior on common levels."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid._fit.gibbs import Chain
from csid._fit.problem import Problem
from csid.coding import Coding, Sampled, Table
from csid.cpd import CPD
from csid.diagnostics import convergence
from csid.encoding import Encoding
from csid.pilot import Verdict
from csid.pmf import JointPMF
from csid.portfolio import Job, Setting, adapted_prior, chains_per_setting
from csid.posterior import Draws, Posterior

Array = NDArray[np.float64]

_WATCHED_ROWS = 100


class Member(NamedTuple):
    """A chain, the levels that it is on, and the number of the setting that it belongs to."""

    encoding: Encoding
    chain: Chain
    owner: int


def begun(
    settings: Sequence[Setting],
    coding: Coding,
    verdict: Verdict,
    table: Table,
    n_chains: int,
    rank: int,
    start: str,
    seeds: np.random.SeedSequence,
) -> tuple[list[Member], list[Job]]:
    """New chains under the settings that have a share, and the work to do on each."""
    encoder = coding.encoder(table, np.empty(0, np.intp))
    members, jobs = [], []
    counts = chains_per_setting(verdict.shares, n_chains)
    for owner, (setting, count, seed) in enumerate(zip(settings, counts, seeds.spawn(len(settings)), strict=True)):
        for rng in map(np.random.default_rng, seed.spawn(count)):
            encoding, problem, _, pmf, heed = encoder(setting)
            jobs.append(Job.new(problem, setting, verdict.error, rank, rng, start, encoding.scores, pmf, heed))
            members.append(Member(encoding, jobs[-1].chain, owner))
    return members, jobs


def continued(
    members: Sequence[Member],
    settings: Sequence[Setting],
    coding: Coding,
    verdict: Verdict,
    table: Table,
    seeds: np.random.SeedSequence,
) -> list[Job]:
    """What is to do to go on with chains, on these rows."""
    problems: dict[int, Problem] = {}
    jobs = []
    for (encoding, chain, owner), seed in zip(members, seeds.spawn(len(members)), strict=True):
        if owner not in problems:
            problems[owner] = coding.settled(table.on(encoding))
        prior = adapted_prior(settings[owner], problems[owner], verdict.error)
        pmf = None if coding.pmf is None else coding.pmf.on(encoding)
        jobs.append(Job(problems[owner], prior, chain, np.random.default_rng(seed), pmf, coding.heed))
    return jobs


def interrupted(members: Sequence[Member], verdict: Verdict) -> tuple[list[Member], Verdict]:
    """The chains that have draws, and the shares of their settings."""
    left = [member for member in members if member.chain.draws]
    owners = [member.owner for member in left]
    shares = np.where(np.isin(np.arange(len(verdict.shares)), owners), verdict.shares, 0.0)
    return left, verdict._replace(shares=shares / shares.sum() if left else shares)


class Gathered(NamedTuple):
    """Common levels, the posterior on them, and figures of convergence."""

    encoding: Encoding
    posterior: Posterior
    convergence: dict[str, float]


def gathered(
    members: Sequence[Member],
    shares: Array,
    table: Sampled,
    max_rank: int,
    centre: Array,
    scale: Array,
    degrees_of_freedom: float,
    pmf: JointPMF | None = None,
) -> Gathered:
    """The draws of all chains in the units of y, each chain with its part of the share of its setting.

    Of each chain at most so many draws are kept, evenly spaced, that their ranks add up to `max_rank`.
    """
    encodings = list({id(member.encoding): member.encoding for member in members}.values())
    same = all(np.array_equal(encoding.levels, encodings[0].levels) for encoding in encodings)
    common = encodings[0] if same else table.refined(encodings)
    most = max(1, max_rank // sum(member.chain.state.factors.rank for member in members))
    per_setting = np.bincount([member.owner for member in members], minlength=len(shares))
    total = shares[np.unique([member.owner for member in members])].sum()
    groups, ordered, counts = [], [], []
    for encoding in encodings:
        cpds, weights, noise = [], [], []
        for member in (member for member in members if member.encoding is encoding):
            draws = member.chain.draws
            some = np.linspace(0, len(draws) - 1, min(most, len(draws))).round().astype(int)
            cpds += [CPD.of(draws[at].factors, centre, scale) for at in some]
            noise += [scale / np.sqrt(draws[at].alpha) for at in some]
            weights += [shares[member.owner] / (total * per_setting[member.owner] * len(some))] * len(some)
            ordered.append(member)
            counts.append(len(some))
        groups.append(Draws.of(encoding.modes, cpds, np.array(noise), np.array(weights)))
    posterior = Posterior(tuple(groups), common, degrees_of_freedom, None if pmf is None else pmf.on(common))
    watched = table.take(np.arange(min(_WATCHED_ROWS, len(table))))
    rows = common.encode(watched.X, len(watched))
    values = ((posterior.each(rows.codes, rows.fractions) - centre) / scale).reshape(sum(counts), -1)
    ends = np.cumsum(counts)[:-1]
    figures = convergence(
        [member.chain for member in ordered],
        [member.owner for member in ordered],
        np.split(values, ends),
        np.array([part.sum() for part in np.split(posterior.shares, ends)]),
    )
    return Gathered(common, posterior, figures)
