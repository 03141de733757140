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
    """Report RMSE, MAE and R² of MODEL on DATA, and coverage and CRPS of a Bayesian model, with 95 % confidence."""
    import numpy as np

    from csid import load
    from csid.cli.labelled_rows import read_labelled
    from csid.cli.metrics import metric_rows
    from csid.cli.model_schema import schema_of
    from csid.cli.unseen_notes import note_unseen
    from csid.fitted.metrics import metrics

    terminal = execution.display.terminal()
    estimator = load(model)
    estimator.set_params(n_jobs=execution.threads)
    schema = schema_of(estimator.fitted_, options.missing_values(new_rows.missing), text.cells)
    rows = read_labelled(data, schema, text, weight, group, new_rows.absent_as_missing)
    terminal.note_all(rows.notes)
    found: dict[str, Any] = {
        "rows": len(rows.y),
        "without_target": rows.n_skipped,
        "overall": metrics(estimator, rows.X, rows.y, rows.weights, schema.targets, execution.seed),
    }
    if rows.groups is not None:
        parts = {name: rows.take(np.flatnonzero(rows.groups == name)) for name in sorted(set(rows.groups))}
        found["groups"] = {
            name: metrics(estimator, part.X, part.y, part.weights, schema.targets, execution.seed)
            for name, part in parts.items()
        }
    unknown = note_unseen(terminal, rows.absent, estimator.unseen_values(rows.X))
    terminal.result({"model": str(model), "data": data, **found, **unknown})
    terminal.table(f"{found['rows']:,} rows of {data}", metric_rows(found["overall"]))
    for target in schema.targets if group is not None else ():
        lines = [
            {group: name, "rows": own[target]["rows"]}
            | {key: metric["value"] for key, metric in own[target].items() if isinstance(metric, dict)}
            for name, own in found["groups"].items()
        ]
        terminal.table(f"{target} by {group}", lines)
