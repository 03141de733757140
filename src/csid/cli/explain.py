"""csid explain: which predictors matter, their main effects, and whether the factors are unique."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from csid.cli import options
from csid.cli.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BAR = 30


class MainEffects(NamedTuple):
    """How the mean prediction varies with each predictor alone.

    names : of the N predictors; order : of these by `std`, averaged over the K targets, the largest first.
    effects : N of (I_n, K), the mean prediction at each level; std : (N, K) their standard deviations.
    """

    names: list[str]
    order: list[int]
    effects: "list[NDArray[np.float64]]"
    std: "NDArray[np.float64]"


def run(
    *,
    model: options.Model,
    predictor: Annotated[
        list[str] | None, typer.Option(help="Also show the mean prediction at each level of this one. May be repeated.")
    ] = None,
    display: options.Display,
) -> None:
    """Rank the predictors of MODEL by their main effects: how the mean prediction varies with each alone."""
    import numpy as np

    from csid import identifiability, load
    from csid.cli.model_schema import schema_of
    from csid.explain.effects import effect_deviations, main_effects

    terminal = display.terminal()
    estimator = load(model)
    fitted = estimator.fitted_
    targets, names = schema_of(fitted).targets, fitted.names
    unknown = [name for name in predictor or [] if name not in names]
    if unknown:
        raise UsageError(f"--predictor {unknown[0]}: no such predictor. They are {', '.join(map(repr, names))}.")
    std = effect_deviations(fitted.tensor)
    order = np.argsort(-(std / np.maximum(std.max(axis=0), 1e-300)).mean(axis=1), kind="stable").tolist()
    found = MainEffects(names, order, main_effects(fitted.tensor), std)
    importances, levels = estimator.feature_importances_, estimator.levels_
    document: dict[str, Any] = {
        "model": str(model),
        "predictors": [
            {
                "predictor": names[n],
                "importance": float(importances[n]),
                "levels": levels[names[n]],
                "effect_std": dict(zip(targets, std[n].tolist(), strict=True)),
                "effect": {target: found.effects[n][:, j].tolist() for j, target in enumerate(targets)},
            }
            for n in order
        ],
    }
    if fitted.posterior is None:  # a mean over posterior draws has no unique factors
        document["identifiability"] = str(identifiability(estimator))
    terminal.result(document)
    for j, target in enumerate(targets):
        terminal.table(
            f"Main effects on {target}: how the mean prediction varies with each predictor alone", _ranked(found, j)
        )
    for name in predictor or []:
        rows = _by_level(name, levels[name], targets, found.effects[names.index(name)])
        terminal.table(f"Mean prediction at each level of {name}", rows)
    if "identifiability" in document:
        terminal.say(document["identifiability"])


def _ranked(found: MainEffects, j: int) -> list[dict[str, Any]]:
    """A line for each predictor and its effect on target j."""
    largest = max(float(found.std[:, j].max()), 1e-300)
    return [
        {
            "predictor": found.names[n],
            "standard deviation": float(found.std[n, j]),
            "": "█" * round(_BAR * float(found.std[n, j]) / largest),
            "lowest": float(found.effects[n][:, j].min()),
            "highest": float(found.effects[n][:, j].max()),
        }
        for n in found.order
    ]


def _by_level(
    name: str, levels: list[Any], targets: tuple[str, ...], effect: "NDArray[np.float64]"
) -> list[dict[str, Any]]:
    """A line for each level of a predictor."""
    return [
        {name: "missing" if level is None else level}
        | {target: float(effect[i, j]) for j, target in enumerate(targets)}
        for i, level in enumerate(levels)
    ]
