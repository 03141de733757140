"""The model file: one safetensors file with a JSON header, nothing in it that could run. See docs/model-file.md."""

from csid.model_file.container import PROTOCOL, ModelFileError, Section, json_number, read, write
from csid.model_file.parts import (
    Arrays,
    pack_cpd,
    pack_draws,
    pack_encoding,
    pack_pmf,
    unpack_cpd,
    unpack_draws,
    unpack_encoding,
    unpack_pmf,
)
from csid.model_file.streams import pack_stream, unpack_stream

__all__ = [
    "PROTOCOL",
    "Arrays",
    "ModelFileError",
    "Section",
    "json_number",
    "pack_cpd",
    "pack_draws",
    "pack_encoding",
    "pack_pmf",
    "pack_stream",
    "read",
    "unpack_cpd",
    "unpack_draws",
    "unpack_encoding",
    "unpack_pmf",
    "unpack_stream",
    "write",
]
