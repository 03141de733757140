"""csid evaluate: metrics of a model on the rows of a file."""

from typing import Any

from csid.cli import options


def run(
    *,
    model: options.Model,
    data: options.Data,
    group: options.Group = None,
    weight: options.Weight = None,
    new_rows: options.NewRows,
    text: options.TextFormat,
    execution: options.Execution,
) -> None:
    """Report metrics of MODEL on DATA, with 95 % confidence intervals.

    Of numbers: RMSE, MAE and R², and coverage and CRPS of a Bayesian model. Of classes: accuracy, log loss, Brier
    score, calibration error, ROC AUC and the confusion matrix.
    """
    import numpy as np

    from csid import load
    from csid.cli.labelled_rows import read_labelled
    from csid.cli.metrics import metric_rows, metric_values
    from csid.cli.model_schema import known_labels, schema_of
    from csid.cli.tasks import task_of
    from csid.cli.unseen_notes import note_unseen

    terminal = execution.display.terminal()
    estimator = load(model)
    estimator.set_params(n_jobs=execution.threads)
    schema = schema_of(estimator.fitted_, options.missing_values(new_rows.missing), text.cells)
    task, classes = task_of(estimator.fitted_), known_labels(estimator.fitted_)
    rows = read_labelled(data, schema, text, weight, group, new_rows.absent_as_missing, classes)
    terminal.note_all(rows.notes)
    found: dict[str, Any] = {
        "rows": len(rows.y),
        "without_target": rows.n_skipped,
        "overall": task.metrics(estimator, rows, schema, execution.seed),
    }
    if rows.groups is not None:
        parts = {name: rows.take(np.flatnonzero(rows.groups == name)) for name in sorted(set(rows.groups))}
        found["groups"] = {name: task.metrics(estimator, part, schema, execution.seed) for name, part in parts.items()}
    unknown = note_unseen(terminal, rows.absent, estimator.unseen_values(rows.X))
    terminal.result({"model": str(model), "data": data, **found, **unknown})
    terminal.table(f"{found['rows']:,} rows of {data}", metric_rows(found["overall"]))
    for table in task.more_tables(found["overall"]):
        terminal.table(*table)
    for target in schema.targets if group is not None else ():
        lines = [
            {group: name, "rows": own[target]["rows"], **metric_values(own[target])}
            for name, own in found["groups"].items()
        ]
        terminal.table(f"{target} by {group}", lines)
