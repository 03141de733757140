"""The parts of a model as header entries and arrays: levels, joint PMF, tensors, posterior draws."""

import base64
import binascii
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.data.targets import ClassTargets
from csid.encoding import CategoricalMode, Encoding, Mode, OrdinalMode
from csid.encoding.modes import MOST_LEVELS
from csid.fitted.posterior import Draws
from csid.likelihoods import Likelihood
from csid.likelihoods.calibration import Calibration, as_noise_calibration
from csid.likelihoods.class_predictive import ProbabilityCalibration
from csid.likelihoods.count_predictive import DispersionCalibration
from csid.likelihoods.likelihood import TargetKind
from csid.likelihoods.predictive import PredictiveCalibration
from csid.missing.joint_pmf import JointPMF
from csid.missing.latent_classes import LatentClasses
from csid.model_file.container import Section
from csid.model_file.errors import ModelFileError
from csid.model_file.index import array_error
from csid.tensor.cpd import CPD
from csid.tensor.factors import padded_rank

Array = NDArray[np.float64]
Packed = dict[str, NDArray[Any]]

_LARGEST_GROWTH, _SMALL_MODEL = 64, 1 << 26
"""A model may take 64 MB, or this many times the bytes of its arrays, against files that exhaust memory."""

_GROWN_PMF = 4
"""Arrays of the PMF on the levels of the model that exist at the same time."""

_LARGEST_LOG_FACTOR, _LARGEST_LIFT, _LARGEST_EXPONENT = 100.0, 1e100, 1e3
_LARGEST_DISPERSION_FACTOR = 1e3


@dataclass
class Arrays:
    """The arrays of a file, checked as they are taken out. `finish` raises an error if some are left."""

    path: str
    left: Packed

    def __post_init__(self) -> None:
        self._most_memory = max(_SMALL_MODEL, _LARGEST_GROWTH * sum(array.nbytes for array in self.left.values()))

    def check_memory(self, name: str, numbers: int) -> None:
        """Refuse what would take far more memory than the file. numbers : of 8 bytes that an array grows to."""
        if 8 * numbers > self._most_memory:
            raise self.wrong(name, f"would grow to {8 * numbers:,} bytes in memory, too many for a file of this size")

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
        return array_error(self.path, name, why)

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


def unpack_pmf(encoding: Encoding, rank: int, arrays: Arrays) -> JointPMF:
    """A joint PMF of this rank, whose categories are those of an encoding."""
    weights = arrays.take("pmf.weights", (-1,))
    if len(weights) != rank:
        raise arrays.wrong("pmf.weights", f"has {len(weights)} classes, not {rank}")
    arrays.check_memory("pmf.weights", _GROWN_PMF * rank * int(encoding.levels.sum()))
    if not len(weights) or (weights <= 0.0).any() or abs(weights.sum() - 1.0) > 1e-6:
        raise arrays.wrong("pmf.weights", "is not a distribution")
    modes, lifts = [], []
    for n, mode in enumerate(encoding.modes):
        if isinstance(mode, OrdinalMode):
            mode = replace(mode, grid=_grid(arrays, f"pmf.grid.{n}"), linear=False, missing_level=False)
        modes.append(mode)
        lifts.append(arrays.take(f"pmf.lift.{n}", (mode.n_levels, len(weights))))
        if (lifts[-1] < 1.0 / _LARGEST_LIFT).any() or (lifts[-1] > _LARGEST_LIFT).any():
            raise arrays.wrong(f"pmf.lift.{n}", "does not hold positive ratios of probabilities")
    return JointPMF(tuple(modes), LatentClasses(weights, tuple(lifts)))


def pack_cpd(cpd: CPD, place: str) -> Packed:
    factors = {f"{place}.factor.{n}": A for n, A in enumerate(cpd.factors)}
    return {**factors, f"{place}.V": cpd.V, f"{place}.bias": cpd.bias}


def unpack_cpd(encoding: Encoding, outputs: int, arrays: Arrays, place: str) -> CPD:
    V = arrays.take(f"{place}.V", (outputs, -1))
    if V.shape[1] == 0:
        raise arrays.wrong(f"{place}.V", "has rank 0")
    arrays.check_memory(f"{place}.V", padded_rank(V.shape[1]) * int(encoding.levels.sum()))
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
    grown = sum(map(padded_rank, ranks.tolist())) * int(encoding.levels.sum())
    arrays.check_memory(f"{place}.ranks", grown)
    factors = tuple(_factor_of_draws(arrays, f"{place}.factor.{n}", (mode.n_levels, R)) for n, mode in enumerate(modes))
    weights = arrays.take(f"{place}.weights", (D,))
    if (weights < 0.0).any():
        raise arrays.wrong(f"{place}.weights", "is negative")
    sizes = likelihood.draw_sizes(outputs)
    parameters = {name: arrays.take(f"{place}.{name}", (D, size)) for name, size in sizes.items()}
    for name, values in parameters.items():
        why = likelihood.wrong_draws(name, values)
        if why is not None:
            raise arrays.wrong(f"{place}.{name}", why)
    V, bias = arrays.take(f"{place}.V", (outputs, R)), arrays.take(f"{place}.bias", (D, outputs))
    return Draws(modes, factors, V, bias, ranks, parameters, weights)


