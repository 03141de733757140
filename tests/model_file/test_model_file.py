"""Models come back from their files as they were, and nothing else does."""

import copy
import json
import os
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from safetensors.numpy import save_file

import csid
from csid import BayesianCSIDRegressor, CSIDRegressor, ModelFileError
from csid.fitted.schema import ColumnSchema, Schema
from csid.model_file import container
from csid.priors.catalogue import CATALOGUE
from model_file.fuzz import load_and_predict
from model_file.models import NAMES, als, bayesian, fitted, frame

Parts = tuple[dict[str, Any], dict[str, np.ndarray]]
model_of = cache(fitted)


@pytest.mark.parametrize("name", NAMES)
def test_a_model_comes_back_as_it_was(name: str, tmp_path: Path) -> None:
    model, X = model_of(name)
    model.save(tmp_path / "model.csid")
    again = csid.load(tmp_path / "model.csid")
    assert type(again) is type(model)
    assert_array_equal(again.predict(X), model.predict(X))
    assert again.levels_ == model.levels_
    assert_array_equal(again.feature_importances_, model.feature_importances_)
    own = {key: value for key, value in model.get_params().items() if key not in ("random_state", "n_jobs")}
    kept = again.get_params()
    assert all(np.array_equal(value, kept[key]) for key, value in own.items())
    assert kept["n_jobs"] == -1
    for attribute in ("n_iter_", "n_samples_", "n_features_in_"):
        assert getattr(again, attribute) == getattr(model, attribute)
    assert_array_equal(getattr(again, "feature_names_in_", None), getattr(model, "feature_names_in_", None))
    assert again.fitted_.columns == model.fitted_.columns
    assert again.fitted_.likelihood == model.fitted_.likelihood
    if isinstance(model, BayesianCSIDRegressor):
        assert_array_equal(again.predict_interval(X), model.predict_interval(X))
        assert_array_equal(again.sample_y(X, 3), model.sample_y(X, 3))
        assert_array_equal(again.noise_, model.noise_)
        assert again.stacking_weights_ == model.stacking_weights_
        assert repr(again.accuracy_) == repr(model.accuracy_)
        for name, values in model.posterior_.parameters.items():
            assert_array_equal(again.posterior_.parameters[name], values)
        assert again.missing_ == model.missing_
        assert list(again.convergence_) == list(model.convergence_)
        assert_array_equal(list(again.convergence_.values()), list(model.convergence_.values()))
        histories = zip(again.trace_, model.trace_, strict=True)
    else:
        histories = zip(
            again.objective_history_ + again.validation_history_,
            model.objective_history_ + model.validation_history_,
            strict=True,
        )
    for one, other in histories:
        assert_array_equal(one, other)


def test_saving_what_was_loaded_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in NAMES:
        model_of(name)[0].save(tmp_path / "one")
        csid.load(tmp_path / "one").save(tmp_path / "other")
        assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_the_schema_of_a_file_is_kept(tmp_path: Path) -> None:
    X, y = frame()
    model = als().fit(X, y)
    columns = tuple(ColumnSchema(name, "text", "number", ("low", "high")) for name in X)
    schema = Schema(columns, ("y",), ("", "NA"), weight="w", group="g", ignored=("id",))
    model.__dict__.update(fitted_=replace(model.fitted_, schema=schema))
    model.save(tmp_path / "model")
    again = csid.load(tmp_path / "model")
    assert again.schema_ == schema
    again.set_params(categorical_features="from_dtype").fit(X[["length", "grade"]], y).save(tmp_path / "other")
    assert csid.load(tmp_path / "other").schema_ is None


def test_als_goes_on_from_a_file_and_chains_do_not(tmp_path: Path) -> None:
    X, y = frame()
    als(warm_start=True).fit(X, y).save(tmp_path / "als")
    again, same = csid.load(tmp_path / "als"), als(warm_start=True).fit(X, y)
    assert_array_equal(again.fit(X, y).predict(X), same.fit(X, y).predict(X))
    bayesian(warm_start=True, prior="medium").fit(X, y).save(tmp_path / "bayesian")
    with pytest.raises(ValueError, match="from a file"):
        csid.load(tmp_path / "bayesian").fit(X, y)


