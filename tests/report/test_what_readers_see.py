"""The page as its readers see it: on screens, on phones and on paper, with the pointer, by touch and by keyboard."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from browser import BEYOND, DRAW_ALL, LOW_CONTRAST, chromium, opened, skip_or_fail
from csid import BayesianCSIDRegressor, CSIDRegressor
from csid.explain import partial_dependence, sobol_indices
from data_file import fitted_from_file

PHONE = 390
PAPER = {"format": "A4", "margin": dict.fromkeys(("top", "bottom", "left", "right"), "14mm")}

LONG = "a rather long name of a predictor, such as people give to columns in spreadsheets (°C, mean over 24 h)"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


def _house(rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "area": rng.uniform(40, 200, rows).round(1),
            "outdoors": rng.normal(8, 6, rows).round(1),
            "insulation": rng.choice(["poor", "fair", "good"], rows),
            "people": rng.integers(1, 6, rows),
            "sun": rng.uniform(0, 1, rows).round(2),
        }
    )
    loss = X["insulation"].map({"poor": 1.0, "fair": 0.7, "good": 0.45}).to_numpy()
    y = X["area"] * np.maximum(20 - X["outdoors"], 0) * loss / 100 + 3 * X["people"] - 5 * X["sun"]
    return X.mask(rng.uniform(size=X.shape) < 0.02), y.to_numpy() + rng.normal(0, 0.3, rows)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """A Bayesian model of a usual table, and its page with rows that it has not seen."""
    settings = {"rank": 6, "n_chains": 2, "n_burn": 20, "n_draws": 10, "prior": "medium", "missing": "level"}
    model = BayesianCSIDRegressor(**settings, random_state=0, n_jobs=1).fit(*_house(600, 0))
    path = tmp_path_factory.mktemp("house") / "house.html"
    model.report(path, *_house(200, 1), targets=("kwh",))
    return model, path


@pytest.fixture(scope="module")
def strange(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of three outputs of very different scales, from predictors with awkward names and many categories."""
    rng = np.random.default_rng(0)
    places = np.array([f"Municipality of {name} {n}" for n, name in enumerate(["Aalborg", "Évora", "日本", "🌡️"] * 50)])
    X = pd.DataFrame(
        {
            LONG: rng.normal(20, 5, 400),
            "🌡️ temp": rng.uniform(-10, 40, 400),
            "<b>bold</b>": rng.choice(["<img src=x onerror=alert(1)>", "naïve café", "x" * 80], 400),
            "place": rng.choice(places, 400),
        }
    ).mask(rng.uniform(size=(400, 4)) < 0.05)
    a, t = X[LONG].fillna(20), X["🌡️ temp"].fillna(15)
    Y = np.column_stack([1e-9 * a * t, 1e12 * (a - t), 3e5 + a * t])
    model = CSIDRegressor(rank=3, max_iter=5, missing="level", random_state=0).fit(X, Y)
    path = tmp_path_factory.mktemp("strange") / "strange.html"
    model.report(path, X[:100], Y[:100], targets=("tiny", "huge and with a long name that has to fit", "<i>third</i>"))
    return path


def _number(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))


def _rows_of_ticks(page: Any, within: str) -> list[list[str]]:
    """Texts of scales that stand on one line below a plot."""
    found = page.evaluate(
        """(within) => [...document.querySelectorAll(`${within} svg`)].flatMap((svg) => {
            const rows = new Map();
            for (const text of svg.querySelectorAll("text.scale[text-anchor=middle]")) {
                const y = text.getAttribute("y");
                rows.set(y, [...(rows.get(y) ?? []), text.textContent]);
            }
            return [...rows.values()];
        })""",
        within,
    )
    return [list(row) for row in found]


