"""Save fitted estimators to model files, and load them."""

import os
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from csid.estimators.als import LeastSquaresEstimator
from csid.estimators.base import TensorEstimator
from csid.estimators.bayesian import BayesianCSIDRegressor
from csid.estimators.bayesian_classifier import BayesianCSIDClassifier
from csid.estimators.least_squares import CSIDRegressor
from csid.estimators.least_squares_classifier import CSIDClassifier
from csid.estimators.sampling import BayesianEstimator
from csid.likelihoods import LIKELIHOODS, Likelihood

_ESTIMATORS = {
    cls.__name__: cls for cls in (CSIDRegressor, CSIDClassifier, BayesianCSIDRegressor, BayesianCSIDClassifier)
}
_NOT_SAVED = ("n_jobs", "verbose")
_PAIRS = "pairs"
"""Key of the entry that holds the pairs of a dict whose keys are not all texts, such as labels that are numbers."""


def load(
    path: str | os.PathLike[str],
) -> CSIDRegressor | CSIDClassifier | BayesianCSIDRegressor | BayesianCSIDClassifier:
    """Load a model that `save` has written. Untrusted files are safe to load: they hold numbers and strings only.

    Parameters
    ----------
    path : path of the file

    Returns
    -------
    the estimator that was saved

    Raises
    ------
    ModelFileError
        If the file is not a model file, is damaged, or was written by a later version.

    Examples
    --------
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
    from csid.model_file import read_model

    saved = read_model(path)
    name, header = saved.fitted.estimator, saved.parameters
    if name not in _ESTIMATORS:
        raise header.error("estimator", f"is {name!r}, not one of {', '.join(_ESTIMATORS)}")
    cls = _ESTIMATORS[name]
    unknown = set(header.entries) - set(_kept_parameters(cls))
    if unknown:
        raise header.error("parameters", f"has {sorted(unknown)[0]!r}, which {name} does not have")
    if (saved.fitted.posterior is not None) != issubclass(cls, BayesianEstimator):
        raise header.error("estimator", f"is {name!r}, which contradicts its fitted model")
    if saved.fitted.likelihood.target not in cls.targets:
        raise header.error("estimator", f"is {name!r}, which contradicts its likelihood")
    try:
        model = cls(**{key: _as_parameter(value) for key, value in header.entries.items()})
        model._validate_params()
    except ValueError as error:  # of a parameter, or of a likelihood among them
        raise header.error("parameters", f"are invalid ({error})") from None
    model.__dict__.update(fitted_=saved.fitted)
    if isinstance(model, LeastSquaresEstimator):
        model.__dict__.update(_stream=saved.stream)
    return model


def save(model: TensorEstimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file."""
    from csid.model_file import write_model

    check_is_fitted(model)
    parameters = {name: _as_json(getattr(model, name)) for name in _kept_parameters(type(model))}
    write_model(path, model.fitted_, parameters, vars(model).get("_stream"))


def _kept_parameters(cls: type[TensorEstimator]) -> list[str]:
    return [name for name in cls._get_param_names() if name not in _NOT_SAVED]


def _as_json(value: Any) -> Any:
    """A parameter as a JSON value; None for other objects, such as a random generator."""
    if isinstance(value, Likelihood):
        return {"likelihood": value.as_json()}
    if isinstance(value, np.ndarray | np.generic):
        return _as_json(value.tolist())
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: _as_json(item) for key, item in value.items()}
        return {_PAIRS: [[_as_json(key), _as_json(item)] for key, item in value.items()]}  # keys of JSON are texts
    if isinstance(value, list | tuple | set):
        return [_as_json(item) for item in value]
    return value if isinstance(value, str | int | float | bool) else None


def _as_parameter(value: Any) -> Any:
    """A parameter from its JSON value; a likelihood entry becomes a `Likelihood`."""
    pairs = value.get(_PAIRS) if isinstance(value, dict) and set(value) == {_PAIRS} else None
    if isinstance(pairs, list):
        return _dict_of(pairs)
    entry = value.get("likelihood") if isinstance(value, dict) and set(value) == {"likelihood"} else None
    if not isinstance(entry, dict):
        return value
    name = entry.get("name")
    if not isinstance(name, str) or name not in LIKELIHOODS:
        raise ValueError(f"the likelihood is {name!r}, not one of {', '.join(sorted(LIKELIHOODS))}")
    return LIKELIHOODS[name].of_json(entry)


def _dict_of(pairs: list[Any]) -> dict[Any, Any]:
    scalar = str | int | float | bool | None
    if not all(isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], scalar) for pair in pairs):
        raise ValueError(f"{pairs!r} are not pairs of a key and a value")
    return dict(pairs)