def test_a_model_that_is_not_fitted_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not fitted"):
        als().save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_an_interrupted_save_leaves_the_old_file_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = model_of("als")
    model.save(tmp_path / "model")
    before = (tmp_path / "model").read_bytes()

    def cut_off(arrays: Any, path: Path, texts: Any) -> None:
        path.write_bytes(before[:100])
        raise KeyboardInterrupt

    monkeypatch.setattr(container, "save_file", cut_off)
    with pytest.raises(KeyboardInterrupt):
        model.save(tmp_path / "model")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert (tmp_path / "model").read_bytes() == before


OLD = Path(__file__).parent / "released"
RELEASED = sorted(OLD.glob("*.csid"))
"""Beside each file are rows as JSON, and what the version that wrote it said of them; see `write_released.py`."""

NEW_NAMES = {
    "stiff": "low_curvature",
    "fine": "fine_grid",
    "finest": "finest_grid",
    "steady": "informed_noise",
    "curved": "second_order",
    "near one": "strong_shrinkage",
    "lean": "mildly_sparse",
    "alike": "shared_slope",
    "akin": "loose_shared_slope",
    "normal": "gaussian",
    "student": "student_t",
    "noise_effective_draws": "noise_ess",
    "smoothness_effective_draws": "smoothness_ess",
    "prediction_effective_draws": "prediction_ess",
}
"""What protocol 1 called otherwise."""


def _named_anew(values: Any) -> Any:
    if isinstance(values, dict):
        return {_named_anew(name): value for name, value in values.items()}
    return [NEW_NAMES.get(name, name) for name in values] if isinstance(values, list) else NEW_NAMES.get(values, values)


def _told(path: Path) -> tuple[dict[str, Any], Any]:
    """What was written beside a file, and the rows that it is about."""
    told = json.loads(path.with_suffix(".json").read_text())
    if "shares" in told:  # protocol 1
        told |= {"stacking_weights": told["shares"], "likelihood": told["noise_of"]}
        told |= {key: _named_anew(told[key]) for key in ("stacking_weights", "likelihood", "prior", "convergence")}
    rows = np.array(told["rows"], dtype=object)
    return told, rows if told.get("names") is None else pd.DataFrame(rows, columns=told["names"])


def _with_the_same_intervals(path: Path, model: Any, rows: Any) -> np.ndarray:
    """Rows (M,) with the same intervals. Before protocol 3 only a joint PMF widened those of incomplete rows."""
    incomplete = pd.DataFrame(rows).isna().any(axis=1).to_numpy()
    return np.full(len(rows), True) if model.pmf_ is not None or _raw(path)[0]["protocol"] > 2 else ~incomplete


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.stem)
def test_a_file_of_an_earlier_version_predicts_as_it_did(path: Path) -> None:
    model, (told, rows) = csid.load(path), _told(path)
    assert_allclose(model.predict(rows), told["predictions"], rtol=1e-9, atol=1e-12)
    for attribute in ("n_samples", "n_iter"):
        assert attribute not in told or getattr(model, f"{attribute}_") == told[attribute]
    if "levels" in told:
        assert model.levels_ == told["levels"]
        assert_allclose(model.feature_importances_, told["importances"], rtol=1e-9)
    if "targets" in told:
        assert list(model.fitted_.target_names) == told["targets"]
    if "likelihood" in told:
        given = model.likelihood
        assert (given if isinstance(given, str) else given.as_json()) == told["likelihood"]
    same = _with_the_same_intervals(path, model, rows)
    if isinstance(model, BayesianCSIDRegressor):
        bounds = model.predict_interval(rows)
        for found, name in zip(bounds, ("lower", "upper"), strict=True):
            assert name not in told or np.allclose(found[same], np.array(told[name])[same], rtol=1e-6, atol=0.0)
        if not same.all():
            assert np.subtract(*bounds[::-1])[~same].mean() > np.subtract(*bounds[::-1])[same].mean()
    if "stacking_weights" in told:
        assert isinstance(model, BayesianCSIDRegressor)
        for found, expected in zip(model.predict_uncertainty(rows), told["uncertainty"], strict=True):
            assert_allclose(found[same], np.array(expected)[same], rtol=1e-9)
        assert_allclose(model.noise_, told["noise"], rtol=1e-12)
        assert model.stacking_weights_ == told["stacking_weights"]
        assert model.missing_ == told["missing"]
        assert model.prior == told["prior"]
        assert [trace[-1].tolist() for trace in model.trace_] == told["trace"]
        convergence = {name: None if np.isnan(value) else value for name, value in model.convergence_.items()}
        assert convergence == told["convergence"]
    if "after" in told:
        model.partial_fit(pd.DataFrame(told["after"]["rows"], columns=told["names"]), told["after"]["targets"])
        assert_allclose(model.predict(rows), told["after"]["predictions"], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.stem)
