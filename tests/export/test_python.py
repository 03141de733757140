"""The Python module on its own: a process without site-packages, in a folder that has nothing else."""

import ast
import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from csid.export import to_python
from export.systems import ALS, BAYESIAN_KINDS, JOINT_KINDS, KINDS, bounds, fitted, new_rows

BARE = [sys.executable, "-I", "-S"]
"""No site-packages, no environment variables, no folder of the user."""

CALLS = """
import json, runpy, sys
model, rows = runpy.run_path("model.py"), json.load(open("rows.json", encoding="utf-8"))
print(json.dumps({
    "csid": any(name.split(".")[0] in ("csid", "numpy") for name in sys.modules),
    "predictions": model["predict_many"](rows),
    "intervals": [model["predict_interval"](row, 0.8) for row in rows] if "intervals" in sys.argv else [],
}))
"""


def _module(model: Any) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "model"}
    exec(to_python(model), names)
    return names


@pytest.mark.parametrize(
    "kind",
    ["als", "als, constant", "bayes, after a pilot", "bayes, heavy tails", "als, joint", "bayes, joint, heavy tails"],
)
def test_it_runs_without_anything_installed(kind: str, tmp_path: Path) -> None:
    model = fitted(kind)
    table = new_rows(model)
    rows = [{name: None if pd.isna(v) else v for name, v in row.items()} for row in table.to_dict("records")]
    (tmp_path / "model.py").write_text(to_python(model), encoding="utf-8")
    (tmp_path / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    wanted = ["intervals"] if kind in BAYESIAN_KINDS else []
    ran = subprocess.run([*BARE, "-c", CALLS, *wanted], cwd=tmp_path, check=True, capture_output=True, text=True)
    found = json.loads(ran.stdout)
    assert not found["csid"]
    assert_allclose(found["predictions"], model.predict(table), rtol=1e-9, atol=1e-9)
    if wanted:
        expected = np.stack(bounds(model, table, 0.8), axis=1)
        assert_allclose(found["intervals"], expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_those_of_the_model(kind: str) -> None:
    model = fitted(kind)
    table = new_rows(model)
    found = _module(model)["predict_many"](table.to_dict("records"))
    assert_allclose(found, model.predict(table), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", BAYESIAN_KINDS)
@pytest.mark.parametrize("coverage", [0.1, 0.9, 0.999])
def test_intervals_are_those_of_the_model(kind: str, coverage: float) -> None:
    model = fitted(kind)
    table = new_rows(model)[:30]
    predict_interval = _module(model)["predict_interval"]
    found = [predict_interval(row, coverage) for row in table.to_dict("records")]
    expected = np.stack(model.predict_interval(table, coverage), axis=1)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_absent_none_and_nan_are_missing_and_other_columns_are_ignored() -> None:
    predict = _module(fitted("als, missing as a level"))["predict"]
    names = ["x", "a count", 'wörd "quoted"', "__import__('os')", "prediction"]
    absent = predict({})
    assert isinstance(absent, float)
    assert predict(dict.fromkeys(names)) == predict(dict.fromkeys(names, float("nan"))) == absent
    assert predict({"another": 1}) == absent
    assert isinstance(_module(fitted("als, several outputs"))["predict"]({}), list)


@pytest.mark.parametrize("interval", [[], ["--interval", "0.9"]])
@pytest.mark.parametrize("kind", ["bayes, constant", "bayes, several outputs", "bayes, joint, constant"])
def test_as_a_command_it_predicts_a_file(kind: str, interval: list[str], tmp_path: Path) -> None:
    model = fitted(kind)
    table = new_rows(model)[:50]
    (tmp_path / "model.py").write_text(to_python(model), encoding="utf-8")
    table.assign(another="ignored").to_csv(tmp_path / "data.csv", index=False)
    command = [*BARE, "model.py", "data.csv", *interval]
    ran = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    header, *rows = csv.reader(ran.stdout.splitlines())
    K = model.cpd_.n_outputs
    sides = ["prediction", "lower", "upper"] if interval else ["prediction"]
    assert header == (sides if K == 1 else [f"{side}_{j}" for side in sides for j in range(K)])
    expected = [model.predict(table).reshape(50, -1), *(bounds(model, table, 0.9) if interval else ())]
    assert_allclose(np.array(rows, dtype=float), np.hstack(expected), rtol=1e-8, atol=1e-8)
    assert ran.stderr == ""
    piped = subprocess.run(
        [*BARE, "model.py", "-", *interval],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        input=(tmp_path / "data.csv").read_bytes(),
    )
    assert piped.stdout.decode() == ran.stdout


def test_as_a_command_it_names_what_is_wrong_with_a_file(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(to_python(fitted("als")), encoding="utf-8")
    for text, code, message in (
        ("x\n1.0\n", 0, "no column 'a count', "),
        ("x,prediction\n1.0,2\n1.0,often\n", 1, "row 2: column 'prediction' holds 'often' where a number is expected."),
        ("x\ninf\n", 1, "row 1: column 'x' holds inf where a finite number is expected."),
    ):
        (tmp_path / "data.csv").write_text(text, encoding="utf-8")
        ran = subprocess.run([*BARE, "model.py", "data.csv"], cwd=tmp_path, capture_output=True, text=True)
        assert ran.returncode == code
        assert message in ran.stderr
        assert "Traceback" not in ran.stderr


@pytest.mark.parametrize(
    "name", ["__import__('os').abort()", '"""\nraise SystemExit(1)\n"""', "{rows}", "\\", "\u202e"]
)
def test_names_and_categories_never_become_code(name: str) -> None:
    table = pd.DataFrame({name: [name, "other"] * 10, "x": np.arange(20.0)})
    model = ALS(max_iter=1).fit(table, table["x"])
    source = to_python(model)
    assert "abort" not in source
    assert "SystemExit(1)" not in source
    assert "\u202e" not in source
    found = _module(model)["predict_many"](table.to_dict("records"))
    assert_allclose(found, model.predict(table), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["bayes", "bayes, joint"])
def test_its_syntax_is_that_of_python_3_8(kind: str) -> None:
    ast.parse(to_python(fitted(kind)), feature_version=(3, 8))


def test_words_and_numbers_are_not_confused() -> None:
    predict = _module(fitted("als"))["predict"]
    with pytest.raises(ValueError, match=r"column 'x' holds '1\.0' where a finite number is expected"):
        predict({"x": "1.0"})
    with pytest.raises(ValueError, match="column 'x' holds inf where a finite number is expected"):
        predict({"x": float("inf")})
    with pytest.raises(ValueError, match='holds 3, but its categories are like "größer'):
        predict({'wörd "quoted"': 3})
    with pytest.raises(ValueError, match=r"column 'prediction' holds 'u', but its categories are like 1\.5"):
        predict({"prediction": "u"})


@pytest.mark.parametrize("joint", ["", ", joint"])
def test_intervals_need_draws_and_a_probability(joint: str) -> None:
    with pytest.raises(
        ValueError, match="this model has no posterior draws, so it has no intervals: export a Bayesian"
    ):
        _module(fitted(f"als{joint}"))["predict_interval"]({})
    with pytest.raises(ValueError, match=r"coverage=1\.0: give a probability between 0 and 1, such as 0\.9"):
        _module(fitted(f"bayes{joint}"))["predict_interval"]({}, 1.0)


@pytest.mark.parametrize("kind", ["bayes", "bayes, joint"])
def test_code_for_missing_cells_is_there_with_intervals_or_a_joint_pmf(kind: str) -> None:
    assert ("class ConditionalModel" in to_python(fitted(kind))) == (kind in JOINT_KINDS + BAYESIAN_KINDS)
