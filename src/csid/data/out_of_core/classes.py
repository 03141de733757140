"""Count the labels of rows in batches, in one pass over their targets."""

import numpy as np

from csid.data.checks import check_weights
from csid.data.labels import ClassCounts
from csid.data.out_of_core.rows import RowBatches, TargetBatch, prefix_errors
from csid.data.weights import WeightUnit


def count_classes(rows: RowBatches, unit: WeightUnit) -> ClassCounts:
    """The labels of all rows. unit : of the sample weights."""
    return ClassCounts.merged(_counted(batch, unit) for batch in rows.targets())


def _counted(batch: TargetBatch, unit: WeightUnit) -> ClassCounts:
    with prefix_errors(batch.label):
        weights = None
        if batch.weights is not None:
            weights = unit.of(check_weights(batch.weights, len(np.asarray(batch.weights)), fewest=0))
        return ClassCounts.of(batch.y, weights)