def test_a_file_of_an_earlier_version_can_be_written_anew(path: Path, tmp_path: Path) -> None:
    model, (_, rows) = csid.load(path), _told(path)
    model.save(tmp_path / "model")
    header, _ = container.read(tmp_path / "model")
    assert header.whole("protocol") == container.PROTOCOL
    again = csid.load(tmp_path / "model")
    assert_array_equal(again.predict(rows), model.predict(rows))
    assert repr(again.get_params()) == repr(model.get_params())
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_there_are_files_of_every_kind_that_was_ever_written() -> None:
    models = [csid.load(path) for path in RELEASED]
    kinds = {(type(model).__name__, model.fitted_.likelihood.name, model.fitted_.n_outputs > 1) for model in models}
    assert {("CSIDRegressor", "gaussian", outputs) for outputs in (False, True)} < kinds
    ways = [(likelihood, outputs) for likelihood in ("gaussian", "student_t") for outputs in (False, True)]
    assert {("BayesianCSIDRegressor", *way) for way in ways} < kinds
    for kind in (CSIDRegressor, BayesianCSIDRegressor):
        assert any(isinstance(model, kind) and model.pmf_ is not None for model in models)
        assert any(isinstance(model, kind) and model.missing == "level" for model in models)
    assert {model.cpd_.n_outputs for model in models if getattr(model, "_stream", None) is not None} == {1, 2}
    priors = {name for model in models if isinstance(model, BayesianCSIDRegressor) for name in model.stacking_weights_}
    assert priors == set(CATALOGUE)
    for name in ("0.1.0-bayesian", "protocol-2-bayesian"):
        schema = csid.load(OLD / f"{name}.csid").schema_
        assert schema is not None
        assert (schema.targets, schema.missing, schema.weight, schema.ignored) == (("y",), ("", "NA"), "w", ("id",))
    protocols = [_raw(path)[0]["protocol"] for path in RELEASED]
    assert set(protocols) == set(range(1, container.PROTOCOL + 1))


def _bytes(name: str, folder: Path) -> bytes:
    model_of(name)[0].save(folder / "whole")
    return (folder / "whole").read_bytes()


@pytest.mark.parametrize("name", ["als", "bayesian"])
def test_a_file_that_was_cut_off_is_refused(name: str, tmp_path: Path) -> None:
    whole = _bytes(name, tmp_path)
    for length in [0, 1, 7, 8, 9, 100, len(whole) // 2, len(whole) - 1]:
        (tmp_path / "cut").write_bytes(whole[:length])
        message = (
            rf"not a valid csid model file \(truncated after {length} bytes\)" if length > 8 else "not a csid model"
        )
        with pytest.raises(ModelFileError, match=message):
            csid.load(tmp_path / "cut")
    (tmp_path / "cut").write_bytes(whole + b"more")
    with pytest.raises(ModelFileError, match="damaged: 4 bytes follow its last array"):
        csid.load(tmp_path / "cut")


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_flipped_bit_is_noticed(data: st.DataObject, tmp_path: Path) -> None:
    whole = _bytes(data.draw(st.sampled_from(["als", "bayesian"])), tmp_path)
    index_ends = 8 + int.from_bytes(whole[:8], "little")
    padding = index_ends - len(whole[:index_ends].rstrip(b" "))
    at = data.draw(st.integers(0, index_ends - padding - 1) | st.integers(index_ends, len(whole) - 1))
    flipped = bytearray(whole)
    flipped[at] ^= 1 << data.draw(st.integers(0, 7))
    (tmp_path / "flipped").write_bytes(flipped)
    with pytest.raises(ModelFileError):
        csid.load(tmp_path / "flipped")


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(junk=st.binary(max_size=300), framed=st.booleans())
def test_junk_is_no_model(junk: bytes, framed: bool, tmp_path: Path) -> None:
    (tmp_path / "junk").write_bytes(len(junk).to_bytes(8, "little") + junk if framed else junk)
    with pytest.raises(ModelFileError, match=r"not a csid model|not one of csid"):
        csid.load(tmp_path / "junk")


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no file"):
        csid.load(tmp_path / "absent")
    with pytest.raises(ModelFileError, match="is not a file"):
        csid.load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="is not a file"):
        csid.load(tmp_path / "pipe")


