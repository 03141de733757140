"""Plots of a fitted model with matplotlib (`pip install csid[plots]`).

Every function draws on the axes it is given, or on a new figure, and returns the axes; nothing is shown or saved.
"""

try:
    import matplotlib as _  # noqa: F401
except ImportError as error:
    raise ImportError("csid.plots draws with matplotlib, which is not installed: pip install csid[plots]") from error

from csid.plots.classes import confusion_matrix, precision_recall, reliability, roc
from csid.plots.convergence import convergence
from csid.plots.effects import effect, effects
from csid.plots.factors import factor_curves
from csid.plots.importance import importance
from csid.plots.pairs import pair
from csid.plots.predictions import calibration, residuals
from csid.plots.shapley import beeswarm, waterfall

__all__ = [
    "beeswarm",
    "calibration",
    "confusion_matrix",
    "convergence",
    "effect",
    "effects",
    "factor_curves",
    "importance",
    "pair",
    "precision_recall",
    "reliability",
    "residuals",
    "roc",
    "waterfall",
]
