"""The summary of a fit that `csid fit` and `csid info` show."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from csid import BayesianCSIDRegressor, CSIDRegressor


def summary(model: "CSIDRegressor | BayesianCSIDRegressor") -> dict[str, Any]:
    """Observation noise, stacking weights and convergence of a Bayesian fit; sweeps and rank of least squares.

    Of a Bayesian fit also what its predictors of few whole numbers are, if there are any.
    """
    from csid import BayesianCSIDRegressor
    from csid.fitted.model import SamplingRecord

    fitted = model.fitted_
    if isinstance(fitted.training, SamplingRecord) and isinstance(model, BayesianCSIDRegressor):
        return {
            "noise": model.noise_.tolist(),
            "stacking_weights": {
                prior: weight for prior, weight in fitted.training.stacking_weights.items() if weight > 0.0
            },
            "convergence": fitted.training.convergence,
            **({"whole_numbers": dict(fitted.training.whole_numbers)} if fitted.training.whole_numbers else {}),
        }
    return {"sweeps": fitted.n_iter, "rank": fitted.tensor.rank}