def _parts(name: str, folder: Path) -> Parts:
    model_of(name)[0].save(folder / "whole")
    header, arrays = container.read(folder / "whole")
    entries = {key: value for key, value in header.entries.items() if key != "sha256"}
    return copy.deepcopy(entries), dict(arrays)


def _raw(path: Path) -> Parts:
    """The contents of a file as they are in it, in whatever protocol."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(container, "migrated", lambda protocol, header, arrays: (header, arrays))
        header, arrays = container.read(path)
    return {key: value for key, value in header.entries.items() if key != "sha256"}, arrays


def _load(parts: Parts, folder: Path) -> Any:
    """A model of these parts, with the checksum that they should have."""
    container.write(folder / "made", *parts)
    return csid.load(folder / "made")


def test_a_later_protocol_is_not_guessed_at(tmp_path: Path) -> None:
    header, arrays = _parts("als", tmp_path)
    later = container.PROTOCOL + 1
    with pytest.raises(ModelFileError, match=rf"csid 9.9 in protocol {later}.*upgrade"):
        _load((header | {"protocol": later, "csid": "9.9"}, arrays), tmp_path)


def test_words_and_dates_of_earlier_protocols_are_in_their_schema(tmp_path: Path) -> None:
    header, arrays = _raw(OLD / "protocol-2-bayesian.csid")
    assert header["schema"]["columns"][0]["name"] == "x"
    words, date = {"type": "text", "order": ["low", "high"]}, {"type": "date"}
    for column, expected in ((words, (("low", "high"), False)), (date, ((), True))):
        old = copy.deepcopy(header)
        old["schema"]["columns"][0] |= column
        found = _load((old, arrays), tmp_path).encoding_.modes[0]
        assert (found.words, found.date) == expected


def test_names_of_the_first_protocol_are_not_those_of_this_one(tmp_path: Path) -> None:
    """A file says what protocol it is in, and is read in that one only."""
    header, arrays = _raw(OLD / "protocol-1-bayesian-student.csid")
    assert _load((header, arrays), tmp_path).likelihood == "student_t"
    with pytest.raises(ModelFileError, match=r"header's predictors\.0\.words is missing"):
        _load((header | {"protocol": container.PROTOCOL}, arrays), tmp_path)


def test_other_safetensors_files_are_refused(tmp_path: Path) -> None:
    save_file({"weight": np.zeros(3)}, tmp_path / "other")
    with pytest.raises(ModelFileError, match="not one of csid"):
        csid.load(tmp_path / "other")
    save_file({"weight": np.zeros(3, np.int8)}, tmp_path / "other", {"csid": "{}"})
    with pytest.raises(ModelFileError, match="'weight' has type I8"):
        csid.load(tmp_path / "other")
    for text, message in [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not an object"),
        ("{}", "protocol is missing"),
    ]:
        save_file({}, tmp_path / "other", {"csid": text})
        with pytest.raises(ModelFileError, match=message):
            csid.load(tmp_path / "other")


WRONG_HEADERS = {
    "estimator is 'Pipeline'": {"estimator": "Pipeline"},
    "estimator is not a string": {"estimator": 3},
    "parameters has 'code'": {"parameters": {"code": "import os"}},
    "parameters are invalid": {"parameters": {"rank": "many"}},
    "predictors is empty": {"predictors": []},
    "predictors.0 is not an object": {"predictors": ["length"]},
    "predictors.0.kind is 'word'": {"predictors": [{"kind": "word", "name": "a", "missing_level": False}]},
    "predictors is not a list": {"predictors": {}},
    "outputs is 0": {"outputs": 0},
    "outputs is not an integer": {"outputs": True},
    "one_output contradicts": {"outputs": 2},
    "n_samples is -1": {"n_samples": -1},
    "has_names is not true or false": {"has_names": "yes"},
    "members is 1000000000": {"members": 10**9},
    "schema.targets is missing": {"schema": {"columns": []}},
    "schema.columns.0.type is 'code'": {"schema": {"columns": [{"name": "a", "type": "code"}]}},
}


@pytest.mark.parametrize("message", WRONG_HEADERS)
def test_headers_that_make_no_sense_are_refused(message: str, tmp_path: Path) -> None:
    header, arrays = _parts("als", tmp_path)
    with pytest.raises(ModelFileError, match=message):
        _load((header | WRONG_HEADERS[message], arrays), tmp_path)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("string", ["a", 1]),
        ("number", [True, 2]),
        ("boolean", [0]),
        ("bytes", ["?"]),
        ("string", ["a", "a"]),
        ("code", []),
    ],
)
def test_categories_are_of_their_type_and_different(kind: str, values: list[Any], tmp_path: Path) -> None:
    header, arrays = _parts("als", tmp_path)
    header["predictors"][1] |= {"type": kind, "categories": values}
    with pytest.raises(ModelFileError, match=r"predictors.1.(categories|type)"):
        _load((header, arrays), tmp_path)


WRONG_ARRAYS = {
    "'grid.0' does not hold increasing levels": ("grid.0", lambda grid: grid[::-1]),
    "'grid.0' holds NaN or infinity": ("grid.0", lambda grid: grid * np.inf),
    "'grid.0' has type float32": ("grid.0", lambda grid: grid.astype(np.float32)),
    "'grid.0' is missing": ("grid.0", None),
    "'marginal.1' is not a distribution": ("marginal.1", lambda p: p + 1.0),
    "'marginal.1' has shape": ("marginal.1", lambda p: p[1:]),
    "'extra' is not part of a model": ("extra", lambda _: np.zeros(1)),
    "'draws.0.ranks' does not hold ranks": ("draws.0.ranks", lambda ranks: 0 * ranks),
    "'draws.0.factor.0' has shape": ("draws.0.factor.0", lambda A: A[:, 1:]),
    "'draws.0.grid.0' has levels that the model does not have": ("draws.0.grid.0", lambda grid: grid + 0.001),
    "'draws.0.weights' is negative": ("draws.0.weights", lambda weights: -weights),
    "'draws.0.noise' is not positive": ("draws.0.noise", lambda noise: 0.0 * noise),
    "'calibration.log_factors' has shape": ("calibration.log_factors", lambda logs: logs[:, 1:]),
}


@pytest.mark.parametrize("message", WRONG_ARRAYS)
def test_arrays_that_make_no_sense_are_refused(message: str, tmp_path: Path) -> None:
    header, arrays = _parts("bayesian", tmp_path)
    name, change = WRONG_ARRAYS[message]
    if change is None:
        del arrays[name]
    else:
        arrays[name] = change(arrays.get(name))
    with pytest.raises(ModelFileError, match=message):
        _load((header, arrays), tmp_path)


def _changed(name: str, change: Callable[[dict[str, Any], dict[str, np.ndarray]], Any], folder: Path) -> Any:
    header, arrays = _parts(name, folder)
    change(header, arrays)
    return _load((header, arrays), folder)


def _without_components(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    for name in arrays:
        if name.startswith("member.0.factor") or name == "member.0.V":
            arrays[name] = arrays[name][:, :0]


CONTRADICTIONS: dict[str, tuple[str, Callable[[dict[str, Any], dict[str, np.ndarray]], Any]]] = {
    "stacking_weights are not a distribution": (
        "bayesian",
        lambda header, arrays: header.update(stacking_weights={"medium": 0.5, "fine_grid": 0.4}),
    ),
    "other groups sum to 2, not 1": (
        "bayesian",
        lambda header, arrays: arrays.update(
            {name: 2.0 * array for name, array in arrays.items() if name.endswith(".weights")}
        ),
    ),
    "'member.0.V' has rank 0": ("als", _without_components),
    "missing is 'level', which contradicts the joint PMF": (
        "als, joint PMF",
        lambda header, arrays: header.update(missing="level"),
    ),
    "missing is 'marginalize', but a predictor has a level": (
        "als, one level each for missing, nearest level",
        lambda header, arrays: header.update(missing="marginalize"),
    ),
    "'pmf.weights' has 2 classes, not 3": ("als, joint PMF", lambda header, arrays: header.update(pmf_rank=3)),
    "'pmf.lift.1' does not hold positive ratios": (
        "als, joint PMF",
        lambda header, arrays: arrays.update({"pmf.lift.1": 0.0 * arrays["pmf.lift.1"]}),
    ),
    "'calibration.knots' does not hold increasing means": (
        "bayesian",
        lambda header, arrays: arrays.update({"calibration.knots": arrays["calibration.knots"][:, ::-1]}),
    ),
    "'calibration.log_factors' is not within 100": (
        "bayesian",
        lambda header, arrays: arrays.update({"calibration.log_factors": arrays["calibration.log_factors"] + 710.0}),
    ),
    "predictors do not all have different names": (
        "als",
        lambda header, arrays: header["predictors"][1].update(name=header["predictors"][0]["name"]),
    ),
}


@pytest.mark.parametrize("message", CONTRADICTIONS)
def test_contradictory_files_are_refused(message: str, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=message):
        _changed(*CONTRADICTIONS[message], tmp_path)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (Schema((), ("y", "z"), ()), "schema.targets are 2, but the model has 1 outputs"),
        (Schema((), ("y",), ()), "schema.columns are not the predictors of the model"),
        (Schema((), ("y",), (), labels="text"), "schema.labels is 'text', but the model has no classes"),
    ],
)
def test_a_schema_is_of_the_model(schema: Schema, message: str, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=message):
        _changed("als", lambda header, arrays: header.update(schema=schema.as_json()), tmp_path)


@pytest.mark.parametrize("number", ["1" + 400 * "0", "1" * 6000, "-1e999", "NaN", "Infinity"])
def test_a_number_that_no_float_can_hold_is_refused(number: str, tmp_path: Path) -> None:
    text = f'{{"sha256": "", "protocol": 2, "parameters": {{"n_burn": {number}}}}}'
    save_file({}, tmp_path / "huge", {"csid": text})
    with pytest.raises(ModelFileError, match=rf"it holds the number {number[:20]}"):
        csid.load(tmp_path / "huge")


@pytest.mark.parametrize("depth", [40, 400, 5000])
def test_deep_nesting_is_refused(depth: int, tmp_path: Path) -> None:
    text = f'{{"sha256": "", "protocol": 2, "parameters": {"[" * depth}{"]" * depth}}}'
    save_file({}, tmp_path / "deep", {"csid": text})
    with pytest.raises(ModelFileError, match=r"nested too deeply|not JSON"):
        csid.load(tmp_path / "deep")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"shape": [1] * 70}, "does not have a shape of at most 3 dimensions"),
        ({"shape": [0, 1 << 60]}, "does not have a shape"),
        ({"shape": [1 << 40]}, "does not have the bytes that its shape needs"),
        ({"shape": [1 << 40], "data_offsets": [0, 1 << 43]}, "truncated after"),
        ({"shape": [-2]}, "does not have a shape"),
        ({"shape": "12"}, "does not have a shape"),
        ({"data_offsets": [16, 0]}, "does not have the bytes"),
        ({"data_offsets": None}, "does not have the bytes"),
        ({"dtype": "BF16"}, "has type BF16"),
        ({"dtype": ["F64"]}, "has type"),
    ],
)
def test_sizes_are_checked_before_anything_is_allocated(entry: dict[str, Any], message: str, tmp_path: Path) -> None:
    whole = {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}
    index = json.dumps({"__metadata__": {"csid": "{}"}, "a": whole | entry}).encode()
    (tmp_path / "made").write_bytes(len(index).to_bytes(8, "little") + index + bytes(16))
    with pytest.raises(ModelFileError, match=message):
        csid.load(tmp_path / "made")


def test_classes_of_a_small_file_do_not_ask_for_much_memory(tmp_path: Path) -> None:
    """Many classes of one bin, to be moved to many levels."""
    header, arrays = _parts("als, joint PMF", tmp_path)
    levels, classes = 6000, 3000
    arrays |= {"grid.0": np.linspace(0.0, 2.0, levels), "marginal.0": np.full(levels, 1.0 / levels)}
    arrays |= {"member.0.factor.0": np.zeros((levels, 3)), "pmf.grid.0": np.zeros(1)}
    arrays |= {"pmf.weights": np.full(classes, 1.0 / classes), "pmf.lift.0": np.ones((1, classes))}
    arrays |= {f"pmf.lift.{n}": np.ones((len(arrays[f"pmf.lift.{n}"]), classes)) for n in range(1, 5)}
    header["pmf_rank"] = classes
    with pytest.raises(ModelFileError, match=r"would grow to .* bytes in memory"):
        _load((header, arrays), tmp_path)


def test_a_small_file_does_not_ask_for_much_memory(tmp_path: Path) -> None:
    """Many components on few levels, to be moved to many levels."""
    header, arrays = _parts("bayesian, every prior", tmp_path)
    grid = np.linspace(0.0, 2.0, 60_000)
    arrays["grid.0"], arrays["marginal.0"] = (
        grid,
        np.full(60_000 + header["predictors"][0]["missing_level"], 1.0 / 60_000),
    )
    for g in range(header["groups"]):
        arrays[f"draws.{g}.grid.0"] = grid[[0, -1]]
        A = arrays[f"draws.{g}.factor.0"]
        arrays[f"draws.{g}.factor.0"] = A[: 2 + header["predictors"][0]["missing_level"]]
    with pytest.raises(ModelFileError, match=r"would grow to .* bytes in memory"):
        _load((header, arrays), tmp_path)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


HOSTILE = {
    "als": lambda folder: _parts("als", folder),
    "bayesian": lambda folder: _parts("bayesian", folder),
    "other degrees of freedom": lambda folder: _parts("bayesian, other degrees of freedom", folder),
    "protocol 1, als": lambda folder: _raw(OLD / "protocol-1-als-stream-joint-pmf.csid"),
    "protocol 1, bayesian": lambda folder: _raw(OLD / "protocol-1-bayesian-student-outputs.csid"),
}


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_header_with_anything_in_it_loads_or_is_refused(data: st.DataObject, tmp_path: Path) -> None:
    """A stranger can make the checksum fit. What loads predicts, or says what it lacks."""
    header, arrays = copy.deepcopy(HOSTILE[data.draw(st.sampled_from(sorted(HOSTILE)))](tmp_path))
    header["has_names"] = False
    place: Any = header
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        deeper = isinstance(place[key], dict | list) and place[key]
        if not deeper or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(JSON)
    try:
        model = _load((header, arrays), tmp_path)
    except ModelFileError:
        return
    row = np.array([[None] * model.n_features_in_], dtype=object)
    named = header["has_names"] is True  # it may have been drawn
    assert np.isfinite(model.predict(pd.DataFrame(row, columns=model.feature_names_in_) if named else row)).all()


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ({"name": "cauchy"}, "the likelihood is 'cauchy', not one of"),
        ({"name": []}, "the likelihood is"),
        ({}, "the likelihood is None"),
        ({"name": "student_t", "degrees_of_freedom": 2}, "2 degrees of freedom, not a number above 2"),
        ({"name": "student_t", "degrees_of_freedom": "many"}, "'many' degrees of freedom"),
    ],
)
@pytest.mark.parametrize("where", ["likelihood", "parameters"])
def test_a_likelihood_that_makes_no_sense_is_refused(
    where: str, parameter: dict[str, Any], message: str, tmp_path: Path
) -> None:
    header, arrays = _parts("bayesian", tmp_path)
    if where == "likelihood":
        header["likelihood"] = parameter
        message = "likelihood"
    else:
        header["parameters"]["likelihood"] = {"likelihood": parameter}
    with pytest.raises(ModelFileError, match=message):
        _load((header, arrays), tmp_path)


CORPUS = sorted((Path(__file__).parent / "corpus").iterdir())


def test_the_corpus_of_the_fuzzer_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "_check_sum", lambda *_: None)
    assert len(CORPUS) > 10
    for path in CORPUS:
        load_and_predict(path.read_bytes(), tmp_path / "model")
