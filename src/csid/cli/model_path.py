"""The model file to write when --output does not name one."""

from pathlib import Path

from csid.cli.errors import DataError, UsageError

_DATA_EXTENSIONS = (".csv", ".tsv", ".txt", ".parquet", ".arrow", ".feather")


def default_model_path(data: str) -> Path:
    """Beside the data, with the extension .csid."""
    if data == "-" or any(mark in data for mark in "*?["):
        source = "standard input" if data == "-" else f"the pattern {data}"
        raise UsageError(f"{source} does not tell where to write the model: use --output MODEL.csid.")
    path = Path(data)
    if path.is_dir():
        return path.with_name(path.resolve().name + ".csid")
    if path.suffix == ".gz":
        path = path.with_suffix("")
    if path.suffix == ".csid":
        raise DataError(f"{data} is a model file; expected a data file.")
    return path.with_suffix(".csid") if path.suffix.lower() in _DATA_EXTENSIONS else path.with_name(path.name + ".csid")
