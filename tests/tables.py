"""Tables in memory for tests of what reads tables."""

from typing import Any

import numpy as np

from csid.data.table import LocalTable, TableHeader

Array = np.ndarray


def local_table(X: Any, targets: Array, weights: Array | None = None) -> LocalTable:
    """A table whose targets (M, K) are standardised already."""
    N, K = X.shape[1], targets.shape[1]
    header = TableHeader([f"x{n}" for n in range(N)], [None] * N, np.zeros(K), np.ones(K), K == 1)
    return LocalTable(X, targets, np.ones(len(targets)) if weights is None else weights, header)
