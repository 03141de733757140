"""Fit a posterior to a table: choose priors, run the pilot, run the chains. The table hides where its rows are."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from csid.data.table import LocalTable, Table
from csid.encoding import Interpolation, Missing
from csid.encoding.columns import any_missing
from csid.inference.chains import Collected, Sampling, collect, continue_chains, drop_empty_chains, run, start_chains
from csid.inference.jobs import ChainOptions, Runner
from csid.inference.pilot import Pilot, PilotResult, SamplingPlan
from csid.inference.treatments import Treatment
from csid.inference.whole_numbers import Kind, better_as_categories, candidates
from csid.missing.joint_pmf import JointPMF, fit_joint_pmf
from csid.priors.catalogue import PriorSpec, chosen_priors

Array = NDArray[np.float64]

_LEVELS_WITHOUT_INTERPOLATION = 25


class InterruptedFitWarning(ConvergenceWarning):  # type: ignore[misc]
    """A fit was interrupted, and keeps the draws made until then."""


@dataclass(frozen=True)
class SamplingOptions:
    """Options of a Bayesian fit. See `BayesianCSIDRegressor`.

    likelihood_powers : candidates for the pilot when missing cells are drawn. See `Treatment`.
    whole_numbers : what predictors of few whole numbers are; "auto" to let the pilot decide.
    """

    chains: ChainOptions
    plan: SamplingPlan
    prior: str | Sequence[str] = "auto"
    levels: int | Literal["auto"] = "auto"
    smoothness_order: int | Literal["auto"] = "auto"
    interpolation: Interpolation = "linear"
    missing: Missing | Literal["auto"] = "auto"
    pmf_rank: int | Literal["auto"] = "auto"
    max_rank: int = 2048
    n_chains: int | None = None
    n_burn: int | None = None
    n_draws: int | None = None
    likelihood_powers: tuple[float, ...] = (1.0, 0.25)
    whole_numbers: Kind | Literal["auto"] = "auto"

    def plan_for(self, n_rows: int) -> SamplingPlan:
        """The plan for `n_rows` rows, with the user's settings."""
        plan = self.plan.on(n_rows)
        return plan._replace(
            chains=plan.chains if self.n_chains is None else self.n_chains,
            burn=plan.burn if self.n_burn is None else self.n_burn,
            draws=plan.draws if self.n_draws is None else self.n_draws,
        )

    def priors(self, n_rows: int, n_predictors: int) -> dict[str, PriorSpec]:
        """The priors to weigh, by name."""
        levels: int | Literal["auto"] = self.levels
        if levels == "auto" and self.interpolation == "constant":
            levels = _LEVELS_WITHOUT_INTERPOLATION  # levels of different priors can only be joined by interpolation
        return chosen_priors(self.prior, levels, self.smoothness_order, (n_rows, n_predictors))


def sample(
    table: Table, options: SamplingOptions, runner: Runner, seed: int, earlier: Sampling | None = None
) -> tuple[Sampling, Collected]:
    """Draw from the posterior given a table, or continue the chains of an earlier fit.

    An interrupt (Ctrl-C) keeps the draws made so far, if there are any, with an `InterruptedFitWarning`.
    """
    pilot_seeds, chain_seeds = np.random.SeedSequence(seed).spawn(2)
    plan = options.plan_for(len(table))
    if earlier is None:
        table, sampling = _run_pilot(table, options, runner, pilot_seeds)
        batches, n_burn = start_chains(sampling, table, plan.chains, chain_seeds), plan.burn
    else:
        sampling, n_burn = earlier, 0
        batches = continue_chains(sampling, table, chain_seeds)
    members, pilot = [], sampling.pilot
    try:
        for member in run(batches, table, runner, n_burn, plan.draws):
            members.append(member)
    except KeyboardInterrupt:
        untouched = () if earlier is None else earlier.members[len(members) :]
        members, pilot = drop_empty_chains([*members, *untouched], pilot)
        if not members:
            raise
        warnings.warn(
            f"Interrupted: the fit keeps the draws made so far, of {len(members)} chain(s). "
            "With warm_start=True, fit again to add to them.",
            InterruptedFitWarning,
            stacklevel=5,
        )
    sampling = replace(sampling, members=tuple(members), pilot=pilot)
    return sampling, collect(sampling, table, options.max_rank)


