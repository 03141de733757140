"""The summary of a fit that `csid fit` and `csid info` show."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from csid import BayesianCSIDRegressor, CSIDRegressor

_MOST_IMPORTANT = 3


def summary(model: "CSIDRegressor | BayesianCSIDRegressor") -> dict[str, Any]:
    """How good the fit is, the most important predictors, and how the fit went.

    Of a Bayesian fit: accuracy on the held-out rows of the pilot, observation noise, stacking weights, convergence, and
    what its predictors of few whole numbers are, if there are any; of least squares: sweeps and rank.
    """
    from csid import BayesianCSIDRegressor
    from csid.fitted.model import SamplingRecord

    fitted = model.fitted_
    shares = zip(fitted.names, model.feature_importances_.tolist(), strict=True)
    important = {"importance": dict(sorted(shares, key=lambda each: -each[1])[:_MOST_IMPORTANT])}
    if isinstance(fitted.training, SamplingRecord) and isinstance(model, BayesianCSIDRegressor):
        return {
            "accuracy": _accuracy(model),
            **important,
            "noise": model.noise_.tolist(),
            "stacking_weights": {
                prior: weight for prior, weight in fitted.training.stacking_weights.items() if weight > 0.0
            },
            "convergence": fitted.training.convergence,
            **({"whole_numbers": dict(fitted.training.whole_numbers)} if fitted.training.whole_numbers else {}),
        }
    return {**important, "sweeps": fitted.n_iter, "rank": fitted.tensor.rank}


def accuracy_lines(document: Mapping[str, Any]) -> list[str]:
    """How good a fit is, from the document of `csid fit`: a line for each target, and one for the predictors."""
    found = document.get("accuracy") or {}
    lines = [
        f"{target}: R² {each['r2']:.3f}, RMSE {each['rmse']:.4g}, and 90 % intervals cover {each['coverage']:.0%} "
        f"of {each['rows']:,} held-out rows of the pilot."
        for target, each in found.items()
    ]
    if not found and "held_out" not in document:
        lines.append("How good the model is, is not known: --holdout 0.2 evaluates a fit on held-out rows.")
    important = ", ".join(f"{name} {share:.0%}" for name, share in document["importance"].items())
    return [*lines, f"Most important predictors: {important}."]


def _accuracy(model: "BayesianCSIDRegressor") -> dict[str, dict[str, float]] | None:
    """Metrics by target; None if the fit had no pilot."""
    from csid.fitted.accuracy import Accuracy

    found = model.accuracy_
    if not isinstance(found, Accuracy):
        return None
    metrics = {"r2": found.r2, "rmse": found.rmse, "coverage": found.coverage}
    return {
        target: {"rows": found.rows, **{name: float(values[j]) for name, values in metrics.items()}}
        for j, target in enumerate(model.fitted_.target_names)
    }
