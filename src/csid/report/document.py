"""What a report says, as plain data that becomes JSON, and the arrays that it refers to."""

from typing import Any

from csid.fitted.model import Model
from csid.report.inputs import ReportInputs, rounded
from csid.report.packing import Packing
from csid.report.sections import SECTIONS
from csid.report.tensors import tensors


def document(
    model: Model, X: Any, y: Any, title: str | None, targets: tuple[str, ...] | None, packing: Packing
) -> dict[str, Any]:
    """All data of the page of a fitted model; X and y are rows that it has not seen, or None.

    `sections` has the data of each section by name, in their order; the rest is shared by all of them.
    """
    inputs = ReportInputs.of(model, X, y, targets)
    data = {section.name: section.data(inputs) for section in SECTIONS}
    return {
        "title": title or f"Predicting {' and '.join(inputs.targets)}",
        "targets": list(inputs.targets),
        "sobol": {"first": rounded(inputs.shares.first), "total": rounded(inputs.shares.total)},
        "model": tensors(inputs.fitted, inputs.description, packing),
        "sections": {name: found for name, found in data.items() if found is not None},
    }
