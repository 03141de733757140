"""Columns of few whole numbers on the command line: what the pilot decides, and how a user does."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from cli.conftest import QUICK, Run, as_csv

KINDS = {"shop": "category", "rooms": "number"}


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    """Sales of shops with arbitrary codes, by a measure, a number of rooms, and one of ten days."""
    rng, effects = np.random.default_rng(0), np.random.default_rng(5).standard_normal(41)
    size, shop, rooms = rng.uniform(-1, 1, 600).round(3), rng.integers(1, 41, 600), rng.integers(1, 9, 600)
    y = np.sin(3 * size) + effects[shop] + 0.2 * rooms + 0.5 * rng.standard_normal(600)
    day = np.datetime64("2024-01-01") + rng.integers(0, 10, 600)
    columns = {"size": size, "shop": shop, "rooms": rooms, "day": pa.array(day), "sales": y.round(3)}
    path = tmp_path / "sales.csv"
    path.write_bytes(as_csv(pa.table(columns)))
    return path


def _kinds(csid: Run, *options: str) -> dict[str, str]:
    """The kind of each predictor in `csid info`, after a fit."""
    assert csid("fit", "sales.csv", "--target", "sales", "-q", *QUICK, *options).code == 0
    return {each["predictor"]: each["kind"] for each in csid("info", "sales.csid", "--json").document["predictors"]}


def test_the_decision_is_told_shown_and_kept(csid: Run, sales: Path, tmp_path: Path) -> None:
    fitted = csid("fit", sales, "--target", "sales", *QUICK)
    assert fitted.code == 0
    assert "Columns of few whole numbers: 'shop' treated as categories; 'rooms' treated as numbers." in fitted.notes
    assert "--categorical NAME, --ordinal NAME" in fitted.notes
    document = csid("info", "sales.csid", "--json").document
    assert document["training"]["whole_numbers"] == KINDS
    kinds = {each["predictor"]: each["kind"] for each in document["predictors"]}
    assert kinds == {"size": "number", "shop": "category", "rooms": "number", "day": "number"}
    assert "whole_numbers" in csid("info", "sales.csid").out
    new = tmp_path / "new.csv"
    new.write_text("size,shop,rooms,day\n0.1,7,2,2024-01-03\n0.1,77,2,2024-01-03\n")
    assert csid("predict", "sales.csid", new).code == 0


def test_a_user_decides(csid: Run, sales: Path) -> None:
    by_default = {"size": "number", "shop": "category", "rooms": "number", "day": "number"}
    assert _kinds(csid, "--ordinal", "shop") == by_default | {"shop": "number"}
    assert _kinds(csid, "--categorical", "rooms") == by_default | {"rooms": "category"}
    assert _kinds(csid, "--set", "whole_numbers=number") == by_default | {"shop": "number"}


def test_rows_that_are_streamed_give_the_same_decision(csid: Run, sales: Path) -> None:
    fitted = csid("fit", sales, "--target", "sales", "--out-of-core", "--json", *QUICK)
    assert fitted.code == 0
    assert fitted.document["whole_numbers"] == KINDS


def test_least_squares_has_numbers(csid: Run, sales: Path) -> None:
    fitted = csid("fit", sales, "--target", "sales", "--estimator", "als", "--set", "rank=2", "--set", "max_iter=3")
    assert fitted.code == 0
    assert "whole numbers" not in fitted.notes
    assert csid("info", "sales.csid", "--json").document["predictors"][1]["kind"] == "number"
