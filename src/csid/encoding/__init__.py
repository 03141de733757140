"""Encode a table: the level weights `w_n(x)` of every predictor, fitted on training rows only."""

from csid.encoding.columns import any_missing, column_threads
from csid.encoding.counts import LevelCounts
from csid.encoding.encoding import EncodedRows, Encoding, Levels, fit_encoding, interpolate_factor, refine
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
    "Levels",
    "Missing",
    "Mode",
    "Moments",
    "OrdinalMode",
    "TableSketch",
    "any_missing",
    "column_threads",
    "fit_encoding",
    "interpolate_factor",
    "refine",
]
