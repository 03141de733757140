"""Waterfalls end at the prediction, and swarms have a point for every value."""

import itertools
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection

from csid import CSIDRegressor, plots
from csid.explain import shapley_values
from csid.plots.labels import number
from plots.models import bayesian, least_squares, predicted, rows


def ends(ax: Axes) -> list[tuple[float, float]]:
    """Where bars start and end, from below."""
    bars = sorted((bar for bar in ax.patches if bar.get_height() > 0), key=lambda bar: bar.get_y())
    return [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in bars]


@pytest.mark.parametrize("make", [least_squares, bayesian])
@pytest.mark.parametrize("most", [10, 3])
def test_from_the_mean_prediction_to_that_of_the_row(make: object, most: int) -> None:
    model, X = make(), rows()
    bars = ends(plots.waterfall(model, X, 5, most=most))
    assert len(bars) == min(most, 4)
    assert bars[0][0] == pytest.approx(model.tensor.mean()[0])
    assert bars[-1][1] == pytest.approx(predicted(model, X.iloc[[5]])[0])
    for (_, end), (start, _) in itertools.pairwise(bars):
        assert end == pytest.approx(start)


def test_bars_say_what_the_cells_are() -> None:
    X = rows()
    row = int(np.argmax(X["heat"].isna()))
    ax = plots.waterfall(least_squares(), X, row)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert "heat = missing" in labels
    assert f"city = {X['city'][row]}" in labels
    assert "load = {:g}".format(X["load"][row]) in labels
    grouped = plots.waterfall(least_squares(), X, row, most=2).get_yticklabels()
    assert next(label.get_text() for label in grouped) == "3 others"


def test_a_prediction_given_the_observed_cells_is_in_the_title_too() -> None:
    model, X = least_squares(), rows()
    assert plots.waterfall(model, X).get_title(loc="left") == f"y = {number(predicted(model, X)[0])}"
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1)) + 0.1 * rng.normal(size=(300, 2))
    estimator = CSIDRegressor(rank=2, max_iter=5, pmf_rank=4, random_state=0, n_jobs=1).fit(X, X.sum(axis=1))
    X = np.array([[2.0, np.nan]])
    ax = plots.waterfall(estimator, X)
    given = number(estimator.predict(X)[0])
    assert ax.get_title(loc="left") == (
        f"y = {number(ends(ax)[-1][1])} with missing cells at their marginals,\n{given} given the observed cells"
    )
    assert abs(estimator.predict(X)[0] - ends(ax)[-1][1]) > 0.5


def test_rows_of_any_table() -> None:
    model = least_squares()
    model = replace(model, columns=replace(model.columns, names=None))
    texts = [
        [label.get_text() for label in plots.waterfall(model, X, 1).get_yticklabels()]
        for X in (rows().to_numpy(), rows().to_numpy().tolist())
    ]
    assert texts[0] == texts[1]


def test_what_lowers_the_prediction_is_hatched() -> None:
    for bar in plots.waterfall(least_squares(), rows(), 3).patches:
        assert bool(bar.get_hatch()) == (bar.get_width() < 0)


def test_a_swarm_has_every_value() -> None:
    model, X = least_squares(), rows()
    ax = plots.beeswarm(model, X)
    phi = shapley_values(model, X)
    order = np.argsort(-np.abs(phi).mean(axis=0))
    points = np.vstack([each.get_offsets() for each in ax.collections if isinstance(each, PathCollection)])
    for place, n in enumerate(order[::-1]):
        np.testing.assert_allclose(np.sort(points[np.rint(points[:, 1]) == place, 0]), np.sort(phi[:, n]))
    assert len(points) == phi.size


def test_ranks_run_from_low_to_high_without_missing_cells() -> None:
    model, X = least_squares(), rows()
    ranked = [each for each in plots.beeswarm(model, X).collections if each.get_array() is not None]
    sizes = sorted(len(each.get_array()) for each in ranked)
    assert sizes == [X["heat"].notna().sum(), 120, 120]  # and none for the categories
    for each in ranked:
        assert 0.0 < each.get_array().min() < 0.2 < 0.8 < each.get_array().max() < 1.0


def test_given_axes_and_outputs() -> None:
    model, X = least_squares(outputs=2), rows()
    _, ax = plt.subplots()
    assert plots.waterfall(model, X, 0, output="wear", ax=ax) is ax
    assert ends(ax)[-1][1] == pytest.approx(predicted(model, X)[0, 1])
    _, ax = plt.subplots()
    assert plots.beeswarm(model, X, output=1, ax=ax) is ax
    assert ax.get_xlabel().endswith("wear")
