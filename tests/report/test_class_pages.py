"""The page of a classifier: its probabilities are those of Python, and labels are only texts."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from browser import BEYOND, DRAW_ALL, LOW_CONTRAST, chromium, opened
from csid import BayesianCSIDClassifier, CSIDClassifier
from csid.explain import partial_dependence, shapley_values
from csid.fitted.accuracy import ClassAccuracy
from csid.fitted.class_curves import precision_recall_curve, reliability_curve, roc_curve
from csid.fitted.class_metrics import class_metrics_of
from csid.fitted.model import FittedModel, SamplingRecord
from csid.likelihoods.binary_probit import BinaryProbit
from csid.likelihoods.class_predictive import ProbabilityCalibration, to_power
from csid.likelihoods.multinomial_probit import MultinomialProbit
from csid.report import document, write_report
from csid.report.packing import Packing
from csid.report.rows import example_rows
from csid.report.sections.classification import merged_confusions

Array = NDArray[np.float64]

PHONE = 390
HOSTILE = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(2)>", "a \"quoted\" & 'odd' label"]
KINDS = ("two numbers", "three hostile texts", "least squares, two", "least squares, three")

ANSWERS = """(rows) => rows.map((cells) => {
    const { model } = window.csid, factors = model.rows(cells), predicted = model.predict(cells, factors);
    return {
        probabilities: [0.9, 0.5].map((coverage) =>
            model.probabilities(predicted, coverage).map(({ mean, lower, upper }) => [mean, lower, upper])),
        shapley: model.shapley(factors).map((values) => Array.from(values)),
    };
})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


def table(rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=rows).round(2), "b": rng.choice(["u", "v", "w"], rows)})
    return X.mask(rng.uniform(size=X.shape) < 0.08)


def labels_of(X: pd.DataFrame, hostile: bool, seed: int = 0) -> pd.Series:
    latent = X["a"].fillna(0.0) * (X["b"] == "u") + 0.5 * np.random.default_rng(seed).normal(size=len(X))
    place = (latent > 0).astype(int) + (latent > 0.7) * hostile
    return pd.Series(np.array(HOSTILE, dtype=object)[place] if hostile else place, name="y<b>")


@cache
def fitted(kind: str) -> FittedModel:
    """A model of two or three classes, calibrated by a power; do not change it."""
    X, hostile = table(200), "three" in kind
    y, settings = labels_of(X, hostile), {"rank": 3, "missing": "marginalize", "random_state": 0, "n_jobs": 1}
    if kind.startswith("least"):
        return CSIDClassifier(max_iter=5, **settings).fit(X, y).fitted_
    model = BayesianCSIDClassifier(n_chains=2, n_burn=5, n_draws=4, prior="medium", **settings).fit(X, y)
    return replace(model.fitted_, calibration=ProbabilityCalibration(0.7))


def page_of(kind: str, folder: Path, rows: int = 60) -> tuple[FittedModel, Path]:
    model, X = fitted(kind), table(rows, seed=1)
    write_report(model, folder / "page.html", X, labels_of(X, "three" in kind, seed=1))
    return model, folder / "page.html"


