"""csid info: what a model file holds."""

from typing import TYPE_CHECKING, Any

from csid.cli import options
from csid.cli.console import cell

if TYPE_CHECKING:
    from csid.fitted.model import FittedModel
    from csid.fitted.schema import Schema


def run(*, model: options.Model, display: options.Display) -> None:
    """Show what MODEL predicts, from which predictors, how it was fitted, and by which version of csid."""
    from csid import load
    from csid.cli.fit_summary import summary
    from csid.cli.model_schema import schema_of
    from csid.cli.tasks import task_of
    from csid.model_file import read

    terminal = display.terminal()
    header, _ = read(model)
    estimator = load(model)
    fitted = estimator.fitted_
    schema = schema_of(fitted)
    predictors = _predictors(fitted, schema)
    document: dict[str, Any] = {
        "model": str(model),
        "task": task_of(fitted).name.value,
        "estimator": fitted.estimator,
        "targets": list(schema.targets),
        "rows": fitted.n_samples,
        "likelihood": fitted.likelihood.name,
        "rank": fitted.tensor.rank,
        "pmf_rank": 1 if fitted.pmf is None else fitted.pmf.rank,
        "csid": header.entries["csid"],
        "protocol": header.entries["protocol"],
        "bytes": model.stat().st_size,
        "training": {"sweeps": fitted.n_iter, **summary(estimator, schema.targets)},
        "parameters": dict(header.section("parameters").entries),
        "missing": list(schema.missing),
        "ignored": list(schema.ignored),
        "predictors": predictors,
    }
    terminal.result(document)
    shown = {name: value for name, value in document.items() if name not in ("predictors", "training", "parameters")}
    lines = [{"": name, " ": _text(value)} for name, value in (shown | document["training"]).items()]
    defaults = type(estimator)().get_params()
    changed = {name: value for name, value in document["parameters"].items() if value != defaults[name]}
    lines.append({"": "parameters", " ": _text(changed) or "all defaults"})
    terminal.table("", lines)
    terminal.table("", predictors)


def _predictors(fitted: "FittedModel", schema: "Schema") -> list[dict[str, Any]]:
    """A line for each predictor."""
    columns = {column.name: column for column in schema.columns}
    averaged = "marginalized" if fitted.pmf is None else "imputed from the other predictors"
    return [
        {
            "predictor": mode.name,
            "type": "ordinal" if columns[mode.name].order else columns[mode.name].type,
            "kind": columns[mode.name].kind,
            "levels": int(mode.n_levels),
            "from": mode.level_names[0],
            "to": mode.level_names[-1 - mode.missing_level],
            "missing": "own level" if mode.missing_level else averaged,
        }
        for mode in fitted.encoding.modes
    ]


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(item)}" for name, item in value.items())
    if isinstance(value, list):
        return ", ".join(repr(item) if isinstance(item, str) and not item.isalnum() else _text(item) for item in value)
    return cell(value)
