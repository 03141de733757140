"""Hide observed cells of rows, to see how well predictions with missing cells are calibrated."""

import numpy as np

from csid.tensor.cells import Cells

_FRACTION = 0.25


def with_hidden_cells(cells: Cells, rng: np.random.Generator) -> Cells:
    """The rows, each with at least one missing cell: a random quarter of the cells of complete rows is hidden.

    Incomplete rows stay as they are. So do cells of predictors whose missing cells have a level of their own: there,
    missingness may be informative.
    """
    can_hide = cells.known == cells.levels
    if not can_hide.any():
        return cells
    drawn = np.where(can_hide, rng.random((cells.n_rows, cells.n_modes)), 1.0)
    hidden = can_hide & ((drawn < _FRACTION) | (drawn == drawn.min(axis=1, keepdims=True)))
    hidden[cells.incomplete] = False
    codes = np.where(hidden, cells.levels, cells.codes).astype(cells.codes.dtype)
    fractions = np.where(hidden, 0, cells.fractions).astype(cells.fractions.dtype) if len(cells.fractions) else None
    return Cells(
        np.asfortranarray(codes),
        cells.fractions if fractions is None else np.asfortranarray(fractions),
        cells.levels,
        cells.known,
    )
