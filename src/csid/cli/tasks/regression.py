"""Regression: targets are numbers."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from csid.cli.tasks.task import Estimator, Task, TaskName

if TYPE_CHECKING:
    import pyarrow as pa

    from csid.cli.labelled_rows import LabelledRows
    from csid.cli.output_columns import OutputColumns
    from csid.cli.tuning.losses import Loss
    from csid.fitted.schema import Schema


class Regression(Task):
    """Targets are numbers, of one column or several."""

    name = TaskName.regression
    target = "number"
    estimators: ClassVar = {Estimator.bayesian: "BayesianCSIDRegressor", Estimator.als: "CSIDRegressor"}
    labelled = False
    likelihoods = ("gaussian", "student_t")
    tuned = "RMSE in standard deviations of the target"
    explained = "prediction"

    def check_wanted(self, wanted: "OutputColumns") -> None:
        """All options are those of regression."""

    def predicted(
        self, model: Any, X: "pa.Table", targets: Sequence[str], wanted: "OutputColumns", copied: Collection[str]
    ) -> dict[str, Any]:
        """The columns `prediction`, `std`, `lower` and `upper`; of several targets, with their names appended."""
        import numpy as np

        from csid import BayesianCSIDRegressor

        values: dict[str, Any]
        if X.num_rows == 0:
            names = ["prediction", *(["std"] if wanted.std else [])]
            names += ["lower", "upper"] if wanted.interval is not None else []
            values = dict.fromkeys(names, np.empty((0, len(targets))))
        else:
            values = {"prediction": model.predict(X)}
            if isinstance(model, BayesianCSIDRegressor):
                if wanted.std:
                    values["std"] = model.predict(X, return_std=True)[1]
                if wanted.interval is not None:
                    values["lower"], values["upper"] = model.predict_interval(X, wanted.interval)
        columns = {}
        for name, array in values.items():
            for j, target in enumerate(targets):
                column = array.reshape(len(array), len(targets))[:, j]
                columns[name if len(targets) == 1 else f"{name}_{target}"] = np.ascontiguousarray(column)
        return columns

    def metrics(self, model: Any, rows: "LabelledRows", schema: "Schema", seed: int) -> dict[str, dict[str, Any]]:
        from csid.fitted.metrics import metrics

        return metrics(model, rows.X, rows.y, rows.weights, schema.targets, seed)

    def summary(self, model: Any, targets: Sequence[str]) -> dict[str, Any]:
        """Metrics by target on the held-out rows of the pilot, and the observation noise."""
        from csid import BayesianCSIDRegressor
        from csid.fitted.accuracy import Accuracy

        if not isinstance(model, BayesianCSIDRegressor):
            return {}
        accuracy, found = None, model.accuracy_
        if isinstance(found, Accuracy):
            metrics = {"r2": found.r2, "rmse": found.rmse, "coverage": found.coverage}
            accuracy = {
                target: {"rows": found.rows, **{name: float(values[j]) for name, values in metrics.items()}}
                for j, target in enumerate(targets)
            }
        return {"accuracy": accuracy, "noise": model.noise_.tolist()}

    def summary_lines(self, document: Mapping[str, Any]) -> list[str]:
        return [
            f"{target}: R² {each['r2']:.3f}, RMSE {each['rmse']:.4g}, and 90 % intervals cover {each['coverage']:.0%} "
            f"of {each['rows']:,} held-out rows of the pilot."
            for target, each in (document.get("accuracy") or {}).items()
        ]

    def outputs(self, model: Any, targets: Sequence[str]) -> tuple[str, ...]:
        return tuple(targets)

    def loss(self, rows: "LabelledRows") -> "Loss":
        from csid.cli.tuning.losses import SquaredError

        return SquaredError(rows)
