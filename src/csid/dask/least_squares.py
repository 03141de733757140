"""`DaskCSIDRegressor`: alternating least squares over the partitions of Dask collections."""

from csid.dask.estimator import OnDask
from csid.estimators.als import LeastSquaresEstimator
from csid.estimators.least_squares import CSIDRegressor


class LeastSquaresOnDask(OnDask, LeastSquaresEstimator):
    """What the least-squares estimators on Dask have in common."""

    def _check_lazy(self) -> None:
        self._refuse(
            update=self.update == "cg",
            solver=self.solver == "stochastic",
            n_estimators=self.n_estimators > 1,
            pmf_rank=self.pmf_rank not in ("auto", 1),
        )


class DaskCSIDRegressor(LeastSquaresOnDask, CSIDRegressor):
    """`CSIDRegressor` on a Dask cluster.

    Rows stay on the workers, encoded in one or two bytes per cell, and only sums over rows are sent. With the same
    levels and random state, the fit equals that of `CSIDRegressor` up to rounding.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        The cluster to use. None for Dask's current client, or else its configured scheduler.
    rank, levels, ... : as in `CSIDRegressor`
        Not supported, because they need individual rows: `update="cg"`, `solver="stochastic"`, `n_estimators` above 1,
        and `pmf_rank` above 1 ("auto" is 1 here).

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
