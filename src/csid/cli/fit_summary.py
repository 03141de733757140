"""The summary of a fit that `csid fit` and `csid info` show."""

from collections.abc import Mapping, Sequence
from typing import Any

from csid.cli.tasks import Task, task_of

_MOST_IMPORTANT = 3


def summary(model: Any, targets: Sequence[str]) -> dict[str, Any]:
    """How good the fit is, the most important predictors, and how the fit went.

    Of a Bayesian fit: accuracy on the held-out rows of the pilot, stacking weights, convergence, and what its
    predictors of few whole numbers are, if there are any; of least squares: sweeps and rank; and what its task adds.
    """
    from csid.fitted.model import SamplingRecord

    fitted = model.fitted_
    of_task = task_of(fitted).summary(model, targets)
    shares = zip(fitted.names, model.feature_importances_.tolist(), strict=True)
    important = {"importance": dict(sorted(shares, key=lambda each: -each[1])[:_MOST_IMPORTANT])}
    if isinstance(fitted.training, SamplingRecord):
        return {
            "accuracy": None,
            **important,
            **of_task,
            "stacking_weights": {
                prior: weight for prior, weight in fitted.training.stacking_weights.items() if weight > 0.0
            },
            "convergence": fitted.training.convergence,
            **({"whole_numbers": dict(fitted.training.whole_numbers)} if fitted.training.whole_numbers else {}),
        }
    return {**important, **of_task, "sweeps": fitted.n_iter, "rank": fitted.tensor.rank}


def accuracy_lines(document: Mapping[str, Any], task: Task) -> list[str]:
    """How good a fit is, from the document of `csid fit`: what its task says, and a line for the predictors."""
    lines = task.summary_lines(document)
    if not document.get("accuracy") and "held_out" not in document:
        lines.append("How good the model is, is not known: --holdout 0.2 evaluates a fit on held-out rows.")
    important = ", ".join(f"{name} {share:.0%}" for name, share in document["importance"].items())
    return [*lines, f"Most important predictors: {important}."]