def test_ticks_are_round_and_axes_are_named(house: tuple[Any, Path], browser: Any) -> None:
    with opened(browser, house[1]) as page:
        page.evaluate(DRAW_ALL)
        for within in ("#effect-cards", "#pair-cards", "#calibration-cards", "#fit-cards"):
            numeric = [row for row in _rows_of_ticks(page, within) if re.match(r"[\d−]", row[0])]
            assert numeric
            for row in numeric:
                assert 2 <= len(row) <= 9
                steps = np.diff([_number(text) for text in row])
                assert_allclose(steps, steps[0], rtol=1e-9)
                assert f"{steps[0]:e}"[:8] in ("1.000000", "2.000000", "5.000000")
        names = """(within) => [...document.querySelectorAll(`${within} svg`)].map((svg) =>
            [...svg.querySelectorAll("text.name")].map((text) => text.textContent))"""
        for effect in page.evaluate(names, "#effect-cards"):
            assert "mean kwh" in effect
        maps = page.evaluate(names, "#pair-cards")
        assert {"area", "outdoors", "mean kwh"} == set(maps[0])
        page.check("#interaction-only")
        page.evaluate(DRAW_ALL)
        assert all("interaction in kwh" in names for names in page.evaluate(names, "#pair-cards"))
        plots = page.evaluate(names, "#calibration-cards")
        assert {"predicted kwh", "observed kwh"} == set(plots[0])


