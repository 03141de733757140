"""`DaskCSIDRegressor`: alternating least squares over the partitions of a cluster."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import _fit_context

from csid._fit.als import ALSResult, fit_als, mean_squared_error
from csid._fit.factors import random_factors
from csid._fit.samples import LocalSamples
from csid.dask.cluster import Cluster
from csid.dask.estimator import OnDask
from csid.dask.fitting import Encoded, encoded, held_out_rows, none_held_out
from csid.dask.partitions import Partitions, is_lazy
from csid.dask.survey import Held, surveyed
from csid.inputs import categorical_flags, check_together
from csid.progress import sweep_progress
from csid.regression import CSIDRegressor


class DaskCSIDRegressor(OnDask, CSIDRegressor):
    """`CSIDRegressor` on a Dask cluster.

    Every parameter means what it means there. Rows stay on the workers, as a byte or two for each cell, and only sums
    over them travel, so with the same levels and the same random state the fit is the local one up to rounding.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        The cluster to work on; None for Dask's current client, or else the scheduler that Dask is set to.
    rank, levels, ... : as in `CSIDRegressor`, but for what looks at rows one by one, and is refused:
        `update="cg"`, `solver="stochastic"`, `n_estimators` above 1 and `pmf_rank` above 1 ("auto" is 1 here).

    Examples
    --------
    >>> import dask.array as da
    >>> from csid.dask import DaskCSIDRegressor
    >>> rng = da.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (2000, 3), chunks=(500, 3))
    >>> y = da.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2
    >>> model = DaskCSIDRegressor(rank=4, random_state=0).fit(X, y)
    >>> model.predict(X)
    dask.array<concatenate, shape=(2000,), dtype=float64, chunksize=(500,), chunktype=numpy.ndarray>
    >>> model.to_local().rank
    4
    """

    local = CSIDRegressor

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, X_val: Any = None, y_val: Any = None
    ) -> "DaskCSIDRegressor":
        """Identify the system from examples.

        Parameters
        ----------
        X : Dask DataFrame, or Dask Array (M, N)
            A table in memory is fitted as by `CSIDRegressor`.
        y : Dask Series, DataFrame or Array with the partitions of X, (M,) or (M, K)
        sample_weight : Dask Series or Array with the partitions of X, optional
        X_val, y_val : rows in memory to stop early on, instead of rows held out from X.
        """
        if not is_lazy(X):
            super().fit(X, y, sample_weight, X_val, y_val)
            return self
        self._refuse(
            update=self.update == "cg",
            solver=self.solver == "stochastic",
            n_estimators=self.n_estimators > 1,
            pmf_rank=self.pmf_rank not in ("auto", 1),
        )
        check_together(X_val, y_val)
        goes_on = self.warm_start and hasattr(self, "cpd_")
        parts = Partitions.of(X, y, sample_weight)
        self._begin(parts, goes_on)
        rng = np.random.default_rng(self._seed())
        names = self._names()
        flags = categorical_flags(self.categorical_features, names)
        with Cluster(self.client) as cluster:
            held_out = none_held_out(parts) if X_val is not None else self._held_out(cluster, parts, rng)
            survey = surveyed(cluster, parts, names, flags, held_out)
            centre, scale = survey.moments.centre_and_scale()
            if goes_on:
                self._check_continuable(len(centre))
                modes, marginals = self.encoding_.modes, self.encoding_.marginals
            else:
                modes, marginals = survey.table.modes(self.levels, self.interpolation, self.missing), None
            rows = encoded(cluster, parts, survey, modes, centre, scale, held_out, marginals)
            error = rows.samples.held_out_error if rows.samples.weight_held_out > 0.0 else None
            if X_val is not None:
                validation = self._given_validation(rows.encoding, X_val, y_val, centre, scale)
                error = partial(mean_squared_error, LocalSamples(validation))
            starts = [member.standardised(centre, scale) for member in self.members_[:1]] if goes_on else []
            result = self._best(rows, error, starts, rng)
        self._keep([result], rows.encoding, None, centre, scale, survey.table.n_rows)
        self._one_output, self._stream = parts.columns.one_output, None
        return self

    def _held_out(self, cluster: Cluster, parts: Partitions, rng: np.random.Generator) -> list[Held]:
        """Rows of each partition to stop early on."""
        if not self.early_stopping:
            return none_held_out(parts)
        lengths = parts.lengths(cluster)
        if not self._stops_early(sum(lengths)):
            return none_held_out(parts)
        return held_out_rows(lengths, self._number_held_out(sum(lengths)), rng)

    def _best(self, rows: Encoded, error: Any, starts: list[Any], rng: np.random.Generator) -> ALSResult:
        """The best of several starts, one after another."""
        samples, results = rows.samples, []
        seeds = rng.integers(2**63, size=self.n_init)
        with sweep_progress(bool(self.verbose), self.max_iter) as open_bar:
            for start, seed in enumerate(seeds.tolist()):
                fresh = random_factors(samples.known, self.rank, np.random.default_rng([seed, 0]), start % 2 == 0)
                first = starts[0] if start == 0 and starts else fresh
                results.append(fit_als(samples, self._options(), first, error, open_bar(f"start {start + 1}")))
        return min(results, key=lambda result: result.score)
