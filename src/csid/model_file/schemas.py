"""The schema of a data file, from the header of a model file."""

from typing import cast, get_args

from csid.fitted.schema import CellFormat, ColumnSchema, Kind, LabelType, Schema, Type
from csid.model_file.container import Section


def unpack_schema(section: Section) -> Schema:
    columns = tuple(
        ColumnSchema(
            column.text("name"),
            cast(Type, _one_of(column, "type", get_args(Type))),
            cast(Kind, _one_of(column, "kind", get_args(Kind))),
            tuple(column.texts("order")),
            _cell_format(column.section("format")) if "format" in column.entries else CellFormat(),
        )
        for column in section.sections("columns")
    )
    targets, missing, ignored = (tuple(section.texts(key)) for key in ("targets", "missing", "ignored"))
    weight, group = (section.text(key) if section.entries.get(key) is not None else None for key in ("weight", "group"))
    formats = {}
    if "formats" in section.entries:
        written = section.section("formats")
        formats = {name: _cell_format(written.section(name)) for name in written.entries}
    normalise_text, labels = section.flag("normalise_text"), None
    if section.entries.get("labels") is not None:  # not in the files of regressors
        labels = cast(LabelType, _one_of(section, "labels", get_args(LabelType)))
    return Schema(columns, targets, missing, weight, group, ignored, normalise_text, formats, labels)


def _cell_format(entries: Section) -> CellFormat:
    return CellFormat(entries.text("unit"), _one_of(entries, "decimal", (".", ",")), entries.flag("day_first"))


def _one_of(section: Section, key: str, legal: tuple[str, ...]) -> str:
    value = section.text(key)
    if value not in legal:
        raise section.wrong(key, f"is {value!r}, not one of {', '.join(legal)}")
    return value
