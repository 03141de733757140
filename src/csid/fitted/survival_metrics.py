"""Metrics of predicted survival: the concordance index and the Brier score, whatever model made the predictions."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.data.survival_targets import event_and_time

Array = NDArray[np.float64]


def concordance_index(event: Any, time: Any, risk: Any) -> float:
    """Harrell's concordance index: how well predicted risks order the times of events.

    Parameters
    ----------
    event : array-like of bool, (M,)
        Whether the event was seen, or else the time is that of the last observation.
    time : array-like, (M,)
    risk : array-like, (M,)
        Higher for an earlier event, such as minus the predicted time.

    Returns
    -------
    The fraction of comparable pairs in which the row with the earlier event has the higher risk; equal risks count one
    half. A pair is comparable if the earlier time is that of an event. NaN if no pair is.

    Examples
    --------
    >>> from csid import concordance_index
    >>> concordance_index([True, False, True], [1.0, 2.0, 3.0], [0.9, 0.1, 0.3])
    1.0
    """
    seen, times = np.asarray(event, bool), np.asarray(time, np.float64)
    return concordance_of_intervals(times, np.where(seen, times, np.inf), -np.asarray(risk, np.float64))


def concordance_of_intervals(lower: Array, upper: Array, predicted: Array, weights: Array | None = None) -> float:
    """The fraction of pairs of rows whose order is known that are predicted in this order; NaN without such pairs.

    The order of two values is known if their intervals (M,) do not overlap. An interval that begins where a known value
    is, is after it. Equal predictions count one half. weights : (M,); a pair has the product of its weights.
    """
    w = np.ones(len(lower)) if weights is None else weights
    concordant = comparable = 0.0
    for low, high, value, weight in zip(lower, upper, predicted, w, strict=True):
        if high == np.inf:
            continue
        later = (lower > high) | ((lower == high) & (upper > lower) & (low == high))
        comparable += weight * float(w[later].sum())
        above = (predicted[later] > value) + 0.5 * (predicted[later] == value)
        concordant += weight * float((w[later] * above).sum())
    return float(concordant / comparable) if comparable > 0.0 else float("nan")


def integrated_brier_score(y_train: Any, y: Any, survival: Any, times: Any) -> float:
    """The Brier score of survival probabilities, averaged over time: lower is better, and 0.25 is that of a coin.

    Rows that are censored before a time do not count at that time. The others are weighted by the inverse probability
    that they are not (Graf et al. 1999).

    Parameters
    ----------
    y_train : events and times of the training rows
        In any form that `BayesianCSIDSurvival` takes. The probability of being censored is estimated from these, by
        Kaplan and Meier.
    y : events and times of the M rows to score
    survival : array-like, (M, T)
        Predicted probabilities that the event is after each of the times.
    times : array-like, (T,)
        Increasing times, at least two, below the longest follow-up in y_train.

    Examples
    --------
    >>> import numpy as np
    >>> from csid import integrated_brier_score
    >>> y = np.array([(True, 1.0), (True, 2.0), (False, 3.0), (True, 4.0)], [("event", bool), ("time", float)])
    >>> round(integrated_brier_score(y, y, np.full((4, 2), 0.5), [1.5, 2.5]), 3)
    0.25
    """
    event_train, time_train = event_and_time(y_train)
    event, time = event_and_time(y)
    at, probabilities = np.asarray(times, np.float64), np.asarray(survival, np.float64)
    if at.ndim != 1 or len(at) < 2 or not (np.diff(at) > 0.0).all():
        raise ValueError(f"times={times!r}: give two or more increasing times.")
    if probabilities.shape != (len(time), len(at)):
        raise ValueError(
            f"survival has shape {probabilities.shape}, but y has {len(time)} rows and there are {len(at)} times: give "
            "one probability for each."
        )
    uncensored = CensoringTimes(event_train, time_train)
    never = uncensored.after(at) <= 0.0
    if never.any():
        raise ValueError(
            f"times has {at[never][0]:g}, by when all training rows are censored (the last at {time_train.max():g}): "
            "give earlier times."
        )
    had, not_yet = (time[:, None] <= at) & event[:, None], time[:, None] > at
    seen = np.where(had.any(axis=1), uncensored.before(time), 1.0)[
        :, None
    ]  # the probability that such an event is seen
    scores = had * probabilities**2 / seen + not_yet * (1.0 - probabilities) ** 2 / uncensored.after(at)
    of_times = scores.mean(axis=0)
    return float(np.trapezoid(of_times, at) / (at[-1] - at[0]))


class CensoringTimes:
    """The Kaplan-Meier estimate of the probability that a row is not yet censored at a time.

    A row whose event and censoring have the same time has the event first.
    """

    def __init__(self, event: NDArray[np.bool_], time: Array) -> None:
        self._times, censored = np.unique(time[~event], return_counts=True)
        longer = len(time) - np.searchsorted(np.sort(time), self._times, side="right")
        self._left = np.concatenate([[1.0], np.cumprod(1.0 - censored / (longer + censored))])

    def after(self, time: Array) -> Array:
        """The probability of not being censored at these times or before."""
        return np.asarray(self._left[np.searchsorted(self._times, time, side="right")])

    def before(self, time: Array) -> Array:
        """The probability of not being censored before these times."""
        return np.asarray(self._left[np.searchsorted(self._times, time, side="left")])
