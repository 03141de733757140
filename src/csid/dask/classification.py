"""`DaskCSIDClassifier` and `DaskBayesianCSIDClassifier`: classification over the partitions of Dask collections."""

from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score

from csid.dask.bayesian import SamplerOnDask
from csid.dask.estimator import OnDask
from csid.dask.least_squares import LeastSquaresOnDask
from csid.dask.prediction import Method, predicted_lazily
from csid.data.cluster.partitions import is_lazy
from csid.estimators.bayesian_classifier import BayesianCSIDClassifier
from csid.estimators.least_squares_classifier import CSIDClassifier


class ClassesOnDask(OnDask):
    """Lazy probabilities of the classifiers on Dask."""

    def predict_proba(self, X: Any) -> Any:
        """As the local estimator. For a Dask collection, a lazy collection with the same partitions."""
        return self._of_rows("predict_proba", X)

    def predict_log_proba(self, X: Any) -> Any:
        """As the local estimator. For a Dask collection, a lazy collection with the same partitions."""
        return self._of_rows("predict_log_proba", X)

    def decision_function(self, X: Any) -> Any:
        """As the local estimator. For a Dask collection, a lazy collection with the same partitions."""
        return self._of_rows("decision_function", X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy. Classes and predictions of a Dask collection come to this process."""
        weights = None if sample_weight is None else np.asarray(sample_weight)
        return float(accuracy_score(np.asarray(y), np.asarray(self.predict(X)), sample_weight=weights))

    def _of_rows(self, method: Method, X: Any) -> Any:
        if is_lazy(X):
            return predicted_lazily(self.to_local(), X, method)
        return getattr(self.local, method)(self, X)


class DaskCSIDClassifier(ClassesOnDask, LeastSquaresOnDask, CSIDClassifier):
    """`CSIDClassifier` on a Dask cluster.

    Rows stay on the workers, encoded in one or two bytes per cell; classes are counted there, and only sums over rows
    are sent. With the same levels and random state, the fit equals that of `CSIDClassifier` up to rounding.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        The cluster to use. None for Dask's current client, or else its configured scheduler.
    rank, levels, ... : as in `CSIDClassifier`
        Not supported, because they need individual rows: `update="cg"`, `solver="stochastic"` and `n_estimators` above
        1.

    Examples
    --------
    >>> import dask.array as da
    >>> from csid.dask import DaskCSIDClassifier
    >>> rng = da.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (2000, 2), chunks=(500, 2))
    >>> model = DaskCSIDClassifier(rank=4, random_state=0).fit(X, X[:, 0] * X[:, 1] > 0)
    >>> model.classes_.tolist()
    [False, True]
    >>> model.predict_proba(X)
    dask.array<concatenate, shape=(2000, 2), dtype=float64, chunksize=(500, 2), chunktype=numpy.ndarray>
    """

    local = CSIDClassifier


class DaskBayesianCSIDClassifier(ClassesOnDask, SamplerOnDask, BayesianCSIDClassifier):
    """`BayesianCSIDClassifier` on a Dask cluster.

    The pilot and the burn-in run in this process, on a random sample of at most 60,000 rows. After that, every sweep
    reads all rows on the workers, which also draw the latent values of their rows. Draws are from the same posterior as
    those of the local estimator, without approximation.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        The cluster to use. None for Dask's current client, or else its configured scheduler.
    rank, levels, ... : as in `BayesianCSIDClassifier`
        Not supported, because they need individual rows: `rank` above 32, and `pmf_rank` above 1 ("auto" is 1 here).

    Examples
    --------
    >>> import dask.array as da
    >>> from csid.dask import DaskBayesianCSIDClassifier
    >>> rng = da.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (400, 2), chunks=(200, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> model = DaskBayesianCSIDClassifier(rank=4, effort="fast", prior="medium", random_state=0).fit(X, y)
    >>> model.predict_proba(X[:5].compute()).shape
    (5, 2)
    """

    local = BayesianCSIDClassifier
