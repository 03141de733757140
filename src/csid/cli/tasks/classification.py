"""Classification: the target holds labels of classes."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from csid.cli.errors import UsageError
from csid.cli.tasks.task import Estimator, MetricTable, Task, TaskName

if TYPE_CHECKING:
    import pyarrow as pa

    from csid.cli.labelled_rows import LabelledRows
    from csid.cli.output_columns import OutputColumns
    from csid.cli.tuning.losses import Loss
    from csid.fitted.schema import Schema

_MOST_SHOWN = 12
"""The largest number of classes whose confusion matrix is shown in full, and that are all listed."""
_MOST_CONFUSED = 10


class Classification(Task):
    """The target is a column of labels: texts, whole numbers or truth values."""

    name = TaskName.classification
    target = "class"
    estimators: ClassVar = {Estimator.bayesian: "BayesianCSIDClassifier", Estimator.als: "CSIDClassifier"}
    labelled = True
    likelihoods = ("probit",)
    tuned = "log loss"
    explained = "latent value"
    about_effects = (
        "Effects are on the latent scale: classes with larger latent values are more probable. With two classes, a "
        "latent value of 0 is a probability of 50 %, and one of 1 is 84 %."
    )

    def check_wanted(self, wanted: "OutputColumns") -> None:
        if wanted.std:
            raise UsageError(
                "--std: a predicted class has no standard deviation. Use --interval 0.9 for bounds of the probability "
                "of each class."
            )

    def predicted(
        self, model: Any, X: "pa.Table", targets: Sequence[str], wanted: "OutputColumns", copied: Collection[str]
    ) -> dict[str, Any]:
        """The likeliest class, in a column of the target's name, and the probability of each class.

        Where that would replace copied columns, the class is in `predicted_TARGET`, and probabilities are in
        `TARGET_p_LABEL`.
        """
        import numpy as np
        import pyarrow as pa

        (target,), labels = targets, [_plain(label) for label in model.classes_.tolist()]
        p = model.predict_proba(X) if X.num_rows else np.empty((0, len(labels)))
        values = {"p": p}
        if wanted.interval is not None:
            bounds = model.predict_proba_interval(X, wanted.interval) if X.num_rows else (p, p)
            values |= dict(zip(("lower_p", "upper_p"), bounds, strict=True))
        of_class = f"predicted_{target}" if target in copied else target
        names = [f"{kind}_{shown_label(label)}" for kind in values for label in labels]
        if not {of_class, *copied}.isdisjoint(names):
            names = [f"{target}_{name}" for name in names]
        every = [of_class, *copied, *names]
        if len(set(every)) < len(every):
            twice = next(name for name in every if every.count(name) > 1)
            raise UsageError(f"two columns of the output would be named {twice!r}: leave that column out of --keep.")
        array = pa.array([*labels, None]).take(pa.array(p.argmax(axis=1)))
        probabilities = np.concatenate(list(values.values()), axis=1)
        return {of_class: array} | {name: np.ascontiguousarray(probabilities[:, at]) for at, name in enumerate(names)}

    def metrics(self, model: Any, rows: "LabelledRows", schema: "Schema", seed: int) -> dict[str, dict[str, Any]]:
        """Metrics with confidence intervals, and the confusion matrix: a list of counts for each class seen."""
        from csid.fitted.class_metrics import class_metrics_of, confusion_matrix
        from csid.fitted.metrics import relative_weights

        found, labels = model.fitted_.classes, model.classes_
        classes = found.read(rows.y, len(rows.y)).astype(int)
        weights = None if rows.weights is None else relative_weights(rows.weights, len(classes))
        p = model.predict_proba(rows.X)
        confusion = confusion_matrix(classes, p.argmax(axis=1), len(labels), weights)
        matrix = {"labels": [_plain(label) for label in labels.tolist()], "seen_by_predicted": confusion.tolist()}
        return {schema.targets[0]: {**class_metrics_of(classes, p, weights, seed), "confusion": matrix}}

    def more_tables(self, metrics: Mapping[str, Any]) -> Iterator[MetricTable]:
        """The confusion matrix; of many classes, the most frequent errors."""
        for target, found in metrics.items():
            labels = [shown_label(label) for label in found["confusion"]["labels"]]
            counts = [[_whole(count) for count in row] for row in found["confusion"]["seen_by_predicted"]]
            if len(labels) <= _MOST_SHOWN:
                lines = [
                    {f"{target}": label}
                    | {f"predicted {other}": count for other, count in zip(labels, row, strict=True)}
                    for label, row in zip(labels, counts, strict=True)
                ]
                yield "Confusion matrix: rows of each class, by predicted class", lines
                continue
            errors: list[dict[str, Any]] = [
                {target: labels[i], "predicted": labels[j], "rows": count}
                for i, row in enumerate(counts)
                for j, count in enumerate(row)
                if i != j and count
            ]
            errors.sort(key=lambda each: -each["rows"])
            if errors:
                yield "Most frequent errors (--json has the whole confusion matrix)", errors[:_MOST_CONFUSED]

    def summary(self, model: Any, targets: Sequence[str]) -> dict[str, Any]:
        """Metrics on the held-out rows of the pilot, and the training rows of each class."""
        from csid.fitted.accuracy import ClassAccuracy

        known = model.fitted_.classes
        labels = [shown_label(_plain(label)) for label in known.labels.tolist()]
        counts = dict(zip(labels, map(_whole, known.counts.tolist()), strict=True))
        found = getattr(model, "accuracy_", None)
        accuracy = None
        if isinstance(found, ClassAccuracy):
            metrics = {"accuracy": found.accuracy, "log_loss": found.log_loss, "brier": found.brier}
            accuracy = {targets[0]: {"rows": found.rows, **metrics}}
        return {**({} if accuracy is None else {"accuracy": accuracy}), "classes": counts}

    def summary_lines(self, document: Mapping[str, Any]) -> list[str]:
        counts: dict[str, float] = document["classes"]
        frequent = sorted(counts, key=lambda label: -counts[label])
        shown = list(counts) if len(counts) <= _MOST_SHOWN else frequent[:_MOST_SHOWN]
        listed = ", ".join(f"{label} {counts[label]:,}" for label in shown)
        more = f" and {len(counts) - _MOST_SHOWN:,} more classes" if len(counts) > _MOST_SHOWN else ""
        share = counts[frequent[0]] / sum(counts.values())
        found = [
            f"{target}: accuracy {each['accuracy']:.1%}, log loss {each['log_loss']:.3f} and Brier score "
            f"{each['brier']:.3f} on {each['rows']:,} held-out rows of the pilot. To predict {frequent[0]} always "
            f"would have an accuracy of {share:.1%}."
            for target, each in (document.get("accuracy") or {}).items()
        ]
        return [*found, f"Rows of each class: {listed}{more}."]

    def outputs(self, model: Any, targets: Sequence[str]) -> tuple[str, ...]:
        """The label of each class; of the highest, if there is one latent value for all (two or ordered classes)."""
        labels = tuple(shown_label(_plain(label)) for label in model.classes_.tolist())
        return labels[-model.fitted_.n_outputs :]

    def loss(self, rows: "LabelledRows") -> "Loss":
        from csid.cli.tuning.losses import LogLoss

        return LogLoss(rows)


def shown_label(label: Any) -> str:
    """A label as it is in the names of columns: `true` and `false` as a CSV file has them."""
    return str(label).lower() if isinstance(label, bool) else str(label)


def _plain(label: Any) -> Any:
    """A label whose number is whole, as all are."""
    return int(label) if isinstance(label, float) else label


def _whole(count: float) -> float:
    """A count of rows, or a sum of weights."""
    return int(count) if float(count).is_integer() else count
