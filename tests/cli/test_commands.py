"""Commands as a user types them: what they write, what they say, and how they end."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import csid as library
from cli.conftest import QUICK, Run, as_csv, table
from csid.cli.errors import Exit
from csid.fitted.schema import Schema


def test_fit_writes_a_model_beside_the_data(csid: Run, flats: Path) -> None:
    ended = csid("fit", flats, "--target", "rent", "--missing", "NA,?", *QUICK)
    assert ended.code == 0
    assert f"wrote {flats.with_suffix('.csid')}: 200 rows, 6 predictors" in ended.out
    for part in ("town", "category", "built", "date", "id", "ignored"):  # the schema is shown before
        assert part in ended.notes
    assert "Dropped column 'id': 200 of its 200 text values are distinct. Use --categorical id" in ended.notes
    model: Any = library.load(flats.with_suffix(".csid"))
    assert isinstance(model, library.BayesianCSIDRegressor)
    assert isinstance(model.schema_, Schema)
    assert model.schema_.targets == ("rent",)
    assert model.schema_.missing == ("NA", "?", "")
    assert model.categorical_features == ["town", "state", "lift"]


def test_the_same_seed_gives_the_same_file(csid: Run, flats: Path, tmp_path: Path) -> None:
    for name, threads in (("one", "1"), ("two", "2")):
        assert csid("fit", flats, "--target", "rent", "-o", name, "--threads", threads, *QUICK).code == 0
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_least_squares_and_several_targets(csid: Run, flats: Path, tmp_path: Path) -> None:
    line = ("fit", flats, "--target", "rent", "--target", "floor", "--estimator", "als", "-o", "m.csid")
    ended = csid(*line, "--set", "max_iter=5", "--holdout", "0.25", "--json")
    assert ended.code == 0
    assert set(ended.document["held_out"]) == {"rent", "floor"}
    assert ended.document["held_out"]["rent"]["rows"] == 50
    assert ended.document["rows"] == 200
    ended = csid("predict", "m.csid", flats, "-o", "p.csv")
    assert ended.code == 0
    assert (tmp_path / "p.csv").read_text().splitlines()[0] == '"prediction_rent","prediction_floor"'
    refused = csid("predict", "m.csid", flats, "--interval", "0.9")
    assert refused.code == Exit.USAGE
    assert "has no predictive distribution. For intervals, fit with --estimator bayesian" in refused.notes


def test_fit_ends_with_how_good_the_model_is(csid: Run, flats: Path) -> None:
    line = ("fit", flats, "--target", "rent", "-o", "m.csid", *QUICK, "--set", 'prior=["medium", "smooth"]')
    shown = csid(*line, "--set", "n_burn=60").out
    assert re.search(r"rent: R² 0\.9\d\d, RMSE \d+.*, and 90 % intervals cover \d+% of 200 held-out rows", shown)
    assert re.search(r"Most important predictors: area \d+%, \w+ \d+%, \w+ \d+%\.", shown)
    document = csid("info", "m.csid", "--json").document["training"]
    assert document["accuracy"]["rent"]["rows"] == 200
    assert next(iter(document["importance"])) == "area"
    assert "--holdout 0.2 evaluates a fit" in csid("fit", flats, "--target", "rent", *QUICK).out


def test_a_holdout_does_not_change_the_model(csid: Run, flats: Path, tmp_path: Path) -> None:
    line = ("fit", flats, "--target", "rent", *QUICK)
    assert csid(*line, "-o", "plain").code == 0
    ended = csid(*line, "-o", "evaluated", "--holdout", "0.25")
    assert "Metrics on 50 held-out rows, of a fit to the other 150" in ended.out
    assert (tmp_path / "plain").read_bytes() == (tmp_path / "evaluated").read_bytes()


def test_predict_is_what_the_library_predicts(csid: Run, flats: Path, model: Path, tmp_path: Path) -> None:
    ended = csid(
        "predict", model, flats, "--interval", "0.8", "--std", "--keep", "id,floor", "-o", "p.parquet", "--json"
    )
    document = {"model": str(model), "data": str(flats), "output": "p.parquet", "rows": 200}
    assert ended.document == {**document, "absent": [], "unseen": []}
    found = pa.parquet.read_table(tmp_path / "p.parquet")
    assert found.column_names == ["id", "floor", "prediction", "std", "lower", "upper"]
    assert found["id"].to_pylist() == table()["id"].to_pylist()
    loaded: Any = library.load(model)
    from csid.cli.columns import predictors

    X = predictors(table(), loaded.schema_)
    np.testing.assert_array_equal(found["prediction"].to_numpy(), loaded.predict(X))
    np.testing.assert_array_equal(found["std"].to_numpy(), loaded.predict(X, return_std=True)[1])
    np.testing.assert_array_equal(found["upper"].to_numpy(), loaded.predict_interval(X, 0.8)[1])


def test_predict_reads_in_parts_and_says_so_little(
    csid: Run, flats: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = csid("predict", model, flats)
    monkeypatch.setattr("csid.cli.tables.read_table._PART_ROWS", 7)
    monkeypatch.setattr("csid.cli.tables.csv_text._BLOCK_BYTES", 500)
    in_parts = csid("predict", model, flats)
    assert in_parts.out == whole.out
    assert len(whole.out.splitlines()) == 201
    assert whole.notes == ""


def test_a_pipe_of_commands(csid: Run, model: Path) -> None:
    rows = as_csv(table(5, seed=1))
    ended = csid("predict", model, "-", stdin=rows)
    assert ended.code == 0
    assert len(ended.out.splitlines()) == 6


def test_columns_that_predict_does_not_need_may_hold_anything(csid: Run, model: Path, tmp_path: Path) -> None:
    rows = table(4).drop_columns(["rent"]).append_column("note", pa.array(["x", "1", None, "é"]))
    (tmp_path / "new.csv").write_bytes(as_csv(rows))
    ended = csid("predict", model, "new.csv", "--keep", "all")
    assert ended.code == 0
    assert ended.out.splitlines()[0].endswith('"note","prediction"')


def test_a_predictor_that_is_not_there(csid: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_bytes(as_csv(table(4).drop_columns(["area"])))
    refused = csid("predict", model, "new.csv")
    assert refused.code == Exit.DATA
    assert "new.csv has no column 'area'" in refused.notes
    assert refused.out == ""
    assert csid("predict", model, "new.csv", "--absent-as-missing").code == 0


def test_categories_never_seen_are_averaged_over(csid: Run, model: Path, tmp_path: Path) -> None:
    lines = ["area,town,state,lift,floor,built", "50,Ulm,good,true,1,2020-05-05", "50,Paris,good,true,1,2020-05-05"]
    lines.append("50,,good,true,1,2020-05-05")
    (tmp_path / "new.csv").write_text("\n".join(lines))
    _, ulm, paris, missing = csid("predict", model, "new.csv").out.split()
    assert paris == missing != ulm


UNKNOWN = [
    "area,town,state,lift,floor,built,rent",
    "-999,Paris,good,true,1,2020-05-05,500",
    "50,ulm,great,true,1,2020-05-05,510",
    "50,Ulm,good,true,1,2035-05-05,520",
]


def test_commands_say_what_a_model_does_not_know(csid: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("\n".join(UNKNOWN))
    told = (
        "Column 'town': 2 of 3 rows hold unseen categories, which count as missing: 'Paris' (1), 'ulm' (1, like 'Ulm')",
        "Column 'state': 1 of 3 rows hold unseen categories, which count as missing: 'great' (1)",
        "Column 'area': 1 of 3 rows are beyond the training range 20",
        "and count as its end: 2035-05-05 (1)",
        "Fit with --normalise-text",
    )
    for line in (["predict", "-o", "p.csv"], ["evaluate"], ["report"]):
        command, *more = line
        ended = csid(command, model, "new.csv", *more)
        assert ended.code == 0
        assert [part for part in told if part not in ended.notes] == []
        document = csid(command, model, "new.csv", *more, "--json", "-q").document
        assert [each["predictor"] for each in document["unseen"]] == ["area", "town", "state", "built"]
        assert document["unseen"][1]["values"][1] == {"value": "ulm", "rows": 1, "similar": "Ulm"}
        assert document["unseen"][3]["limits"][0].startswith("2020-01")


def test_absent_predictors_are_told(csid: Run, flats: Path, model: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_bytes(as_csv(table(20).drop_columns(["area", "town"])))
    for line in (["predict", "-o", "p.csv"], ["evaluate"], ["report"]):
        command, *more = line
        assert csid(command, model, "new.csv", *more).code == Exit.DATA
        ended = csid(command, model, "new.csv", *more, "--absent-as-missing", "--json")
        assert ended.document["absent"] == ["area", "town"]
        assert "Column 'town': not in the file, and missing in every row." in ended.notes


@pytest.mark.parametrize("where", ["--in-memory", "--out-of-core"])
def test_texts_that_differ_in_case_or_blanks_are_merged(where: str, csid: Run, flats: Path, tmp_path: Path) -> None:
    text = flats.read_text()
    (tmp_path / "mixed.csv").write_text(text.replace("Ulm", "ULM", 20).replace('"Aalen"', '" aalen "', 9))
    line = ["--target", "rent", "--ordinal", "state=Poor,fair,GOOD", "--normalise-text", "--ignore", "id", *QUICK]
    for name in ("flats.csv", "mixed.csv"):
        assert csid("fit", name, where, *line).code == 0
    one, other = (library.load(tmp_path / f"{name}.csid") for name in ("flats", "mixed"))
    assert one.levels_ == other.levels_
    assert one.levels_["town"] == ["aalen", "kehl, rhein", "ulm"]
    assert one.levels_["state"] == ["poor", "fair", "good"]
    predicted = [csid("predict", "flats.csid", name).out for name in ("flats.csv", "mixed.csv")]
    assert predicted[0] == predicted[1]
    assert csid("predict", "flats.csid", "mixed.csv").notes == ""
    assert csid("export", "flats.csid", "--to", "python").code == 0
    assert "ONNX does not" in csid("export", "flats.csid", "--to", "onnx").notes
    module: dict[str, Any] = {"__name__": "flats"}
    exec((tmp_path / "flats.py").read_text(), module)
    row = {"area": 50.0, "state": "good", "lift": True, "floor": 1.0, "built": "2020-05-05"}
    assert module["predict"]({**row, "town": "Ulm"}) == module["predict"]({**row, "town": " ULM "})


@pytest.mark.parametrize("where", ["--in-memory", "--out-of-core"])
def test_remarks_are_shown_before_the_fit(where: str, csid: Run, tmp_path: Path) -> None:
    rows = table().append_column("cost", pa.array(2.0 * table()["rent"].to_numpy())).drop_columns(["id"])
    rows = rows.append_column("land", pa.array(["DE"] * 200)).append_column("nr", pa.array(range(200)))
    (tmp_path / "odd.csv").write_bytes(as_csv(rows))
    ended = csid("fit", "odd.csv", where, "--target", "rent", *QUICK)
    assert ended.code == 0
    for part in ("'cost' repeats the target 'rent'", "'land' has the same value in all rows, 'DE'", "'nr' numbers the"):
        assert part in ended.notes
    assert ("In these rows, column 'cost'" in ended.notes) == (where == "--out-of-core")


def test_very_many_notes_are_cut_short(csid: Run, tmp_path: Path) -> None:
    rows = table(60).select(["area", "rent"])
    for at in range(30):
        rows = rows.append_column(f"same {at}", pa.array([at] * 60))
    (tmp_path / "many.csv").write_bytes(as_csv(rows))
    ended = csid("fit", "many.csv", "--target", "rent", "--estimator", "als", "--set", "max_iter=2")
    assert "Column 'same 18' has the same value" in ended.notes
    assert "Column 'same 19' has the same value" not in ended.notes
    assert "… and 11 more such notes." in ended.notes


@pytest.mark.parametrize("where", ["--in-memory", "--out-of-core"])
def test_classes_are_no_targets_of_regression(where: str, csid: Run, flats: Path) -> None:
    for targets in (["town", "--task", "regression"], ["town", "--target", "rent"]):
        refused = csid("fit", flats, where, "--target", *targets)
        assert refused.code == Exit.DATA
        assert "'town' must be numeric, but row 1 holds 'Kehl, Rhein'. Texts and truth values are" in refused.notes
        assert "use --task classification, with one --target" in refused.notes
    assert "use --task classification" in csid("fit", flats, where, "--target", "lift", "--task", "regression").notes


def test_no_rows_give_no_predictions(csid: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("area,town,state,lift,floor,built\n")
    ended = csid("predict", model, "new.csv", "--interval", "0.9")
    assert (ended.code, ended.out) == (0, '"prediction","lower","upper"\n')


def test_evaluate_gives_metrics_with_confidence(csid: Run, flats: Path, model: Path) -> None:
    ended = csid("evaluate", model, flats, "--group", "lift", "--json")
    overall = ended.document["overall"]["rent"]
    assert overall["rows"] == 200
    loaded: Any = library.load(model)
    from csid.cli.columns import predictors

    error = table()["rent"].to_numpy() - loaded.predict(predictors(table(), loaded.schema_))
    assert overall["rmse"]["value"] == pytest.approx(np.sqrt(np.mean(error**2)))
    assert overall["mae"]["value"] == pytest.approx(np.mean(np.abs(error)))
    for metric in ("rmse", "mae", "r2", "coverage", "crps"):
        assert overall[metric]["low"] <= overall[metric]["value"] <= overall[metric]["high"]
    groups = ended.document["groups"]
    assert sum(found["rent"]["rows"] for found in groups.values()) == 200
    shown = csid("evaluate", model, flats, "--group", "lift")
    assert "RMSE" in shown.out
    assert "rent by lift" in shown.out


def test_rows_of_a_group_are_held_out_together() -> None:
    from csid.cli.labelled_rows import LabelledRows

    groups = np.array(list("aabbccddee"))
    train, test = LabelledRows(table(10), np.arange(10.0), None, groups).split(0.4, 0)
    assert train.groups is not None
    assert test.groups is not None
    assert sorted([*train.y, *test.y]) == list(range(10))
    assert train.X["id"].to_pylist() == [f"flat {at:.0f}" for at in train.y]
    assert len(set(test.groups)) == 2
    assert not set(train.groups) & set(test.groups)


def test_weights_reach_the_fit(csid: Run, tmp_path: Path) -> None:
    weighted = table().append_column("w", pa.array(np.arange(200) % 2))
    (tmp_path / "w.csv").write_bytes(as_csv(weighted))
    assert csid("fit", "w.csv", "--target", "rent", "--weight", "w", *QUICK).code == 0
    assert library.load(tmp_path / "w.csid").n_samples_ == 100


def test_weights_have_no_scale_unless_they_are_counts(csid: Run, tmp_path: Path) -> None:
    def fitted(weights: Any, *options: str) -> Any:
        (tmp_path / "w.csv").write_bytes(as_csv(table().append_column("w", pa.array(weights))))
        assert csid("fit", "w.csv", "--target", "rent", "--weight", "w", *options, *QUICK).code == 0
        return library.load(tmp_path / "w.csid")

    weights = 1 + np.arange(200) % 3
    assert fitted(weights).noise_ == fitted(weights / 600.0).noise_
    counts = fitted(10 * weights, "--counts")
    assert counts.weights == "counts"
    assert counts.noise_ != fitted(10 * weights).noise_
    refused = csid("fit", "w.csv", "--target", "rent", "--counts")
    assert refused.code != 0
    assert "name their column with --weight" in refused.notes


def test_evaluate_weighs_rows(csid: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_bytes(as_csv(table().append_column("w", pa.array(np.arange(200) % 2))))
    (tmp_path / "half.csv").write_bytes(as_csv(table().take(np.arange(1, 200, 2))))
    weighted = csid("evaluate", model, "w.csv", "--weight", "w", "--json").document["overall"]["rent"]
    half = csid("evaluate", model, "half.csv", "--json").document["overall"]["rent"]
    assert weighted["rmse"]["value"] == pytest.approx(half["rmse"]["value"])


def test_evaluate_takes_weights_of_any_scale_and_no_others(csid: Run, model: Path, tmp_path: Path) -> None:
    def evaluated(weights: Any) -> Any:
        (tmp_path / "w.csv").write_bytes(as_csv(table().append_column("w", pa.array(weights))))
        return csid("evaluate", model, "w.csv", "--weight", "w", "--json")

    weights = 1.0 + np.arange(200) % 3
    assert evaluated(weights).document == evaluated(1e300 * weights).document
    refused = evaluated(np.where(np.arange(200) == 3, -1.0, 1.0))
    assert refused.code != 0
    assert "holds -1.0 in row 4" in refused.out + refused.notes


def test_rows_without_a_target_are_left_out(csid: Run, model: Path, tmp_path: Path) -> None:
    text = as_csv(table()).decode().splitlines()
    text[1] = text[1].rpartition(",")[0] + ","
    (tmp_path / "gap.csv").write_text("\n".join(text))
    ended = csid("evaluate", model, "gap.csv")
    assert "Rows skipped because a target is missing: 1." in ended.notes
    ended = csid("fit", "gap.csv", "--target", "rent", "-q", *QUICK)
    assert "199 rows" in ended.out


def test_info_says_what_a_stranger_needs(csid: Run, model: Path) -> None:
    document = csid("info", model, "--json").document
    assert document["targets"] == ["rent"]
    assert document["csid"] == library.__version__
    assert document["rows"] == 200
    assert document["parameters"]["rank"] == 3
    by_name = {each["predictor"]: each for each in document["predictors"]}
    assert by_name["state"]["type"] == "ordinal"
    assert by_name["town"] == {
        "predictor": "town",
        "type": "text",
        "kind": "category",
        "levels": 3,
        "from": "Aalen",
        "to": "Ulm",
        "missing": "imputed from the other predictors",
    }
    assert document["pmf_rank"] > 1
    assert document["likelihood"] == "gaussian"
    shown = csid("info", model).out
    for part in ("BayesianCSIDRegressor", "rank 3", "town", "convergence"):
        assert part in shown


def test_explain_orders_predictors_by_what_they_do(csid: Run, model: Path) -> None:
    document = csid("explain", model, "--json").document
    assert document["predictors"][0]["predictor"] == "area"
    assert "identifiability" not in document
    shown = csid("explain", model, "--predictor", "town").out
    assert "Mean prediction at each level of town" in shown
    assert "Kehl, Rhein" in shown
    assert csid("explain", model, "--predictor", "nope").code == Exit.USAGE


def test_the_report_is_one_page_with_metrics_of_the_rows(csid: Run, model: Path, flats: Path) -> None:
    ended = csid("report", model, flats, "--title", "Rents", "--json")
    text = model.with_suffix(".html").read_text()
    assert ended.code == 0
    assert ended.document["bytes"] == model.with_suffix(".html").stat().st_size
    assert "<title>Rents</title>" in text
    document = json.loads(text.split('id="document">')[1].split("</script>")[0])
    assert document["targets"] == ["rent"]
    assert document["sections"]["overview"]["rows"] == 200
    assert csid("report", model, "--output", "alone.html").code == 0


@pytest.mark.parametrize(("to", "ending"), [("onnx", ".onnx"), ("python", ".py"), ("json", ".json")])
def test_export_writes_every_format(to: str, ending: str, csid: Run, model: Path) -> None:
    ended = csid("export", model, "--to", to, "--json")
    assert ended.code == 0
    assert model.with_suffix(ending).stat().st_size == ended.document["bytes"]


def test_export_of_intervals(csid: Run, model: Path) -> None:
    assert csid("export", model, "--to", "onnx", "--interval", "0.9").code == 0
    assert csid("export", model, "--to", "json", "--interval", "0.9").code == Exit.USAGE


def test_datasets_are_listed_and_described(csid: Run) -> None:
    names = [each["name"] for each in csid("datasets", "--json").document["datasets"]]
    assert "concrete" in names
    assert "Nash" in csid("datasets", "abalone").out
    assert csid("datasets", "nope").code == Exit.DATA


def test_tune_goes_on_where_it_stopped(csid: Run, flats: Path, tmp_path: Path) -> None:
    line = ["tune", flats, "--target", "rent", "--estimator", "als", "--folds", "2", "--seed", "1"]
    first = csid(*line, "--trials", "2", "--json").document
    again = csid(*line, "--trials", "3", "--json")
    assert (first["trials"], again.document["trials"]) == (2, 3)
    assert again.document["error"] <= first["error"] <= first["error_of_defaults"]
    assert again.document["error_of_defaults"] == first["error_of_defaults"]
    assert "Trial 0" in csid(*line[:-1], "2", "--trials", "1", "--study", "other").notes
    assert "Trial 2" in again.notes
    assert "Trial 1" not in again.notes
    model: Any = library.load(tmp_path / "flats.csid")
    assert model.rank == again.document["settings"]["rank"]
    refused = csid(*line, "--trials", "3", "--group", "town")
    assert refused.code == Exit.DATA
    assert "holds trials with a different schema" in refused.notes


def test_tune_of_the_bayesian_estimator_keeps_groups_together(csid: Run, tmp_path: Path) -> None:
    (tmp_path / "some.csv").write_bytes(as_csv(table(60)))
    ended = csid(
        "tune", "some.csv", "--target", "rent", "--group", "floor", "--trials", "1", "--folds", "2", "-q", "--json"
    )
    assert ended.code == 0
    assert ended.document["settings"]["likelihood"] == "gaussian"


def test_tune_needs_as_many_groups_as_folds(csid: Run, flats: Path) -> None:
    ended = csid("tune", flats, "--target", "rent", "--estimator", "als", "--group", "lift", "--folds", "3")
    assert ended.code == Exit.DATA
    assert "greater than the number of groups: 2" in ended.notes


def test_the_demo_shows_what_a_user_would_type(csid: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from csid.estimators import sampling

    monkeypatch.setattr(sampling, "_PLANS", {"default": sampling._PLANS["fast"]._replace(burn=20, draws=10)})
    ended = csid("demo", "--folder", "here")
    assert ended.code == 0
    typed = re.findall(r"^\$ csid (\w+)", ended.out, re.MULTILINE)
    assert typed == ["fit", "evaluate", "explain", "predict", "report"]
    assert sorted(path.name for path in Path("here").iterdir()) == [
        "house-new.csv",
        "house.csid",
        "house.csv",
        "house.html",
        "predicted.csv",
    ]


def test_an_interrupt_of_the_demo_is_one_message(csid: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("csid.cli.training.read", interrupted)
    ended = csid("demo")
    assert ended.code == Exit.INTERRUPTED
    assert ended.notes == "csid: interrupted; existing files are unchanged.\n"


def test_json_is_all_there_is_on_standard_output(csid: Run, flats: Path, model: Path) -> None:
    for line in (
        ["fit", flats, "--target", "rent", *QUICK],
        ["evaluate", model, flats],
        ["info", model],
        ["explain", model],
    ):
        ended = csid(*line, "--json", "--quiet")
        assert ended.code == 0
        assert isinstance(json.loads(ended.out), dict)
        assert ended.notes == ""
    refused = csid("predict", model, flats, "--json")
    assert refused.code == Exit.USAGE
    assert "would both go to standard output" in refused.notes


def test_a_config_file_can_say_what_flags_say(csid: Run, flats: Path, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(
        'target = ["rent"]\nseed = 3\n[fit]\nestimator = "als"\nset = ["rank=2", "max_iter=3"]\nignore = ["built"]\n'
    )
    assert csid("fit", flats, "--config", "c.toml").code == 0
    model: Any = library.load(tmp_path / "flats.csid")
    assert (model.rank, model.random_state, model.n_features_in_) == (2, 3, 5)
    assert csid("fit", flats, "--config", "c.toml", "--seed", "4").code == 0
    assert library.load(tmp_path / "flats.csid").random_state == 4
    (tmp_path / "c.toml").write_text("[fit]\nspeed = 3\n")
    refused = csid("fit", flats, "--target", "rent", "--config", "c.toml")
    assert (refused.code, "no option --speed" in refused.notes) == (Exit.USAGE, True)
    (tmp_path / "c.toml").write_text("= 3")
    assert csid("fit", flats, "--target", "rent", "--config", "c.toml").code == Exit.USAGE


WRONG: dict[str, tuple[list[str], Exit]] = {
    "--target rant: no such column. The columns are": (["fit", "flats.csv", "--target", "rant"], Exit.USAGE),
    "--set rink=3: BayesianCSIDRegressor has no parameter 'rink'": (
        ["fit", "flats.csv", "--target", "rent", "--set", "rink=3"],
        Exit.USAGE,
    ),
    "'rank' parameter": (["fit", "flats.csv", "--target", "rent", "--set", "rank=many"], Exit.DATA),
    "'id' holds 200 different texts in 200 rows, too few rows of each": (
        ["fit", "flats.csv", "--target", "id"],
        Exit.DATA,
    ),
    "no such file (nope.csv)": (["fit", "nope.csv", "--target", "y"], Exit.FILES),
    "nope.csid": (["info", "nope.csid"], Exit.FILES),
    "flats.csv is not a": (["info", "flats.csv"], Exit.MODEL),
    "flats.csid is a model file": (["fit", "flats.csid", "--target", "rent"], Exit.DATA),
    "does not tell where to write the model": (["fit", "-", "--target", "rent"], Exit.USAGE),
    "empty.csv is empty": (["fit", "empty.csv", "--target", "rent"], Exit.DATA),
    "ragged.csv: line 3 has 3 values, but the header has 2 columns": (
        ["fit", "ragged.csv", "--target", "a"],
        Exit.DATA,
    ),
    "1 row(s) with a target; a fit needs at least 2": (["fit", "one.csv", "--target", "a"], Exit.DATA),
    "--holdout 0.1 of 4 groups holds out 0 rows": (
        ["fit", "flats.csv", "--target", "rent", "--holdout", "0.1", "--group", "town"],
        Exit.DATA,
    ),
    "probability between 0 and 1": (["predict", "flats.csid", "flats.csv", "--interval", "1.0"], Exit.USAGE),
}


@pytest.mark.parametrize("message", WRONG)
def test_errors_are_one_message_and_a_code(message: str, csid: Run, flats: Path, model: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "ragged.csv").write_text("a,b\n1,2\n1,2,3\n")
    (tmp_path / "one.csv").write_text("a,b\n1,2\n,3\n")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    line, code = WRONG[message]
    ended = csid(*line)
    assert message in ended.notes
    assert "Traceback" not in ended.notes
    assert ended.out == ""
    assert ended.code == code
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_debug_shows_where(csid: Run) -> None:
    assert "Traceback" in csid("--debug", "info", "nope.csid").notes


def test_what_was_not_foreseen_says_so(csid: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("csid.model_file.read_model", lambda path: {}["oops"])
    ended = csid("info", model)
    assert ended.code == Exit.FAILED
    assert "unexpected error: KeyError: 'oops'" in ended.notes


def test_a_full_disk_leaves_the_old_model(flats: Path, model: Path, tmp_path: Path) -> None:
    before = model.read_bytes()
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))"
    program = f"{limit}; import sys; from csid.cli.app import main; main()"
    line = ["fit", str(flats), "--target", "rent", "-q", *QUICK]
    ended = subprocess.run([sys.executable, "-B", "-c", program, *line], capture_output=True, text=True, check=False)
    assert ended.returncode == Exit.FILES
    assert len(ended.stderr.splitlines()) == 1
    assert model.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["flats.csid", "flats.csv"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full to write to")
def test_standard_output_that_is_full(flats: Path, model: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "csid", "predict", str(model), str(flats)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == Exit.FILES
    assert "no space left on the disk" in ended.stderr
    assert "Traceback" not in ended.stderr


ENDINGS = {
    signal.SIGINT: (Exit.INTERRUPTED, "interrupted"),
    signal.SIGTERM: (Exit.TERMINATED, "terminated"),
    signal.SIGHUP: (Exit.HUNG_UP, "hung up"),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_interrupt_leaves_nothing_half_written(ending: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "flats.csv").write_bytes(as_csv(table(3000)))
    (tmp_path / "temporary").mkdir()
    line = [sys.executable, "-m", "csid", "fit", "flats.csv", "--target", "rent", "--effort", "best"]
    line += ["--set", "rank=64", "--out-of-core"]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    with subprocess.Popen(line, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while "rent" not in process.stderr.readline():
            pass
        while not list((tmp_path / "temporary").glob("*/*")):  # rows are being written into the temporary folder
            time.sleep(0.05)
        process.send_signal(ending)
        rest = process.stderr.read()
        code, word = ENDINGS[ending]
        assert process.wait(60) == code
    assert f"{word}; existing files are unchanged" in rest
    assert "Traceback" not in rest
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["flats.csv", "temporary"]


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_draws_until_an_interrupt_do_not_replace_a_model(
    ending: signal.Signals, csid: Run, flats: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from csid.inference import sampling

    run, (code, word) = sampling.run, ENDINGS[ending]

    def interrupted(*arguments: Any) -> Iterator[Any]:
        yield from run(*arguments)
        os.kill(os.getpid(), ending)

    monkeypatch.setattr(sampling, "run", interrupted)
    line = ("fit", flats, "--target", "rent", "--set", "missing=marginalize", "--set", "pmf_rank=1", *QUICK)
    model = flats.with_suffix(".csid")
    ended = csid(*line)
    assert ended.code == code
    assert "keeps the draws made so far" in ended.notes
    assert f"{word}; {model} holds the draws made until then." in ended.notes
    assert library.load(model).n_samples_ == 200
    before = model.read_bytes()
    ended = csid(*line, "--seed", "1")
    assert ended.code == code
    assert f"{word}; {model} is unchanged. With --keep-partial" in ended.notes
    assert model.read_bytes() == before
    assert csid(*line, "--seed", "1", "--keep-partial").code == code
    assert model.read_bytes() != before


@pytest.mark.parametrize("arguments", [["predict", "flats.csid", "flats.csv"], ["info", "flats.csid"], ["datasets"]])
def test_a_reader_that_is_gone_ends_a_command_quietly(arguments: list[str], flats: Path, model: Path) -> None:
    line = [sys.executable, "-m", "csid", *arguments]
    read, write = os.pipe()
    os.close(read)
    ended = subprocess.run(line, cwd=flats.parent, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (ended.returncode, ended.stderr) == (Exit.PIPE_CLOSED, b"")


def test_help_and_version_come_from_a_shell(shell: Run) -> None:
    ended = shell("--help")
    assert ended.code == 0
    for command in ("fit", "predict", "evaluate", "tune", "explain", "report", "info", "export", "datasets", "demo"):
        assert command in ended.out
        assert shell(command, "--help").code == 0
    assert shell("--version").out == f"csid {library.__version__}\n"
    assert shell("fit").code == Exit.USAGE


def test_help_imports_nothing_heavy() -> None:
    program = "import sys; from csid.cli.app import app; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    heavy = {"numpy", "numba", "sklearn", "scipy", "pyarrow", "pandas", "polars", "optuna", "onnx"}
    assert not heavy & set(ended.stdout.split())


def test_bars_are_for_terminals(shell: Run, flats: Path) -> None:
    ended = shell("fit", flats, "--target", "rent", *QUICK)
    assert ended.code == 0
    assert "\x1b" not in ended.notes + ended.out
    assert "━" not in ended.notes


def test_a_terminal_sees_bars(flats: Path) -> None:
    pty = pytest.importorskip("pty")
    leader, follower = pty.openpty()
    line = [sys.executable, "-m", "csid", "fit", str(flats), "--target", "rent", *QUICK]
    with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=follower) as process:
        os.close(follower)
        seen = b""
        while True:
            try:
                part = os.read(leader, 4096)
            except OSError:
                break
            if not part:
                break
            seen += part
        assert process.wait(60) == 0
    os.close(leader)
    assert "━".encode() in seen
    assert b"chains" in seen


def test_an_exported_module_reads_the_files_that_csid_reads(csid: Run, model: Path, tmp_path: Path) -> None:
    """Dates, ordered words, and words for missing cells among them."""
    lines = ["area,town,state,lift,floor,built", "50,Ulm,good,true,1,2020-05-05", "?,NA,poor,false,NaN,"]
    lines.append('71.5,"Kehl, Rhein",fair,true,2,2021-02-03')
    (tmp_path / "new.csv").write_text("\n".join(lines))
    assert csid("export", model, "--to", "python", "-o", "module.py").code == 0
    expected = csid("predict", model, "new.csv", "--interval", "0.9", "-o", "expected.csv")
    assert expected.code == 0
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "module.py", "new.csv", "--interval", "0.9"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    found = np.array([line.split(",") for line in ended.stdout.splitlines()[1:]], float)
    wanted = np.loadtxt(tmp_path / "expected.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
