"""The parameters that a trial chooses, for each estimator; the defaults lie in the search space."""

from typing import TYPE_CHECKING, Any, NamedTuple

from csid.cli.tasks import Estimator, Task

if TYPE_CHECKING:
    from optuna import Trial
    from optuna.trial import FrozenTrial
    from sklearn.base import BaseEstimator

_LEVELS = ("auto", "16", "32", "64", "128", "255")


class SearchSpace(NamedTuple):
    """estimator : whose parameters, for a task; has_gaps : whether rows lack some predictors."""

    estimator: Estimator
    task: Task
    has_gaps: bool

    def suggest(self, trial: "Trial | FrozenTrial") -> dict[str, Any]:
        """Parameters of the estimator, as a trial chooses or chose them."""
        levels = trial.suggest_categorical("levels", _LEVELS)
        parameters: dict[str, Any] = {"levels": levels if levels == "auto" else int(levels)}
        if self.estimator == Estimator.als:
            parameters |= {
                "rank": trial.suggest_int("rank", 2, 50, log=True),
                "smoothness": trial.suggest_float("smoothness", 1e-4, 10.0, log=True),
                "ridge": trial.suggest_float("ridge", 1e-7, 1e-2, log=True),
                "smoothness_order": trial.suggest_categorical("smoothness_order", [1, 2]),
            }
            if self.has_gaps:
                parameters["missing"] = trial.suggest_categorical("missing", ["marginalize", "level"])
            return parameters
        order = trial.suggest_categorical("smoothness_order", ["auto", "1", "2"])
        parameters |= {
            "rank": trial.suggest_int("rank", 4, 64, log=True),
            "smoothness_order": order if order == "auto" else int(order),
        }
        if len(self.task.likelihoods) > 1:
            parameters["likelihood"] = trial.suggest_categorical("likelihood", self.task.likelihoods)
        return parameters

    def defaults(self, model: "BaseEstimator") -> dict[str, Any]:
        """The parameters of an estimator that is not changed, as a trial chooses them."""
        names = ["levels", "rank", "smoothness_order"]
        if self.estimator == Estimator.als:
            names += ["smoothness", "ridge", *(["missing"] if self.has_gaps else [])]
        elif len(self.task.likelihoods) > 1:
            names.append("likelihood")
        parameters = model.get_params()
        return {name: parameters[name] for name in names}
