"""Plots of classifiers: what is drawn is what the model says, and labels are only labels."""

from typing import Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from sklearn.metrics import average_precision_score, roc_auc_score

from csid import plots
from csid.explain import shapley_values
from plots.models import LONG, Array, bayesian, classifier, rows, seen


def offsets(ax: Any) -> Array:
    return next(np.asarray(each.get_offsets()) for each in ax.collections if isinstance(each, PathCollection))


def test_reliability_of_the_second_of_two_classes() -> None:
    model, X = classifier(), rows(400)
    y = seen(model, X)
    ax = plots.reliability(model, X, y)
    p = model.class_probabilities(X, 1)[:, 1]
    bins = np.minimum((10 * p).astype(int), 9)
    expected = [(p[bins == b].mean(), (y[bins == b] == 1).mean()) for b in np.unique(bins)]
    np.testing.assert_allclose(offsets(ax), expected)
    bars = next(each for each in ax.collections if isinstance(each, LineCollection)).get_segments()
    inside = [low <= point[1] <= high for ((_, low), (_, high)), point in zip(bars, offsets(ax), strict=True)]
    assert sum(inside) >= len(inside) - 1  # classes are drawn from the model, which is calibrated
    assert ax.get_title(loc="left") == "fate 1"


def test_reliability_of_a_wrong_model_is_off_its_bars() -> None:
    model, X = classifier(), rows(400)
    ax = plots.reliability(model, X, 1 - seen(model, X))
    bars = next(each for each in ax.collections if isinstance(each, LineCollection)).get_segments()
    inside = [low <= point[1] <= high for ((_, low), (_, high)), point in zip(bars, offsets(ax), strict=True)]
    assert sum(inside) < 0.6 * len(inside)


def test_reliability_of_several_classes_is_that_of_the_likeliest() -> None:
    model, X = classifier(3), rows(200)
    y = seen(model, X)
    assert plots.reliability(model, X, y).get_title(loc="left") == "likeliest class"
    assert plots.reliability(model, X, y, label="saab").get_title(loc="left") == "saab"


@pytest.mark.parametrize("draws", [True, False])
def test_areas_are_those_of_scikit_learn(draws: bool) -> None:
    model, X = classifier(3, draws), rows(200)
    y, p = seen(model, X), model.class_probabilities(X, 1)
    ax = plots.roc(model, X, y)
    assert ax.get_legend() is not None
    told = [text.get_text() for text in ax.get_legend().get_texts()]
    names = ("bus", r"\$van", "saab")
    assert model.classes is not None
    labels = model.classes.labels.tolist()
    assert told == [
        f"{name}: {roc_auc_score(y == label, p[:, k]):.3f}"
        for k, (name, label) in enumerate(zip(names, labels, strict=True))
    ]
    ax = plots.precision_recall(model, X, y, label="saab")
    (told_one,) = (text.get_text() for text in ax.get_legend().get_texts())
    assert told_one == f"saab: {average_precision_score(y == 'saab', p[:, 2]):.3f}"
    guessing = next(line for line in ax.lines if line.get_label() == "_guessing")
    assert guessing.get_ydata()[0] == np.mean(y == "saab")


def test_confusions_count_all_rows() -> None:
    model, X = classifier(3), rows(100)
    y = seen(model, X)
    ax = plots.confusion_matrix(model, X, y)
    counts = np.asarray(ax.images[0].get_array())
    assert counts.sum() == 100
    assert model.classes is not None
    predicted = model.classes.labels[model.class_probabilities(X, 1).argmax(axis=1)]
    assert counts[0, 1] == np.sum((y == "bus") & (predicted == "$van"))
    assert sum(int(text.get_text()) for text in ax.texts) == 100
    shares = np.asarray(plots.confusion_matrix(model, X, y, fractions=True).images[0].get_array())
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


