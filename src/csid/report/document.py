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

    `sections` has the data of each section by name, in their order; the rest is shared by all of them. The targets of
    a classifier are its classes.
    """
    inputs = ReportInputs.of(model, X, y, targets)
    data = {section.name: section.data(inputs) for section in SECTIONS}
    return {
        "title": title or f"Predicting {inputs.name}",
        "name": inputs.name,
        "targets": list(inputs.targets),
        "classes": inputs.fitted.classes is not None,
        "sobol": {"first": rounded(inputs.shares.first), "total": rounded(inputs.shares.total)},
        "model": tensors(inputs.fitted, inputs.description, packing),
        "sections": {name: found for name, found in data.items() if found is not None},
    }
