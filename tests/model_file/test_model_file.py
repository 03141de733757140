"""Models come back from their files as they were, and nothing else does."""

import copy
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from safetensors.numpy import save_file

import csid
from csid import BayesianCSIDRegressor, ModelFileError
from csid.model_file import container
from csid.schema import ColumnSchema, Schema
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
    if isinstance(model, BayesianCSIDRegressor):
        assert_array_equal(again.predict_interval(X), model.predict_interval(X))
        assert_array_equal(again.sample_y(X, 3), model.sample_y(X, 3))
        assert_array_equal(again.noise_, model.noise_)
        assert again.shares_ == model.shares_
        assert again.missing_ == model.missing_
        assert list(again.convergence_) == list(model.convergence_)
        assert_array_equal(list(again.convergence_.values()), list(model.convergence_.values()))
        histories = zip(again.history_, model.history_, strict=True)
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
    model.schema_ = Schema(columns, ("y",), ("", "NA"), weight="w", group="g", ignored=("id",))
    model.save(tmp_path / "model")
    again = csid.load(tmp_path / "model")
    assert again.schema_ == model.schema_
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


def test_every_file_of_an_earlier_version_loads() -> None:
    """Beside each file are rows as JSON, and what the version that wrote it predicted for them."""
    folder = Path(__file__).parent / "released"
    files = sorted(folder.glob("*.csid"))
    assert len(files) >= 2
    for path in files:
        expected = json.loads(path.with_suffix(".json").read_text())
        model = csid.load(path)
        rows = np.array(expected["rows"], dtype=object)
        np.testing.assert_allclose(model.predict(rows), expected["predictions"], rtol=1e-9)
        if "lower" in expected:
            np.testing.assert_allclose(model.predict_interval(rows)[0], expected["lower"], rtol=1e-6)


def _bytes(name: str, folder: Path) -> bytes:
    model_of(name)[0].save(folder / "whole")
    return (folder / "whole").read_bytes()


@pytest.mark.parametrize("name", ["als", "bayesian"])
def test_a_file_that_was_cut_off_is_refused(name: str, tmp_path: Path) -> None:
    whole = _bytes(name, tmp_path)
    for length in [0, 1, 7, 8, 9, 100, len(whole) // 2, len(whole) - 1]:
        (tmp_path / "cut").write_bytes(whole[:length])
        with pytest.raises(ModelFileError, match="not a csid model"):
            csid.load(tmp_path / "cut")
    (tmp_path / "cut").write_bytes(whole + b"more")
    with pytest.raises(ModelFileError, match="damaged"):
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


def _load(parts: Parts, folder: Path) -> Any:
    """A model of these parts, with the checksum that they should have."""
    container.write(folder / "made", *parts)
    return csid.load(folder / "made")


def test_a_later_protocol_is_not_guessed_at(tmp_path: Path) -> None:
    header, arrays = _parts("als", tmp_path)
    with pytest.raises(ModelFileError, match=r"csid 9.9 in protocol 2.*upgrade"):
        _load((header | {"protocol": 2, "csid": "9.9"}, arrays), tmp_path)


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
        ("{}", "protocol is absent"),
    ]:
        save_file({}, tmp_path / "other", {"csid": text})
        with pytest.raises(ModelFileError, match=message):
            csid.load(tmp_path / "other")


WRONG_HEADERS = {
    "estimator is 'Pipeline'": {"estimator": "Pipeline"},
    "estimator is not a text": {"estimator": 3},
    "parameters names 'code'": {"parameters": {"code": "import os"}},
    "parameters are not those of a model": {"parameters": {"rank": "many"}},
    "predictors is empty": {"predictors": []},
    "predictors.0 is not an object": {"predictors": ["length"]},
    "predictors.0.kind is 'word'": {"predictors": [{"kind": "word", "name": "a", "missing_level": False}]},
    "predictors is not a list": {"predictors": {}},
    "outputs is 0": {"outputs": 0},
    "outputs is not a whole number": {"outputs": True},
    "one_output contradicts": {"outputs": 2},
    "n_samples is -1": {"n_samples": -1},
    "has_names is not true or false": {"has_names": "yes"},
    "members is 1000000000": {"members": 10**9},
    "schema.targets is absent": {"schema": {"columns": []}},
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
    "'grid.0' does not hold rising levels": ("grid.0", lambda grid: grid[::-1]),
    "'grid.0' holds what is no finite number": ("grid.0", lambda grid: grid * np.inf),
    "'grid.0' has type float32": ("grid.0", lambda grid: grid.astype(np.float32)),
    "'grid.0' is absent": ("grid.0", None),
    "'marginal.1' is not a distribution": ("marginal.1", lambda p: p + 1.0),
    "'marginal.1' has shape": ("marginal.1", lambda p: p[1:]),
    "'extra' belongs to nothing": ("extra", lambda _: np.zeros(1)),
    "'draws.0.ranks' holds what is no rank": ("draws.0.ranks", lambda ranks: 0 * ranks),
    "'draws.0.factor.0' has shape": ("draws.0.factor.0", lambda A: A[:, 1:]),
    "'draws.0.grid.0' has levels that the model has not": ("draws.0.grid.0", lambda grid: grid + 0.001),
    "'draws.0.noise' or its shares are negative": ("draws.0.shares", lambda shares: -shares),
    "'spread.logs' has shape": ("spread.logs", lambda logs: logs[:, 1:]),
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
    with pytest.raises(ModelFileError, match="too few beside the 60"):
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


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_header_with_anything_in_it_loads_or_is_refused(data: st.DataObject, tmp_path: Path) -> None:
    """A stranger can make the checksum fit. What loads predicts, or says what it lacks."""
    name = data.draw(st.sampled_from(["als", "bayesian"]))
    header, arrays = _parts(name, tmp_path)
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
    row = np.array([[None] * 5], dtype=object)
    named = header["has_names"] is True  # it may have been drawn
    assert np.isfinite(model.predict(pd.DataFrame(row, columns=model.feature_names_in_) if named else row)).all()


CORPUS = sorted((Path(__file__).parent / "corpus").iterdir())


def test_the_corpus_of_the_fuzzer_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "_check_sum", lambda *_: None)
    assert len(CORPUS) > 10
    for path in CORPUS:
        load_and_predict(path.read_bytes(), tmp_path / "model")
