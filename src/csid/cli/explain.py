"""csid explain: which predictors matter, their main effects, and whether the factors are unique."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from csid.cli import options
from csid.cli.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BAR = 30
_MOST_TABLES = 10


class MainEffects(NamedTuple):
    """How the mean prediction varies with each predictor alone.

    names : of the N predictors; order : of these by `std`, averaged over the K outputs, the largest first.
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
    """Rank the predictors of MODEL by their main effects: how the mean prediction varies with each alone.

    Of classes, by their effects on the latent value of each class.
    """
    import numpy as np

    from csid import identifiability, load
    from csid.cli.model_schema import schema_of
    from csid.cli.tasks import task_of
    from csid.explain.effects import effect_deviations, main_effects

    terminal = display.terminal()
    estimator = load(model)
    fitted = estimator.fitted_
    task, names = task_of(fitted), fitted.names
    target_names = schema_of(fitted).targets
    outputs = task.outputs(estimator, target_names)
    unknown = [name for name in predictor or [] if name not in names]
    if unknown:
        raise UsageError(f"--predictor {unknown[0]}: no such predictor. They are {', '.join(map(repr, names))}.")
    std = effect_deviations(fitted.tensor)
    order = np.argsort(-(std / np.maximum(std.max(axis=0), 1e-300)).mean(axis=1), kind="stable").tolist()
    found = MainEffects(names, order, main_effects(fitted.tensor), std)
    importances, levels = estimator.feature_importances_, estimator.levels_
    document: dict[str, Any] = {
        "model": str(model),
        "targets": list(target_names),
        "outputs": list(outputs),
        "explained": task.explained,
        "predictors": [
            {
                "predictor": names[n],
                "importance": float(importances[n]),
                "levels": levels[names[n]],
                "effect_std": dict(zip(outputs, std[n].tolist(), strict=True)),
                "effect": {output: found.effects[n][:, j].tolist() for j, output in enumerate(outputs)},
            }
            for n in order
        ],
    }
    if fitted.posterior is None:  # a mean over posterior draws has no unique factors
        document["identifiability"] = str(identifiability(estimator))
    terminal.result(document)
    for j, output in enumerate(outputs[:_MOST_TABLES]):
        on = output if outputs == target_names else f"{', '.join(target_names)} = {output}"
        title = f"Main effects on {on}: how the mean {task.explained} varies with each predictor alone"
        terminal.table(title, _ranked(found, j))
    if len(outputs) > _MOST_TABLES:
        terminal.say(f"--json has the effects on the other {len(outputs) - _MOST_TABLES} outputs.")
    for name in predictor or []:
        rows = _by_level(name, levels[name], outputs[:_MOST_TABLES], found.effects[names.index(name)])
        terminal.table(f"Mean {task.explained} at each level of {name}", rows)
    if task.about_effects:
        terminal.say(task.about_effects)
    if "identifiability" in document:
        terminal.say(document["identifiability"])


def _ranked(found: MainEffects, j: int) -> list[dict[str, Any]]:
    """A line for each predictor and its effect on output j."""
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
    name: str, levels: list[Any], outputs: tuple[str, ...], effect: "NDArray[np.float64]"
) -> list[dict[str, Any]]:
    """A line for each level of a predictor."""
    return [
        {name: "missing" if level is None else level}
        | {output: float(effect[i, j]) for j, output in enumerate(outputs)}
        for i, level in enumerate(levels)
    ]
