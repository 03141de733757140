"""A model as the source text of one Python module that needs only the standard library."""

import ast
import base64
import json
import zlib
from importlib.resources import files
from textwrap import dedent

from csid.export.description import describe
from csid.export.document import document
from csid.fitted.model import Model

_OF_NUMBERS = """
_MODEL = {model}(_DOCUMENT, _ROWS, {noise})
predict, predict_many, predict_interval = _MODEL.predict, _MODEL.predict_many, _MODEL.predict_interval
"""

_OF_CLASSES = """
_MODEL = Classifier({model}(_DOCUMENT, _ROWS), _DOCUMENT, {likelihood})
predict, predict_many, predict_proba = _MODEL.predict, _MODEL.predict_many, _MODEL.predict_proba
"""

_COMMAND = """
if __name__ == "__main__":
    main(_MODEL)
"""


def to_python(model: Model) -> str:
    """Source text of a module that predicts as a fitted model does, to rounding, on Python 3.8 or newer.

    It has the functions `predict(row)`, `predict_many(rows)` and, for a `BayesianCSIDRegressor`,
    `predict_interval(row, coverage=0.9)`; a row maps column names to values. Of a classifier, `predict` gives a label
    and `predict_proba(row)` a dictionary from labels to probabilities. Names, categories and labels of the model are in
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
        code, model_class = code + _classes_of("python_missing_cells.py"), "ConditionalModel"
    if described.classification is not None:
        likelihood_code, likelihood = _instance(described.classification.likelihood.python)
        code += _classes_of("python_classes.py") + likelihood_code
        tail = _OF_CLASSES.format(model=model_class, likelihood=likelihood)
    else:
        noise_code, noise = ("", None) if described.draws is None else _instance(described.draws.likelihood.python)
        code += noise_code
        tail = _OF_NUMBERS.format(model=model_class, noise=noise)
    packed = _packed(json.dumps(members, allow_nan=False).encode("ascii"))
    return f'{code}\n\n_DOCUMENT = """\n{packed}"""\n_ROWS = """\n{_packed(rows)}"""\n{tail}{_COMMAND}'


def _instance(source: str) -> tuple[str, str]:
    """Source text that ends in a class, and a call that makes an instance of it."""
    code = dedent(source).strip()
    *_, name = (node.name for node in ast.parse(code).body if isinstance(node, ast.ClassDef))
    return f"\n\n{code}\n", f"{name}()"


def _classes_of(name: str) -> str:
    """A file from its first class on."""
    _, start, rest = _source(name).partition("\n\nclass ")
    return start + rest


def _source(name: str) -> str:
    return files("csid.export").joinpath(name).read_text(encoding="utf-8")


def _packed(content: bytes) -> str:
    return base64.encodebytes(zlib.compress(content)).decode("ascii")