def pack_calibration(calibration: PredictiveCalibration) -> Packed:
    """The calibration of predictive distributions: of noise, of probabilities, or of counts."""
    if isinstance(calibration, ProbabilityCalibration):
        return {"calibration.exponent": np.array([calibration.exponent])}
    if isinstance(calibration, DispersionCalibration):
        return {"calibration.dispersion_factor": np.array([calibration.factor])}
    noise = as_noise_calibration(calibration)
    return {"calibration.knots": noise.knots, "calibration.log_factors": noise.log_factors}


def unpack_calibration(arrays: Arrays, target: TargetKind, outputs: int) -> PredictiveCalibration:
    """The calibration of predictive distributions of such targets."""
    if target == "class":
        return _unpack_probability_calibration(arrays)
    if target == "count":
        return _unpack_dispersion_calibration(arrays)
    return _unpack_noise_calibration(arrays, outputs)


def _unpack_dispersion_calibration(arrays: Arrays) -> DispersionCalibration:
    name = "calibration.dispersion_factor"
    factor = float(arrays.take(name, (1,))[0])
    if not 1.0 / _LARGEST_DISPERSION_FACTOR <= factor <= _LARGEST_DISPERSION_FACTOR:
        raise arrays.wrong(name, f"is {factor:g}, not a positive factor of an ordinary size")
    return DispersionCalibration(factor)


def _unpack_probability_calibration(arrays: Arrays) -> ProbabilityCalibration:
    exponent = float(arrays.take("calibration.exponent", (1,))[0])
    if not 0.0 < exponent <= _LARGEST_EXPONENT:
        raise arrays.wrong("calibration.exponent", f"is {exponent:g}, not above 0 and at most {_LARGEST_EXPONENT:g}")
    return ProbabilityCalibration(exponent)


def pack_labels(classes: ClassTargets) -> tuple[dict[str, Any], Packed]:
    """The labels of a classifier as a header entry, and the training rows of each."""
    kind, labels = _pack_categories(classes.labels.tolist())
    return {"type": kind, "categories": labels, "ordered": classes.ordered}, {"classes.counts": classes.counts}


def unpack_labels(section: Section, arrays: Arrays) -> ClassTargets:
    labels = _unpack_categories(section)
    if len(labels) < 2:
        raise section.wrong("categories", "are not two or more classes")
    counts = arrays.take("classes.counts", (len(labels),))
    if not (counts >= 0.0).all():
        raise arrays.wrong("classes.counts", "are not all zero or more")
    kept = np.array(labels, dtype=object if isinstance(labels[0], str) else None)
    return ClassTargets(kept, counts, section.flag("ordered"))


def _unpack_noise_calibration(arrays: Arrays, outputs: int) -> Calibration:
    knots = arrays.take("calibration.knots", (outputs, -1))
    if knots.shape[1] == 0 or (np.diff(knots) < 0.0).any():
        raise arrays.wrong("calibration.knots", "does not hold increasing means")
    log_factors = arrays.take("calibration.log_factors", knots.shape)
    if (np.abs(log_factors) > _LARGEST_LOG_FACTOR).any():
        raise arrays.wrong("calibration.log_factors", f"is not within {_LARGEST_LOG_FACTOR:g} of zero")
    return Calibration(knots, log_factors)


def unpack_imputation_factor(arrays: Arrays, outputs: int) -> Array:
    name = "calibration.imputation_factor"
    factor = arrays.take(name, (outputs,))
    if not ((factor > 0.0) & (np.abs(np.log(np.maximum(factor, 1e-300))) <= _LARGEST_LOG_FACTOR)).all():
        raise arrays.wrong(name, "does not hold positive factors of an ordinary size")
    return factor


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
    return replace(common, grid=grid)


def _grid(arrays: Arrays, name: str) -> Array:
    grid: Array = arrays.take(name, (-1,))
    if not 0 < len(grid) <= MOST_LEVELS or (np.diff(grid) <= 0.0).any():
        raise arrays.wrong(name, "does not hold increasing levels")
    return grid


def _pack_mode(mode: Mode) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": mode.name, "missing_level": mode.missing_level}
    if isinstance(mode, OrdinalMode):
        limits = {} if mode.limits is None else {"limits": list(mode.limits)}
        meaning = {"words": list(mode.words), "date": mode.date}
        return entry | {"kind": "number", "linear": mode.linear, **meaning, **limits}
    kind, values = _pack_categories(mode.categories)
    return entry | {"kind": "category", "type": kind, "categories": values}


def _unpack_mode(section: Section, arrays: Arrays, name_of_grid: str) -> Mode:
    kind, name, missing_level = section.text("kind"), section.text("name"), section.flag("missing_level")
    if kind == "number":
        mode: Mode = OrdinalMode(
            name,
            _grid(arrays, name_of_grid),
            section.flag("linear"),
            missing_level,
            _unpack_limits(section),
            tuple(section.texts("words")),
            section.flag("date"),
        )
    elif kind == "category":
        mode = CategoricalMode(name, _unpack_categories(section), missing_level)
    else:
        raise section.wrong("kind", f"is {kind!r}, neither 'number' nor 'category'")
    if mode.n_levels > MOST_LEVELS:
        raise section.wrong("name", f"has {mode.n_levels} levels, more than {MOST_LEVELS}")
    return mode


def _unpack_limits(section: Section) -> tuple[float, float] | None:
    """The smallest and the largest training value; files of protocol 2 do not have them."""
    if "limits" not in section.entries:
        return None
    low, high = section.numbers("limits", 2)
    if not -math.inf < low <= high < math.inf:
        raise section.wrong("limits", "are not two increasing numbers")
    return low, high


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
