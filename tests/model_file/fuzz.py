"""Feeds `csid.load` what atheris makes of the corpus, with checksums not looked at, as a stranger could make them fit.

    pip install atheris
    python tests/model_file/fuzz.py tests/model_file/corpus -max_total_time=600 -rss_limit_mb=2048 -timeout=20

Only a `ModelFileError`, or a model that predicts, is in order. What breaks this rule goes into the corpus, which the
tests replay.
"""

import inspect
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

import csid.estimators.loading
from csid.model_file import container, migration, model, parts, schemas, streams


def load_and_predict(contents: bytes, path: Path) -> None:
    """Refused, or a model whose prediction of a row without any value is a number or an error that says why not."""
    path.write_bytes(contents)
    try:
        model = csid.load(path)
    except csid.ModelFileError:
        return
    nameless = replace(model.fitted_, columns=replace(model.fitted_.columns, names=None))  # a row then needs none
    model.__dict__.update(fitted_=nameless)
    try:
        model.predict(np.full((1, model.n_features_in_), None, dtype=object))
    except ArithmeticError as error:
        if "overflows" not in str(error):
            raise


def main() -> None:
    import atheris

    modules = (container, migration, model, parts, schemas, streams, csid.estimators.loading)
    for home in (*modules, container.Section, parts.Arrays):
        for name, function in list(vars(home).items()):
            if inspect.isfunction(function) and function.__module__.startswith("csid."):
                setattr(home, name, atheris.instrument_func(function))
    setattr(container, "_check_sum", lambda *_: None)  # noqa: B010, a stranger can make checksums fit
    path = Path(tempfile.mkdtemp()) / "model"
    atheris.Setup(sys.argv, lambda contents: load_and_predict(contents, path))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
