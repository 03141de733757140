"""csid evaluate: how good a model is on the rows of a file."""

from typing import TYPE_CHECKING, Any, NamedTuple

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
    import numpy as np

    from csid import load
    from csid.cli.figures import figure_rows
    from csid.cli.frames import schema_of
    from csid.scores import figures

    terminal = Terminal(as_json, quiet)
    fitted: Any = load(model)
    fitted.set_params(n_jobs=threads)
    schema = schema_of(fitted, options.missing_words(missing))
    rows = read_rows(schema, data, group, weight, delimiter, encoding)
    if rows.without_target:
        terminal.note(f"{rows.without_target:,} rows without a target are left out.")
    found: dict[str, Any] = {
        "rows": len(rows.y),
        "without_target": rows.without_target,
        "overall": figures(fitted, rows.X, rows.y, rows.weights, schema.targets, seed),
    }
    if rows.groups is not None:
        parts = {name: rows.take(np.flatnonzero(rows.groups == name)) for name in sorted(set(rows.groups))}
        found["groups"] = {
            name: figures(fitted, part.X, part.y, part.weights, schema.targets, seed) for name, part in parts.items()
        }
    terminal.result({"model": str(model), "data": data, **found})
    terminal.table(f"{found['rows']:,} rows of {data}", figure_rows(found["overall"]))
    for target in schema.targets if group is not None else ():
        lines = [
            {group: name, "rows": own[target]["rows"]}
            | {key: figure["value"] for key, figure in own[target].items() if isinstance(figure, dict)}
            for name, own in found["groups"].items()
        ]
        terminal.table(f"{target} by {group}", lines)


class Rows(NamedTuple):
    """Rows of a file whose targets are known.

    X : table of predictors; y : (M, K); weights : (M,) or None; groups : (M,) names of what rows belong to, or None.
    without_target : how many rows were left out.
    """

    X: Any
    y: Any
    weights: Any
    groups: Any
    without_target: int

    def take(self, rows: Any) -> "Rows":
        """Some of the rows."""
        weights, groups = (None if one is None else one[rows] for one in (self.weights, self.groups))
        return self._replace(X=self.X.take(rows), y=self.y[rows], weights=weights, groups=groups)


def read_rows(
    schema: "Schema",
    data: str,
    group: str | None = None,
    weight: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf8",
) -> Rows:
    """The rows of a file that can be compared with predictions."""
    import numpy as np

    from csid.cli.errors import DataError
    from csid.cli.frames import arrow_types, known_targets, numbers, predictors
    from csid.cli.tables import Reading, read

    numeric = (*schema.targets, *filter(None, [weight]))
    types = arrow_types(schema, dict.fromkeys(numeric, "number"))
    table = read(data, Reading(schema.missing, delimiter, encoding, types, also=() if group is None else (group,)))
    y, known = known_targets(table, schema.targets)
    if len(known) == 0:
        raise DataError(f"{data} has no row with a target.")
    without, table, y = len(y) - len(known), table.take(known), y[known]
    weights = None if weight is None else numbers(table, weight, "weight")
    names = None if group is None else np.array(table[group].to_pylist(), dtype=object).astype(str)
    return Rows(predictors(table, schema), y, weights, names, without)
