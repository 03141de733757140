"""What the classifiers have in common: labels, predicted classes and probabilities, and accuracy as their score."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import StrOptions

from csid.data.labels import ClassCounts
from csid.data.targets import ClassTargets, ClassWeight, TargetReader
from csid.estimators.base import Constraints, TensorEstimator
from csid.likelihoods import Likelihood
from csid.likelihoods.binary_probit import BinaryProbit
from csid.likelihoods.class_likelihood import ClassLikelihood
from csid.likelihoods.multinomial_probit import MultinomialProbit
from csid.likelihoods.ordinal_probit import OrdinalProbit

Array = NDArray[np.float64]

_MOST_SHOWN = 5

CLASS_CONSTRAINTS: Constraints = {
    "likelihood": [StrOptions({"probit", "ordinal"}), Likelihood],
    "class_order": ["array-like", None],
    "class_weight": [dict, StrOptions({"balanced"}), None],
}
"""Legal values of the parameters that only classifiers have."""


class TensorClassifier(ClassifierMixin, TensorEstimator):  # type: ignore[misc]
    """A classifier that stores everything it has fitted in `fitted_`, a `FittedModel`."""

    targets = ("class",)

    class_order: Sequence[Any] | None
    class_weight: ClassWeight

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels (C,), in the order of the columns of `predict_proba`."""
        return self._classes().labels

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of each row, (M,)."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, (M, C)."""
        return self._fitted().class_probabilities(X, self._threads())

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the probabilities, (M, C)."""
        return np.log(self.predict_proba(X))

    def decision_function(self, X: Any) -> Array:
        """Latent values: that of the second of two classes, (M,), or one for each class, (M, C)."""
        fitted = self._fitted()
        return fitted.squeeze(fitted.means(X, self._threads()))

    def _classes(self) -> ClassTargets:
        classes = self._fitted().classes
        if classes is None:
            raise TypeError("the fitted model has no classes: it is that of a regressor.")
        return classes

    def _target_reader(self, earlier: TargetReader | None, count: Callable[[], ClassCounts]) -> TargetReader:
        classes = earlier if isinstance(earlier, ClassTargets) else ClassTargets.of(count(), self.class_order)
        return classes.weighted(self.class_weight, self.weights)

    def _likelihood(self, reader: TargetReader) -> Likelihood:
        if not isinstance(reader, ClassTargets):
            raise TypeError(f"a classifier needs classes, but its targets are {type(reader).__name__}.")
        if isinstance(self.likelihood, ClassLikelihood):
            if self.likelihood.n_classes != len(reader.labels):
                raise ValueError(
                    f"likelihood={self.likelihood!r} has {self.likelihood.n_classes} classes, but y has "
                    f"{len(reader.labels)}: give 'probit'."
                )
            return self.likelihood
        if self.likelihood == "ordinal":
            _check_order(reader)
            return OrdinalProbit(reader.frequencies)
        if self.likelihood != "probit":
            raise ValueError(f"likelihood={self.likelihood!r}: give 'probit' or 'ordinal'.")
        return (BinaryProbit if len(reader.labels) == 2 else MultinomialProbit)(reader.frequencies)

    def _residual_text(self, residual: float) -> str:
        return ""  # of drawn latent values, it does not tell how good the fit is

    def _held_out_text(self, error: float) -> str:
        return f"held-out log loss {0.5 * error:.4f}"

    def _drift_text(self, drift: float) -> str:
        return f"the log loss on the training rows drifted by {drift:.2f}"


def _check_order(classes: ClassTargets) -> None:
    """Ordered classes are numbers, or their order was given."""
    if not classes.ordered and isinstance(classes.labels[0], str):
        shown = ", ".join(map(repr, classes.labels[:_MOST_SHOWN].tolist()))
        more = ", …" if len(classes.labels) > _MOST_SHOWN else ""
        raise ValueError(
            f"likelihood='ordinal' needs the order of the classes {shown}{more}: give class_order=[…], from the lowest "
            "to the highest, or y as an ordered category."
        )
