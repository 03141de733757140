"""Adapt a prior to a table."""

from dataclasses import replace

from csid.data.problem import Summary
from csid.priors.prior import Prior


def adapted_prior(prior: Prior, summary: Summary) -> Prior:
    """The prior, with shrinkage of factors to 1 strengthened when there are few rows per pair of predictors.

    A product of N factors that vary by more than 1 / N has heavy tails, and few rows do not constrain these.
    """
    return replace(prior, nu=max(prior.nu, summary.n_modes**2 / summary.total_weight))
