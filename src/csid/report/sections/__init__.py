"""The sections of the page, in their order.

A section called `name` is the script `name.js` of this folder, which shows it, and, if it needs data of its own, the
module `name.py`. A new section is these files and a line in `SECTIONS`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from csid.report.inputs import ReportInputs
from csid.report.sections import calibration, classification, fit, interactions, overview, what_if

__all__ = ["SECTIONS", "ReportSection"]


@dataclass(frozen=True)
class ReportSection:
    """A section of the page.

    data : what its script is given, as plain data; None leaves the section out.
    """

    name: str
    data: Callable[[ReportInputs], dict[str, Any] | None] = lambda inputs: {}


SECTIONS = (
    ReportSection("overview", overview.data),
    ReportSection("what_if", what_if.data),
    ReportSection("predictors"),
    ReportSection("effects"),
    ReportSection("interactions", interactions.data),
    ReportSection("calibration", calibration.data),
    ReportSection("classification", classification.data),
    ReportSection("fit", fit.data),
)
