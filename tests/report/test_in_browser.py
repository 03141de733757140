"""The page in a real browser: its numbers are Python's, and it can be used by anyone."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from browser import chromium, opened
from csid import BayesianCSIDRegressor, CSIDRegressor
from csid.explain import partial_dependence, shapley_values
from csid.report.rows import example_rows
from data_file import fitted_from_file
from export.systems import BAYESIAN_KINDS, KINDS, fitted, new_rows

ROWS = 40
ANSWERS = """(rows) => rows.map((cells) => {
    const model = window.csid.model, factors = model.rows(cells), predicted = model.predict(cells, factors);
    return {
        means: predicted.map((one) => one.mean),
        bounds: model.sampled ? predicted.map((one, k) => model.interval(k, one, 0.9)) : null,
        shapley: model.shapley(factors).map((values) => Array.from(values)),
    };
})"""

SURFACE = """() => {
    const model = window.csid.model, cells = ({ grid, own_missing }) => [...grid, ...(own_missing ? [null] : [])];
    return model.surface(0, 1, cells(model.predictors[0]), cells(model.predictors[1]), 0);
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_predicts_and_explains_as_python_does(kind: str, browser: Any, tmp_path: Path) -> None:
    model = fitted(kind)
    table = new_rows(model).iloc[:: 200 // ROWS]
    cells = example_rows(model.encoding_, table, np.arange(len(table)))
    model.report(tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as page:
        answers = page.evaluate(ANSWERS, cells)
        effects = page.evaluate("() => window.csid.model.effect(0, 0)")
        surface = page.evaluate(SURFACE)
    K = model.cpd_.n_outputs
    predicted = model.predict(table).reshape(-1, K)
    near = 1e-6 * predicted.std(axis=0)
    assert (np.abs([answer["means"] for answer in answers] - predicted) < near).all()
    phi = shapley_values(model, table).reshape(len(table), -1, K).transpose(0, 2, 1)
    assert (np.abs([answer["shapley"] for answer in answers] - phi) < near[:, None]).all()
    if kind in BAYESIAN_KINDS:
        bounds = np.stack([bound.reshape(-1, K) for bound in model.predict_interval(table)], axis=-1)
        assert (np.abs([answer["bounds"] for answer in answers] - bounds) < near[:, None]).all()
    joint = partial_dependence(model, [0, 1]).values
    assert_allclose(surface, joint.reshape(*joint.shape[:2], K)[:, :, 0], atol=near[0])
    curve = partial_dependence(model, 0)
    assert_allclose([level["mean"] for level in effects], curve.values.reshape(-1, K)[:, 0], atol=near[0])
    if curve.lower is not None:
        assert_allclose([level["lower"] for level in effects], curve.lower.reshape(-1, K)[:, 0], atol=near[0])


def _table(rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "size": rng.uniform(20, 120, rows).round(1),
            "rooms": rng.integers(1, 6, rows),
            "</script><script>alert(1)</script>": rng.choice(["<img src=x onerror=alert(2)>", "plain"], rows),
        }
    )
    return table.mask(rng.uniform(size=table.shape) < 0.05)


@pytest.fixture(scope="module")
def flats(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path, pd.DataFrame]:
    """A model of two outputs with hostile names, its page, and rows that it has not seen."""
    table = _table(300)
    y = table["size"].fillna(70) * (1 + table["rooms"].fillna(3)) / 100
    targets = np.column_stack([y, -(y**2)])
    settings = {"rank": 3, "n_chains": 2, "n_burn": 10, "n_draws": 6, "prior": "medium", "missing": "level"}
    model = BayesianCSIDRegressor(**settings, random_state=0, n_jobs=1).fit(table[:200], targets[:200])
    path = tmp_path_factory.mktemp("page") / "flats.html"
    model.report(path, table[200:], targets[200:], title="<b>Flats</b>", targets=("rent", "<i>loss</i>"))
    return model, path, table


def _control(page: Any, name: str) -> Any:
    return page.locator(".control").filter(has=page.get_by_text(name, exact=True))


def _result(page: Any) -> dict[str, Any]:
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return dict(page.evaluate("() => window.csid.whatIf.result"))


def _check(page: Any, model: Any, row: dict[str, Any], output: int = 0, coverage: float = 0.9) -> None:
    table = pd.DataFrame([row])
    found, scale = _result(page), 1e-6 * model.noise_[output]
    assert_allclose(found["mean"], model.predict(table)[0, output], atol=scale)
    assert_allclose(found["interval"], [b[0, output] for b in model.predict_interval(table, coverage)], atol=scale)
    assert_allclose(found["shapley"], shapley_values(model, table)[0, :, output], atol=scale)
    shown = page.locator("#prediction").inner_text().replace(",", "").replace("−", "-")
    unit = 10.0 ** -len(shown.partition(".")[2])
    assert_allclose(float(shown), found["mean"], atol=0.501 * unit)
    assert unit < 0.01 * model.predict(table, return_std=True)[1][0, output]


def test_controls_move_the_numbers_to_what_python_says(flats: tuple[Any, Path, pd.DataFrame], browser: Any) -> None:
    model, path, table = flats
    hostile = table.columns[2]
    with opened(browser, path) as page:
        page.select_option("#start", "0")
        example = page.evaluate("() => window.csid.whatIf.data.examples[0].number")
        _check(page, model, table[200:].iloc[example].to_dict())
        row: dict[str, Any] = {"size": 55.5, "rooms": 2.0, hostile: "plain"}
        _control(page, "size").locator("input[type=number]").fill("55.5")
        _control(page, "rooms").locator("input[type=number]").fill("2")
        _control(page, hostile).locator("select").select_option("plain")
        _check(page, model, row)
        page.select_option("#coverage", "0.5")
        _check(page, model, row, coverage=0.5)
        _control(page, "size").locator("input[type=checkbox]").check()
        _check(page, model, row | {"size": np.nan}, coverage=0.5)
        page.select_option("#output", label="<i>loss</i>")
        _check(page, model, row | {"size": np.nan}, output=1, coverage=0.5)
        assert page.locator("h1").inner_text() == "<b>Flats</b>"
        assert page.locator("#predictor-table tbody th").filter(has_text=hostile).count() == 1


def test_the_keyboard_is_enough(flats: tuple[Any, Path, pd.DataFrame], browser: Any) -> None:
    _, path, _ = flats
    with opened(browser, path) as page:
        before = page.evaluate("() => [...window.csid.whatIf.cells]")
        slider = _control(page, "rooms").locator("input[type=range]")
        slider.focus()
        page.keyboard.press("ArrowRight")
        assert page.evaluate("() => window.csid.whatIf.cells[1]") == before[1] + 1
        assert float(_control(page, "rooms").locator("input[type=number]").input_value()) == before[1] + 1
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        assert page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle") == "solid"
        _control(page, "rooms").locator("input[type=checkbox]").focus()
        page.keyboard.press("Space")
        assert page.evaluate("() => window.csid.whatIf.cells[1]") is None
        page.locator("th[data-by=name] button").focus()
        page.keyboard.press("Enter")
        assert page.locator("th[data-by=name]").get_attribute("aria-sort") == "ascending"
        names = page.locator("#predictor-table tbody th").all_inner_texts()
        assert names == sorted(names)
        page.locator("#spoken", has_text="Predicted rent").wait_for(state="attached")


def test_everything_has_a_name_and_a_picture_says_what_it_shows(
    flats: tuple[Any, Path, pd.DataFrame], browser: Any
) -> None:
    with opened(browser, flats[1]) as page:
        page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
        nameless = """() => [...document.querySelectorAll("input, select, button, textarea")].filter(
            (one) => !one.labels?.length && !one.getAttribute("aria-label") && !one.textContent.trim()).length"""
        assert page.evaluate(nameless) == 0
        described = page.evaluate(
            "() => [...document.querySelectorAll('svg')].map((one) => one.getAttribute('aria-label'))"
        )
        assert all(described)
        assert page.evaluate("() => document.querySelectorAll('table').length") == page.locator("caption").count()
        assert page.locator("#effect-cards svg").count() == 3
        assert page.locator("#effect-cards").get_by_text("missing", exact=True).count() > 0
        assert page.locator("#calibration-cards svg").count() == 2


@pytest.mark.parametrize(("width", "colours"), [(1280, "light"), (360, "dark")])
def test_it_fits_the_screen_in_light_and_dark(
    width: int, colours: str, flats: tuple[Any, Path, pd.DataFrame], browser: Any
) -> None:
    with opened(browser, flats[1], width, colours) as page:
        page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        brightness = "() => getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]"
        assert (page.evaluate(brightness) > 128) == (colours == "light")
        page.click("#theme")
        assert (page.evaluate(brightness) > 128) == (colours == "dark")


def test_dates_and_ordered_words_have_controls_of_their_own(browser: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    day, size = rng.integers(0, 365, 100), rng.integers(0, 3, 100)
    table = pd.DataFrame({"day": pd.Timestamp("2019-04-14") + pd.to_timedelta(day, "D"), "price": day / 100 + size})
    table.insert(1, "size", np.array(["S", "M", "L"])[size])
    model = fitted_from_file(tmp_path, table, "price", "--ordinal", "size=S,M,L")
    model.report(tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as page:
        page.locator("input[type=date]").fill("2019-07-01")
        _control(page, "size").locator("select").select_option("L")
        assert page.evaluate("() => window.csid.whatIf.cells") == [18_078, 2]
        row = pd.DataFrame({"day": [pd.Timestamp("2019-07-01")], "size": ["L"]})
        assert_allclose(_result(page)["mean"], model.predict(row)[0], rtol=1e-7)
        page.get_by_role("button", name="Copy as JSON").click()
        copied = json.loads(page.get_by_label("The row as text").input_value())
        assert copied == {"day": "2019-07-01", "size": "L"}
        assert "price" in page.locator(".headline").inner_text()
        assert "no held-out metrics" in page.locator("#evidence").inner_text()


def test_two_hundred_predictors(browser: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(size=(120, 200))).add_prefix("sensor ")
    model = CSIDRegressor(rank=2, levels=4, max_iter=2, random_state=0).fit(X, X["sensor 7"] * X["sensor 11"])
    model.report(tmp_path / "wide.html", X)
    with opened(browser, tmp_path / "wide.html") as page:
        assert page.locator("#predictor-table tbody tr").count() == 200
        page.fill("#find", "SENSOR 123")
        assert page.locator("#predictor-table tbody th").all_inner_texts() == ["sensor 123"]
        assert "1 of 200" in page.locator("#predictor-table .note").inner_text()
        assert page.locator("#effect-123").count() == 0  # one of the less important
        page.locator("#predictor-table tbody a").click()
        page.wait_for_selector("#effect-123")
        assert page.locator("#effect-cards svg").count() < 60  # the others when they come into view
        assert page.locator(".control").count() < 30
        page.get_by_placeholder("Find a control").fill("sensor 123")
        _control(page, "sensor 123").locator("input[type=number]").fill("0.25")
        found, cells = _result(page), page.evaluate("() => window.csid.whatIf.cells")
        row = pd.DataFrame([cells], columns=X.columns)
        assert row["sensor 123"][0] == 0.25
        scale = 1e-6 * model.predict(X).std()
        assert_allclose(found["mean"], model.predict(row)[0], atol=scale)
        assert_allclose(found["shapley"], shapley_values(model, row)[0], atol=scale)


def test_a_browser_that_cannot_unpack_is_told(flats: tuple[Any, Path, pd.DataFrame], browser: Any) -> None:
    page = browser.new_page()
    page.add_init_script("delete window.DecompressionStream")
    page.goto(flats[1].as_uri())
    page.wait_for_selector("#trouble:not([hidden])")
    assert "DecompressionStream" in page.locator("#trouble").inner_text()
    page.close()
