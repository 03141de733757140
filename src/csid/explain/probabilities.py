"""Probabilities of classes at latent values, as explanations need them."""

import numpy as np
from numpy.typing import NDArray

from csid.encoding import EncodedRows
from csid.fitted.model import FittedModel
from csid.likelihoods.class_predictive import ClassPredictive, as_class_predictive

Array = NDArray[np.float64]


def predictive_at(fitted: FittedModel, values: Array) -> ClassPredictive:
    """Calibrated probabilities at latent values (D, M, K) in each draw; D = 1 for a model without draws."""
    if fitted.posterior is None:
        predictive = fitted.likelihood.predictive(values, {}, np.ones(1))
    else:
        predictive = fitted.posterior.predictive(values)
    return as_class_predictive(predictive if fitted.calibration is None else fitted.calibration.of(predictive))


def class_probabilities(fitted: FittedModel, rows: EncodedRows) -> Array:
    """Calibrated probabilities (M, C) at encoded rows, as `predict_proba` returns them."""
    if fitted.posterior is None:
        values = fitted.expectation.evaluate(rows.codes, rows.fractions)[None]
    else:
        values = fitted.posterior.values(rows.codes, rows.fractions)
    return predictive_at(fitted, values).probabilities
