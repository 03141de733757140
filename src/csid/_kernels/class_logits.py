"""The compiled loops over rows and latent classes. Rows `part[0]` to `part[1]` are visited."""

from typing import Any, NamedTuple

import numpy as np

from csid._kernels.compiled import inner, kernel


class ClassTables(NamedTuple):
    """Latent classes, as the kernels read them.

    table : logarithms of the lifts (C_n, R), mode under mode, each followed by a row of zeros for a missing cell.
    offsets : (N,) first row of each mode; log_weights : (R,) of the classes.
    """

    table: Any
    offsets: Any
    log_weights: Any


@inner
def _fill_row(bins: Any, m: int, classes: Any, logits: Any) -> None:
    table, offsets, log_weights = classes
    for r in range(len(logits)):
        logits[r] = log_weights[r]
    for n in range(len(offsets)):
        row = table[offsets[n] + bins[n, m]]
        for r in range(len(logits)):
            logits[r] += row[r]


@kernel
def fill_logits(bins: Any, classes: Any, part: Any, logits: Any) -> None:
    """Fill the class logits (M, R) of rows: log-weights of the classes plus the log-lifts of a row's bins (N, M)."""
    for m in range(part[0], part[1]):
        _fill_row(bins, m, classes, logits[m])


@kernel
def expect_classes(bins: Any, classes: Any, weights: Any, part: Any, sums: Any, of_classes: Any) -> float:
    """Add the class probabilities of each row to `sums` (at its bins) and `of_classes`; return the log-likelihood."""
    offsets = classes.offsets
    R = len(classes.log_weights)
    logits = np.empty(R)
    value = 0.0
    for m in range(part[0], part[1]):
        _fill_row(bins, m, classes, logits)
        largest = logits[0]
        for r in range(1, R):
            largest = max(largest, logits[r])
        total = 0.0
        for r in range(R):
            logits[r] = np.exp(logits[r] - largest)
            total += logits[r]
        value += weights[m] * (largest + np.log(total))
        for r in range(R):
            logits[r] *= weights[m] / total
            of_classes[r] += logits[r]
        for n in range(len(offsets)):
            row = sums[offsets[n] + bins[n, m]]
            for r in range(R):
                row[r] += logits[r]
    return value
