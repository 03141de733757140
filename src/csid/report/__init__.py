"""A report on a model: plain data first (`document`), then one HTML page that shows it and predicts (`page`)."""

import os
from collections.abc import Sequence
from typing import Any

from csid.files import atomic_file
from csid.fitted.model import Model, fitted_model
from csid.report.document import document
from csid.report.packing import Packing
from csid.report.page import page
from csid.report.tensors import number_of_cells

__all__ = ["document", "page", "write_report"]


def write_report(
    model: Model,
    path: str | os.PathLike[str],
    X: Any = None,
    y: Any = None,
    *,
    title: str | None = None,
    targets: Sequence[str] | None = None,
) -> None:
    """Write the report of a fitted model. An existing file is replaced only once the new one is complete.

    X and y should be rows that were not used in training: the metrics are computed on them.
    """
    fitted = fitted_model(model)
    packing = Packing(number_of_cells(fitted))
    likelihood = fitted.likelihood.javascript
    data = document(model, X, y, title, None if targets is None else tuple(targets), packing)
    with atomic_file(path) as temporary:
        temporary.write_text(page(data, packing.texts(), likelihood), encoding="utf-8", newline="\n")
