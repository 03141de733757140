"""What every export is made from: the description of a fitted model."""

from csid.fitted.description import ModelDescription, description_of
from csid.fitted.model import Model, fitted_model


def describe(model: Model) -> ModelDescription:
    """What a fitted csid estimator predicts with; an error says what can be exported."""
    try:
        fitted = fitted_model(model)
    except TypeError as error:
        raise TypeError(
            f"cannot export: {error} For a Pipeline that ends in one, call csid.export.register_skl2onnx() and use "
            "skl2onnx."
        ) from None
    return description_of(fitted)