def _run_pilot(
    table: Table, options: SamplingOptions, runner: Runner, seeds: np.random.SeedSequence
) -> tuple[Table, Sampling]:
    """Choose what whole numbers are, and the treatment of missing cells, and weigh the priors.

    Priors have equal weights if rows are too few for a pilot. Returns the table with its categories.
    """
    seeds_of_missing, seeds_of_priors, seed_of_pmf, seeds_of_whole_numbers = seeds.spawn(4)
    specs = options.priors(len(table), len(table.header.names))
    some = list(specs.values())
    for_few_rows = [spec for spec in some if spec.shared_slope > 0.0]
    first = (for_few_rows or some)[0]
    pilot = Pilot.on(table, options.plan_for(len(table)), options.chains, runner, np.random.default_rng(seeds))
    kinds: dict[int, Kind] = {}
    if options.whole_numbers != "number":
        kinds = _kinds(table, options, pilot, first, seeds_of_whole_numbers)
    categories = [n for n, kind in kinds.items() if kind == "category"]
    if categories:
        table = table.as_categories(categories)
        pilot = None if pilot is None else replace(pilot, table=pilot.table.as_categories(categories))
    treatments = _treatments(table, options, runner, np.random.default_rng(seed_of_pmf))
    if for_few_rows:  # the default is then to draw missing cells
        treatments.sort(key=lambda treatment: treatment.pmf is None)
    equal = np.full(len(some), 1.0 / len(some))
    likelihood = options.chains.likelihood
    K = likelihood.n_outputs(table.header.n_outputs)
    result = PilotResult(equal, likelihood.no_calibration(K), None, np.ones(K))
    treatment = treatments[0]
    if pilot is not None:
        treatment = pilot.best_treatment(treatments, first, seeds_of_missing)
        if len(some) > 1:
            result = pilot.weigh(some, treatment, seeds_of_priors)
    by_name = {table.header.names[n]: kind for n, kind in kinds.items()}
    return table, Sampling(specs, treatment, result, options.chains, by_name)


def _kinds(
    table: Table, options: SamplingOptions, pilot: Pilot | None, spec: PriorSpec, seed: np.random.SeedSequence
) -> dict[int, Kind]:
    """What each predictor of few whole numbers is. Numbers, if rows are too few for a pilot to decide."""
    columns = candidates(table)
    categories = columns if options.whole_numbers == "category" else []
    if options.whole_numbers == "auto" and pilot is not None and columns:
        categories = better_as_categories(pilot, columns, _averaged(options), spec, seed)
    return {n: "category" if n in categories else "number" for n in sorted(columns)}


def _averaged(options: SamplingOptions) -> Treatment:
    """The treatment that averages over missing cells."""
    return Treatment(options.levels, options.interpolation, "marginalize", not options.chains.likelihood.augmented)


def _treatments(table: Table, options: SamplingOptions, runner: Runner, rng: np.random.Generator) -> list[Treatment]:
    """The candidate treatments of missing cells, the default first."""
    averaged = _averaged(options)
    as_level = replace(averaged, missing="level")
    if options.missing == "level":
        return [as_level]
    pmf = None
    if isinstance(table, LocalTable) and not options.chains.by_blocks:
        pmf = joint_pmf(table, options.pmf_rank, rng, runner.n_threads)
        if not any_missing(table.X):
            return [replace(averaged, pmf=pmf)]
    powers = () if pmf is None else options.likelihood_powers
    drawn = [replace(averaged, pmf=pmf, likelihood_power=power) for power in powers]
    if options.missing == "marginalize":
        return drawn or [averaged]
    return [averaged, as_level, *drawn] if options.pmf_rank == "auto" else [*(drawn or [averaged]), as_level]


def joint_pmf(
    table: LocalTable, rank: int | Literal["auto"], rng: np.random.Generator, n_threads: int
) -> JointPMF | None:
    """The joint PMF of the predictors; None for rank 1."""
    if rank == 1:
        return None
    rows = table.take(table.train)
    header = table.header
    return fit_joint_pmf(rows.X, len(rows), header.names, rows.weights, header.flags, rank, rng, n_threads)
