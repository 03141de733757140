"""Models of data files, whose columns have dates and ordered words."""

from pathlib import Path
from typing import Any

import pandas as pd

import csid
from csid.cli.app import app


def fitted_from_file(folder: Path, table: pd.DataFrame, target: str, *flags: str) -> Any:
    """A small least-squares model, fitted by the command."""
    data, model = folder / "rows.csv", folder / "rows.csid"
    table.to_csv(data, index=False)
    small = ["--estimator", "als", "--set", "rank=2", "--set", "max_iter=3"]
    app(["fit", str(data), "--target", target, *small, "--quiet", "-o", str(model), *flags], standalone_mode=False)
    return csid.load(model)
