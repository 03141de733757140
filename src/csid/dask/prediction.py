"""Predictions of Dask collections, partition by partition, when they are asked for."""

from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.delayed import delayed

from csid.dask.partitions import in_whole_rows


def predicted_lazily(model: Any, X: Any) -> Any:
    """A Dask Series, or DataFrame with several outputs, for a DataFrame; a Dask Array for an Array."""
    X = in_whole_rows(X)
    K = model.cpd_.n_outputs
    outputs = () if model._one_output else (K,)
    travelling = delayed(model, pure=True, traverse=False)
    if isinstance(X, dd.DataFrame):
        meta = _as_frame(np.empty((0, *outputs)), X._meta.index[:0])
        return X.map_partitions(_predict_frame, travelling, meta=meta)
    pieces = [delayed(_predict)(piece, travelling) for piece in X.to_delayed().ravel()]
    shapes = [(rows, *outputs) for rows in X.chunks[0]]
    arrays = [da.from_delayed(piece, shape, dtype=np.float64) for piece, shape in zip(pieces, shapes, strict=True)]
    return da.concatenate(arrays, allow_unknown_chunksizes=True)


def _predict(X: Any, model: Any) -> Any:
    outputs = () if model._one_output else (model.cpd_.n_outputs,)
    return model.predict(X) if len(X) else np.empty((0, *outputs))


def _predict_frame(X: Any, model: Any) -> Any:
    return _as_frame(_predict(X, model), X.index)


def _as_frame(values: Any, index: Any) -> Any:
    return pd.Series(values, index, name="prediction") if values.ndim == 1 else pd.DataFrame(values, index)
