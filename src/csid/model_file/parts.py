"""The parts of a model as header entries and arrays: levels, joint PMF, tensors, posterior draws."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.encoding import CategoricalMode, Encoding, Mode, OrdinalMode
from csid.encoding.modes import MOST_LEVELS
from csid.fitted.posterior import Draws
from csid.likelihoods import Likelihood
from csid.missing.joint_pmf import JointPMF
from csid.missing.latent_classes import LatentClasses
from csid.model_file.container import ModelFileError, Section
from csid.tensor.cpd import CPD

Array = NDArray[np.float64]
Packed = dict[str, NDArray[Any]]

_LARGEST_GROWTH = 128
"""Limit on how much draws may grow when interpolated to the common levels, against files that exhaust memory."""


@dataclass
class Arrays:
    """The arrays of a file, checked as they are taken out. `finish` raises an error if some are left."""

    path: str
    left: Packed

    def take(self, name: str, shape: tuple[int, ...], kind: type[np.generic] = np.float64) -> NDArray[Any]:
        """An array of finite numbers with this shape, where -1 matches any length."""
        if name not in self.left:
            raise self.wrong(name, "is missing")
        array = self.left.pop(name)
        if array.dtype != kind or array.ndim != len(shape):
            raise self.wrong(name, f"has type {array.dtype} and shape {array.shape}")
        if any(wanted not in (-1, found) for wanted, found in zip(shape, array.shape, strict=True)):
            raise self.wrong(name, f"has shape {array.shape}, not {shape}")
        if not np.isfinite(array).all():
            raise self.wrong(name, "holds NaN or infinity")
        return array

    def wrong(self, name: str, why: str) -> ModelFileError:
        return ModelFileError(f"{self.path} is not a valid csid model file: its array {name!r} {why}.")

    def finish(self) -> None:
        for name in self.left:
            raise self.wrong(name, "is not part of a model")


def pack_encoding(encoding: Encoding) -> tuple[list[dict[str, Any]], Packed]:
    """One header entry per mode, and the arrays of levels and marginals."""
    arrays: Packed = {f"marginal.{n}": p for n, p in enumerate(encoding.marginals)}
    return [_pack_mode(mode) for mode in encoding.modes], arrays | _grids(encoding.modes, "grid")


def unpack_encoding(predictors: Sequence[Section], arrays: Arrays) -> Encoding:
    modes = tuple(_unpack_mode(section, arrays, f"grid.{n}") for n, section in enumerate(predictors))
    marginals = []
    for n, mode in enumerate(modes):
        p = arrays.take(f"marginal.{n}", (mode.n_levels,))
        if (p < -1e-9).any() or abs(p.sum() - 1.0) > 1e-6:
            raise arrays.wrong(f"marginal.{n}", "is not a distribution")
        marginals.append(p)
    return Encoding(modes, tuple(marginals))


def pack_pmf(pmf: JointPMF) -> Packed:
    lifts = {f"pmf.lift.{n}": lift for n, lift in enumerate(pmf.classes.lifts)}
    return {"pmf.weights": pmf.classes.weights, **lifts, **_grids(pmf.modes, "pmf.grid")}


def unpack_pmf(encoding: Encoding, arrays: Arrays) -> JointPMF:
    """A joint PMF whose categories are those of an encoding."""
    weights = arrays.take("pmf.weights", (-1,))
    if not len(weights) or (weights <= 0.0).any() or abs(weights.sum() - 1.0) > 1e-6:
        raise arrays.wrong("pmf.weights", "is not a distribution")
    modes, lifts = [], []
    for n, mode in enumerate(encoding.modes):
        if isinstance(mode, OrdinalMode):
            mode = OrdinalMode(mode.name, _grid(arrays, f"pmf.grid.{n}"), False, False)
        modes.append(mode)
        lifts.append(arrays.take(f"pmf.lift.{n}", (mode.n_levels, len(weights))))
        if (lifts[-1] <= 0.0).any():
            raise arrays.wrong(f"pmf.lift.{n}", "is not positive")
    return JointPMF(tuple(modes), LatentClasses(weights, tuple(lifts)))


def pack_cpd(cpd: CPD, place: str) -> Packed:
    factors = {f"{place}.factor.{n}": A for n, A in enumerate(cpd.factors)}
    return {**factors, f"{place}.V": cpd.V, f"{place}.bias": cpd.bias}


def unpack_cpd(encoding: Encoding, outputs: int, arrays: Arrays, place: str) -> CPD:
    V = arrays.take(f"{place}.V", (outputs, -1))
    shapes = [(levels, V.shape[1]) for levels in encoding.levels.tolist()]
    factors = tuple(arrays.take(f"{place}.factor.{n}", shape) for n, shape in enumerate(shapes))
    return CPD(factors, V, arrays.take(f"{place}.bias", (outputs,)), encoding.marginals)


def pack_draws(draws: Draws, place: str) -> Packed:
    factors = {f"{place}.factor.{n}": A for n, A in enumerate(draws.factors)}
    others = {name: getattr(draws, name) for name in ("V", "bias", "ranks", "weights")} | draws.parameters
    named = {f"{place}.{name}": array for name, array in others.items()}
    return {**factors, **named, **_grids(draws.modes, f"{place}.grid")}


def unpack_draws(encoding: Encoding, outputs: int, likelihood: Likelihood, arrays: Arrays, place: str) -> Draws:
    """Draws on levels that are a subset of the levels of an encoding."""
    ranks = arrays.take(f"{place}.ranks", (-1,), np.int64)
    if len(ranks) == 0 or (ranks < 1).any() or (ranks > 1 << 20).any():
        raise arrays.wrong(f"{place}.ranks", "does not hold ranks")
    D, R = len(ranks), int(ranks.sum())
    modes = tuple(_own_levels(mode, arrays, f"{place}.grid.{n}") for n, mode in enumerate(encoding.modes))
    own, common = (sum(mode.n_levels for mode in some) for some in (modes, encoding.modes))
    if common > _LARGEST_GROWTH * own:
        raise arrays.wrong(f"{place}.factor.0", f"has {own} levels, too few for the {common} of the model")
    factors = tuple(_factor_of_draws(arrays, f"{place}.factor.{n}", (mode.n_levels, R)) for n, mode in enumerate(modes))
    weights = arrays.take(f"{place}.weights", (D,))
    if (weights < 0.0).any():
        raise arrays.wrong(f"{place}.weights", "is negative")
    parameters = {name: arrays.take(f"{place}.{name}", (D, outputs)) for name in likelihood.draw_parameters}
    if any((values < 0.0).any() for values in parameters.values()):
        raise arrays.wrong(f"{place}.{likelihood.draw_parameters[0]}", "is negative")
    V, bias = arrays.take(f"{place}.V", (outputs, R)), arrays.take(f"{place}.bias", (D, outputs))
    return Draws(modes, factors, V, bias, ranks, parameters, weights)


def _factor_of_draws(arrays: Arrays, name: str, shape: tuple[int, int]) -> NDArray[Any]:
    """In single precision, or deviations from one in half precision."""
    half = name in arrays.left and arrays.left[name].dtype == np.float16
    return arrays.take(name, shape, np.float16 if half else np.float32)


def _grids(modes: Sequence[Mode], place: str) -> Packed:
    return {f"{place}.{n}": mode.grid for n, mode in enumerate(modes) if isinstance(mode, OrdinalMode)}


def _own_levels(common: Mode, arrays: Arrays, name: str) -> Mode:
    if not isinstance(common, OrdinalMode):
        return common
    grid = _grid(arrays, name)
    if not np.isin(grid, common.grid).all():
        raise arrays.wrong(name, "has levels that the model does not have")
    return OrdinalMode(common.name, grid, common.linear, common.missing_level)


def _grid(arrays: Arrays, name: str) -> Array:
    grid: Array = arrays.take(name, (-1,))
    if not 0 < len(grid) <= MOST_LEVELS or (np.diff(grid) <= 0.0).any():
        raise arrays.wrong(name, "does not hold increasing levels")
    return grid


def _pack_mode(mode: Mode) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": mode.name, "missing_level": mode.missing_level}
    if isinstance(mode, OrdinalMode):
        return entry | {"kind": "number", "linear": mode.linear}
    kind, values = _pack_categories(mode.categories)
    return entry | {"kind": "category", "type": kind, "categories": values}


def _unpack_mode(section: Section, arrays: Arrays, name_of_grid: str) -> Mode:
    kind, name, missing_level = section.text("kind"), section.text("name"), section.flag("missing_level")
    if kind == "number":
        mode: Mode = OrdinalMode(name, _grid(arrays, name_of_grid), section.flag("linear"), missing_level)
    elif kind == "category":
        mode = CategoricalMode(name, _unpack_categories(section), missing_level)
    else:
        raise section.wrong("kind", f"is {kind!r}, neither 'number' nor 'category'")
    if mode.n_levels > MOST_LEVELS:
        raise section.wrong("name", f"has {mode.n_levels} levels, more than {MOST_LEVELS}")
    return mode


def _pack_categories(categories: Sequence[Any]) -> tuple[str, list[Any]]:
    first = categories[0] if categories else ""
    if isinstance(first, str):
        return "string", [str(value) for value in categories]
    if isinstance(first, bytes):
        return "bytes", [base64.b64encode(value).decode() for value in categories]
    if isinstance(first, bool | np.bool_):
        return "boolean", [bool(value) for value in categories]
    return "number", [int(value) if float(value).is_integer() else float(value) for value in categories]


def _unpack_categories(section: Section) -> tuple[Any, ...]:
    kind, values = section.text("type"), section.items("categories")
    kinds: dict[str, tuple[type, ...]] = {"string": (str,), "bytes": (str,), "boolean": (bool,), "number": (int, float)}
    if kind not in kinds:
        raise section.wrong("type", f"is {kind!r}, not one of {', '.join(kinds)}")
    if not all(type(value) in kinds[kind] for value in values):
        raise section.wrong("categories", f"are not all of type {kind}")
    if kind == "bytes":
        try:
            values = [base64.b64decode(value, validate=True) for value in values]
        except (binascii.Error, ValueError):
            raise section.wrong("categories", "are not all of type bytes") from None
    if len(set(values)) < len(values):
        raise section.wrong("categories", "are not all different")
    return tuple(values)
