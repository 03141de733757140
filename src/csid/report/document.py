"""What a report says, as plain data that becomes JSON, and the arrays that it refers to."""

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.description import description_of
from csid.inputs import check_targets
from csid.report.evidence import evidence
from csid.report.facts import facts, fit_story
from csid.report.packing import Packing
from csid.report.rows import example_rows, typical_row
from csid.report.shares import shares
from csid.report.tensors import tensors
from csid.schema import default_targets

Array = NDArray[np.float64]

_PAIRS = 6
_EXAMPLES = 12


def document(
    model: Any, X: Any, y: Any, title: str | None, targets: tuple[str, ...] | None, packing: Packing
) -> dict[str, Any]:
    """All that the page of a fitted model shows; X and y are rows that it has not seen, or None."""
    described = description_of(model)
    names = targets or described.targets or default_targets(model.cpd_.n_outputs)
    if len(names) != model.cpd_.n_outputs:
        raise ValueError(f"targets names {len(names)} output(s), but the model has {model.cpd_.n_outputs}.")
    predicted = None if X is None else np.asarray(model.predict(X), dtype=np.float64).reshape(-1, len(names))
    if predicted is None and y is not None:
        raise ValueError("y is given without X: give both, or neither.")
    truth = None if predicted is None or y is None else _truth(y, predicted)
    found = shares(model.cpd_, _PAIRS)
    return {
        "title": title or f"How {' and '.join(names)} can be predicted",
        "targets": list(names),
        "facts": facts(model, described),
        "shares": {name: _plain(value) for name, value in asdict(found).items()},
        "deviation": _deviations(model, found.variance),
        "fit": fit_story(model),
        "evidence": None if predicted is None or truth is None else evidence(model, X, truth, predicted, seed=0),
        "typical": typical_row(model.encoding_),
        "examples": [] if predicted is None else _examples(model, X, predicted[:, 0], truth),
        "model": tensors(model, described, packing),
    }


def _truth(y: Any, predicted: Array) -> Array:
    """Targets (M, K) beside predictions."""
    truth = check_targets(y, len(predicted)).reshape(len(predicted), -1)
    if truth.shape != predicted.shape:
        raise ValueError(f"y has {truth.shape[1]} output(s), but the model predicts {predicted.shape[1]}.")
    return truth


def _examples(model: Any, X: Any, predicted: Array, truth: Array | None) -> list[dict[str, Any]]:
    """Some rows, spread evenly over the predictions (M,)."""
    some = np.sort(np.random.default_rng(0).permutation(len(predicted))[: 20 * _EXAMPLES])
    places = np.linspace(0, len(some) - 1, min(_EXAMPLES, len(some))).round().astype(int)
    chosen = np.sort(some[np.argsort(predicted[some], kind="stable")[places]])
    rows = example_rows(model.encoding_, model._checked(X)[0], chosen)
    return [
        {"number": int(m), "row": row, "truth": None if truth is None else truth[m].tolist()}
        for m, row in zip(chosen, rows, strict=True)
    ]


def _deviations(model: Any, variance: Array) -> list[float]:
    """Standard deviation of an observation, by the model's own account: what a prediction is drawn to scale with."""
    noise = getattr(model, "noise_", 0.0)
    return [float(deviation) for deviation in np.sqrt(variance + np.square(noise))]


def _plain(value: Any) -> Any:
    """Numbers (N, K), or (K,) as (K, 1), with as many digits as a page shows."""
    if not isinstance(value, np.ndarray):
        return value
    return [[float(f"{each:.6g}") for each in np.atleast_1d(row)] for row in value]
