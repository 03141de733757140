"""Classes as numbers: which label has which index, weights of classes, and labels that a fit does not know."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from csid.data.labels import ClassCounts
from csid.data.targets import ClassTargets, NumericTargets


def classes(y: Any, order: Any = None, weights: Any = None) -> ClassTargets:
    return ClassTargets.of(ClassCounts.of(y, weights), order)


many = st.one_of(
    st.lists(st.text("abcdef", max_size=3), min_size=2, max_size=40),
    st.lists(st.integers(-9, 9), min_size=2, max_size=40),
    st.lists(st.integers(-9, 9).map(float), min_size=2, max_size=40),
).filter(lambda y: len(set(y)) > 1)


@given(many, st.randoms())
def test_labels_come_back_from_their_indices(y: list[Any], random: Any) -> None:
    order = sorted(set(y))
    random.shuffle(order)
    for found, expected in ((classes(y), sorted(set(y))), (classes(y, order), order)):
        assert found.labels.tolist() == expected
        indices = found.read(y, len(y))
        assert found.labels[indices.astype(int)].tolist() == y
        assert_array_equal(found.counts, np.bincount(indices.astype(int)))
        assert_allclose(found.frequencies, found.counts / len(y))
        assert found.ordered == (found is not None and expected is order)


def test_an_ordered_category_keeps_its_order_without_the_labels_that_no_row_has() -> None:
    y = pd.Series(pd.Categorical(["high", "low", "low"], ["low", "medium", "high"], ordered=True))
    found = classes(y)
    assert found.labels.tolist() == ["low", "high"]
    assert found.ordered
    assert classes(y, ["high", "low"]).labels.tolist() == ["high", "low"]


def test_labels_that_are_read_later_may_be_of_another_type() -> None:
    found = classes([1, 2, 2])
    assert found.read([2.0, 1.0], 2).tolist() == [1.0, 0.0]
    assert classes(["a", "b"]).read(pd.Series(["b"], dtype="category"), 1).tolist() == [1.0]


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (["a", "b", "a"], r"class_order=\['a', 'b', 'a'\] names a class twice"),
        (["a"], r"class_order=\['a'\] does not have 'b', which is a class of y: add it"),
        ([1, 2], r"class_order=\[1, 2\] does not have 'a'"),
        (["a", None], "class_order contains NaN, first in row 2"),
        (["a", 1], "class_order mixes labels"),
    ],
    ids=str,
)
def test_orders_that_are_refused(order: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        classes(["a", "b"], order)


def test_a_classifier_needs_two_classes() -> None:
    with pytest.raises(ValueError, match=r"y has one class, 'a': a classifier needs .* classes\. Add"):
        classes(["a", "a"])
    with pytest.raises(ValueError, match="y has one class, 2, in the rows of positive weight"):
        classes([1, 2], weights=np.array([0.0, 1.0]))
    with pytest.raises(ValueError, match="y has no class"):
        classes(np.empty(0, int))


def test_unknown_labels_and_wrong_lengths() -> None:
    found = classes(list("abcdefg"))
    with pytest.raises(ValueError, match=r"y_val holds 'z' in row 2.*'a', 'b', 'c', 'd', 'e' and 2 more\. Leave"):
        found.read(["a", "z"], 2, ("X_val", "y_val"))
    with pytest.raises(ValueError, match="y holds 3 in row 1"):
        classes([1, 2]).read(np.array([3, 1]), 2)
    with pytest.raises(ValueError, match=r"X 3, y 2\. Give one class for each row of X"):
        found.read(["a", "b"], 3)
    with pytest.raises(ValueError, match="y contains NaN, first in row 1"):
        found.read([None, "b"], 2)


# --- weights of classes -------------------------------------------------------------------------------------------


@given(many)
def test_balanced_classes_have_the_same_total_weight(y: list[Any]) -> None:
    """That of scikit-learn: the number of rows, divided by the number of classes and the rows of the class."""
    found = classes(y).weighted("balanced", "relative")
    factors = found.factors(found.read(y, len(y))[:, None])
    assert factors is not None
    totals = [sum(f for f, label in zip(factors, y, strict=True) if label == each) for each in set(y)]
    assert_allclose(totals, len(y) / len(totals))


@given(many, st.floats(1e-3, 1e3))
def test_relative_weights_keep_their_mean(y: list[Any], weight: float) -> None:
    found = classes(y).weighted({y[0]: weight}, "relative")
    factors = found.factors(found.read(y, len(y)))
    assert factors is not None
    assert_allclose(factors.mean(), 1.0)
    others = factors[[label != y[0] for label in y]]
    assert_allclose(factors[0] / others, weight)


def test_weights_of_counts_are_as_they_are_given() -> None:
    found = classes(["a", "b", "b"]).weighted({"b": 3.0}, "counts")
    assert_array_equal(found.factors(np.array([0.0, 1.0])), [1.0, 3.0])
    assert found.weighted(None, "counts").factors(np.zeros(2)) is None
    assert NumericTargets().factors(np.zeros(2)) is None


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ({"c": 1.0}, r"class_weight names 'c', which is not a class of y: the classes are 'a', 'b'\."),
        ({"a": 0.0}, "class_weight is 0.0 for the class 'a': give a positive number. To leave a class out, leave out"),
        ({"a": -1}, "class_weight is -1 for the class 'a'"),
        ({"a": np.nan}, "class_weight is nan for the class 'a'"),
        ({"a": np.inf}, "class_weight is inf for the class 'a'"),
        ({"a": "much"}, "class_weight is 'much' for the class 'a'"),
    ],
    ids=str,
)
def test_weights_that_are_refused(weight: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        classes(["a", "b"]).weighted(weight, "relative")


def test_a_class_whose_rows_all_have_weight_zero_stays_a_class() -> None:
    """As in scikit-learn, so that a bagged classifier has all classes in each member."""
    found = classes([1, 2, 3], weights=np.array([1.0, 1.0, 0.0]))
    assert found.labels.tolist() == [1, 2, 3]
    assert found.counts.tolist() == [1.0, 1.0, 0.0]
    assert min(found.frequencies) > 0.0
