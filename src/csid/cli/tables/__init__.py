"""Data files as Arrow tables: CSV, TSV and JSON lines (also packed), workbooks, Parquet, Arrow and standard input."""

from csid.cli.tables.batches import UNNAMED, is_category
from csid.cli.tables.read_options import MISSING, Reading
from csid.cli.tables.read_table import parts, read
from csid.cli.tables.write_table import writer

__all__ = ["MISSING", "UNNAMED", "Reading", "is_category", "parts", "read", "writer"]
