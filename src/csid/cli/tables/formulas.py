"""Text cells and names that a spreadsheet would run as formulas, made text by an apostrophe before them."""

import pyarrow as pa
import pyarrow.compute as pc

_FORMULA = "^[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"
_NO_FORMULA = r"^[+-]?[0-9., ]*([eE][+-]?[0-9]+)?\s*%?$"


def without_formulas(table: pa.Table) -> pa.Table:
    """The table, where text and names that begin with = + - @, a tab or a line break begin with ' instead.

    Numbers in text, such as -1.5, stay as they are.
    """
    columns = [_escaped(column) for column in table.columns]
    names = _escaped(pa.chunked_array([pa.array(table.column_names, pa.string())])).to_pylist()
    return pa.table(columns, names=names)


def _escaped(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column
    text = column.cast(kind)
    runs = pc.and_(pc.match_substring_regex(text, _FORMULA), pc.invert(pc.match_substring_regex(text, _NO_FORMULA)))
    if not pc.any(runs).as_py():
        return text
    quoted = pc.binary_join_element_wise(pa.scalar("'", kind), text, pa.scalar("", kind))
    return pc.if_else(runs, quoted, text)
