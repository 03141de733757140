"""Data files as Arrow tables: CSV and TSV (also gzipped), Parquet, Arrow and standard input."""

from csid.cli.tables.read_options import MISSING, Reading
from csid.cli.tables.read_table import parts, read
from csid.cli.tables.write_table import writer

__all__ = ["MISSING", "Reading", "parts", "read", "writer"]
