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
