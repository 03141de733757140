"""The same fits over the partitions of Dask collections, on one machine or a cluster; needs the extra `csid[dask]`."""

try:
    from csid.dask.bayesian import DaskBayesianCSIDRegressor
    from csid.dask.regression import DaskCSIDRegressor
except ModuleNotFoundError as error:
    raise ImportError(f"csid.dask needs Dask ({error}): pip install 'csid[dask]'.") from error

__all__ = ["DaskBayesianCSIDRegressor", "DaskCSIDRegressor"]
