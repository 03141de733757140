"""The schema of a data file, from the header of a model file."""

from typing import cast, get_args

from csid.fitted.schema import CellFormat, ColumnSchema, Kind, Schema, Type
from csid.model_file.container import Section


def unpack_schema(section: Section) -> Schema:
    columns = tuple(
        ColumnSchema(
            column.text("name"),
            cast(Type, _one_of(column, "type", get_args(Type))),
            cast(Kind, _one_of(column, "kind", get_args(Kind))),
            tuple(column.texts("order")),
            _cell_format(column),
        )
        for column in section.sections("columns")
    )
    targets, missing, ignored = (tuple(section.texts(key)) for key in ("targets", "missing", "ignored"))
    weight, group = (section.text(key) if section.entries.get(key) is not None else None for key in ("weight", "group"))
    return Schema(columns, targets, missing, weight, group, ignored, section.flag("normalise_text"))


def _cell_format(column: Section) -> CellFormat:
    """How cells are written; files of before this was known have plain numbers."""
    if "format" not in column.entries:
        return CellFormat()
    entries = column.section("format")
    return CellFormat(entries.text("unit"), _one_of(entries, "decimal", (".", ",")), entries.flag("day_first"))


def _one_of(section: Section, key: str, legal: tuple[str, ...]) -> str:
    value = section.text(key)
    if value not in legal:
        raise section.wrong(key, f"is {value!r}, not one of {', '.join(legal)}")
    return value
