"""What a report says, as plain data."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from csid.encoding import OrdinalMode
from csid.explain.effects import effect_deviations, main_effects
from csid.explain.identifiability import identifiability


@dataclass(frozen=True)
class Effect:
    """A predictor.

    size : by how much it moves the mean prediction, as a share of what the strongest does.
    levels : its grid or its categories, None for the level of missing cells; ordered : of them, those with an order.
    marginal : how often each occurs; values : for each target, the mean prediction at each level.
    """

    name: str
    size: float
    ordered: int
    levels: list[Any]
    marginal: list[float]
    values: dict[str, list[float]]


@dataclass(frozen=True)
class Summary:
    """A model in words and numbers.

    facts : pairs of a name and a text; figures : for each target, figures on held-out rows, or None.
    effects : the strongest first; mean : for each target, the prediction when nothing is known.
    uniqueness : of the factors; empty for a mean over draws, whose factors are not meant to be unique.
    """

    title: str
    targets: tuple[str, ...]
    facts: list[tuple[str, str]]
    figures: dict[str, dict[str, Any]] | None
    effects: list[Effect]
    mean: dict[str, float]
    uniqueness: str


def summary(model: Any, title: str, targets: Sequence[str], figures: dict[str, dict[str, Any]] | None) -> Summary:
    """Gather what a report of a fitted model says."""
    encoding, cpd = model.encoding_, model.cpd_
    effects, deviations = main_effects(cpd), effect_deviations(cpd)
    sizes = (deviations / np.maximum(deviations.max(axis=0), 1e-300)).mean(axis=1)
    gathered = [
        Effect(
            mode.name,
            float(size),
            len(mode.grid) if isinstance(mode, OrdinalMode) else 0,
            mode.level_names,
            p.tolist(),
            {target: effect[:, j].tolist() for j, target in enumerate(targets)},
        )
        for mode, size, p, effect in zip(encoding.modes, sizes, encoding.marginals, effects, strict=True)
    ]
    facts = [
        ("estimator", type(model).__name__),
        ("predicts", ", ".join(targets)),
        ("rows it was fitted to", f"{model.n_samples_:,}"),
        ("predictors", f"{len(encoding.modes)}, with {int(encoding.levels.sum()):,} levels in all"),
        ("components", f"{cpd.rank:,}"),
        ("sweeps", f"{model.n_iter_}"),
        ("made by", f"csid {version('csid')}"),
    ]
    if hasattr(model, "posterior_"):
        noise = ", ".join(f"{value:.4g}" for value in np.atleast_1d(model.noise_))
        facts.insert(5, ("posterior draws", f"{len(model.posterior_.shares)} of {len(model.history_)} chains"))
        facts.insert(6, ("standard deviation of the noise", noise))
    return Summary(
        title,
        tuple(targets),
        facts,
        figures,
        sorted(gathered, key=lambda effect: -effect.size),
        dict(zip(targets, cpd.mean().tolist(), strict=True)),
        "" if hasattr(model, "posterior_") else str(identifiability(model)),
    )
