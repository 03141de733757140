"""The page as text: whole, the same every time, and safe whatever the columns are called."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from csid import CSIDRegressor
from csid.report import sections

HOSTILE = ["</script><script>alert(1)</script>", "<!--<script>", "{{ script }}", "&lt;b&gt;"]


class _Markup(HTMLParser):
    """Tags that are open, and the contents of scripts by their id."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[tuple[str, str | None]] = []
        self.scripts: dict[str | None, str] = {}

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in ("meta", "input"):
            self.open.append((tag, dict(attrs).get("id")))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1][0] == "script":
            self.scripts[self.open[-1][1]] = self.scripts.get(self.open[-1][1], "") + data


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.choice(HOSTILE, 60) for name in HOSTILE})
    model = CSIDRegressor(rank=2, max_iter=3, random_state=0).fit(X, rng.normal(size=60))
    path = tmp_path_factory.mktemp("page") / "page.html"
    model.report(path, X, rng.normal(size=60), title=HOSTILE[0], targets=[HOSTILE[1]])
    first = path.read_text(encoding="utf-8")
    model.report(path, X, np.random.default_rng(1).normal(size=60))
    assert path.read_text(encoding="utf-8") != first
    return first


def test_names_are_only_names(text: str) -> None:
    markup = _Markup()
    markup.feed(text)
    assert markup.open == []
    assert set(markup.scripts) == {"document", "doubles", "cells", None}
    told = json.loads(markup.scripts["document"])
    assert [predictor["name"] for predictor in told["model"]["predictors"]] == HOSTILE
    assert told["title"] == HOSTILE[0]
    assert "alert(1)</script>" not in text


def test_the_page_may_run_its_own_script_and_load_nothing(text: str) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith("default-src 'none'")
    assert f"script-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"<link|@import|url\(|\bsrc=|\beval\(|innerHTML|fetch\(", text)


def test_sections_are_the_scripts_of_their_folder() -> None:
    folder = Path(sections.__file__).parent
    names = [section.name for section in sections.SECTIONS]
    assert sorted(names) == sorted(path.stem for path in folder.glob("*.js"))
    assert {path.stem for path in folder.glob("[a-z]*.py")} <= set(names)


def test_the_same_model_gives_the_same_page(tmp_path: Path) -> None:
    X = np.random.default_rng(0).uniform(size=(60, 2))
    model = CSIDRegressor(rank=2, max_iter=3, random_state=0).fit(X, X[:, 0])
    pages = []
    for name in ("a.html", "b.html"):
        model.report(tmp_path / name, X, X[:, 0])
        pages.append((tmp_path / name).read_bytes())
    assert pages[0] == pages[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "b.html"]
