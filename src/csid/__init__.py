"""Canonical system identification: learn a nonlinear function of a table by completing a low-rank tensor."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from csid.data.censored_targets import censored
    from csid.data.out_of_core import Batches, ParquetRows
    from csid.data.remarks import remarks
    from csid.estimators.bayesian import BayesianCSIDRegressor, Uncertainty
    from csid.estimators.bayesian_classifier import BayesianCSIDClassifier
    from csid.estimators.least_squares import CSIDRegressor
    from csid.estimators.least_squares_classifier import CSIDClassifier
    from csid.estimators.loading import load
    from csid.estimators.survival import BayesianCSIDSurvival
    from csid.explain.identifiability import Identifiability, identifiability
    from csid.fitted.survival_metrics import concordance_index, integrated_brier_score
    from csid.inference.sampling import InterruptedFitWarning
    from csid.model_file import ModelFileError

__version__ = version("csid")

__all__ = [
    "Batches",
    "BayesianCSIDClassifier",
    "BayesianCSIDRegressor",
    "BayesianCSIDSurvival",
    "CSIDClassifier",
    "CSIDRegressor",
    "Identifiability",
    "InterruptedFitWarning",
    "ModelFileError",
    "ParquetRows",
    "Uncertainty",
    "censored",
    "concordance_index",
    "identifiability",
    "integrated_brier_score",
    "load",
    "remarks",
]

_HOMES = {
    "Batches": "csid.data.out_of_core",
    "BayesianCSIDClassifier": "csid.estimators.bayesian_classifier",
    "BayesianCSIDRegressor": "csid.estimators.bayesian",
    "BayesianCSIDSurvival": "csid.estimators.survival",
    "CSIDClassifier": "csid.estimators.least_squares_classifier",
    "CSIDRegressor": "csid.estimators.least_squares",
    "Identifiability": "csid.explain.identifiability",
    "InterruptedFitWarning": "csid.inference.sampling",
    "ModelFileError": "csid.model_file",
    "ParquetRows": "csid.data.out_of_core",
    "Uncertainty": "csid.estimators.bayesian",
    "censored": "csid.data.censored_targets",
    "concordance_index": "csid.fitted.survival_metrics",
    "identifiability": "csid.explain.identifiability",
    "integrated_brier_score": "csid.fitted.survival_metrics",
    "load": "csid.estimators.loading",
    "remarks": "csid.data.remarks",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is: `csid --help` should not wait for compilers."""
    if name not in _HOMES:
        raise AttributeError(f"module 'csid' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
