"""csid evaluate: how good a model is on the rows of a file."""

from typing import TYPE_CHECKING, Any

from csid.cli import options
from csid.cli.console import Terminal

if TYPE_CHECKING:
    from csid.schema import Schema


def run(
    model: options.Model,
    data: options.Data,
    group: options.Group = None,
    weight: options.Weight = None,
    missing: options.Missing = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf8",
    seed: options.Seed = 0,
    threads: options.Threads = -1,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    config: options.Config = None,
) -> None:
    """RMSE, MAE and R² of MODEL on DATA, coverage and CRPS where it has intervals, each with 95 % confidence."""
    from csid import load
    from csid.cli.figures import figure_rows
    from csid.cli.frames import schema_of

    terminal = Terminal(as_json, quiet)
    fitted: Any = load(model)
    fitted.set_params(n_jobs=threads)
    schema = schema_of(fitted, options.missing_words(missing))
    found = evaluated(fitted, schema, data, group, weight, delimiter, encoding, seed)
    if found["without_target"]:
        terminal.note(f"{found['without_target']:,} rows without a target are left out.")
    terminal.result({"model": str(model), "data": data, **found})
    terminal.table(f"{found['rows']:,} rows of {data}", figure_rows(found["overall"]))
    for target in schema.targets if group is not None else ():
        lines = [
            {group: name, "rows": figures[target]["rows"]}
            | {key: figure["value"] for key, figure in figures[target].items() if isinstance(figure, dict)}
            for name, figures in found["groups"].items()
        ]
        terminal.table(f"{target} by {group}", lines)


def evaluated(
    model: Any,
    schema: "Schema",
    data: str,
    group: str | None = None,
    weight: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf8",
    seed: int = 0,
) -> dict[str, Any]:
    """Figures of a model on the rows of a file, overall and by group."""
    import numpy as np

    from csid.cli.errors import DataError
    from csid.cli.figures import figures
    from csid.cli.frames import arrow_types, known_targets, numbers, predictors
    from csid.cli.tables import Reading, read

    numeric = (*schema.targets, *filter(None, [weight]))
    types = arrow_types(schema, dict.fromkeys(numeric, "number"))
    table = read(data, Reading(schema.missing, delimiter, encoding, types, also=() if group is None else (group,)))
    y, known = known_targets(table, schema.targets)
    if len(known) == 0:
        raise DataError(f"{data} has no row with a target.")
    without, table, y = len(y) - len(known), table.take(known), y[known]
    X = predictors(table, schema)
    weights = None if weight is None else numbers(table, weight, "weight")
    found: dict[str, Any] = {
        "rows": len(y),
        "without_target": without,
        "overall": figures(model, X, y, weights, schema.targets, seed),
    }
    if group is not None:
        names = np.array(table[group].to_pylist(), dtype=object).astype(str)
        found["groups"] = {}
        for name in sorted(set(names)):
            rows = np.flatnonzero(names == name)
            own = None if weights is None else weights[rows]
            found["groups"][name] = figures(model, X.take(rows), y[rows], own, schema.targets, seed)
    return found
