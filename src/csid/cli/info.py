"""csid info: what a model file holds."""

from typing import Any

from csid.cli import options
from csid.cli.console import Terminal


def run(
    model: options.Model,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    config: options.Config = None,
) -> None:
    """What MODEL predicts, from what, how it was made, and by which version."""
    from csid import load
    from csid.cli.fit import summary
    from csid.cli.frames import schema_of
    from csid.model_file import read

    terminal = Terminal(as_json, quiet)
    header, _ = read(model)
    fitted: Any = load(model)
    schema = schema_of(fitted, ())
    kinds = {column.name: ("ordered words" if column.order else column.type, column.kind) for column in schema.columns}
    averaged = "averaged over" if fitted.pmf_ is None else "averaged over, given the others"
    predictors = [
        {
            "predictor": mode.name,
            "type": kinds[mode.name][0],
            "kind": kinds[mode.name][1],
            "levels": int(mode.n_levels),
            "from": str(next(iter(mode.level_names))),
            "to": str(mode.level_names[-1 - mode.missing_level]),
            "missing": "own level" if mode.missing_level else averaged,
        }
        for mode in fitted.encoding_.modes
    ]
    document: dict[str, Any] = {
        "model": str(model),
        "estimator": type(fitted).__name__,
        "targets": list(schema.targets),
        "rows": fitted.n_samples_,
        "rank": fitted.cpd_.rank,
        "pmf_rank": 1 if fitted.pmf_ is None else fitted.pmf_.rank,
        "csid": header.entries["csid"],
        "protocol": header.entries["protocol"],
        "bytes": model.stat().st_size,
        "training": {"sweeps": fitted.n_iter_, **summary(fitted)},
        "parameters": dict(header.section("parameters").entries),
        "missing": list(schema.missing),
        "ignored": list(schema.ignored),
        "predictors": predictors,
    }
    terminal.result(document)
    shown = {name: value for name, value in document.items() if name not in ("predictors", "training", "parameters")}
    lines = [{"": name, " ": _text(value)} for name, value in shown.items()]
    changed = {
        name: value for name, value in document["parameters"].items() if value != type(fitted)().get_params()[name]
    }
    lines += [{"": name, " ": _text(value)} for name, value in document["training"].items()]
    lines.append({"": "parameters", " ": _text(changed) or "all defaults"})
    terminal.table("", lines)
    terminal.table("", predictors)


def _text(value: Any) -> str:
    from csid.cli.console import cell

    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(item)}" for name, item in value.items())
    if isinstance(value, list):
        return ", ".join(repr(item) if isinstance(item, str) and not item.isalnum() else _text(item) for item in value)
    return cell(value)
