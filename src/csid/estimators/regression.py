"""What the regressors have in common: numeric targets, and R² as their score."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import Tags

from csid.data.censored_targets import CensoredTargets, bounds_of
from csid.data.checks import check_targets, check_weights
from csid.data.labels import ClassCounts
from csid.data.targets import NumericTargets, TargetReader
from csid.estimators.base import TensorEstimator
from csid.fitted.survival_metrics import concordance_of_intervals
from csid.likelihoods import Likelihood, likelihood_of
from csid.likelihoods.likelihood import TargetKind


class TensorRegressor(RegressorMixin, TensorEstimator):  # type: ignore[misc]
    """A regressor that stores everything it has fitted in `fitted_`, a `FittedModel`."""

    targets: ClassVar[tuple[TargetKind, ...]] = ("number", "interval")

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of the predictions; with several outputs, its mean over them.

        Of censored targets, the concordance index: the fraction of pairs of rows whose order is known, and which are
        predicted in this order.
        """
        predicted = np.asarray(self.predict(X))
        if self._fitted().likelihood.target == "interval":
            bounds = bounds_of(CensoredTargets().read(y, len(predicted)))
            weights = check_weights(sample_weight, len(predicted))
            return concordance_of_intervals(*bounds, predicted, weights)
        targets = check_targets(y, len(predicted)).reshape(predicted.shape)
        unit = np.exp2(np.frexp(np.abs(targets).max())[1])  # R² has none, and squares then are floats
        return float(r2_score(targets / unit, predicted / unit, sample_weight=sample_weight))

    def _target_reader(self, earlier: TargetReader | None, count: Callable[[], ClassCounts]) -> TargetReader:
        kind = likelihood_of(self.likelihood, *self.targets).target
        return CensoredTargets() if kind == "interval" else NumericTargets()

    def _likelihood(self, reader: TargetReader) -> Likelihood:
        return likelihood_of(self.likelihood, *self.targets)

    def _residual_text(self, residual: float) -> str:
        return f"R² on training rows {1 - residual:.4f}"

    def _held_out_text(self, error: float) -> str:
        if likelihood_of(self.likelihood, *self.targets).latent:
            return f"held-out loss {error:.4f}"
        return f"held-out R² {1 - error:.4f}"

    def _drift_text(self, drift: float) -> str:
        return f"the noise drifted by {100.0 * drift:.0f} % of the target's standard deviation"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
