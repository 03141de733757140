"""Canonical system identification: learn a nonlinear function of a table by completing a low-rank tensor."""

from importlib.metadata import version

from csid.bayesian import BayesianCSIDRegressor
from csid.explain.identifiability import Identifiability, identifiability
from csid.regression import CSIDRegressor

__version__ = version("csid")

__all__ = ["BayesianCSIDRegressor", "CSIDRegressor", "Identifiability", "identifiability"]
