"""Columns of few whole numbers, such as codes: which stay numbers, and what the pilot of a fit decided."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from csid.fitted.model import FittedModel, SamplingRecord
from csid.fitted.schema import Schema

_MOST_NAMES = 8


def kept_numbers(schema: Schema, ordinal: Sequence[str]) -> list[str]:
    """Numeric predictors that the pilot must not take as categories: dates, and those of --ordinal."""
    ordered = {each.partition("=")[0] for each in ordinal}
    numbers = [column for column in schema.columns if column.kind == "number"]
    return [column.name for column in numbers if column.type == "date" or column.name in ordered]


def decided(fitted: FittedModel) -> Mapping[str, str]:
    """What each predictor of few whole numbers is, by name; empty for least squares."""
    return fitted.training.whole_numbers if isinstance(fitted.training, SamplingRecord) else {}


def with_kinds(schema: Schema, fitted: FittedModel) -> Schema:
    """The schema with the predictors that a fit took as categories."""
    kinds = decided(fitted)
    columns = [
        replace(column, kind="category") if kinds.get(column.name) == "category" else column
        for column in schema.columns
    ]
    return replace(schema, columns=tuple(columns))


def note(fitted: FittedModel) -> str | None:
    """What to tell about the decision; None if there was none."""
    kinds = decided(fitted)
    if not kinds:
        return None
    found = [
        f"{_listed([name for name, own in kinds.items() if own == kind])} treated as {plural}"
        for kind, plural in (("category", "categories"), ("number", "numbers"))
        if kind in kinds.values()
    ]
    return f"Columns of few whole numbers: {'; '.join(found)}. To decide yourself: --categorical NAME, --ordinal NAME."


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(map(repr, names[:_MOST_NAMES])) + more
