"""Headless Chromium, if the machine has it, and pages whose every word and request is watched."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_REQUIRED = "CSID_REQUIRE_BROWSER"

DRAW_ALL = """() => {
    for (const event of ["beforeprint", "afterprint"]) dispatchEvent(new Event(event));
}"""
"""Draw all plots, also those that are not in view."""

BEYOND = """(width) => {
    const inside = (one) => !one.closest("nav, .hidden, .skip, .reading, .bars .text *");
    const wide = [...document.querySelectorAll("body *")].filter(inside).filter((one) => {
        const { left, right, width: own } = one.getBoundingClientRect();
        return own > 0 && (left < -0.5 || right > width + 0.5);
    });
    const outside = [...document.querySelectorAll(".card svg text")].filter((text) => {
        const own = text.getBoundingClientRect(), card = text.closest(".card").getBoundingClientRect();
        return own.left < card.left || own.right > card.right || own.bottom > card.bottom;
    });
    return [...wide, ...outside].map((one) => `${one.outerHTML.split(">")[0]} ${one.textContent.slice(0, 30)}`);
}"""
"""What stands outside the page, whose width is given, or outside its card."""

LOW_CONTRAST = """() => {
    const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
        .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = (one) => {
        for (let node = one; node; node = node.parentElement) {
            const colour = getComputedStyle(node).backgroundColor;
            if (/^rgb\\(/.test(colour)) return parts(colour);
        }
        return [255, 255, 255];
    };
    const visible = (one) => (one.offsetParent || one.closest("svg")) && !one.closest("script, style, noscript");
    const says = (one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    return [...document.querySelectorAll("body *")].filter((one) => visible(one) && says(one)).flatMap((one) => {
        const style = getComputedStyle(one), colour = parts(one.closest("svg") ? style.fill : style.color);
        const [low, high] = [light(colour), light(behind(one))].sort((a, b) => a - b);
        const ratio = (high + 0.05) / (low + 0.05);
        return ratio < 4.5 ? [`${one.outerHTML.split(">")[0]} ${ratio} ${one.textContent.slice(0, 30)}`] : [];
    });
}"""
"""Texts whose contrast is below 4.5."""


def skip_without_browser() -> None:
    """Skip, unless the environment says that the browser must be there."""
    if CHROMIUM is None:
        skip_or_fail("no Chromium on this machine (apt-get install chromium)")


def skip_or_fail(message: str) -> None:
    """Skip because a program is missing, unless the environment says that it must be there."""
    if os.environ.get(_REQUIRED):
        pytest.fail(message)
    pytest.skip(f"{message}; with {_REQUIRED}=1 this is an error")


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser, driven by Playwright."""
    skip_without_browser()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Any, path: Path, width: int = 1280, colours: str = "light", **options: Any) -> Iterator[Any]:
    """A page from disk, ready; fails if it says anything on the console or asks for anything but itself."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=colours, **options)
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: said.append(f"error: {error}"))
    page.on("request", lambda request: said.append(f"request: {request.url}"))
    page.on("dialog", lambda dialog: said.append(f"dialog: {dialog.message}"))
    try:
        page.goto(path.as_uri())
        page.wait_for_selector("main:not([aria-busy]), #trouble:not([hidden])")
        yield page
        assert said == [f"request: {path.as_uri()}"]
    finally:
        context.close()
