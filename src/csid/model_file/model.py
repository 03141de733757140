"""Write a fitted model to a file, and read it back."""

import os
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid.data.targets import ClassTargets
from csid.encoding import Encoding
from csid.fitted.accuracy import Accuracy, AnyAccuracy, CensoredAccuracy, ClassAccuracy, CountAccuracy
from csid.fitted.columns import Columns
from csid.fitted.model import FittedModel, LeastSquaresRecord, SamplingRecord
from csid.fitted.posterior import Posterior
from csid.fitted.schema import Schema, label_type_of
from csid.inference.stream import Stream
from csid.likelihoods import LIKELIHOODS, Likelihood
from csid.likelihoods.class_likelihood import ClassLikelihood
from csid.likelihoods.predictive import PredictiveCalibration
from csid.model_file.container import Section, json_number, read, write
from csid.model_file.parts import (
    Arrays,
    Packed,
    pack_calibration,
    pack_cpd,
    pack_draws,
    pack_encoding,
    pack_labels,
    pack_pmf,
    unpack_calibration,
    unpack_cpd,
    unpack_draws,
    unpack_encoding,
    unpack_imputation_factor,
    unpack_labels,
    unpack_pmf,
)
from csid.model_file.schemas import unpack_schema
from csid.model_file.streams import pack_stream, unpack_stream
from csid.tensor.cpd import CPD

Array = NDArray[np.float64]

_ROUNDING = 1e-6


class SavedModel(NamedTuple):
    """The contents of a file. parameters : of the estimator; stream : for `partial_fit`, if any."""

    parameters: Section
    fitted: FittedModel
    stream: Stream | None


def write_model(
    path: str | os.PathLike[str], fitted: FittedModel, parameters: Mapping[str, Any], stream: Stream | None
) -> None:
    """Write a file. An existing file is replaced only when the new one is complete."""
    predictors, arrays = pack_encoding(fitted.encoding)
    entries, more = _pack_posterior(fitted) if fitted.posterior is not None else _pack_members(fitted)
    if fitted.pmf is not None:
        more |= pack_pmf(fitted.pmf)
    if stream is not None:
        entries["stream"], sums = pack_stream(stream, fitted.tensor)
        more |= sums
    header = {
        "csid": version("csid"),
        "estimator": fitted.estimator,
        "parameters": dict(parameters),
        "predictors": predictors,
        "targets": list(fitted.columns.targets),
        "has_names": fitted.columns.names is not None,
        "likelihood": fitted.likelihood.as_json(),
        "missing": fitted.missing,
        "pmf_rank": 1 if fitted.pmf is None else fitted.pmf.rank,
        "outputs": fitted.n_outputs,
        "one_output": fitted.one_output,
        "n_samples": int(fitted.n_samples),
        "n_iter": int(fitted.n_iter),
        "schema": None if fitted.schema is None else fitted.schema.as_json(),
    }
    if fitted.classes is not None:
        entries["classes"], counts = pack_labels(fitted.classes)
        more |= counts
    write(path, header | entries, arrays | more)


