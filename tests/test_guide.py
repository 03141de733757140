"""What the guide promises: its examples run in order, as pasted."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from csid.estimators import sampling

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """What the examples take for granted: a folder of flats, and functions and iterators that yield rows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sampling._PLANS, "default", sampling._PLANS["fast"])
    rng = np.random.default_rng(1)
    flats = pd.DataFrame({"size": rng.uniform(20, 150, 300), "age": rng.uniform(0, 100, 300)})
    flats["district"] = pd.Categorical(rng.choice(["harbour", "hillside", "mills"], 300))
    flats["rent"] = 100 + 9 * flats["size"] - 2 * flats["age"] + 45 * rng.standard_normal(300)
    flats["costs"], flats["count"] = 0.2 * flats["rent"], rng.integers(1, 4, 300)
    Path("flats").mkdir()
    flats.to_parquet("flats/part.parquet")
    rows = [(part[["size", "age", "district"]], part["rent"]) for part in (flats[:150], flats[150:])]
    yield {"read": lambda: iter(rows), "stream": rows, "batches": rows}
    plt.close("all")


def test_the_examples_run_as_pasted(given: dict[str, Any]) -> None:
    guide = (REPOSITORY / "docs" / "guide.md").read_text(encoding="utf-8")
    examples = list(re.finditer(r"```python\n(.*?)```", guide, re.DOTALL))
    assert len(examples) == 14
    for example in examples:
        above = "\n" * guide.count("\n", 0, example.start(1))  # an error names the line of the guide
        exec(compile(above + example[1], "docs/guide.md", "exec"), given)
    assert 0.8 < float(np.mean((given["lower"] < given["y_new"]) & (given["y_new"] < given["upper"]))) <= 1.0
