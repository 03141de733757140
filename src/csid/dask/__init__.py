"""Estimators for Dask collections, on one machine or a cluster. Needs the extra `csid[dask]`."""

try:
    from csid.dask.bayesian import DaskBayesianCSIDRegressor
    from csid.dask.classification import DaskBayesianCSIDClassifier, DaskCSIDClassifier
    from csid.dask.least_squares import DaskCSIDRegressor
except ModuleNotFoundError as error:
    raise ImportError(f"csid.dask needs Dask ({error}): pip install 'csid[dask]'.") from error

__all__ = ["DaskBayesianCSIDClassifier", "DaskBayesianCSIDRegressor", "DaskCSIDClassifier", "DaskCSIDRegressor"]