@pytest.mark.parametrize("draws", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
def test_effects_are_probabilities(classes: int, draws: bool) -> None:
    model = classifier(classes, draws)
    ax = plots.effect(model, "load", output=None if classes == 2 else "$van")
    curve = next(line for line in ax.lines if line.get_label() == "effect").get_ydata()
    tensors = (model.tensor,) if model.posterior is None else model.posterior.draws
    exponent, values = 0.8 if draws else 1.0, []
    for one in tensors:
        p, A = one.marginals, one.factors
        others = (p[0] @ A[0]) * (p[2] @ A[2]) * (p[3] @ A[3])
        values.append(one.bias + (A[1] * others) @ one.V.T)
    of_draws = model.likelihood.class_probabilities(np.array(values), {})  # type: ignore[attr-defined]
    mean = of_draws.mean(axis=0) ** exponent
    expected = (mean / mean.sum(axis=1, keepdims=True))[:, 1]
    np.testing.assert_allclose(curve, expected, rtol=1e-9)
    means = np.array([one.mean() for one in tensors])[:, None]
    at_mean = model.likelihood.class_probabilities(means, {}).mean(axis=0)[0] ** exponent  # type: ignore[attr-defined]
    dashed = next(line for line in ax.lines if list(line.get_xdata()) == [0, 1]).get_ydata()[0]
    np.testing.assert_allclose(dashed, at_mean[1] / at_mean.sum(), rtol=1e-9)
    assert ax.get_ylabel() == f"probability of {'fate 1' if classes == 2 else chr(92) + '$van'}"
    bounds = [line.get_ydata() for line in ax.lines if line.get_label() == "_bound"]
    assert len(bounds) == 2 * draws
    if draws:
        assert (bounds[0] < curve).all()
        assert (curve < bounds[1]).all()


def test_what_is_on_the_latent_scale_says_so() -> None:
    model, X = classifier(3), rows(20)
    ax = plots.waterfall(model, X, 2, output="saab")
    assert "latent value of saab" in ax.get_xlabel()
    assert shapley_values(model, X).shape == (20, 4, 3)
    assert "latent value of" in plots.beeswarm(model, X).get_xlabel()
    assert "latent values" in plots.importance(model).get_xlabel()
    figure = plots.pair(model, "heat", LONG).figure
    assert any("mean latent value of" in ax.get_ylabel() for ax in figure.axes)


def test_of_two_classes_the_first_is_the_opposite_of_the_second() -> None:
    model, X = classifier(), rows(20)
    (first,), (second,) = (
        [line.get_ydata() for line in plots.effect(model, "load", output=label).lines if line.get_label() == "effect"]
        for label in (0, 1)
    )
    np.testing.assert_allclose(first + second, 1.0)
    titles = [plots.waterfall(model, X, 3, output=label).get_title(loc="left") for label in (0, 1)]
    assert titles[0].replace("fate 0 = −", "fate 1 = ") == titles[1] or titles[1].replace("1 = −", "0 = ") == titles[0]
    with pytest.raises(ValueError, match="output=2: give a label of the model, which are 0, 1"):
        plots.waterfall(model, X, output=2)


def test_convergence_is_that_of_the_log_loss() -> None:
    ax = plots.convergence(classifier(3), output="saab")
    assert ax.get_ylabel() == "log loss, training rows"
    assert ax.get_title(loc="left") == "R-hat: log loss 1.23, predictions 1.01"
    assert plots.convergence(classifier(3, draws=False)).get_ylabel() == "loss per row"


def test_plots_of_numbers_refuse_classes_and_the_other_way_round() -> None:
    model, X = classifier(), rows(20)
    y = seen(model, X)
    for draw in (plots.calibration, plots.residuals):
        with pytest.raises(TypeError, match=r"is of numeric targets, but .* has classes: use plots\.reliability"):
            draw(model, X, y)
    for draw in (plots.reliability, plots.roc, plots.precision_recall, plots.confusion_matrix):
        with pytest.raises(TypeError, match=r"needs classes, but .* has numeric targets: use plots\.calibration"):
            draw(bayesian(), X, y)


def test_unknown_labels_are_refused() -> None:
    model, X = classifier(3), rows(20)
    y = seen(model, X)
    with pytest.raises(ValueError, match=r"label='truck': give a label of the model, which are 'bus', '\$van', 'saab'"):
        plots.roc(model, X, y, label="truck")
    with pytest.raises(ValueError, match="y holds 'truck' in row 1"):
        plots.roc(model, X, ["truck", *y[1:]])
    with pytest.raises(ValueError, match="y has no rows of class 'saab'"):
        plots.roc(model, X, ["bus"] * 20, label="saab")
