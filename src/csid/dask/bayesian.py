"""`DaskBayesianCSIDRegressor`: the exact Gibbs sampler over the partitions of a cluster."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context

from csid._fit.gibbs import COMPONENTS_AT_ONCE, Chain, run_chain
from csid.bayesian import BayesianCSIDRegressor, InterruptedFitWarning
from csid.dask.cluster import Cluster
from csid.dask.estimator import OnDask
from csid.dask.fitting import none_held_out
from csid.dask.partitions import Partitions, is_lazy
from csid.dask.survey import surveyed
from csid.dask.tables import ClusterTable
from csid.encoding import Encoding, Mode
from csid.ensemble import Member, interrupted
from csid.inputs import categorical_flags
from csid.pilot import Plan
from csid.portfolio import Job, Setting, adapted_prior, chains_per_setting
from csid.progress import chain_progress

Array = NDArray[np.float64]

_ROWS_OF_SAMPLE = 60_000
_SWEEPS_TO_ADAPT = 3


class DaskBayesianCSIDRegressor(OnDask, BayesianCSIDRegressor):
    """`BayesianCSIDRegressor` on a Dask cluster.

    The pilot, and the burn-in of the chains, are on 60,000 rows drawn at random, which come to this process. Then every
    sweep reads all rows where they are: draws are from the same posterior as those of the local estimator, not from an
    approximation of it.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        The cluster to work on; None for Dask's current client, or else the scheduler that Dask is set to.
    rank, levels, ... : as in `BayesianCSIDRegressor`, but for what looks at rows one by one, and is refused:
        `noise="student"`, `solver="stochastic"`, `rank` above 32, `pmf_rank` above 1 ("auto" is 1 here) and
        `warm_start`.

    Examples
    --------
    >>> import dask.array as da
    >>> from csid.dask import DaskBayesianCSIDRegressor
    >>> rng = da.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (400, 3), chunks=(200, 3))
    >>> y = da.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2
    >>> model = DaskBayesianCSIDRegressor(rank=4, effort="fast", prior="medium", random_state=0).fit(X, y)
    >>> lower, upper = model.predict_interval(X[:5].compute())
    >>> bool((lower < upper).all())
    True
    """

    local = BayesianCSIDRegressor

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "DaskBayesianCSIDRegressor":
        """Draw from the posterior given examples. Interrupted (Ctrl-C), it keeps the draws made so far.

        Parameters
        ----------
        X : Dask DataFrame, or Dask Array (M, N)
            A table in memory is fitted as by `BayesianCSIDRegressor`.
        y : Dask Series, DataFrame or Array with the partitions of X, (M,) or (M, K)
        sample_weight : Dask Series or Array with the partitions of X, optional
            A row of weight 2 counts as two rows.
        """
        if not is_lazy(X):
            super().fit(X, y, sample_weight)
            return self
        self._refuse(
            noise=self.noise == "student",
            solver=self.solver == "stochastic",
            rank=self.rank > COMPONENTS_AT_ONCE,
            pmf_rank=self.pmf_rank not in ("auto", 1),
            warm_start=self.warm_start,
        )
        parts = Partitions.of(X, y, sample_weight)
        self._begin(parts)
        names = self._names()
        flags = categorical_flags(self.categorical_features, names)
        pilot_seeds, chain_seeds, seed_of_sample = np.random.SeedSequence(self._seed()).spawn(3)
        with Cluster(self.client) as cluster:
            survey = surveyed(cluster, parts, names, flags, none_held_out(parts))
            rng = np.random.default_rng(seed_of_sample)
            table = ClusterTable.of(cluster, parts, survey, flags, _ROWS_OF_SAMPLE, rng)
            plan, settings = self._plan(len(table)), self._chosen_settings(len(table))
            coding, verdict = self._pilot(settings, table.sample, plan, pilot_seeds)
            counts = chains_per_setting(verdict.shares, plan.chains)
            members: list[Member] = []
            try:
                for owner, (setting, seeds) in enumerate(
                    zip(settings.values(), chain_seeds.spawn(len(settings)), strict=True)
                ):
                    modes = survey.table.modes(
                        coding.levels_of(setting, len(table)), self.interpolation, coding.missing
                    )
                    given = (table, modes, setting, plan, verdict.error, seeds.spawn(counts[owner]))
                    for encoding, chain in self._chains_on(*given):
                        members.append(Member(encoding, chain, owner))
            except KeyboardInterrupt:
                members, verdict = interrupted(members, verdict)
                if not members:
                    raise
                warnings.warn(
                    f"Interrupted: the fit keeps the draws made so far, of {len(members)} chain(s).",
                    InterruptedFitWarning,
                    stacklevel=3,
                )
            self._keep(settings, coding, verdict, members, table, table.centre, table.scale)
        self._one_output = parts.columns.one_output
        self._warn_of_drift(plan)
        return self

    def _chains_on(
        self,
        table: ClusterTable,
        modes: tuple[Mode, ...],
        setting: Setting,
        plan: Plan,
        error: Array | None,
        seeds: Sequence[np.random.SeedSequence],
    ) -> Iterator[tuple[Encoding, Chain]]:
        """Chains under one setting, each given before it runs on all rows; the burn-in is on the sample."""
        if not seeds:
            return
        rows = table.blocks(modes)
        some, prior = table.sample.on(rows.encoding), adapted_prior(setting, rows.samples.known, error)
        generators = [np.random.default_rng(seed) for seed in seeds]
        scores = rows.encoding.scores
        jobs = [Job.new(some, setting, error, self.rank, rng, self.start, scores) for rng in generators]
        jobs = [replace(job, prior=prior) for job in jobs]
        self._run(jobs, plan.burn, 0, "chains on a sample")
        sweeps, thin = min(plan.burn, _SWEEPS_TO_ADAPT), max(1, min(4, plan.draws // 10))
        with chain_progress(bool(self.verbose), len(jobs), sweeps + plan.draws, "chains on all rows") as advance:

            def go_on(chain: Chain) -> bool:
                advance(float(np.mean(chain.residual[-1])))
                return True

            for job in jobs:
                yield rows.encoding, job.chain
                run_chain(rows.samples, prior, job.chain, job.rng, sweeps, plan.draws, thin, go_on)
        table.cluster.release(rows.samples.blocks)

    def _fit_pmf(self, *given: Any) -> None:
        """Missing cells follow the product of the marginals."""
