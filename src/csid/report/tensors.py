"""All that a page needs to predict: levels, factors of the draws on their own levels, noise, and classes of rows.

A prediction is computed as `csid.export.document` says, but for the levels of the factors. Draws under one prior have
fewer levels than the model, all of them its own; between them a factor is linear. So the page is told these, and where
they stand among those of the model.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.cpd import CPD
from csid.description import Classes, Description, Draws, Number, Predictor
from csid.encoding import Mode, OrdinalMode
from csid.explain.games import balanced
from csid.report.packing import Packing

Array = NDArray[np.float64]


def tensors(model: Any, described: Description, packing: Packing) -> dict[str, Any]:
    """What the page predicts with; arrays are in the packing."""
    modes, marginals = model.encoding_.modes, model.cpd_.marginals
    told = zip(described.predictors, modes, marginals, strict=True)
    return {
        "predictors": [_predictor(*one, packing) for one in told],
        "groups": [_group(modes, *group, packing) for group in _groups(model)],
        "posterior": None if described.draws is None else _posterior(described.draws, packing),
        "classes": None if described.classes is None else _classes(described.classes, packing),
    }


def _predictor(predictor: Predictor, mode: Mode, p: Array, packing: Packing) -> dict[str, Any]:
    """Levels are those of the tensor: grid or categories, then that of missing cells if it has one."""
    shared = {"name": predictor.name, "marginal": packing.doubles(p), "own_missing": bool(mode.missing_level)}
    if isinstance(predictor, Number):
        return shared | {
            "kind": "number",
            "grid": packing.doubles(predictor.grid),
            "linear": predictor.linear,
            "words": list(predictor.words),
            "date": predictor.date,
        }
    return shared | {"kind": "category", "categories": list(predictor.categories)}


def _groups(model: Any) -> list[tuple[tuple[Mode, ...], CPD, Array, list[int], Array]]:
    """Tensors on some levels, the draws of each side by side: levels, tensor, their biases, ranks and shares.

    A model without draws is a single one.
    """
    if not hasattr(model, "posterior_"):
        cpd = model.cpd_
        return [(model.encoding_.modes, cpd, cpd.bias[None, :], [cpd.rank], np.ones(1))]
    return [
        (
            group.modes,
            CPD(tuple(A.astype(np.float64) for A in group.factors), group.V, group.bias[0], _evenly(group.factors)),
            group.bias,
            group.ranks.tolist(),
            group.shares,
        )
        for group in model.posterior_.groups
    ]


def _evenly(factors: tuple[NDArray[Any], ...]) -> tuple[Array, ...]:
    return tuple(np.full(len(A), 1.0 / len(A)) for A in factors)


def _group(
    modes: tuple[Mode, ...],
    own: tuple[Mode, ...],
    cpd: CPD,
    bias: Array,
    ranks: list[int],
    shares: Array,
    packing: Packing,
) -> dict[str, Any]:
    tensor = balanced(cpd)
    return {
        "ranks": ranks,
        "shares": packing.doubles(shares),
        "bias": packing.doubles(bias),
        "V": packing.doubles(tensor.V),
        "levels": [_levels(*pair, packing) for pair in zip(modes, own, strict=True)],
        "cells": [packing.cells(A) for A in tensor.factors],
    }


def _levels(mode: Mode, own: Mode, packing: Packing) -> tuple[int, int] | None:
    """Where the levels of a draw stand in the grid of the model; None where they are the same."""
    if not isinstance(mode, OrdinalMode) or not isinstance(own, OrdinalMode) or len(own.grid) == len(mode.grid):
        return None
    return packing.doubles(np.searchsorted(mode.grid, own.grid))


def _posterior(draws: Draws, packing: Packing) -> dict[str, Any]:
    return {
        "noise": packing.doubles(draws.noise),
        "heavy_tails": bool(np.isfinite(draws.degrees_of_freedom)),
        "knots": packing.doubles(draws.knots),
        "logs": packing.doubles(draws.logs),
    }


def _classes(classes: Classes, packing: Packing) -> dict[str, Any]:
    pmf = classes.pmf
    return {
        "shares": packing.doubles(pmf.classes.shares),
        "least": classes.least,
        "quantiles": packing.doubles(classes.quantiles),
        "predictors": [
            {"bins": packing.doubles(bins), "lifts": packing.doubles(lifts), "drawn": packing.doubles(drawn)}
            for bins, lifts, drawn in zip(pmf.bins, pmf.classes.lifts, classes.drawn, strict=True)
        ],
    }
