"""From a table to levels and weights: `w_n(x)` of every predictor, fitted on training rows only."""

from csid.encoding.columns import any_missing
from csid.encoding.encoding import EncodedRows, Encoding, fit_encoding, moved_factor, refine
from csid.encoding.modes import CategoricalMode, Interpolation, Missing, Mode, OrdinalMode

__all__ = [
    "CategoricalMode",
    "EncodedRows",
    "Encoding",
    "Interpolation",
    "Missing",
    "Mode",
    "OrdinalMode",
    "any_missing",
    "fit_encoding",
    "moved_factor",
    "refine",
]
