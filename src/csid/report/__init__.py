"""One page about a model: `summary` gathers what it says, `page` writes it as HTML."""

from csid.report.page import page
from csid.report.summary import Summary, summary

__all__ = ["Summary", "page", "summary"]
