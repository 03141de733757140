"""Hide observed cells of rows, to see how well predictions with missing cells are calibrated."""

import numpy as np

from csid.tensor.cells import Cells

_FRACTION = 0.25


def with_hidden_cells(cells: Cells, rng: np.random.Generator) -> Cells:
    """Rows of which each lacks a cell: complete ones lose a quarter of their cells, chosen at random, at least one.

    Incomplete rows stay as they are. So do cells of predictors whose missing cells have a level of their own, which may
    tell of the target.
    """
    can_hide = cells.known == cells.levels
    if not can_hide.any():
        return cells
    scores = np.where(can_hide, rng.random((cells.n_rows, cells.n_modes)), 1.0)
    hidden = can_hide & ((scores < _FRACTION) | (scores == scores.min(axis=1, keepdims=True)))
    hidden[cells.incomplete] = False
    codes = np.where(hidden, cells.levels, cells.codes).astype(cells.codes.dtype)
    fractions = np.where(hidden, 0, cells.fractions).astype(cells.fractions.dtype) if len(cells.fractions) else None
    return Cells(
        np.asfortranarray(codes),
        cells.fractions if fractions is None else np.asfortranarray(fractions),
        cells.levels,
        cells.known,
    )
