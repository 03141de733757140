"""The report: plain data first, then a page that any browser shows."""

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from csid import BayesianCSIDRegressor, CSIDRegressor
from csid.explain.effects import main_effects
from csid.report import page, summary


class _Balance(HTMLParser):
    """Whether every tag is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def frame() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "a<b>&": rng.uniform(size=150),
            "</script>": rng.choice(["x", "<y>", "a rather long name of a category"], 150),
            "constant": 1.0,
        }
    )
    y = X["a<b>&"].to_numpy() + (X["</script>"] == "x") + 0.1 * rng.standard_normal(150)
    return X.mask(rng.random(X.shape) < 0.1), y


def test_a_summary_holds_what_the_model_says(frame: tuple[pd.DataFrame, np.ndarray]) -> None:
    X, y = frame
    model = CSIDRegressor(rank=2, max_iter=5, random_state=0, missing="level").fit(X, np.stack([y, -y], axis=1))
    found = summary(model, "flats", ("up", "down"), None)
    effects = dict(zip(X.columns, main_effects(model.cpd_), strict=True))
    for effect in found.effects:
        assert_allclose(effect.values["down"], effects[effect.name][:, 1])
        assert_allclose(sum(effect.marginal), 1.0)
    sizes = [effect.size for effect in found.effects]
    assert sizes == sorted(sizes, reverse=True)
    assert_allclose(list(found.mean.values()), model.cpd_.mean())
    assert "unique" in found.uniqueness
    text = page(found)
    assert text.count("<figure>") == 6
    assert "When it is missing" in text


def test_a_page_is_whole_and_names_are_only_names(frame: tuple[pd.DataFrame, np.ndarray]) -> None:
    X, y = frame
    model = BayesianCSIDRegressor(rank=2, n_chains=1, n_burn=20, n_draws=4, prior="medium", random_state=0).fit(X, y)
    figure = {"value": 0.1, "low": 0.05, "high": 0.2}
    text = page(summary(model, "<b>title</b>", ("y",), {"y": {"rows": 9, "rmse": figure, "coverage": figure}}))
    balance = _Balance()
    balance.feed(text)
    assert balance.open == []
    assert "&lt;b&gt;title" in text
    assert "<y>" not in text
    assert "</script>" not in text
    assert not re.search(r"(https?:)?//|<script|<link|@import|url\(|nan|inf\b", text)
    assert text == page(summary(model, "<b>title</b>", ("y",), {"y": {"rows": 9, "rmse": figure, "coverage": figure}}))
    assert "Uniqueness" not in text
