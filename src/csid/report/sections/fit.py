"""How the fit went: traces, convergence of the chains, uniqueness of the factors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.explain.identifiability import identifiability
from csid.fitted.model import SamplingRecord
from csid.report.inputs import ReportInputs, finite, relative_convergence

_SWEEPS = 300


def data(inputs: ReportInputs) -> dict[str, Any]:
    """Curves over the sweeps of each chain or start; convergence of the chains, or uniqueness of the factors."""
    training = inputs.fitted.training
    if isinstance(training, SamplingRecord):
        return {
            "curves": [_thinned(trace.T) for trace in training.trace if trace.size],
            "convergence": {name: finite(value) for name, value in relative_convergence(inputs).items()},
        }
    return {
        "curves": [_thinned(np.atleast_2d(objective)) for objective in training.objective],
        "uniqueness": str(identifiability(inputs.fitted)).replace("\n", ". "),
    }


def _thinned(curves: NDArray[np.float64]) -> dict[str, Any]:
    """Curves (Q, sweeps) at no more than a few hundred sweeps."""
    at = np.unique(np.linspace(0, curves.shape[1] - 1, min(_SWEEPS, curves.shape[1])).round().astype(int))
    values = [[float(f"{value:.5g}") for value in curve] for curve in curves[:, at]]
    return {"sweeps": (at + 1).tolist(), "values": values}
