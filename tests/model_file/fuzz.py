"""Feeds `csid.load` what atheris makes of the corpus, with checksums not looked at, as a stranger could make them fit.

    pip install atheris
    python tests/model_file/fuzz.py tests/model_file/corpus -runs=1000000 -timeout=20

Most files are changed as `mutation.py` does, the others byte by byte. Only a `ModelFileError`, or a model that predicts
finite numbers or says that they overflow, is in order, within 2 GB of memory; huge factors may give infinite bounds.
What breaks this rule goes into the corpus, which the tests replay.
"""

import inspect
import random
import resource
import sys
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import csid.estimators.loading
from csid.model_file import container, index, migration, model, parts, schemas, streams

_MEMORY = 2 << 30
_STRUCTURED = 0.9
_HUGE = 1e50


def load_and_predict(contents: bytes, path: Path) -> None:
    """Refused, or a model that predicts rows of no value, of first and of last levels, with intervals if it has any."""
    path.write_bytes(contents)
    try:
        model = csid.load(path)
    except csid.ModelFileError:
        return
    nameless = replace(model.fitted_, columns=replace(model.fitted_.columns, names=None))  # rows then need none
    model.__dict__.update(fitted_=nameless)
    model.set_params(n_jobs=1)
    rows = np.full((3, model.n_features_in_), None, dtype=object)
    for n, mode in enumerate(nameless.encoding.modes):
        known = [value for value in mode.level_names if value is not None]
        rows[1:, n] = [known[0], known[-1]] if known else None
    try:
        with warnings.catch_warnings(action="ignore"):
            found: list[Any] = [model.predict(rows)]
            if isinstance(model, csid.BayesianCSIDRegressor):
                found += model.predict_interval(rows)
    except ArithmeticError as error:
        if "overflow" not in str(error):
            raise
    else:
        assert all(np.isfinite(values).all() for values in found) or _has_huge_numbers(nameless)


def _has_huge_numbers(fitted: Any) -> bool:
    """Whether a model is of numbers whose products or squares may leave the range of floats."""
    arrays = [fitted.tensor.V, fitted.tensor.bias, *fitted.tensor.factors]
    arrays += [] if fitted.posterior is None else fitted.posterior.parameters.values()
    arrays += [mode.grid for mode in fitted.encoding.modes if mode.n_ordered]
    return any(np.abs(array).max(initial=0.0) > _HUGE for array in arrays)


def main() -> None:
    import atheris

    from model_file.mutation import mutated

    modules = (container, index, migration, model, parts, schemas, streams, csid.estimators.loading)
    for home in (*modules, container.Section, parts.Arrays):
        for name, function in list(vars(home).items()):
            if inspect.isfunction(function) and function.__module__.startswith("csid."):
                setattr(home, name, atheris.instrument_func(function))
    setattr(container, "_check_sum", lambda *_: None)  # noqa: B010, a stranger can make checksums fit
    path = Path(tempfile.mkdtemp()) / "model"
    load_and_predict(next(Path(__file__).parent.glob("released/*.csid")).read_bytes(), path)  # compiles the kernels
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + _MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    def mutate(contents: bytes, most_bytes: int, seed: int) -> bytes:
        if random.Random(seed).random() < _STRUCTURED:
            changed = mutated(contents, seed)
            if changed != contents and len(changed) <= most_bytes:
                return changed
        return bytes(atheris.Mutate(contents, most_bytes))

    atheris.Setup(sys.argv, lambda contents: load_and_predict(contents, path), custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    main()
