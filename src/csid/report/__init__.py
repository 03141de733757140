"""A report on a model: plain data first (`document`), then one HTML page that shows it and predicts (`page`)."""

import os
from collections.abc import Sequence
from typing import Any

from csid.files import written_aside
from csid.report.document import document
from csid.report.packing import Packing
from csid.report.page import page

__all__ = ["document", "page", "write_report"]


def write_report(
    model: Any,
    path: str | os.PathLike[str],
    X: Any = None,
    y: Any = None,
    *,
    title: str | None = None,
    targets: Sequence[str] | None = None,
) -> None:
    """Write the report of a fitted csid estimator; a file that was there before stays whole until the new one is.

    X and y should be rows that the model has not seen: the figures on how good it is are of these.
    """
    packing = Packing()
    told = document(model, X, y, title, None if targets is None else tuple(targets), packing)
    with written_aside(path) as aside:
        aside.write_text(page(told, packing.texts()), encoding="utf-8", newline="\n")
