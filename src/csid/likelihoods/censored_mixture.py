"""The predictive distribution of a target that may be censored: that of its value, and what it says of an interval."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from csid.data.censored_targets import bounds_of, is_known
from csid.likelihoods.intervals import values_between
from csid.likelihoods.mixture import Mixture
from csid.likelihoods.truncated_normal import log_mass

Array = NDArray[np.float64]


@dataclass(frozen=True)
class CensoredMixture(Mixture):
    """A mixture of normal distributions of the uncensored value, one output. Targets are columns (M, 3)."""

    def log_density(self, y: Array) -> Array:
        """Log densities (M,) of known targets, and log probabilities of the intervals of the others."""
        known, found = is_known(y), np.empty(len(y))
        found[known] = self.take(np.flatnonzero(known)).log_density_of_values(y[known, :1])
        others = np.flatnonzero(~known)
        found[others] = logsumexp(self.take(others).log_masses(y[others]), axis=0)
        return found

    def log_density_of_values(self, values: Array) -> Array:
        """Log densities (M,) of known values (M, 1)."""
        return super().log_density(values)

    def values_given(self, y: Array, rng: np.random.Generator) -> Array:
        """Values (M, 1) of targets: known ones as they are, the others drawn from their intervals.

        If the distributions are right, these have the predictive distribution (randomised probability integral
        transform), so that calibration needs not know of censoring.
        """
        values = y[:, :1].copy()
        rows = np.flatnonzero(~is_known(y))
        if len(rows):
            some, targets = self.take(rows), y[rows]
            logs = some.log_masses(targets)
            below = np.cumsum(np.exp(logs - logsumexp(logs, axis=0)), axis=0)
            which = np.minimum((below < rng.random(len(rows))).sum(axis=0), len(logs) - 1)
            every = np.arange(len(rows))
            centre, scale = (
                some.centres[which, every, 0],
                np.broadcast_to(some.scales, some.centres.shape)[which, every, 0],
            )
            low, high = ((bound - centre) / scale for bound in bounds_of(targets))
            values[rows, 0] = centre + scale * values_between(low, high, np.zeros(len(rows)), rng)
        return values

    def log_masses(self, y: Array) -> Array:
        """Log probabilities (D, M) of each component and the intervals of targets."""
        low, high = ((bound - self.centres[..., 0]) / self.scales[..., 0] for bound in bounds_of(y))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.weights)[:, None] + log_mass(low, high))
