"""Lazy predictions for Dask collections, partition by partition."""

from typing import Any, Literal

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.dataframe.dispatch import make_meta
from dask.delayed import delayed
from numpy.typing import NDArray

from csid.data.cluster.partitions import in_whole_rows
from csid.estimators.base import TensorEstimator

Method = Literal["predict", "predict_proba", "predict_log_proba", "decision_function"]


def predicted_lazily(model: TensorEstimator, X: Any, method: Method) -> Any:
    """Predictions for a Dask DataFrame as a Series or DataFrame, and for an Array as an Array. method : what predicts.

    The columns of a DataFrame are the outputs, or the classes.
    """
    X, empty = in_whole_rows(X), _of_no_rows(model, method)
    sent = delayed(model, pure=True, traverse=False)
    if isinstance(X, dd.DataFrame):
        meta = _as_frame(empty, make_meta(X).index[:0], model)
        return X.map_partitions(_predict_frame, sent, method, meta=meta)
    pieces = [delayed(_predict)(piece, sent, method) for piece in X.to_delayed().ravel()]
    shapes = [(rows, *empty.shape[1:]) for rows in X.chunks[0]]
    arrays = [da.from_delayed(piece, shape, dtype=empty.dtype) for piece, shape in zip(pieces, shapes, strict=True)]
    return da.concatenate(arrays, allow_unknown_chunksizes=True)


def _of_no_rows(model: TensorEstimator, method: Method) -> NDArray[Any]:
    """The prediction for a table without rows."""
    fitted = model.fitted_
    if fitted.classes is not None and method == "predict":
        return fitted.classes.labels[:0]
    if fitted.classes is not None and method != "decision_function":
        return np.empty((0, len(fitted.classes.labels)))
    return np.empty((0,) if fitted.one_output else (0, fitted.n_outputs))


def _predict(X: Any, model: TensorEstimator, method: Method) -> NDArray[Any]:
    return np.asarray(getattr(model, method)(X)) if len(X) else _of_no_rows(model, method)


def _predict_frame(X: pd.DataFrame, model: TensorEstimator, method: Method) -> pd.Series | pd.DataFrame:
    return _as_frame(_predict(X, model, method), X.index, model)


def _as_frame(values: NDArray[Any], index: pd.Index, model: TensorEstimator) -> pd.Series | pd.DataFrame:
    if values.ndim == 1:
        return pd.Series(values, index, name="prediction")
    classes = model.fitted_.classes
    return pd.DataFrame(values, index, columns=None if classes is None else classes.labels)
