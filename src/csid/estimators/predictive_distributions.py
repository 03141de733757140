"""What Bayesian estimators of numbers and of times have in common: reading their predictive distributions."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.estimators.sampling import BayesianEstimator
from csid.likelihoods.mixture import Mixture

Array = NDArray[np.float64]


class MixtureEstimator(BayesianEstimator):
    """A Bayesian estimator whose predictive distributions are mixtures of noise distributions."""

    @property
    def noise_(self) -> Array:
        posterior = self.posterior_
        return np.asarray(np.sqrt(posterior.weights @ posterior.noise**2))

    def _quantiles_at(self, X: Any, levels: Sequence[float]) -> Array:
        """Quantiles (M, Q, K) of a new observation."""
        found = self._from_predictives(X, lambda rows: tuple(rows.ppf(level) for level in levels))
        return np.stack(found, axis=1)

    def _from_predictives(self, X: Any, read: Callable[[Mixture], tuple[Array, ...]]) -> list[Array]:
        """Concatenate the arrays that `read` returns for the predictive distributions of each batch of rows."""
        parts = [read(rows) for _, rows in self._fitted().mixtures(X, self._threads())]
        return [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]


def checked_levels(quantiles: Sequence[float]) -> list[float]:
    """The probabilities of quantiles, or an error."""
    levels = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
    if levels.ndim != 1 or not ((levels > 0.0) & (levels < 1.0)).all():
        raise ValueError(f"quantiles={quantiles!r}: give probabilities between 0 and 1, such as (0.05, 0.95).")
    return [float(level) for level in levels]


def central_levels(coverage: float) -> tuple[float, float]:
    """The probabilities of the bounds of a central interval, or an error."""
    if not 0.0 < coverage < 1.0:
        raise ValueError(f"coverage={coverage}: give a probability between 0 and 1, such as 0.9.")
    return 0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage
