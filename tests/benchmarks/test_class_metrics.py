"""Metrics of class probabilities in the benchmarks: those of scikit-learn, and calibration error by its definition."""

import numpy as np
import pytest
import sklearn.metrics as reference
from hypothesis import given
from hypothesis import strategies as st

import metrics


def _random(classes: int, seed: int = 0, rows: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.permutation(np.arange(rows) % classes), rng.dirichlet(np.full(classes, 0.5), rows)


@pytest.mark.parametrize("classes", [2, 4])
def test_the_metrics_are_those_of_scikit_learn(classes: int) -> None:
    y, p = _random(classes)
    scores = p[:, 1] if classes == 2 else p
    assert metrics.log_loss(y, p) == pytest.approx(reference.log_loss(y, p))
    assert metrics.accuracy(y, p) == reference.accuracy_score(y, p.argmax(axis=1))
    assert metrics.brier_score(y, p) == pytest.approx(reference.brier_score_loss(y, p, scale_by_half=False))
    assert metrics.roc_auc(y, p) == pytest.approx(reference.roc_auc_score(y, scores, multi_class="ovr"))


def test_a_probability_of_zero_counts_as_in_scikit_learn() -> None:
    y, p = np.array([0, 1]), np.array([[0.0, 1.0], [0.25, 0.75]])
    assert metrics.log_loss(y, p) == pytest.approx(reference.log_loss(y, p))


def test_a_class_without_test_rows_has_no_roc_curve() -> None:
    y, p = _random(3)
    seen = y < 2
    expected = np.mean([reference.roc_auc_score(y[seen] == c, p[seen, c]) for c in (0, 1)])
    assert metrics.roc_auc(y[seen], p[seen]) == pytest.approx(expected)


@given(st.integers(2, 5), st.integers(0, 1000))
def test_calibration_error_is_the_gap_of_each_bin_by_its_rows(classes: int, seed: int) -> None:
    y, p = _random(classes, seed)
    p[0] = np.eye(classes)[0]  # a confidence of one belongs to the last bin
    confidence, correct = p.max(axis=1), p.argmax(axis=1) == y
    gaps = 0.0
    for lower in range(15):
        inside = (lower <= 15 * confidence) & ((15 * confidence < lower + 1) | (lower == 14))
        if inside.any():
            gaps += inside.mean() * abs(correct[inside].mean() - confidence[inside].mean())
    assert metrics.calibration_error(y, p) == pytest.approx(gaps)
