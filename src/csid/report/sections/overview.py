"""What the model is, and its metrics on the rows of the report."""

from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.fitted.accuracy import ClassAccuracy
from csid.fitted.class_metrics import class_metrics_of
from csid.fitted.metrics import with_confidence
from csid.fitted.model import FittedModel, SamplingRecord
from csid.report.inputs import SEED, ReportInputs, finite, relative_convergence, rounded

Array = NDArray[np.float64]
Metrics = dict[str, dict[str, float | None]]
"""By name: value, low and high."""

_LEAST_WEIGHT = 0.005


def data(inputs: ReportInputs) -> dict[str, Any]:
    """Facts as pairs of texts; metrics of each output on the rows of the report, or else the model's own estimates.

    Of a classifier, one set of metrics, and the classes with their frequencies.
    """
    truth, predicted = inputs.truth, inputs.predicted
    error = relative_convergence(inputs).get("prediction_error")
    noise = inputs.noise_deviation
    return {
        "facts": facts(inputs.fitted),
        "training_rows": inputs.fitted.n_samples,
        "rows": 0 if truth is None else len(truth),
        "metrics": None if truth is None or predicted is None else _metrics(inputs, truth, predicted),
        "held_out": _held_out(inputs.fitted),
        "frequencies": _frequencies(inputs),
        "noise": noise.tolist() if noise.any() else None,
        "prediction_error": None if error is None else finite(error),
    }


def facts(fitted: FittedModel) -> list[tuple[str, str]]:
    """Pairs of a name and a text."""
    encoding, training = fitted.encoding, fitted.training
    missing = "averaged over their distribution"
    if fitted.pmf is not None:
        missing = f"imputed from the other cells of the row, by {fitted.pmf.rank} latent classes"
    if any(mode.missing_level for mode in encoding.modes):
        missing = "have a level of their own in columns with missing training cells"
    pairs = [
        ("Estimator", fitted.estimator),
        ("Training rows", f"{fitted.n_samples:,}"),
        ("Predictors", f"{len(encoding.modes):,}, with {int(encoding.levels.sum()):,} levels in total"),
        ("Components", f"{fitted.tensor.rank:,}"),
        ("Missing cells", missing),
        ("Likelihood", fitted.likelihood.label),
    ]
    if fitted.posterior is not None:
        pairs.append(("Posterior draws", f"{len(fitted.posterior.weights):,}"))
    if isinstance(training, SamplingRecord):
        weights = sorted(((weight, name) for name, weight in training.stacking_weights.items()), reverse=True)
        shown = (f"{name} {100.0 * weight:.0f}\u00a0%" for weight, name in weights if weight >= _LEAST_WEIGHT)
        pairs += [("Chains", f"{len(training.trace):,}"), ("Stacking weights of the priors", ", ".join(shown))]
    return [*pairs, ("Created with", f"csid {version('csid')}")]


def _frequencies(inputs: ReportInputs) -> list[list[float]] | None:
    """For each class its share of the training rows and, if there are any, of the rows of the report."""
    if inputs.fitted.classes is None:
        return None
    shares = [np.array(inputs.fitted.classes.frequencies)]
    if inputs.truth is not None:
        shares.append(inputs.truth.mean(axis=0))
    return rounded(np.column_stack(shares))


def _held_out(fitted: FittedModel) -> dict[str, float] | None:
    """The metrics of a classifier on the held-out rows of its pilot, if there was one."""
    found = getattr(fitted.training, "accuracy", None)
    return asdict(found) if isinstance(found, ClassAccuracy) else None


def _metrics(inputs: ReportInputs, truth: Array, predicted: Array) -> list[Metrics]:
    """Metrics with 95 % confidence intervals: of each numeric output, or one set for all classes."""
    if inputs.fitted.classes is not None:
        return [_without_undefined(class_metrics_of(truth.argmax(axis=1), predicted, None, SEED))]
    below = inputs.probabilities_below
    inside = None if below is None else (np.abs(below - 0.5) <= 0.45).astype(np.float64)
    found = [
        with_confidence(truth[:, k], predicted[:, k], {} if inside is None else {"coverage": inside[:, k]}, None, SEED)
        for k in range(truth.shape[1])
    ]
    return [_without_undefined(one) for one in found]


def _without_undefined(found: dict[str, Any]) -> Metrics:
    """Metrics without the number of rows, and None for what is undefined."""
    metrics = {name: metric for name, metric in found.items() if isinstance(metric, dict)}
    return {name: {part: finite(value) for part, value in metric.items()} for name, metric in metrics.items()}
