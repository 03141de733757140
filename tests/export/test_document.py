"""The JSON document: strict, complete, and enough to predict elsewhere."""

import json
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm, t

from csid.export import to_json
from csid.export.description import describe
from export.systems import BAYESIAN_KINDS, KINDS, bounds, fitted, new_rows

Array = np.ndarray


def _document(kind: str) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(to_json(fitted(kind)), parse_constant=refuse)


def _components(document: dict[str, Any], row: dict[str, Any]) -> Array:
    """By the description in the docstring of `csid.export.document`."""
    product = np.ones(len(document["V"][0]))
    for predictor in document["predictors"]:
        rows, value = np.array(predictor["rows"]), row[predictor["name"]]
        if value is None or value != value:
            a = rows[predictor["missing"]]
        elif predictor["kind"] == "category":
            known = value in predictor["categories"]
            a = rows[predictor["categories"].index(value) if known else predictor["unseen"]]
        else:
            grid = np.array(predictor["grid"])
            if predictor["interpolation"] == "constant":
                a = rows[np.searchsorted(0.5 * grid[1:] + 0.5 * grid[:-1], value)]
            else:
                x = np.clip(value, grid[0], grid[-1])
                i = min(np.searchsorted(grid, x, side="right") - 1, len(grid) - 2)
                a = rows[i] + float(np.float32((x - grid[i]) / (grid[i + 1] - grid[i]))) * (rows[i + 1] - rows[i])
        product = product * a
    return product


@pytest.mark.parametrize("kind", KINDS)
def test_a_few_lines_predict_from_it(kind: str) -> None:
    model, document = fitted(kind), _document(kind)
    table = new_rows(model)
    found = [
        np.array(document["bias"]) + np.array(document["V"]) @ _components(document, row)
        for row in table.to_dict("records")
    ]
    assert_allclose(found, model.predict(table).reshape(len(table), -1), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", BAYESIAN_KINDS)
def test_its_mixtures_have_the_quantiles_of_the_model(kind: str) -> None:
    model, document = fitted(kind), _document(kind)
    posterior, V = document["posterior"], np.array(document["V"])
    table = new_rows(model)[:40]
    noise = norm() if posterior["degrees_of_freedom"] is None else t(posterior["degrees_of_freedom"])
    for row, upper in zip(table.to_dict("records"), bounds(model, table, 0.9)[1], strict=True):
        terms = V * _components(document, row)
        mean = document["bias"] + terms.sum(axis=1)
        sums = np.add.reduceat(terms, np.cumsum([0, *posterior["ranks"][:-1]]), axis=1).T
        centres = posterior["bias"] + sums / np.array(posterior["shares"])[:, None]
        logs = [np.interp(*each) for each in zip(mean, posterior["knots"], posterior["logs"], strict=True)]
        z = ((upper - mean) / np.exp(logs) - (centres - mean)) / posterior["noise"]
        assert_allclose(posterior["shares"] @ noise.cdf(z), 0.95, atol=1e-9)


def test_numbers_keep_all_their_digits() -> None:
    described, document = describe(fitted("bayes")), _document("bayes")
    assert (document["format"], document["version"]) == ("csid", 1)
    assert document["producer"].startswith("csid ")
    for predictor, told in zip(described.predictors, document["predictors"], strict=True):
        assert told["name"] == predictor.name
        assert np.array_equal(told["rows"], predictor.rows)
    assert np.array_equal(document["V"], described.V)
    assert _document("als")["posterior"] is None


def test_a_model_that_overflowed_is_refused() -> None:
    model = copy(fitted("als"))
    model.cpd_ = replace(model.cpd_, bias=np.array([np.inf]))
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json(model)