@pytest.mark.parametrize("C", [2, 3, 26])
def test_javascript_probabilities_are_those_of_python(C: int, browser: Any) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, C)) * rng.choice([0.1, 1.0, 3.0, 10.0], (200, 1))
    likelihood = BinaryProbit() if C == 2 else MultinomialProbit((1.0 / C,) * C)
    if C == 2:
        values[:, 0] = -values[:, 1]
    page = browser.new_page()
    script = f"(rows) => {{ const likelihood = {likelihood.javascript};"
    found = np.array(
        page.evaluate(script + "return rows.map((row) => likelihood.probabilities(row)); }", values.tolist())
    )
    page.close()
    of_system = values[:, 1:] if C == 2 else values
    expected = likelihood.predictive(of_system[None], {}, np.ones(1)).of_draws[0]
    assert_allclose(found, expected, atol=1e-10)
    for exponent in (0.3, 2.0):  # small probabilities are right too
        assert_allclose(to_power(found, exponent), to_power(expected, exponent), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_and_effects_are_those_of_python(kind: str, browser: Any, tmp_path: Path) -> None:
    model, path = page_of(kind, tmp_path)
    X = table(40, seed=2)
    X.iloc[::5, 1] = "never seen"
    cells = example_rows(model.encoding, X, np.arange(len(X)))
    with opened(browser, path) as page:
        answers = page.evaluate(ANSWERS, cells)
        effects = page.evaluate("() => window.csid.model.predictors.map((_, n) => window.csid.model.effect(n, 1))")
        average = page.evaluate("() => window.csid.model.average")
    found = np.array([answer["probabilities"] for answer in answers])
    for of_coverage in (0, 1):
        assert_allclose(found[:, of_coverage, :, 0], model.class_probabilities(X, 1), atol=1e-6)
    predictive = next(model.class_predictives(X, 1))[1]
    if model.posterior is not None:
        for at, levels in enumerate(([0.05, 0.95], [0.25, 0.75])):  # the latter are cumulative weights of the draws
            bounds = np.moveaxis(found[:, at, :, 1:], 2, 0)
            assert_allclose(bounds, predictive.quantiles(np.array(levels)), atol=1e-6)
            assert (bounds[0] < bounds[1]).any()
    phi = shapley_values(model, X).reshape(len(X), 2, -1)
    of_classes = np.concatenate([-phi, phi], axis=2) if phi.shape[2] == 1 else phi
    assert_allclose([answer["shapley"] for answer in answers], of_classes.transpose(0, 2, 1), atol=1e-6)
    for n, effect in enumerate(effects):
        expected = partial_dependence(model, n, scale="probability")
        assert_allclose([level["mean"] for level in effect], expected.values[:, 1], atol=1e-6)
        if expected.lower is not None and expected.upper is not None:
            assert_allclose([level["lower"] for level in effect], expected.lower[:, 1], atol=1e-6)
            assert_allclose([level["upper"] for level in effect], expected.upper[:, 1], atol=1e-6)
    nothing = pd.DataFrame({"a": [np.nan], "b": [None]})
    if model.posterior is None:
        assert_allclose(average, model.class_probabilities(nothing, 1)[0], atol=1e-6)


def test_metrics_frequencies_and_curves_are_those_of_python() -> None:
    model, X = fitted("three hostile texts"), table(90, seed=1)
    y = labels_of(X, True, seed=1)
    told = document(model, X, y, None, None, Packing())
    json_name, targets = told["title"], told["targets"]
    assert json_name == "Predicting y<b>"
    assert model.classes is not None
    assert targets == model.classes.labels.tolist() == sorted(HOSTILE)
    p = model.class_probabilities(X, 1)
    seen = model.classes.read(y, 90).astype(int)
    overview, plots = told["sections"]["overview"], told["sections"]["classification"]
    expected = class_metrics_of(seen, p, None, 0)
    assert set(overview["metrics"][0]) == {
        "accuracy",
        "balanced_accuracy",
        "log_loss",
        "brier",
        "calibration_error",
        "roc_auc",
    }
    for name, metric in overview["metrics"][0].items():
        assert metric == expected[name]
    assert_allclose(np.array(overview["frequencies"])[:, 1], np.bincount(seen) / 90, atol=1e-5)
    assert_allclose(np.array(overview["frequencies"])[:, 0], model.classes.frequencies, atol=1e-5)
    for k in range(3):
        assert_allclose(plots["reliability"][k]["observed"], reliability_curve(seen == k, p[:, k]).observed, rtol=1e-4)
        for name, curve in (("roc", roc_curve), ("precision_recall", precision_recall_curve)):
            found = curve(seen == k, p[:, k])
            assert found is not None
            assert plots[name][k]["area"] == found.area
            assert plots[name][k]["points"][0] == [found.x[0], found.y[0]]
            assert plots[name][k]["points"][-1] == pytest.approx([found.x[-1], found.y[-1]], abs=1e-5)
    assert np.sum(plots["confusions"]["counts"]) == 90
    assert np.trace(plots["confusions"]["counts"]) == np.sum(p.argmax(axis=1) == seen)
    assert "calibration" not in told["sections"]


def test_many_classes_make_a_small_matrix_of_confusions() -> None:
    rng = np.random.default_rng(0)
    seen, likeliest = rng.integers(0, 200, 5000) // 2, rng.integers(0, 200, 5000)
    found = merged_confusions(seen, likeliest, tuple(map(str, range(200))))
    assert len(found["labels"]) == len(found["counts"]) == 30
    assert np.sum(found["counts"]) == 5000
    assert found["labels"][-1] == "other classes"
    first, second = int(found["labels"][0]), int(found["labels"][1])
    assert found["counts"][0][0] == np.sum((seen == first) & (likeliest == first))
    kept = [int(label) for label in found["labels"][:-1]]
    assert found["counts"][-1][1] == np.sum(~np.isin(seen, kept) & (likeliest == second))
    assert found["counts"][1][-1] == np.sum((seen == second) & ~np.isin(likeliest, kept))


def test_controls_and_the_selector_move_what_is_shown(browser: Any, tmp_path: Path) -> None:
    model, path = page_of("three hostile texts", tmp_path)
    assert model.classes is not None
    labels = model.classes.labels.tolist()
    with opened(browser, path) as page:
        page.locator(".control").first.locator("input[type=number]").fill("1.5")
        page.locator(".control select").select_option("u")
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        p = model.class_probabilities(pd.DataFrame({"a": [1.5], "b": ["u"]}), 1)[0]
        found = [each["mean"] for each in page.evaluate("() => window.csid.whatIf.result.probabilities")]
        assert_allclose(found, p, atol=1e-6)
        assert page.locator("#prediction").inner_text() == labels[int(p.argmax())]
        shown = page.locator(".chances li")
        assert shown.locator(".text").all_inner_texts() == labels
        for text, each in zip(shown.locator("strong").all_inner_texts(), p, strict=True):
            assert abs(float(text.strip("<>%\u00a0")) - 100.0 * each) < 0.51
        assert page.locator("#output-choice").inner_text().startswith("Class")
        page.select_option("#output", label=labels[2])
        assert shown.nth(2).get_attribute("aria-current") == "true"
        assert page.locator(".why h3").inner_text() == f"Contribution of each predictor to {labels[2]}"
        assert "on the latent scale" in page.locator(".why").inner_text()
        assert "on the latent scale" in page.locator("#effects > p").inner_text()
        assert "latent value of the class" in page.locator("#predictors > p").inner_text()
        page.evaluate(DRAW_ALL)
        names = page.locator("#effect-cards svg text.name").all_text_contents()
        assert any(name.startswith("probability of a ") for name in names)
        assert page.locator("#classification-cards article").count() == 5
        page.check("#confusion-fractions")
        page.evaluate(DRAW_ALL)
        assert "%" in page.locator("#classification-cards svg").nth(2).text_content()


def test_two_numbers_are_named_after_the_target_and_the_second_is_chosen(browser: Any, tmp_path: Path) -> None:
    _, path = page_of("two numbers", tmp_path)
    with opened(browser, path) as page:
        assert page.locator("#output option").all_inner_texts() == ["y<b> 0", "y<b> 1"]
        assert page.locator("#output").input_value() == "1"
        first, second = page.evaluate("() => window.csid.model.mean")
        assert first == -second != 0.0
        assert page.locator("#metrics .tile").count() == 6
        told = page.locator("#fit").inner_text()
        assert "R-hat of the log loss" in told
        assert "noise" not in told


def test_a_least_squares_classifier_has_no_intervals(browser: Any, tmp_path: Path) -> None:
    _, path = page_of("least squares, two", tmp_path)
    with opened(browser, path) as page:
        page.evaluate(DRAW_ALL)
        assert "no intervals of its probabilities" in page.locator(".headline").inner_text()
        assert page.locator(".chances .bounds").count() == 0
        assert "posterior draws" not in page.locator("#effects > p").inner_text()


def test_without_rows_the_metrics_are_those_of_the_pilot(browser: Any, tmp_path: Path) -> None:
    model = fitted("two numbers")
    assert isinstance(model.training, SamplingRecord)
    piloted = replace(model, training=replace(model.training, accuracy=ClassAccuracy(40, 0.75, 0.5, 0.25)))
    for one, words in ((model, "no held-out metrics"), (piloted, "40 rows that the fit held out")):
        write_report(one, tmp_path / "page.html")
        with opened(browser, tmp_path / "page.html") as page:
            assert words in page.locator("#evidence").inner_text()
            assert page.locator("#classification").count() == 0
            assert ("75" in page.locator("#metrics").inner_text()) == (one is piloted)


def test_a_class_without_rows_is_said_to_have_none(browser: Any, tmp_path: Path) -> None:
    model, X = fitted("three hostile texts"), table(30, seed=1)
    write_report(model, tmp_path / "page.html", X, [HOSTILE[0]] * 30)
    with opened(browser, tmp_path / "page.html") as page:
        page.select_option("#output", label=HOSTILE[1])
        assert f"No row is of class {HOSTILE[1]}." in page.locator("#classification-cards").inner_text()
        page.select_option("#output", label=HOSTILE[0])
        assert f"All rows are of class {HOSTILE[0]}." in page.locator("#classification-cards").inner_text()


@pytest.mark.parametrize(("width", "colours"), [(1280, "light"), (PHONE, "dark")])
def test_it_fits_the_screen_and_can_be_read(width: int, colours: str, browser: Any, tmp_path: Path) -> None:
    _, path = page_of("three hostile texts", tmp_path)
    with opened(browser, path, width, colours, is_mobile=width == PHONE) as page:
        page.evaluate(DRAW_ALL)
        assert page.evaluate(BEYOND, width) == []
        assert page.evaluate(LOW_CONTRAST) == []


def test_labels_that_no_training_row_had_are_refused() -> None:
    with pytest.raises(ValueError, match="y holds 'new' in row 1, which no training row had"):
        document(fitted("three hostile texts"), table(2), ["new", HOSTILE[0]], None, None, Packing())
    with pytest.raises(ValueError, match=r"targets names 2 output\(s\), but the model has 1"):
        document(fitted("two numbers"), None, None, None, ("a", "b"), Packing())


def test_a_likelihood_without_javascript_is_refused_before_a_file_is_written(tmp_path: Path) -> None:
    class Unwritten(BinaryProbit):
        @property
        def javascript(self) -> str:
            raise self._not_written_for("report pages")

    for kind in ("two numbers", "least squares, two"):
        with pytest.raises(NotImplementedError, match="report pages do not support likelihood='binary_probit'"):
            write_report(replace(fitted(kind), likelihood=Unwritten()), tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []
