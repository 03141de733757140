"""Convert files of earlier protocols to the current one.

Protocol 1 (csid 0.1.0 before its release) used other names, and stored the likelihood as degrees of freedom. Protocol 2
had no calibration of imputed cells, no names of outputs but those of the schema, and what numbers stand for, dates or
ordered words, only in the schema.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Packed = dict[str, NDArray[Any]]

_PRIORS = {
    "stiff": "low_curvature",
    "fine": "fine_grid",
    "finest": "finest_grid",
    "steady": "informed_noise",
    "curved": "second_order",
    "near one": "strong_shrinkage",
    "lean": "mildly_sparse",
    "alike": "shared_slope",
    "akin": "loose_shared_slope",
}
_LIKELIHOODS = {"normal": "gaussian", "student": "student_t"}
_DIAGNOSTICS = {f"{name}_effective_draws": f"{name}_ess" for name in ("noise", "smoothness", "prediction")}
_ARRAYS = {
    "spread.knots": "calibration.knots",
    "spread.logs": "calibration.log_factors",
    "pmf.shares": "pmf.weights",
}


def migrated(protocol: int, header: Mapping[str, Any], arrays: Packed) -> tuple[dict[str, Any], Packed]:
    """Convert the header and arrays of a file to the current protocol. Invalid entries are left for later checks."""
    entries = dict(header)
    if protocol < 2:
        entries, arrays = _from_1_to_2(entries, arrays)
    return _from_2_to_3(entries, arrays)


def _from_2_to_3(new: dict[str, Any], arrays: Packed) -> tuple[dict[str, Any], Packed]:
    """Imputed cells are taken as calibrated."""
    new["targets"] = []
    schema = new.get("schema")
    columns = schema.get("columns") if isinstance(schema, dict) else None
    if isinstance(schema, dict):
        new["schema"] = {**schema, "normalise_text": False}
    if isinstance(new.get("predictors"), list):
        new["predictors"] = [
            _with_meaning(one, columns if isinstance(columns, list) else []) for one in new["predictors"]
        ]
    if "calibration.knots" in arrays:
        arrays = arrays | {"calibration.imputation_factor": np.ones(arrays["calibration.knots"].shape[:1])}
    return new, arrays


def _with_meaning(predictor: Any, columns: Sequence[Any]) -> Any:
    """A predictor with what its numbers stand for, by the columns of the schema."""
    if not isinstance(predictor, dict) or predictor.get("kind") != "number":
        return predictor
    named = (one for one in columns if isinstance(one, dict) and one.get("name") == predictor.get("name"))
    column = next(named, {})
    return {**predictor, "words": column.get("order", []), "date": column.get("type") == "date"}


def _from_1_to_2(new: dict[str, Any], arrays: Packed) -> tuple[dict[str, Any], Packed]:
    if isinstance(new.get("parameters"), dict):
        new["parameters"] = _parameters(new["parameters"])
    if isinstance(new.get("convergence"), dict):
        new["convergence"] = {_DIAGNOSTICS.get(name, name): value for name, value in new["convergence"].items()}
    if isinstance(new.get("shares"), dict):
        new["stacking_weights"] = {_PRIORS.get(name, name): weight for name, weight in new.pop("shares").items()}
    new["likelihood"] = _likelihood(new.pop("degrees_of_freedom", "inf"))
    if "missing" not in new:
        new["missing"] = "marginalize"
        if isinstance(new.get("parameters"), dict) and new["parameters"].get("missing") == "level":
            new["missing"] = "level"
    return new, {_array(name): array for name, array in arrays.items()}


def _parameters(old: Mapping[str, Any]) -> dict[str, Any]:
    new = {name: value for name, value in old.items() if name != "noise"}
    if "noise" in old:
        noise = old["noise"]
        new["likelihood"] = _LIKELIHOODS.get(noise, noise) if isinstance(noise, str) else noise
    prior = old.get("prior")
    if isinstance(prior, str):
        new["prior"] = _PRIORS.get(prior, prior)
    elif isinstance(prior, list):
        new["prior"] = [_PRIORS.get(name, name) if isinstance(name, str) else name for name in prior]
    return new


def _likelihood(degrees_of_freedom: Any) -> dict[str, Any]:
    if degrees_of_freedom == "inf":
        return {"name": "gaussian"}
    return {"name": "student_t", "degrees_of_freedom": degrees_of_freedom}


def _array(name: str) -> str:
    if name.startswith("draws.") and name.endswith(".shares"):
        return f"{name.removesuffix('shares')}weights"
    if name.startswith("history."):
        return f"trace.{name.removeprefix('history.')}"
    return _ARRAYS.get(name, name)
