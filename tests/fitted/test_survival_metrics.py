"""Concordance by all pairs, and the Brier score by its definition."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csid import concordance_index, integrated_brier_score
from csid.fitted.survival_metrics import CensoringTimes, concordance_of_intervals

Array = np.ndarray


def _survivals(seed: int, rows: int = 30, ties: bool = False) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    time = rng.exponential(3.0, rows)
    return rng.random(rows) < 0.6, np.ceil(time) if ties else time, rng.integers(0, 6, rows).astype(float)


def _as_targets(event: Array, time: Array) -> Array:
    return np.array(list(zip(event, time, strict=True)), [("event", bool), ("time", float)])


@given(st.integers(0, 1000), st.booleans())
def test_concordance_is_a_fraction_of_comparable_pairs(seed: int, ties: bool) -> None:
    event, time, risk = _survivals(seed, 12, ties)
    right, all_pairs = 0.0, 0
    for i, j in permutations(range(12), 2):
        if event[i] and (time[i] < time[j] or (time[i] == time[j] and not event[j])):
            all_pairs += 1
            right += 1.0 if risk[i] > risk[j] else 0.5 if risk[i] == risk[j] else 0.0
    if all_pairs:
        assert concordance_index(event, time, risk) == pytest.approx(right / all_pairs)


def test_concordance_is_that_of_scikit_survival() -> None:
    """Of `concordance_index_censored` and `integrated_brier_score` of scikit-survival 0.28, without tied times."""
    metrics = pytest.importorskip("sksurv.metrics")
    event, time, risk = _survivals(0, 100)
    exact = metrics.concordance_index_censored(event, time, risk)[0]
    assert concordance_index(event, time, risk) == pytest.approx(exact, rel=1e-12)
    y, times = _as_targets(event, time), np.quantile(time, [0.1, 0.4, 0.7])
    survival = np.exp(-times / (1.0 + risk[:, None]))
    exact = metrics.integrated_brier_score(y, y, survival, times)
    assert integrated_brier_score(y, y, survival, times) == pytest.approx(exact, rel=1e-12)


def test_no_pair_is_comparable_without_events() -> None:
    assert np.isnan(concordance_index([False, False], [1.0, 2.0], [1.0, 2.0]))


def test_intervals_are_in_order_where_they_do_not_overlap() -> None:
    lower, upper = np.array([-np.inf, 2.0, 5.0, 4.0]), np.array([1.0, 4.5, np.inf, 4.0])
    # before (1), inside 2 to 4.5, above 5, and 4 itself: all pairs but (2 to 4.5, 4) are in a known order
    assert concordance_of_intervals(lower, upper, np.array([0.0, 1.0, 3.0, 2.0])) == 1.0
    assert concordance_of_intervals(lower, upper, np.array([0.0, 2.0, 3.0, 1.0])) == 1.0
    assert concordance_of_intervals(lower, upper, np.array([0.0, 1.0, 2.0, 3.0])) == pytest.approx(4 / 5)
    weights = np.array([1.0, 1.0, 1.0, 0.0])
    assert concordance_of_intervals(lower, upper, np.array([0.0, 1.0, 2.0, 3.0]), weights) == 1.0


def test_the_brier_score_is_by_its_definition() -> None:
    """With tied times: at each, events come before censoring."""
    event, time, risk = _survivals(3, 40, ties=True)
    times = np.array([1.0, 2.0, 4.0])
    survival = np.exp(-times / (1.0 + risk[:, None]))

    def not_censored(at: float, up_to: bool) -> float:
        left = 1.0
        for t in np.unique(time[~event]):
            if t < at or (up_to and t == at):
                censored = np.sum((time == t) & ~event)
                left *= 1.0 - censored / (np.sum(time > t) + censored)
        return left

    scores = np.zeros((40, 3))
    for m, k in np.ndindex(40, 3):
        if time[m] <= times[k] and event[m]:
            scores[m, k] = survival[m, k] ** 2 / not_censored(time[m], False)
        elif time[m] > times[k]:
            scores[m, k] = (1.0 - survival[m, k]) ** 2 / not_censored(times[k], True)
    of_times = scores.mean(axis=0)
    exact = (0.5 * (of_times[0] + of_times[1]) * 1.0 + 0.5 * (of_times[1] + of_times[2]) * 2.0) / 3.0
    y = _as_targets(event, time)
    assert integrated_brier_score(y, y, survival, times) == pytest.approx(exact, rel=1e-12)


def test_censoring_that_never_happens_has_no_weight() -> None:
    never = CensoringTimes(np.ones(3, bool), np.array([1.0, 2.0, 3.0]))
    assert never.after(np.array([0.5, 9.0])).tolist() == [1.0, 1.0]


def test_bad_arguments_are_refused() -> None:
    event, time, _ = _survivals(0)
    y = _as_targets(event, time)
    with pytest.raises(ValueError, match="give two or more increasing times"):
        integrated_brier_score(y, y, np.ones((30, 2)), [2.0, 1.0])
    with pytest.raises(ValueError, match=r"survival has shape \(30, 3\), but y has 30 rows and there are 2 times"):
        integrated_brier_score(y, y, np.ones((30, 3)), [1.0, 2.0])
    last = _as_targets(np.append(event, False), np.append(time, time.max() + 1.0))
    with pytest.raises(ValueError, match="by when all training rows are censored"):
        integrated_brier_score(last, y, np.ones((30, 2)), [1.0, 1000.0])
