"""`csid.load`: a model from its file."""

import os

from csid.bayesian import BayesianCSIDRegressor
from csid.model_file import Arrays, read
from csid.regression import CSIDRegressor

_ESTIMATORS = {cls.__name__: cls for cls in (CSIDRegressor, BayesianCSIDRegressor)}


def load(path: str | os.PathLike[str]) -> CSIDRegressor | BayesianCSIDRegressor:
    """The model that `save` wrote to a file. Files from strangers are safe to load: they hold numbers and texts only.

    Raises `ModelFileError` when the file is not a model, is damaged, or was written by a later version.

    >>> import tempfile
    >>> import numpy as np
    >>> from csid import CSIDRegressor, load
    >>> X = np.random.default_rng(0).uniform(size=(50, 2))
    >>> model = CSIDRegressor(rank=2, random_state=0).fit(X, X.prod(axis=1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/product.csid")
    ...     again = load(f"{folder}/product.csid")
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    header, arrays = read(path)
    name = header.text("estimator")
    if name not in _ESTIMATORS:
        raise header.wrong("estimator", f"is {name!r}, not one of {', '.join(_ESTIMATORS)}")
    return _ESTIMATORS[name]._unpacked(header, Arrays(header.path, arrays))
