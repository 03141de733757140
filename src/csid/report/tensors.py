"""All that a page needs to predict: levels, factors of the draws on their own levels, noise or calibration of class
probabilities, and latent classes of rows.

A prediction is computed as `csid.export.document` says, except for the levels of the factors. Draws under one prior
have fewer levels than the model, a subset of its levels, and a factor is linear between them. So the page stores the
factors on these levels, and their positions among those of the model.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.encoding import Mode, OrdinalMode
from csid.explain.games import balanced
from csid.fitted.description import DescribedClasses, DescribedDraws, ModelDescription, NumericPredictor, Predictor
from csid.fitted.model import FittedModel
from csid.report.inputs import with_output_per_class
from csid.report.packing import Packing
from csid.tensor.cpd import CPD

Array = NDArray[np.float64]


def tensors(fitted: FittedModel, described: ModelDescription, packing: Packing) -> dict[str, Any]:
    """What the page predicts with; arrays are in the packing."""
    modes, marginals = fitted.encoding.modes, fitted.tensor.marginals
    described_modes = zip(described.predictors, modes, marginals, strict=True)
    draws, classification = described.draws, described.classification
    n_outputs = fitted.n_outputs if classification is None else len(classification.labels)
    return {
        "predictors": [_predictor(*one, packing) for one in described_modes],
        "groups": [_group(modes, *group, packing) for group in _groups(fitted)],
        "sampled": draws is not None,
        "noise": None if draws is None or classification is not None else _noise(draws, packing),
        "exponent": None if classification is None else classification.exponent,
        "classes": None if described.classes is None else _classes(described.classes, n_outputs, packing),
    }


def number_of_cells(fitted: FittedModel) -> int:
    """The number of cells of the factors that the page stores."""
    return sum(cpd.rank * sum(map(len, cpd.factors)) for _, cpd, *_ in _groups(fitted))


def _predictor(predictor: Predictor, mode: Mode, p: Array, packing: Packing) -> dict[str, Any]:
    """Levels are those of the tensor: grid or categories, then that of missing cells if it has one."""
    shared = {"name": predictor.name, "marginal": packing.doubles(p), "own_missing": bool(mode.missing_level)}
    if isinstance(predictor, NumericPredictor):
        return shared | {
            "kind": "number",
            "grid": packing.doubles(predictor.grid),
            "linear": predictor.linear,
            "words": list(predictor.words),
            "date": predictor.date,
        }
    return shared | {"kind": "category", "categories": list(predictor.categories)}


def _groups(fitted: FittedModel) -> list[tuple[tuple[Mode, ...], CPD, Array, list[int], Array]]:
    """Groups of draws on the same levels, side by side in one tensor: levels, tensor, biases, ranks and weights.

    A model without draws is one group of one draw.
    """
    if fitted.posterior is None:
        cpd = with_output_per_class(fitted, fitted.tensor)
        return [(fitted.encoding.modes, cpd, cpd.bias[None, :], [cpd.rank], np.ones(1))]
    groups = []
    for group in fitted.posterior.groups:
        factors, marginals = tuple(map(group.factor, range(len(group.modes)))), _evenly(group.factors)
        cpds = [with_output_per_class(fitted, CPD(factors, group.V, bias, marginals)) for bias in group.bias]
        biases = np.array([cpd.bias for cpd in cpds])
        groups.append((group.modes, cpds[0], biases, group.ranks.tolist(), group.weights))
    return groups


def _evenly(factors: tuple[NDArray[Any], ...]) -> tuple[Array, ...]:
    return tuple(np.full(len(A), 1.0 / len(A)) for A in factors)


def _group(
    modes: tuple[Mode, ...],
    own: tuple[Mode, ...],
    cpd: CPD,
    bias: Array,
    ranks: list[int],
    weights: Array,
    packing: Packing,
) -> dict[str, Any]:
    tensor = balanced(cpd)
    return {
        "ranks": ranks,
        "weights": packing.doubles(weights),
        "bias": packing.doubles(bias),
        "V": packing.doubles(tensor.V),
        "levels": [_levels(*pair, packing) for pair in zip(modes, own, strict=True)],
        "cells": [packing.cells(A) for A in tensor.factors],
    }


def _levels(mode: Mode, own: Mode, packing: Packing) -> tuple[int, int] | None:
    """Positions of the levels of a draw in the grid of the model; None if they are the same."""
    if not isinstance(mode, OrdinalMode) or not isinstance(own, OrdinalMode) or len(own.grid) == len(mode.grid):
        return None
    return packing.doubles(np.searchsorted(mode.grid, own.grid))


def _noise(draws: DescribedDraws, packing: Packing) -> dict[str, Any]:
    return {
        "scales": packing.doubles(draws.noise),
        "knots": packing.doubles(draws.knots),
        "log_factors": packing.doubles(draws.log_factors),
    }


def _classes(classes: DescribedClasses, n_outputs: int, packing: Packing) -> dict[str, Any]:
    pmf = classes.pmf
    return {
        "conditional": classes.conditional,
        "weights": packing.doubles(pmf.classes.weights),
        "least": classes.least,
        "quantiles": packing.doubles(classes.quantiles),
        "imputation_factor": packing.doubles(np.resize(classes.imputation_factor, n_outputs)),
        "predictors": [
            {"bins": packing.doubles(bins), "lifts": packing.doubles(lifts), "drawn": packing.doubles(drawn)}
            for bins, lifts, drawn in zip(pmf.bins, pmf.classes.lifts, classes.drawn, strict=True)
        ],
    }
