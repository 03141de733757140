"""`DaskBayesianCSIDRegressor`: exact Gibbs sampling over the partitions of Dask collections."""

from csid.dask.estimator import OnDask
from csid.estimators.bayesian import BayesianCSIDRegressor
from csid.estimators.sampling import BayesianEstimator
from csid.inference.gibbs import COMPONENTS_AT_ONCE


class SamplerOnDask(OnDask, BayesianEstimator):
    """What the Bayesian estimators on Dask have in common."""

    def _check_lazy(self) -> None:
        self._refuse(
            solver=self.solver == "stochastic",
            rank=self.rank > COMPONENTS_AT_ONCE,
            pmf_rank=self.pmf_rank not in ("auto", 1),
        )


class DaskBayesianCSIDRegressor(SamplerOnDask, BayesianCSIDRegressor):
    """`BayesianCSIDRegressor` on a Dask cluster.

    The pilot and the burn-in run in this process, on a random sample of at most 60,000 rows. After that, every sweep
    reads all rows on the workers. Draws are from the same posterior as those of the local estimator, without
    approximation.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        The cluster to use. None for Dask's current client, or else its configured scheduler.
    rank, levels, ... : as in `BayesianCSIDRegressor`
        Not supported, because they need individual rows: `solver="stochastic"`, `rank` above 32, and `pmf_rank` above 1
        ("auto" is 1 here).

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