def read_model(path: str | os.PathLike[str]) -> SavedModel:
    """Read a file. Raises `ModelFileError` if it is not a model file, is damaged, or is of a later version."""
    header, packed = read(path)
    arrays = Arrays(header.path, packed)
    encoding = unpack_encoding(list(header.sections("predictors")), arrays)
    if not encoding.modes:
        raise header.wrong("predictors", "is empty")
    names = tuple(mode.name for mode in encoding.modes) if header.flag("has_names") else None
    if names is not None and len(set(names)) < len(names):
        raise header.wrong("predictors", "do not all have different names")
    outputs, one_output = header.whole("outputs", 1), header.flag("one_output")
    if one_output and outputs > 1:
        raise header.wrong("one_output", f"contradicts its {outputs} outputs")
    missing = _missing(header, encoding)
    pmf_rank = header.whole("pmf_rank", 1) if "pmf_rank" in header.entries else 1  # not in the first files
    if pmf_rank > 1 and missing == "level":
        raise header.wrong("missing", "is 'level', which contradicts the joint PMF")
    pmf = unpack_pmf(encoding, pmf_rank, arrays) if pmf_rank > 1 else None
    likelihood = _likelihood(header)
    classes = unpack_labels(header.section("classes"), arrays) if header.entries.get("classes") is not None else None
    _check_classes(header, likelihood, classes, outputs)
    posterior: Posterior | None = None
    calibration: PredictiveCalibration | None = None
    training: LeastSquaresRecord | SamplingRecord
    stream: Stream | None = None
    if "groups" in header.entries:
        groups = range(header.whole("groups", 1, len(arrays.left)))
        draws = tuple(unpack_draws(encoding, outputs, likelihood, arrays, f"draws.{g}") for g in groups)
        factor = unpack_imputation_factor(arrays, outputs)
        posterior = Posterior(draws, encoding, likelihood, None if pmf is None else pmf.on(encoding), factor)
        if abs(posterior.weights.sum() - 1.0) > _ROUNDING:
            raise arrays.wrong("draws.0.weights", f"and the other groups sum to {posterior.weights.sum():g}, not 1")
        calibration = unpack_calibration(arrays, likelihood.target, outputs)
        training = _sampling_record(header, arrays)
        tensor = posterior.mean
    else:
        places = [f"member.{m}" for m in range(header.whole("members", 1, len(arrays.left)))]
        members = tuple(unpack_cpd(encoding, outputs, arrays, place) for place in places)
        tensor = members[0] if len(places) == 1 else CPD.average(members)
        objective, validation = (
            tuple(arrays.take(f"{place}.{name}", (-1,)) for place in places) for name in ("objective", "validation")
        )
        training = LeastSquaresRecord(members, objective, validation)
        has_stream = header.entries.get("stream") is not None  # missing in the first files
        stream = unpack_stream(tensor, header.section("stream"), arrays) if has_stream else None
    fitted = FittedModel(
        columns=Columns(header.text("estimator"), len(encoding.modes), names, tuple(header.texts("targets"))),
        encoding=encoding,
        tensor=tensor,
        likelihood=likelihood,
        missing=missing,
        pmf=pmf,
        one_output=one_output,
        n_samples=header.whole("n_samples"),
        n_iter=header.whole("n_iter"),
        training=training,
        posterior=posterior,
        calibration=calibration,
        schema=_schema(header, encoding, outputs, classes),
        classes=classes,
    )
    arrays.finish()
    return SavedModel(header.section("parameters"), fitted, stream)


def _pack_posterior(fitted: FittedModel) -> tuple[dict[str, Any], Packed]:
    posterior, record = fitted.require_posterior("a file of draws"), fitted.training
    if not isinstance(record, SamplingRecord) or fitted.calibration is None:
        raise TypeError("a fitted model with a posterior must have a SamplingRecord and a calibration.")
    arrays: Packed = {
        "calibration.imputation_factor": np.broadcast_to(posterior.imputation_factor, (fitted.n_outputs,)).copy(),
    }
    arrays |= pack_calibration(fitted.calibration)
    arrays |= {f"trace.{c}": trace for c, trace in enumerate(record.trace)}
    for g, group in enumerate(posterior.groups):
        arrays |= pack_draws(group, f"draws.{g}")
    entries = {
        "groups": len(posterior.groups),
        "chains": len(record.trace),
        "stacking_weights": record.stacking_weights,
        "convergence": {name: json_number(value) for name, value in record.convergence.items()},
        "whole_numbers": dict(record.whole_numbers),
    }
    if record.accuracy is not None:
        found = asdict(record.accuracy)
        rows = {"rows": found.pop("rows")}
        entries["accuracy"] = rows | {name: _as_numbers(each) for name, each in found.items()}
    return entries, arrays


def _pack_members(fitted: FittedModel) -> tuple[dict[str, Any], Packed]:
    record = fitted.training
    if not isinstance(record, LeastSquaresRecord):
        raise TypeError("a fitted model without a posterior must have a LeastSquaresRecord.")
    arrays: Packed = {}
    for m, member in enumerate(record.members):
        arrays |= pack_cpd(member, f"member.{m}")
        arrays |= {f"member.{m}.objective": record.objective[m], f"member.{m}.validation": record.validation[m]}
    return {"members": len(record.members)}, arrays


