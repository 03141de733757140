"""What the README promises: its examples run as pasted, and the demo identifies its system."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


def test_the_examples_run_as_pasted(capsys: pytest.CaptureFixture[str]) -> None:
    examples = re.findall(r"```python\n(.*?)```", (REPOSITORY / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(examples) == 3
    exec("\n".join(examples), {})
    printed = capsys.readouterr().out
    assert float(re.search(r"R² on new rows: (\S+)", printed)[1]) > 0.8
    importances = [float(x) for x in re.search(r"importances: \[(.*?)\]", printed)[1].split()]
    assert min(importances) == importances[3]  # the last column has no effect
    assert "Kruskal" in printed
    assert 0.85 < float(re.search(r"in their interval: (\S+)", printed)[1]) < 0.95
    assert float(re.search(r"predicted correctly: (\S+)", printed)[1]) > 0.9


def test_the_demo_recovers_unseen_cells(tmp_path: Path) -> None:
    picture = tmp_path / "identified.png"
    command = [sys.executable, REPOSITORY / "examples" / "demo.py", "--samples", "2000", "--picture", picture]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path).stdout
    assert "308,915,776 cells" in printed
    errors = {name: float(rmse) for name, rmse in re.findall(r"│ (ridge|gradient boosting|csid) +│ +([\d.]+)", printed)}
    assert errors["csid"] < 0.5 * errors["gradient boosting"] < errors["ridge"]
    assert picture.read_bytes().startswith(b"\x89PNG")
