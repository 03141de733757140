"""Rows that need not fit into memory: read in batches, encoded once into a code file, and swept from there."""

from csid.data.out_of_core.batches import Batches
from csid.data.out_of_core.classes import count_classes
from csid.data.out_of_core.code_file import CodeFile, CodeFileError
from csid.data.out_of_core.encoder import DiskSurvey, Encoder, RowChecks, roles_of
from csid.data.out_of_core.parquet import ParquetRows
from csid.data.out_of_core.rows import Batch, OpenRows, RowBatches, open_rows, row_batches

__all__ = [
    "Batch",
    "Batches",
    "CodeFile",
    "CodeFileError",
    "DiskSurvey",
    "Encoder",
    "OpenRows",
    "ParquetRows",
    "RowBatches",
    "RowChecks",
    "count_classes",
    "open_rows",
    "roles_of",
    "row_batches",
]
