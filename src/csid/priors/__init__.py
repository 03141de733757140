"""The priors that the pilot of `BayesianCSIDRegressor` weighs, by name.

>>> from csid.priors import CATALOGUE
>>> print(CATALOGUE["sparse"].summary)
Effects of irrelevant predictors are shrunk to zero. Wins when most predictors are irrelevant.
"""

from csid.priors.catalogue import CATALOGUE, PriorSpec
from csid.priors.prior import Prior

__all__ = ["CATALOGUE", "Prior", "PriorSpec"]
