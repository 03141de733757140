"""The JSON document: strict, complete, and enough to predict elsewhere."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm, t

from csid.export import to_json
from csid.export.description import describe
from export.systems import BAYESIAN_KINDS, JOINT_KINDS, KINDS, bounds, fitted, new_rows

Array = np.ndarray


def _document(kind: str) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(to_json(fitted(kind)), parse_constant=refuse)


# What follows reads the document by the description in the docstring of `csid.export.document`, and not otherwise.


def _place(predictor: dict[str, Any], value: Any) -> tuple[int, float] | None:
    """The level below a value and its position towards the next; None for a missing cell or an unseen category."""
    if value is None or value != value:
        return None
    if predictor["kind"] == "category":
        return (predictor["categories"].index(value), 0.0) if value in predictor["categories"] else None
    grid = np.array(predictor["grid"])
    if predictor["interpolation"] == "constant":
        return int(np.searchsorted(0.5 * grid[1:] + 0.5 * grid[:-1], value)), 0.0
    x = np.clip(value, grid[0], grid[-1])
    i = min(int(np.searchsorted(grid, x, side="right")) - 1, len(grid) - 2)
    return i, float(np.float32((x - grid[i]) / (grid[i + 1] - grid[i])))


def _rows(document: dict[str, Any], row: dict[str, Any], impute: bool) -> list[Array | None]:
    """Rows of the factors. impute : None for missing and unseen cells."""
    found: list[Array | None] = []
    for predictor in document["predictors"]:
        rows, value = np.array(predictor["rows"]), row[predictor["name"]]
        place = _place(predictor, value)
        if place is not None:
            i, t = place
            found.append(rows[i] + t * (rows[i + 1] - rows[i]) if t else rows[i])
        elif impute:
            found.append(None)
        else:
            found.append(rows[predictor["missing" if value is None or value != value else "unseen"]])
    return found


def _probabilities(document: dict[str, Any], row: dict[str, Any]) -> Array:
    """Of the classes."""
    product = np.array(document["classes"]["weights"])
    for predictor, told in zip(document["predictors"], document["classes"]["predictors"], strict=True):
        place = _place(predictor, row[predictor["name"]])
        if place is not None:
            product = product * np.array(told["lifts"][told["bins"][place[0] + (place[1] > 0.5)]])
    return product / product.sum()


def _components(document: dict[str, Any], row: dict[str, Any]) -> tuple[Array, Array]:
    """For the prediction, and for the draws."""
    plain = np.prod(_rows(document, row, impute=False), axis=0)
    rows = _rows(document, row, impute="classes" in document)
    if all(each is not None for each in rows):
        return plain, plain
    observed = np.prod([each for each in rows if each is not None] or [np.ones(len(document["V"][0]))], axis=0)
    classes, probabilities = document["classes"], _probabilities(document, row)
    trios = zip(document["predictors"], classes["predictors"], rows, strict=True)
    missing = [(np.array(one["rows"])[: len(told["bins"])], told) for one, told, each in trios if each is None]
    kept = np.where(probabilities < classes["least"], 0.0, probabilities)
    expected = np.zeros_like(observed)
    for c, p in enumerate(kept / kept.sum()):
        product = observed
        for factor, told in missing:
            mass = np.array(told["marginal"]) * np.array(told["lifts"])[told["bins"], c]
            product = product * (mass / mass.sum() @ factor)
        expected += p * product
    drawn = observed.copy()
    owners = np.repeat(np.arange(len(classes["quantiles"])), (document["posterior"] or {"ranks": []})["ranks"])
    chosen = [int(np.argmax(probabilities.cumsum() >= u)) for u in classes["quantiles"]]
    for r, d in enumerate(owners):
        for factor, told in missing:
            drawn[r] *= factor[told["drawn"][d][chosen[d]], r]
    return expected if classes["conditional"] else plain, drawn


@pytest.mark.parametrize("kind", KINDS)
def test_a_few_lines_predict_from_it(kind: str) -> None:
    model, document = fitted(kind), _document(kind)
    table = new_rows(model)
    found = [
        np.array(document["bias"]) + np.array(document["V"]) @ _components(document, row)[0]
        for row in table.to_dict("records")
    ]
    assert_allclose(found, model.predict(table).reshape(len(table), -1), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", BAYESIAN_KINDS)
def test_its_mixtures_have_the_quantiles_of_the_model(kind: str) -> None:
    model, document = fitted(kind), _document(kind)
    posterior, V, weights = document["posterior"], np.array(document["V"]), np.array(document["posterior"]["weights"])
    table = new_rows(model)[:40]
    likelihood = posterior["likelihood"]
    noise = norm() if likelihood == {"name": "gaussian"} else t(likelihood["degrees_of_freedom"])
    assert likelihood["name"] == ("student_t" if "heavy tails" in kind else "gaussian")
    for row, upper in zip(table.to_dict("records"), bounds(model, table, 0.9)[1], strict=True):
        expected, drawn = _components(document, row)
        mean = document["bias"] + V @ expected
        sums = np.add.reduceat(V * drawn, np.cumsum([0, *posterior["ranks"][:-1]]), axis=1).T
        centres = posterior["bias"] + sums / weights[:, None]
        incomplete = any(each is None for each in _rows(document, row, impute=True))
        factor = document["classes"]["imputation_factor"] if incomplete else 1.0
        centres = mean + factor * (centres - weights @ centres)
        logs = [np.interp(*each) for each in zip(mean, posterior["knots"], posterior["log_factors"], strict=True)]
        z = ((upper - mean) / np.exp(logs) - (centres - mean)) / posterior["noise"]
        assert_allclose(weights @ noise.cdf(z), 0.95, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_classes_are_there_with_draws_or_a_joint_pmf(kind: str) -> None:
    document = _document(kind)
    assert ("classes" in document) == (kind in JOINT_KINDS + BAYESIAN_KINDS)
    assert "classes" not in document or document["classes"]["conditional"] == (kind in JOINT_KINDS)
    assert document["version"] == 4


@pytest.mark.parametrize("kind", JOINT_KINDS)
def test_a_reader_of_older_documents_averages_by_the_marginals(kind: str) -> None:
    model, document = fitted(kind), _document(kind)
    del document["classes"]
    table = new_rows(model)[:40]
    encoded = model.encoding_.encode(table, len(table))
    found = [document["bias"] + document["V"] @ _components(document, row)[0] for row in table.to_dict("records")]
    assert_allclose(found, model.cpd_.evaluate(encoded.codes, encoded.fractions), rtol=1e-9, atol=1e-9)
    assert np.abs(np.array(found) - model.predict(table).reshape(len(table), -1)).max() > 1e-3


def test_numbers_keep_all_their_digits() -> None:
    described, document = describe(fitted("bayes")), _document("bayes")
    assert (document["format"], document["version"]) == ("csid", 4)
    assert document["producer"].startswith("csid ")
    for predictor, told in zip(described.predictors, document["predictors"], strict=True):
        assert told["name"] == predictor.name
        assert np.array_equal(told["rows"], predictor.rows)
    assert np.array_equal(document["V"], described.V)
    assert _document("als")["posterior"] is None


def test_a_model_that_overflowed_is_refused() -> None:
    model = fitted("als").fitted_
    model = replace(model, tensor=replace(model.tensor, bias=np.array([np.inf])))
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json(model)