def _sampling_record(header: Section, arrays: Arrays) -> SamplingRecord:
    weights, diagnostics = header.section("stacking_weights"), header.section("convergence")
    chains = range(header.whole("chains", 1, len(arrays.left)))
    stacking = {name: weights.number(name) for name in weights.entries}
    if not all(weight >= 0.0 for weight in stacking.values()) or abs(sum(stacking.values()) - 1.0) > _ROUNDING:
        raise header.wrong("stacking_weights", "are not a distribution")
    return SamplingRecord(
        stacking,
        {name: diagnostics.number(name) for name in diagnostics.entries},
        tuple(arrays.take(f"trace.{c}", (-1, -1)) for c in chains),
        _accuracy(header.section("accuracy"), header.whole("outputs", 1)) if "accuracy" in header.entries else None,
        _whole_numbers(header),
    )


def _check_classes(header: Section, likelihood: Likelihood, classes: ClassTargets | None, outputs: int) -> None:
    """A classifier has labels, and as many as its likelihood has classes."""
    expected = likelihood.n_classes if isinstance(likelihood, ClassLikelihood) else 0
    if (0 if classes is None else len(classes.labels)) != expected:
        raise header.wrong("classes", f"do not match the likelihood, which has {expected}")
    if likelihood.latent and likelihood.n_outputs(1) != outputs:
        raise header.wrong("outputs", f"are {outputs}, but the likelihood has {likelihood.n_outputs(1)}")


def _accuracy(section: Section, outputs: int) -> AnyAccuracy:
    if "deviance" in section.entries:
        return CountAccuracy(
            section.whole("rows", 1), *(section.number(name) for name in ("deviance", "log_density", "coverage"))
        )
    if "log_loss" in section.entries:
        return ClassAccuracy(
            section.whole("rows", 1), *(section.number(name) for name in ("accuracy", "log_loss", "brier"))
        )
    if "concordance" in section.entries:
        return CensoredAccuracy(section.whole("rows", 1), section.number("known"), section.number("concordance"))
    found = {name: np.array(section.numbers(name, outputs)) for name in ("r2", "rmse", "coverage")}
    return Accuracy(section.whole("rows", 1), **found)


def _as_numbers(values: NDArray[np.float64] | float) -> Any:
    return json_number(values) if isinstance(values, float) else [json_number(value) for value in values.tolist()]


def _whole_numbers(header: Section) -> dict[str, str]:
    if "whole_numbers" not in header.entries:  # not in files of earlier protocols
        return {}
    section = header.section("whole_numbers")
    found = {name: section.text(name) for name in section.entries}
    for name, kind in found.items():
        if kind not in ("number", "category"):
            raise section.wrong(name, f"is {kind!r}, neither 'number' nor 'category'")
    return found


def _likelihood(header: Section) -> Likelihood:
    section = header.section("likelihood")
    name = section.text("name")
    if name not in LIKELIHOODS:
        raise section.wrong("name", f"is {name!r}, not one of {', '.join(sorted(LIKELIHOODS))}")
    try:
        return LIKELIHOODS[name].of_json(section.entries)
    except ValueError as error:
        raise header.wrong("likelihood", str(error)) from None


def _schema(header: Section, encoding: Encoding, outputs: int, classes: ClassTargets | None) -> Schema | None:
    if header.entries.get("schema") is None:
        return None
    section = header.section("schema")
    schema = unpack_schema(section)
    expected = outputs if classes is None else 1
    if len(schema.targets) != expected:
        raise section.wrong("targets", f"are {len(schema.targets)}, but the model has {expected} outputs")
    label_type = None if classes is None else label_type_of(classes.labels)
    if schema.labels != label_type:
        found = "has no classes" if label_type is None else f"has labels of type {label_type!r}"
        raise section.wrong("labels", f"is {schema.labels!r}, but the model {found}")
    names = [mode.name for mode in encoding.modes]
    if header.flag("has_names") and [column.name for column in schema.columns] != names:
        raise section.wrong("columns", "are not the predictors of the model")
    return schema


def _missing(header: Section, encoding: Encoding) -> Literal["marginalize", "level"]:
    value = header.text("missing")
    if value == "marginalize":
        if any(mode.missing_level for mode in encoding.modes):
            raise header.wrong("missing", "is 'marginalize', but a predictor has a level for missing cells")
        return "marginalize"
    if value == "level":
        return "level"
    raise header.wrong("missing", f"is {value!r}, neither 'marginalize' nor 'level'")
