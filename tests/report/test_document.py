"""What a report says, as plain data, against the explanations and metrics of the model."""

import base64
import json
import zlib
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from csid.explain import additivity, sobol_indices
from csid.fitted.metrics import metrics
from csid.report import document
from csid.report.packing import Packing
from csid.report.rows import example_rows, typical_row
from csid.report.variance_shares import variance_shares
from export.systems import KINDS, fitted, mixed_table


def _unpacked(text: str, kind: str) -> np.ndarray:
    raw = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8)
    return raw.reshape(np.dtype(kind).itemsize, -1).T.copy().view(kind).ravel()


def test_packed_numbers_come_back() -> None:
    rng = np.random.default_rng(0)
    packing = Packing()
    first, A = rng.normal(size=7), rng.normal(size=(5, 3)) * [1e-9, 1.0, 0.0]
    assert packing.doubles(first) == (0, 7)
    start, (units_at, count) = packing.cells(A)
    again, (_, _) = packing.cells(-A)
    assert (start, again, count) == (0, 15, 3)
    doubles, steps = (_unpacked(packing.texts()[name], kind) for name, kind in (("doubles", "<f8"), ("cells", "<u4")))
    assert (doubles[:7] == first).all()
    signed = (steps[:15] >> 1).astype(np.int64) ^ -(steps[:15] & 1).astype(np.int64)
    cells = signed.reshape(5, 3).cumsum(axis=0) * doubles[units_at : units_at + 3]
    assert (np.abs(cells - A) <= 2.0**-28 * np.abs(A).max(axis=0)).all()


def test_a_page_of_many_cells_has_fewer_digits_of_each() -> None:
    A, n_cells = np.random.default_rng(0).normal(size=(400, 300)), 8_000_000
    texts = []
    for packing, digits in ((Packing(A.size), 28), (Packing(n_cells), 12), (Packing(100 * n_cells), 10)):
        assert packing.digits == digits
        _, (units_at, _) = packing.cells(A)
        texts.append(packing.texts())
        units = _unpacked(texts[-1]["doubles"], "<f8")[units_at:]
        steps = _unpacked(texts[-1]["cells"], "<u4")
        signed = (steps >> 1).astype(np.int64) ^ -(steps & 1).astype(np.int64)
        found = signed.reshape(A.shape).cumsum(axis=0) * units
        assert (np.abs(found - A) <= 0.5001 * 2.0**-digits * np.abs(A).max(axis=0)).all()
    assert len(texts[1]["cells"]) * n_cells / A.size < 20e6


@pytest.mark.parametrize("kind", ["als, several outputs", "bayes, after a pilot", "bayes, missing as a level"])
def test_shares_are_sobol_indices(kind: str) -> None:
    model = fitted(kind)
    found, indices, parts = variance_shares(model.cpd_, 4), sobol_indices(model), additivity(model)
    K = model.cpd_.n_outputs
    for name in ("first", "total"):
        assert_allclose(getattr(found, name), getattr(indices, name).reshape(-1, K), atol=1e-9)
    for name in ("main", "pairs", "higher"):
        assert_allclose(getattr(found, name), np.reshape(getattr(parts, name), K), atol=1e-9)
    pairs = indices.pairs.reshape(5, 5, K)
    for k, strongest in enumerate(found.strongest):
        largest = np.sort(pairs[:, :, k][np.triu_indices(5, 1)])[::-1][:4]
        assert_allclose([share for _, _, share in strongest], largest, atol=1e-9)
        assert_allclose([pairs[i, n, k] for i, n, _ in strongest], largest, atol=1e-9)


def test_metrics_and_calibration_are_those_of_the_model() -> None:
    model, X = fitted("bayes, several outputs"), mixed_table(60, seed=3)
    y = model.predict(X) + np.random.default_rng(0).normal(size=(60, 3))
    told = document(model, X, y, None, ("a", "b", "c"), Packing())
    expected = metrics(model, X, y, None, ("a", "b", "c"), 0)
    overview, calibration = told["sections"]["overview"], told["sections"]["calibration"]
    assert overview["rows"] == calibration["rows"] == 60
    for k, name in enumerate("abc"):
        found = overview["metrics"][k]
        for metric in ("rmse", "mae", "r2", "coverage"):
            assert_allclose(list(found[metric].values()), list(expected[name][metric].values()), rtol=1e-12)
        lower, upper = model.predict_interval(X, 0.5)
        below = calibration["below"][k]
        assert_allclose(below[4], np.mean(y[:, k] <= lower[:, k]))
        assert_allclose(below[14], np.mean(y[:, k] <= upper[:, k]))


@pytest.mark.parametrize("kind", KINDS)
def test_a_document_is_json_with_rows_to_start_from(kind: str) -> None:
    model, X = fitted(kind), mixed_table(30, seed=3)
    told = document(model, X, None, None, None, Packing())
    json.dumps(told, allow_nan=False)
    assert told["sections"]["overview"]["metrics"] is None
    assert "calibration" not in told["sections"]
    typical, examples = (told["sections"]["what_if"][name] for name in ("typical", "examples"))
    assert len(typical) == 5
    numbers = [example["number"] for example in examples]
    assert numbers == sorted(set(numbers))
    assert [example["row"] for example in examples] == example_rows(model.encoding_, X, np.array(numbers))


def test_rows_have_medians_modes_and_cells() -> None:
    model = fitted("als")
    table = mixed_table(150)
    row = typical_row(model.encoding_)
    assert abs(row[0] - np.median(table["x"].dropna())) < 0.3
    assert model.encoding_.modes[2].categories[row[2]] == table.iloc[:, 2].mode()[0]
    strange = pd.DataFrame([[None, 2, "never seen", True, None]], columns=table.columns).astype(object)
    categories = model.encoding_.modes[3].categories
    assert example_rows(model.encoding_, strange, np.array([0])) == [[None, 2.0, -1, categories.index(True), None]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y": np.zeros(9)}, "without X"),
        ({"X": mixed_table(9), "y": np.zeros((9, 2))}, r"2 output\(s\), but the model predicts 1"),
        ({"targets": ("a", "b")}, r"names 2 output\(s\), but the model has 1"),
    ],
)
def test_what_does_not_fit_is_said(given: dict[str, Any], message: str) -> None:
    arguments = {"X": None, "y": None, "title": None, "targets": None} | given
    with pytest.raises(ValueError, match=message):
        document(fitted("als"), **arguments, packing=Packing())
