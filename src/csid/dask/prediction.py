"""Lazy predictions for Dask collections, partition by partition."""

from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.dataframe.dispatch import make_meta
from dask.delayed import delayed
from numpy.typing import NDArray

from csid.data.cluster.partitions import in_whole_rows
from csid.estimators.base import TensorEstimator

Array = NDArray[np.float64]


def predicted_lazily(model: TensorEstimator, X: Any) -> Any:
    """Predictions for a Dask DataFrame as a Series, or a DataFrame with several outputs; for an Array as an Array."""
    X = in_whole_rows(X)
    outputs = _outputs(model)
    sent = delayed(model, pure=True, traverse=False)
    if isinstance(X, dd.DataFrame):
        meta = _as_frame(np.empty((0, *outputs)), make_meta(X).index[:0])
        return X.map_partitions(_predict_frame, sent, meta=meta)
    pieces = [delayed(_predict)(piece, sent) for piece in X.to_delayed().ravel()]
    shapes = [(rows, *outputs) for rows in X.chunks[0]]
    arrays = [da.from_delayed(piece, shape, dtype=np.float64) for piece, shape in zip(pieces, shapes, strict=True)]
    return da.concatenate(arrays, allow_unknown_chunksizes=True)


def _outputs(model: TensorEstimator) -> tuple[int, ...]:
    """The shape of a prediction without its rows."""
    return () if model.fitted_.one_output else (model.fitted_.n_outputs,)


def _predict(X: Any, model: TensorEstimator) -> Array:
    return model.predict(X) if len(X) else np.empty((0, *_outputs(model)))


def _predict_frame(X: pd.DataFrame, model: TensorEstimator) -> pd.Series | pd.DataFrame:
    return _as_frame(_predict(X, model), X.index)


def _as_frame(values: Array, index: pd.Index) -> pd.Series | pd.DataFrame:
    return pd.Series(values, index, name="prediction") if values.ndim == 1 else pd.DataFrame(values, index)
