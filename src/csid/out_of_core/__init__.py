"""Rows that need not fit into memory: read in batches, encoded once into a code file, and swept from there."""

from csid.out_of_core.batches import Batches
from csid.out_of_core.code_file import CodeFile, CodeFileError
from csid.out_of_core.encoder import Encoder, Survey, roles_of
from csid.out_of_core.parquet import ParquetRows
from csid.out_of_core.rows import Batch, OpenRows, Rows, opened, rows_of

__all__ = [
    "Batch",
    "Batches",
    "CodeFile",
    "CodeFileError",
    "Encoder",
    "OpenRows",
    "ParquetRows",
    "Rows",
    "Survey",
    "opened",
    "roles_of",
    "rows_of",
]
