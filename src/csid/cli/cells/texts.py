"""Texts that differ only in case or blanks, as the same text."""

import pyarrow as pa

from csid.encoding.text import normalised


def normalised_texts(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts in lower case, with single blanks and none at the ends; missing cells stay missing."""
    coded = cells.combine_chunks().dictionary_encode()
    forms = pa.array([normalised(text) for text in coded.dictionary.to_pylist()], pa.string())
    return pa.chunked_array([forms.take(coded.indices)])
