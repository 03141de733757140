"""What the model is, and its metrics on the rows of the report."""

from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.fitted.metrics import with_confidence
from csid.fitted.model import FittedModel, SamplingRecord
from csid.report.inputs import SEED, ReportInputs, finite

Array = NDArray[np.float64]

_LEAST_WEIGHT = 0.005


def data(inputs: ReportInputs) -> dict[str, Any]:
    """Facts as pairs of texts; metrics of each output on the rows of the report, or else the model's own estimates."""
    training, truth, predicted = inputs.fitted.training, inputs.truth, inputs.predicted
    error = training.convergence.get("prediction_error") if isinstance(training, SamplingRecord) else None
    noise = inputs.noise_deviation
    return {
        "facts": facts(inputs.fitted),
        "training_rows": inputs.fitted.n_samples,
        "rows": 0 if truth is None else len(truth),
        "metrics": None if truth is None or predicted is None else _metrics(truth, predicted, inputs.probabilities),
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


def _metrics(truth: Array, predicted: Array, below: Array | None) -> list[dict[str, dict[str, float | None]]]:
    """For each output RMSE, MAE, R² and the coverage of 90 % intervals, each with a 95 % confidence interval."""
    inside = None if below is None else (np.abs(below - 0.5) <= 0.45).astype(np.float64)
    found = [
        with_confidence(truth[:, k], predicted[:, k], {} if inside is None else {"coverage": inside[:, k]}, None, SEED)
        for k in range(truth.shape[1])
    ]
    return [
        {
            name: {part: finite(value) for part, value in metric.items()}
            for name, metric in one.items()
            if isinstance(metric, dict)
        }
        for one in found
    ]
