"""A model as the source text of one Python module that needs only the standard library."""

import ast
import base64
import json
import zlib
from importlib.resources import files
from textwrap import dedent

from csid.export.description import describe
from csid.export.document import document
from csid.fitted.description import DescribedDraws
from csid.fitted.model import Model

_TAIL = '''

_MODEL = {model}(
    """
{document}""",
    """
{rows}""",
    {noise},
)
predict, predict_many, predict_interval = _MODEL.predict, _MODEL.predict_many, _MODEL.predict_interval

if __name__ == "__main__":
    main(_MODEL)
'''


def to_python(model: Model) -> str:
    """Source text of a module that predicts as a fitted model does, to rounding, on Python 3.8 or newer.

    It has the functions `predict(row)`, `predict_many(rows)` and, for a `BayesianCSIDRegressor`,
    `predict_interval(row, coverage=0.9)`; a row maps column names to values. Names and categories of the model are in
    its packed data only, never in its code. As a script it predicts the rows of a file:
    `python model.py data.csv > predictions.csv`.

    Examples
    --------
    >>> import numpy as np
    >>> from csid import CSIDRegressor
    >>> from csid.export import to_python
    >>> X = np.random.default_rng(0).uniform(size=(50, 2))
    >>> model = CSIDRegressor(rank=2, random_state=0).fit(X, X[:, 0] * X[:, 1])
    >>> module = {"__name__": "model"}
    >>> exec(to_python(model), module)
    >>> bool(np.isclose(module["predict"]({"x0": 0.5, "x1": 0.2}), model.predict([[0.5, 0.2]])[0]))
    True
    """
    described = describe(model)
    members = document(described)
    for predictor in members["predictors"]:
        predictor["rows"] = len(predictor["rows"])  # stored as bytes: a third smaller than digits, and faster to read
    rows = b"".join(predictor.rows.astype("<f8").tobytes() for predictor in described.predictors)
    code, model_class = _source("python_template.py"), "Model"
    if described.classes is not None:
        _, start, rest = _source("python_missing_cells.py").partition("\n\nclass ")
        code, model_class = code + start + rest, "ConditionalModel"
    noise_code, noise = ("", None) if described.draws is None else _noise(described.draws)
    packed = _packed(json.dumps(members, allow_nan=False).encode("ascii"))
    return code + noise_code + _TAIL.format(model=model_class, document=packed, rows=_packed(rows), noise=noise)


def _noise(draws: DescribedDraws) -> tuple[str, str]:
    """Code of the class of the noise, and a call that makes it."""
    code = dedent(draws.likelihood.python).strip()
    *_, noise = (node.name for node in ast.parse(code).body if isinstance(node, ast.ClassDef))
    return f"\n\n{code}\n", f"{noise}()"


def _source(name: str) -> str:
    return files("csid.export").joinpath(name).read_text(encoding="utf-8")


def _packed(content: bytes) -> str:
    return base64.encodebytes(zlib.compress(content)).decode("ascii")
