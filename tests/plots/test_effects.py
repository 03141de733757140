"""Effects, pairs, factors and importances: the numbers that are drawn are those of `csid.explain`."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.contour import QuadContourSet
from matplotlib.lines import Line2D
from matplotlib.patches import StepPatch

from csid import plots
from csid.explain import partial_dependence, uniqueness
from csid.explain.importance import mean_effects
from csid.fitted.model import FittedModel
from csid.plots.labels import number
from plots.models import CITIES, HEAT, LONG, bayesian, encoding, least_squares


def line(ax: Axes, label: str) -> Line2D:
    return next(line for line in ax.lines if line.get_label() == label)


def ticks(labels: list[plt.Text]) -> list[str]:
    return [label.get_text() for label in labels]


def test_a_curve_is_the_partial_dependence() -> None:
    model = bayesian()
    ax = plots.effect(model, "heat")
    found = partial_dependence(model, "heat")
    np.testing.assert_array_equal(line(ax, "effect").get_xdata(), HEAT)
    np.testing.assert_array_equal(line(ax, "effect").get_ydata(), found.values[:-1])
    bounds = [each.get_ydata() for each in ax.lines if each.get_label() == "_bound"]
    np.testing.assert_array_equal(bounds[0], found.lower[:-1])
    np.testing.assert_array_equal(bounds[1], found.upper[:-1])


def test_missing_cells_stand_apart_on_the_right() -> None:
    model = bayesian()
    ax = plots.effect(model, "heat")
    apart = line(ax, "missing")
    assert apart.get_ydata()[0] == partial_dependence(model, "heat").values[-1]
    assert HEAT[-1] < apart.get_xdata()[0] < ax.get_xlim()[1]
    assert ticks(ax.get_xticklabels())[-1] == "missing"
    assert not any(each.get_label() == "missing" for each in plots.effect(model, "load").lines)


def test_text_is_sorted_by_effect() -> None:
    model = least_squares()
    ax = plots.effect(model, "city")
    values = partial_dependence(model, "city").values
    np.testing.assert_array_equal(line(ax, "effect").get_ydata(), np.sort(values[:4]))
    assert ticks(ax.get_xticklabels()) == [*np.array(CITIES)[np.argsort(values[:4])], "missing"]


def test_steps_if_the_nearest_level_counts() -> None:
    assert line(plots.effect(least_squares(linear=False), "heat"), "effect").get_drawstyle() == "steps-mid"
    assert line(plots.effect(least_squares(), "heat"), "effect").get_drawstyle() == "default"


def test_the_strip_below_is_the_marginal() -> None:
    ax = plots.effect(least_squares(), "load")
    (strip,) = [child for child in ax.get_children() if isinstance(child, StepPatch)]
    heights, edges, _ = strip.get_data()
    p = encoding().marginals[1]
    np.testing.assert_allclose(heights / heights.sum(), p)
    np.testing.assert_allclose(edges, np.arange(0.5, 7.0))
    lowest = line(ax, "effect").get_ydata().min()
    assert ax.transAxes.inverted().transform(ax.transData.transform((1.0, lowest)))[1] > heights.max()


def test_panels_come_by_importance_to_one_scale() -> None:
    model = bayesian()
    drawn = plots.effects(model)
    titles = [ax.get_title(loc="left") for ax in drawn]
    assert titles[0] == model.names[np.argmax(mean_effects(model.tensor))]
    assert len(titles) == 4
    assert len({ax.get_ylim() for ax in drawn}) == 1
    assert len({ax.get_ylim() for ax in plots.effects(model, sharey=False)}) == 4
    assert len(plots.effects(model, most=2)) == 2


def test_given_axes_are_used_and_returned() -> None:
    model = least_squares()
    _, axes = plt.subplots(2, 2)
    before = plt.get_fignums()
    assert plots.effects(model, ["heat", "city"], axes=axes).tolist() == [axes[0, 0], axes[0, 1]]
    assert plots.effect(model, 1, ax=axes[1, 0]) is axes[1, 0]
    assert plots.pair(model, 0, 1, ax=axes[1, 1]) is axes[1, 1]
    assert plt.get_fignums() == before


def test_too_few_axes() -> None:
    _, axes = plt.subplots(1, 2)
    with pytest.raises(ValueError, match=r"axes holds 2, but 4 panels"):
        plots.effects(least_squares(), axes=axes)


def test_long_names_are_wrapped_and_are_no_formulas() -> None:
    title = plots.effect(least_squares(), LONG).get_title(loc="left")
    assert max(map(len, title.splitlines())) <= 31
    assert len(title.splitlines()) == 2
    assert "$" in title
    assert "$" not in title.replace(r"\$", "")


def test_settings_of_matplotlib_stay() -> None:
    before = dict(plt.rcParams)
    plots.effect(least_squares(), 0)
    assert dict(plt.rcParams) == before


def test_an_output_by_name_or_position() -> None:
    model = least_squares(outputs=2)
    expected = partial_dependence(model, "load").values[:, 1]
    for output in ("wear", 1):
        ax = plots.effect(model, "load", output=output)
        np.testing.assert_allclose(line(ax, "effect").get_ydata(), expected, rtol=1e-12)
        assert ax.get_ylabel() == "mean wear"


@pytest.mark.parametrize("output", ["rust", 2, -1])
def test_an_unknown_output(output: int | str) -> None:
    with pytest.raises(ValueError, match=r"2 output\(s\); give a position from 0 to 1, or one of 'warmth', 'wear'"):
        plots.effect(least_squares(outputs=2), "load", output=output)


@pytest.mark.parametrize(("width", "angle"), [(6.0, 0.0), (3.0, 40.0), (1.2, 90.0)])
def test_crowded_labels_are_rotated(width: float, angle: float) -> None:
    _, ax = plt.subplots(figsize=(width, 2.0))
    plots.effect(least_squares(), "city", ax=ax)
    assert ax.get_xticklabels()[0].get_rotation() == angle


def test_a_map_has_the_values_of_the_pair() -> None:
    model = least_squares()
    ax = plots.pair(model, "heat", "load")
    values = partial_dependence(model, ("heat", "load")).values
    cells, missing, smooth = (mesh.get_array() for mesh in ax.collections if not isinstance(mesh, QuadContourSet))
    np.testing.assert_array_equal(cells, values[:-1].T)
    np.testing.assert_array_equal(smooth, values[:-1].T)
    np.testing.assert_array_equal(missing, values[-1:].T)
    assert any(isinstance(each, QuadContourSet) for each in ax.collections)
    assert not any(isinstance(each, QuadContourSet) for each in plots.pair(model, 0, 1, contours=False).collections)


def test_categories_of_a_map_are_written() -> None:
    ax = plots.pair(least_squares(), "city", "load")
    assert set(ticks(ax.get_xticklabels())) == {*CITIES, "missing"}
    assert len(ax.texts) == 4 * 6
    assert not plots.pair(least_squares(), "city", "load", contours=False).texts


def test_a_pair_of_one_predictor() -> None:
    with pytest.raises(ValueError, match="two different ones"):
        plots.pair(least_squares(), "heat", "heat")


def test_factor_curves_are_canonical() -> None:
    model = least_squares()
    drawn = plots.factor_curves(model)
    found = uniqueness(model)
    ax = next(ax for ax in drawn if ax.get_title(loc="left") == "load")
    curves = [each.get_ydata() for each in ax.lines if len(each.get_xdata()) == 6]
    np.testing.assert_array_equal(np.transpose(curves), found.curves["load"])
    labels = ticks(drawn[0].figure.legends[0].get_texts())
    assert labels == [f"component {f + 1}, weight {number(found.weights[f], 3)}" for f in range(2)]


def weighted(weights: list[float]) -> FittedModel:
    """The Bayesian model with other weights of its draws."""
    model = bayesian()
    posterior = model.require_posterior("a test")
    groups = (replace(posterior.groups[0], weights=np.array(weights)),)
    return replace(model, posterior=replace(posterior, groups=groups))


def test_factor_curves_of_a_draw() -> None:
    model = weighted([0.1, 0.1, 0.1, 0.1, 0.2, 0.1, 0.1, 0.1, 0.1])
    for given, shown in ((None, 4), (0, 0), (8, 8)):
        drawn = plots.factor_curves(model, draw=given)
        assert len(drawn) == 4
        ax = next(ax for ax in drawn if ax.get_title(loc="left") == "load")
        curves = [each.get_ydata() for each in ax.lines if len(each.get_xdata()) == 6]
        np.testing.assert_array_equal(np.transpose(curves), uniqueness(model, draw=shown).curves["load"])
        assert drawn[0].figure.legends[0].get_title().get_text() == f"posterior draw {shown} (of 0 to 8)"
    _, axes = plt.subplots(1, 4)
    assert plots.factor_curves(model, axes=axes)[0].get_legend().get_title().get_text().startswith("posterior draw 4")
    assert not plots.factor_curves(least_squares())[0].figure.legends[0].get_title().get_text()


def test_factor_curves_that_cannot_be_drawn() -> None:
    with pytest.raises(ValueError, match=r"components=7: give 1 to 6"):
        plots.factor_curves(bayesian(), 7)
    with pytest.raises(ValueError, match=r"draw=9: the model has draws from 0 to 8"):
        plots.factor_curves(bayesian(), draw=9)
    with pytest.raises(ValueError, match=r"draw=0: a CSIDRegressor has no posterior draws"):
        plots.factor_curves(least_squares(), draw=0)


def test_bars_are_the_importances() -> None:
    model = least_squares()
    ax = plots.importance(model)
    widths = [bar.get_width() for bar in ax.patches]
    importances = mean_effects(model.tensor)
    np.testing.assert_array_equal(widths, np.sort(importances)[::-1])
    assert ticks(ax.get_yticklabels())[0] == model.names[np.argmax(importances)]


def test_many_predictors_share_a_bar() -> None:
    ax = plots.importance(least_squares(), most=3)
    assert ticks(ax.get_yticklabels())[-1] == "2 others"
    assert sum(bar.get_width() for bar in ax.patches) == pytest.approx(1.0)
