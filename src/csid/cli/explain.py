"""csid explain: which predictors matter, what they do, and whether the factors are unique."""

from typing import Annotated, Any

import typer

from csid.cli import options
from csid.cli.console import Terminal
from csid.cli.errors import UsageError

_BAR = 30


def run(
    model: options.Model,
    predictor: Annotated[
        list[str] | None, typer.Option(help="Show the effect of this predictor at each of its levels. May repeat.")
    ] = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    config: options.Config = None,
) -> None:
    """The predictors of MODEL by what they do: how the mean prediction moves as each varies alone."""
    import numpy as np

    from csid import identifiability, load
    from csid.cli.frames import schema_of
    from csid.explain.effects import effect_deviations, main_effects

    terminal = Terminal(as_json, quiet)
    fitted: Any = load(model)
    targets = schema_of(fitted, ()).targets
    names = [mode.name for mode in fitted.encoding_.modes]
    unknown = [name for name in predictor or [] if name not in names]
    if unknown:
        raise UsageError(f"--predictor {unknown[0]}: the model has {', '.join(map(repr, names))}.")
    effects, deviations = main_effects(fitted.cpd_), effect_deviations(fitted.cpd_)
    sizes = deviations / np.maximum(deviations.max(axis=0), 1e-300)
    order = np.argsort(-sizes.mean(axis=1), kind="stable").tolist()
    importances = fitted.feature_importances_
    document: dict[str, Any] = {
        "model": str(model),
        "predictors": [
            {
                "predictor": names[n],
                "importance": float(importances[n]),
                "levels": fitted.levels_[names[n]],
                "moves": dict(zip(targets, deviations[n].tolist(), strict=True)),
                "effect": {target: effects[n][:, j].tolist() for j, target in enumerate(targets)},
            }
            for n in order
        ],
    }
    if not hasattr(fitted, "posterior_"):  # a mean over draws is not meant to be unique
        document["identifiability"] = str(identifiability(fitted))
    terminal.result(document)
    for j, target in enumerate(targets):
        lines = [
            {
                "predictor": names[n],
                "moves it by": float(deviations[n, j]),
                "": "█" * round(_BAR * sizes[n, j]),
                "from": float(effects[n][:, j].min()),
                "to": float(effects[n][:, j].max()),
            }
            for n in order
        ]
        terminal.table(
            f"How the mean {target} moves with each predictor alone (standard deviation, lowest, highest)", lines
        )
    for name in predictor or []:
        n = names.index(name)
        levels = fitted.levels_[name]
        rows = [
            {name: "missing" if level is None else level}
            | {target: float(effects[n][i, j]) for j, target in enumerate(targets)}
            for i, level in enumerate(levels)
        ]
        terminal.table(f"Mean prediction at each level of {name}", rows)
    if "identifiability" in document:
        terminal.say(document["identifiability"])
