"""Canonical system identification: learn a nonlinear function of a table by completing a low-rank tensor."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from csid.bayesian import BayesianCSIDRegressor
    from csid.explain.identifiability import Identifiability, identifiability
    from csid.loading import load
    from csid.model_file import ModelFileError
    from csid.out_of_core import Batches, ParquetRows
    from csid.regression import CSIDRegressor

__version__ = version("csid")

__all__ = [
    "Batches",
    "BayesianCSIDRegressor",
    "CSIDRegressor",
    "Identifiability",
    "ModelFileError",
    "ParquetRows",
    "identifiability",
    "load",
]

_HOMES = {
    "Batches": "csid.out_of_core",
    "BayesianCSIDRegressor": "csid.bayesian",
    "CSIDRegressor": "csid.regression",
    "Identifiability": "csid.explain.identifiability",
    "ModelFileError": "csid.model_file",
    "ParquetRows": "csid.out_of_core",
    "identifiability": "csid.explain.identifiability",
    "load": "csid.loading",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is: `csid --help` should not wait for compilers."""
    if name not in _HOMES:
        raise AttributeError(f"module 'csid' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
