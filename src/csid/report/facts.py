"""What a model is and how its fit went, in words and numbers."""

import math
from importlib.metadata import version
from typing import Any

import numpy as np

from csid.description import Description
from csid.explain.identifiability import identifiability

_SWEEPS = 300


def facts(model: Any, described: Description) -> list[tuple[str, str]]:
    """Pairs of a name and a text."""
    encoding, pmf = model.encoding_, model.pmf_
    missing = "averaged over its distribution"
    if pmf is not None:
        missing = f"inferred from the other cells, by {pmf.rank} classes of rows"
    if any(mode.missing_level for mode in encoding.modes):
        missing = "a level of its own, where the training rows lacked any"
    told = [
        ("Estimator", type(model).__name__),
        ("Rows it was fitted to", f"{model.n_samples_:,}"),
        ("Predictors", f"{len(encoding.modes):,}, with {int(encoding.levels.sum()):,} levels in all"),
        ("Components", f"{model.cpd_.rank:,}"),
        ("A missing cell is", missing),
    ]
    if described.draws is not None:
        priors = sorted(((share, name) for name, share in model.shares_.items() if share >= 0.005), reverse=True)
        told += [
            ("Posterior draws", f"{len(described.draws.shares):,} of {len(model.history_)} chains"),
            ("Priors", ", ".join(f"{name} {share:.0%}" for share, name in priors)),
            ("Noise", "normal" if math.isinf(described.draws.degrees_of_freedom) else "Student's t, heavy tails"),
        ]
    return [*told, ("Made by", f"csid {version('csid')}")]


def fit_story(model: Any) -> dict[str, Any]:
    """How the fit went: figures, and curves over the sweeps for each chain or start, as many as outputs or one."""
    if hasattr(model, "posterior_"):
        return {
            "figures": {name: value if math.isfinite(value) else None for name, value in model.convergence_.items()},
            "noise": np.atleast_1d(model.noise_).tolist(),
            "curves": [_thinned(history.T) for history in model.history_],
            "text": "",
        }
    curves = [np.atleast_2d(history) for history in model.objective_history_]
    return {"figures": {}, "noise": None, "curves": [_thinned(curve) for curve in curves], "text": _uniqueness(model)}


def _thinned(curves: Any) -> dict[str, Any]:
    """Curves (K, sweeps) at no more than so many sweeps."""
    at = np.unique(np.linspace(0, curves.shape[1] - 1, min(_SWEEPS, curves.shape[1])).round().astype(int))
    values = [[float(f"{value:.5g}") for value in curve] for curve in curves[:, at]]
    return {"sweeps": (at + 1).tolist(), "values": values}


def _uniqueness(model: Any) -> str:
    return str(identifiability(model)).replace("\n", ". ")
