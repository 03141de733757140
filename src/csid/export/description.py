"""What every export is made from: the description of a model, if it is one that can be exported."""

from typing import Any

from csid.bayesian import BayesianCSIDRegressor
from csid.description import Description, description_of
from csid.regression import CSIDRegressor


def describe(model: Any) -> Description:
    """What a fitted `CSIDRegressor` or `BayesianCSIDRegressor` predicts with."""
    if not isinstance(model, CSIDRegressor | BayesianCSIDRegressor):
        raise TypeError(
            f"a {type(model).__name__} cannot be exported: give a fitted CSIDRegressor or BayesianCSIDRegressor. "
            "A Pipeline that ends in one becomes ONNX with skl2onnx, after csid.export.register_skl2onnx()."
        )
    return description_of(model)
