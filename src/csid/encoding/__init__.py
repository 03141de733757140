"""From a table to levels and weights: `w_n(x)` of every predictor, fitted on training rows only."""

from csid.encoding.columns import any_missing, column_threads
from csid.encoding.counts import LevelCounts
from csid.encoding.encoding import EncodedRows, Encoding, fit_encoding, moved_factor, refine
from csid.encoding.modes import CategoricalMode, Interpolation, Missing, Mode, OrdinalMode
from csid.encoding.moments import Moments
from csid.encoding.sketch import ColumnSketch, TableSketch

__all__ = [
    "CategoricalMode",
    "ColumnSketch",
    "EncodedRows",
    "Encoding",
    "Interpolation",
    "LevelCounts",
    "Missing",
    "Mode",
    "Moments",
    "OrdinalMode",
    "TableSketch",
    "any_missing",
    "column_threads",
    "fit_encoding",
    "moved_factor",
    "refine",
]
