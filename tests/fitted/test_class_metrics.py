"""Metrics of classes, against scikit-learn and their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    brier_score_loss,
    log_loss,
    roc_auc_score,
)
from sklearn.metrics import confusion_matrix as reference_matrix

from csid.fitted.class_metrics import BINS, class_metrics_of, confusion_matrix, reliability, roc_auc

Array = np.ndarray


def _rows(n_classes: int, weighted: bool, rows: int = 300, seed: int = 0) -> tuple[Array, Array, Array | None]:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(n_classes), rows)
    p = np.round(p, 2)  # with ties
    p /= p.sum(axis=1, keepdims=True)
    classes = np.array([rng.choice(n_classes, p=each) for each in p])
    return classes, p, rng.uniform(0.0, 2.0, rows) if weighted else None


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_metrics_are_those_of_scikit_learn(n_classes: int, weighted: bool) -> None:
    classes, p, w = _rows(n_classes, weighted)
    found = {name: each["value"] for name, each in class_metrics_of(classes, p, w, 0).items() if name != "rows"}
    predicted = p.argmax(axis=1)
    assert_allclose(found["accuracy"], accuracy_score(classes, predicted, sample_weight=w))
    assert_allclose(found["balanced_accuracy"], balanced_accuracy_score(classes, predicted, sample_weight=w))
    assert_allclose(
        found["log_loss"], log_loss(classes, np.maximum(p, 1e-12), sample_weight=w, labels=range(n_classes))
    )
    if n_classes == 2:
        assert_allclose(found["brier"], 2.0 * brier_score_loss(classes, p[:, 1], sample_weight=w))
        assert_allclose(found["roc_auc"], roc_auc_score(classes, p[:, 1], sample_weight=w))
    else:
        each = [roc_auc_score(classes == c, p[:, c], sample_weight=w) for c in range(n_classes)]
        assert_allclose(found["roc_auc"], np.mean(each))
        squares = ((p - np.eye(n_classes)[classes]) ** 2).sum(axis=1)
        assert_allclose(found["brier"], np.average(squares, weights=w))
    matrix = reference_matrix(classes, predicted, sample_weight=w)
    assert_allclose(confusion_matrix(classes, predicted, n_classes, w), matrix)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_calibration_error_is_that_of_its_definition(weighted: bool) -> None:
    classes, p, w = _rows(3, weighted)
    weights = np.ones(len(classes)) if w is None else w
    confidence, right = p.max(axis=1), p.argmax(axis=1) == classes
    error = 0.0
    for b in range(BINS):
        inside = (confidence > b / BINS) & (confidence <= (b + 1) / BINS)
        if weights[inside].sum() > 0.0:
            gap = np.average(right[inside], weights=weights[inside]) - np.average(
                confidence[inside], weights=weights[inside]
            )
            error += weights[inside].sum() / weights.sum() * abs(gap)
    assert_allclose(class_metrics_of(classes, p, w, 0)["calibration_error"]["value"], error)
    bins = reliability(classes, p, w)
    some = bins.weight > 0.0
    assert_allclose(np.average(np.abs(bins.accuracy - bins.confidence)[some], weights=bins.weight[some]), error)


def test_confidence_is_that_of_the_mean() -> None:
    """Accuracy is a mean: its confidence interval is two standard errors either side."""
    classes, p, _ = _rows(2, weighted=False, rows=800)
    found = class_metrics_of(classes, p, None, 0)["accuracy"]
    error = np.sqrt(found["value"] * (1.0 - found["value"]) / len(classes))
    assert_allclose(found["high"] - found["low"], 2 * 1.96 * error, rtol=0.15)


@given(st.integers(0, 10_000), st.integers(2, 5))
def test_the_area_is_the_fraction_of_ordered_pairs(seed: int, n_classes: int) -> None:
    classes, p, w = _rows(n_classes, True, rows=12, seed=seed)
    assert w is not None
    areas = []
    for c in [1] if n_classes == 2 else range(n_classes):
        pairs = [(i, j) for i in np.flatnonzero(classes == c) for j in np.flatnonzero(classes != c)]
        if pairs:
            ordered = sum(w[i] * w[j] * (np.sign(p[i, c] - p[j, c]) + 1.0) / 2.0 for i, j in pairs)
            areas.append(ordered / sum(w[i] * w[j] for i, j in pairs))
    assert_allclose(roc_auc(classes, p, w), np.mean(areas) if areas else np.nan)


def test_rows_of_one_class_have_no_area() -> None:
    found = class_metrics_of(np.ones(5, np.intp), np.full((5, 2), 0.5), None, 0)
    assert np.isnan(found["roc_auc"]["value"])
    assert np.isnan(found["roc_auc"]["low"])
    assert found["log_loss"]["value"] == pytest.approx(np.log(2.0))