def test_dates_are_dates_and_have_times_within_two_weeks(browser: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    days, minutes, size = rng.integers(0, 1100, 200), rng.integers(0, 5760, 200), rng.uniform(size=200)
    start = pd.Timestamp("2019-04-14")
    table = pd.DataFrame({"day": start + pd.to_timedelta(days, "D"), "moment": start + pd.to_timedelta(minutes, "min")})
    table["price"] = np.sin(days / 100) * np.sin(minutes / 500) + size
    fitted_from_file(tmp_path, table, "price").report(tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as page:
        page.evaluate(DRAW_ALL)
        day, moment = _rows_of_ticks(page, "#effect-0")[0], _rows_of_ticks(page, "#effect-1")[0]
        assert len(day) > 1
        assert all(re.fullmatch(r"20\d\d(-\d\d)?", text) for text in day)
        assert len(moment) > 1
        assert all(re.fullmatch(r"04-1\d \d\d:00|2019-04-1\d", text) for text in moment)
        assert day[0] in {text for row in _rows_of_ticks(page, "#pair-cards") for text in row}
        page.locator("#effect-0 svg").focus()
        page.keyboard.press("End")
        assert page.locator("#effect-0 svg").get_attribute("aria-valuetext").startswith("day: 2022-0")
        page.locator("input[type=date]").fill("")
        page.locator("input[type=datetime-local]").fill("2019-04-15T06:30")
        cells = page.evaluate("() => window.csid.whatIf.cells")
        assert cells[0] is None
        assert_allclose(cells[1], 18_001 + 6.5 / 24, rtol=1e-12)
        page.get_by_role("button", name="Copy as JSON").click()
        assert page.get_by_label("The row as text").input_value() == '{"day":null,"moment":"2019-04-15 06:30"}'


def test_weak_pairs_are_left_out(house: tuple[Any, Path], browser: Any, tmp_path: Path) -> None:
    model, path = house
    shares = sobol_indices(model).pairs
    strong = int((shares[np.triu_indices(5, 1)] >= 0.01).sum())
    assert 0 < strong < 6
    with opened(browser, path) as page:
        assert page.locator("#pair-cards article").count() == strong
        assert "below 1 % of the variance are left out" in _plain(page.locator("#interactions").inner_text())
    X = pd.DataFrame(np.random.default_rng(0).uniform(size=(80, 2)), columns=list("ab"))
    CSIDRegressor(rank=1, max_iter=5, random_state=0).fit(X, X["a"]).report(tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as page:
        assert page.locator("#pair-cards article").count() == 0
        assert "No pair of predictors" in page.locator("#interactions").inner_text()


def _plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def test_an_emptied_field_is_missing_and_says_so(house: tuple[Any, Path], browser: Any) -> None:
    _, path = house
    cells = "() => window.csid.whatIf.cells"
    with opened(browser, path) as page:
        control = page.locator(".control").filter(has=page.get_by_text("area", exact=True))
        box, ticked = control.locator("input[type=number]"), control.locator("input[type=checkbox]")
        before = page.evaluate(cells)[0]
        box.fill("")
        assert page.evaluate(cells)[0] is None
        assert ticked.is_checked()
        assert (box.input_value(), box.get_attribute("placeholder")) == ("", "missing")
        box.fill("100.5")
        assert page.evaluate(cells)[0] == 100.5
        assert not ticked.is_checked()
        box.press("End")
        box.press_sequentially("e")  # half a number
        assert page.evaluate(cells)[0] == 100.5
        ticked.check()
        assert box.input_value() == ""
        ticked.uncheck()
        assert page.evaluate(cells)[0] == 100.5 != before
        words = page.locator(".control").filter(has=page.get_by_text("insulation", exact=True))
        words.locator("select").select_option(label="(missing)")
        assert page.evaluate(cells)[2] is None
        assert words.locator("input[type=checkbox]").is_checked()
        page.locator(".bars").get_by_text("insulation = missing").wait_for()


def test_values_are_read_by_pointer_keyboard_and_touch(house: tuple[Any, Path], browser: Any) -> None:
    model, path = house
    curve = partial_dependence(model, "area")
    for options in ({}, {"has_touch": True}):
        with opened(browser, path, **options) as page:
            page.locator("#effect-0").scroll_into_view_if_needed()
            plot, reading = page.locator("#effect-0 svg"), page.locator("#effect-0 .reading")
            plot.wait_for()
            assert not reading.is_visible()
            box = plot.bounding_box()
            place = {"x": 0.6 * box["width"], "y": 0.4 * box["height"]}
            if options:
                plot.tap(position=place)
            else:
                plot.hover(position=place)
            what, value, band = reading.locator("> *").all_inner_texts()
            at = _number(what.removeprefix("area: "))
            level = int(np.argmin(np.abs(np.array(curve.levels[0][:-1]) - at)))  # the last is that of missing cells
            assert_allclose(_number(value), curve.values[level], atol=0.01)
            assert _plain(band).startswith("90 % of draws: ")
            plot.focus()
            page.keyboard.press("Home")
            assert plot.get_attribute("aria-valuenow") == "0"
            page.keyboard.press("ArrowRight")
            spoken = plot.get_attribute("aria-valuetext")
            assert reading.locator("strong").inner_text() in spoken
            assert_allclose(_number(spoken.split(", ")[1]), curve.values[1], atol=0.01)
            page.keyboard.press("Escape")
            assert not reading.is_visible()


def test_maps_are_read_in_both_directions(house: tuple[Any, Path], browser: Any) -> None:
    with opened(browser, house[1]) as page:
        page.evaluate(DRAW_ALL)
        plot = page.locator("#pair-cards svg").first
        plot.focus()
        told = []
        for key in ("Home", "ArrowUp", "ArrowRight", "ArrowDown"):
            page.keyboard.press(key)
            told.append(re.match(r"(.+?): (.+?), (.+?): (.+?), ", plot.get_attribute("aria-valuetext")).groups())
        (_, x0, _, y0), (_, x1, _, y1), (_, x2, _, y2), (_, x3, _, y3) = told
        assert (x0, x1, x2, x3) == (x0, x0, x2, x2)
        assert _number(x2) > _number(x0)
        assert (y0, y1, y2, y3) == (y0, y1, y1, y0)
        assert _number(y1) > _number(y0)


def _middle(locator: Any) -> float:
    box = locator.bounding_box()
    return float(box["x"] + box["width"] / 2)


def test_the_prediction_stands_on_a_scale(house: tuple[Any, Path], browser: Any) -> None:
    with opened(browser, house[1]) as page:
        ticks = [_number(text) for text in page.locator(".ticks span").all_inner_texts()]
        assert len(ticks) >= 2
        middles = [_middle(tick) for tick in page.locator(".ticks span").all()]
        at = np.interp(_middle(page.locator(".strip .mark")), middles, ticks)
        shown = _number(page.locator("#prediction").inner_text())
        assert abs(at - shown) < 0.02 * (ticks[-1] - ticks[0])
        assert "average prediction" in page.locator(".headline").inner_text()


@pytest.mark.parametrize("output", [0, 1, 2])
@pytest.mark.parametrize("width", [PHONE, 1280])
def test_nothing_stands_outside_whatever_the_names_and_scales(
    width: int, output: int, strange: Path, browser: Any
) -> None:
    with opened(browser, strange, width, is_mobile=width == PHONE) as page:
        page.select_option("#output", str(output))
        page.evaluate(DRAW_ALL)
        assert page.evaluate(BEYOND, width) == []
        for row in _rows_of_ticks(page, "#calibration-cards"):
            assert len(set(row)) == len(row)


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_texts_have_enough_contrast(colours: str, house: tuple[Any, Path], browser: Any) -> None:
    with opened(browser, house[1], colours=colours) as page:
        page.evaluate(DRAW_ALL)
        page.locator(".control input[type=number]").first.fill("1e6")  # outside the training data
        assert page.evaluate(LOW_CONTRAST) == []


def test_texts_of_plots_keep_their_size(house: tuple[Any, Path], browser: Any) -> None:
    scale = "() => [...document.querySelectorAll('svg')].map((svg) => svg.clientWidth / svg.viewBox.baseVal.width)"
    with opened(browser, house[1]) as page:
        page.evaluate(DRAW_ALL)
        for width in (1280, PHONE, 900):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_function(f"() => innerWidth === {width} && new Promise(requestAnimationFrame)")
            assert_allclose(page.evaluate(scale), 1.0, atol=0.01)


def test_convergence_is_explained(house: tuple[Any, Path], browser: Any) -> None:
    with opened(browser, house[1]) as page:
        told = page.locator("#fit-cards").inner_text()
        assert page.locator("#convergence").inner_text()
        assert "near 1 they agree" in told
        assert "Judge by the Monte Carlo error" in told


def test_few_rows_and_one_predictor(browser: Any, tmp_path: Path) -> None:
    X = pd.DataFrame({"x": np.arange(8.0)})
    model = CSIDRegressor(rank=1, max_iter=3, random_state=0).fit(X, 2 * X["x"])
    model.report(tmp_path / "page.html", X[:1], [0.0])
    with opened(browser, tmp_path / "page.html", PHONE, is_mobile=True) as page:
        page.evaluate(DRAW_ALL)
        assert page.evaluate(BEYOND, PHONE) == []
        assert "1 predictor, fitted to 8 rows" in page.locator(".lead").inner_text()
        assert not page.locator("#find").is_visible()


def test_numbers_that_differ_in_their_last_digits_only(browser: Any, tmp_path: Path) -> None:
    nanoseconds = 1.7e18 + 256.0 * np.arange(40)
    X = pd.DataFrame({"moment": nanoseconds, "x": np.arange(40.0)})
    CSIDRegressor(rank=1, max_iter=3, random_state=0).fit(X, nanoseconds).report(tmp_path / "page.html", X, nanoseconds)
    with opened(browser, tmp_path / "page.html", PHONE, is_mobile=True) as page:
        page.evaluate(DRAW_ALL)
        assert page.evaluate(BEYOND, PHONE) == []


def test_paper_has_no_half_empty_pages(house: tuple[Any, Path], browser: Any, tmp_path: Path) -> None:
    if shutil.which("pdftotext") is None:
        skip_or_fail("no pdftotext on this machine (apt-get install poppler-utils)")
    with opened(browser, house[1]) as page:
        page.pdf(path=tmp_path / "page.pdf", **PAPER)
    words = subprocess.run(
        ["pdftotext", "-bbox", tmp_path / "page.pdf", "-"], capture_output=True, text=True, check=True
    ).stdout
    filled = []
    for sheet in words.split("<page ")[1:]:
        height = float(re.match(r'width="[\d.]+" height="([\d.]+)"', sheet)[1])
        filled.append(max(map(float, re.findall(r'yMax="([\d.]+)"', sheet))) / height)
    assert len(filled) > 2
    assert min(filled[:-1]) > 0.55
