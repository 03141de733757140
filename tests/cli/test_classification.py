"""Classification on the command line: tasks, labels, probabilities, metrics, and nasty targets."""

import csv
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import csid as library
from cli.conftest import QUICK, Run, as_csv, table
from csid import BayesianCSIDClassifier, BayesianCSIDRegressor
from csid.cli import app as application
from csid.cli.errors import Exit
from csid.cli.labelled_rows import LabelledRows

FAST = [*QUICK, "--set", "pmf_rank=1", "--set", "missing=marginalize"]


def classified(rows: int = 200, seed: int = 0) -> pa.Table:
    """Flats whose size, in words, depends on their area and town."""
    flats = table(rows, seed).drop_columns(["id", "floor", "rent"])
    area = np.nan_to_num(flats["area"].to_numpy(), nan=70.0) + 20.0 * (np.array(flats["town"].to_pylist()) == "Ulm")
    words = np.select([area < 55.0, area < 95.0], ["small", "so so"], "large")
    return flats.append_column("size", pa.array(words))


@pytest.fixture
def sizes(tmp_path: Path) -> Path:
    path = tmp_path / "sizes.csv"
    path.write_bytes(as_csv(classified()))
    return path


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a classifier of the sizes."""
    folder = tmp_path_factory.mktemp("classifier")
    (folder / "sizes.csv").write_bytes(as_csv(classified()))
    application.app(["fit", str(folder / "sizes.csv"), "--target", "size", "-q", *FAST], standalone_mode=False)
    return (folder / "sizes.csid").read_bytes()


@pytest.fixture
def model(saved: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "sizes.csid"
    path.write_bytes(saved)
    return path


def records(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def labels_file(path: Path, labels: Any, rows: int | None = None) -> Path:
    """A file with a number that tells the label, and the label as the text it is."""
    codes = {label: code for code, label in enumerate(dict.fromkeys(labels))}
    noise = np.random.default_rng(0).normal(0.0, 0.2, len(labels))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["x", "y"])
        writer.writerows([f"{codes[label] + shift:.3f}", label] for label, shift in zip(labels, noise, strict=True))
    return path


# --- the task --------------------------------------------------------------------------------------------------------


TARGETS: dict[str, tuple[list[str], str, list[Any] | None]] = {
    "texts": (["no", "yes"] * 30, "because 'y' holds texts ('no', 'yes')", ["no", "yes"]),
    "truth values": (["TRUE", "FALSE"] * 30, "because 'y' holds truth values (False, True)", [False, True]),
    "two numbers": (["1", "2"] * 30, "because 'y' holds two different numbers (1, 2)", [1, 2]),
    "few numbers": (["1", "2", "3"] * 20, "because 'y' holds numbers (3 different ones)", None),
    "two fractions": (["0.5", "1"] * 30, "because 'y' holds numbers (2 different ones)", None),
}


@pytest.mark.parametrize("where", ["--in-memory", "--out-of-core"])
@pytest.mark.parametrize("what", TARGETS)
def test_the_target_decides_the_task_and_the_command_says_so(what: str, where: str, csid: Run, tmp_path: Path) -> None:
    labels, reason, classes = TARGETS[what]
    labels_file(tmp_path / "d.csv", labels)
    ended = csid("fit", "d.csv", where, "--target", "y", *FAST)
    assert ended.code == 0
    assert f"Task: {'regression' if classes is None else 'classification'}, {reason}" in ended.notes
    fitted: Any = library.load(tmp_path / "d.csid")
    assert isinstance(fitted, library.BayesianCSIDRegressor) == (classes is None)
    assert classes is None or fitted.classes_.tolist() == classes
    info = csid("info", "d.csid", "--json").document
    assert info["task"] == ("regression" if classes is None else "classification")


def test_few_whole_numbers_stay_numbers_with_a_remark(csid: Run, tmp_path: Path) -> None:
    labels_file(tmp_path / "d.csv", ["1", "2", "3"] * 20)
    ended = csid("fit", "d.csv", "--target", "y", *FAST)
    assert "'y' has 3 different whole numbers, and is fitted as a number" in ended.notes
    assert "--task classification" in ended.notes
    ended = csid("fit", "d.csv", "--target", "y", "--task", "classification", *FAST)
    assert "whole numbers" not in ended.notes
    assert "Task:" not in ended.notes
    assert library.load(tmp_path / "d.csid").classes_.tolist() == [1, 2, 3]
    assert csid("fit", "d.csv", "--target", "y", "--task", "regression", *FAST).code == 0
    assert library.load(tmp_path / "d.csid").fitted_.classes is None


def test_two_numbers_in_the_first_rows_do_not_decide(
    csid: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("csid.cli.tables.read_table._PART_ROWS", 20)
    for below, task in ((["0", "1", "2", "3"], "regression"), (["0", "1"], "classification")):
        labels_file(tmp_path / "d.csv", ["0", "1"] * 10 + below * 10)
        ended = csid("fit", "d.csv", "--out-of-core", "--target", "y", *FAST)
        assert f"Task: {task}, because 'y' holds" in ended.notes
        assert csid("info", "d.csid", "--json").document["task"] == task
    labels_file(tmp_path / "d.csv", ["0"] * 20 + ["1"] * 20)
    assert "holds two different numbers (0, 1)" in csid("fit", "d.csv", "--out-of-core", "--target", "y", *FAST).notes


def test_a_category_of_numbers_is_a_class(csid: Run, tmp_path: Path) -> None:
    y = pd.Categorical([3, 5, 7] * 20)
    pd.DataFrame({"x": np.arange(60.0) % 3, "y": y}).to_parquet(tmp_path / "d.parquet")
    ended = csid("fit", "d.parquet", "--target", "y", *FAST)
    assert "because 'y' is a category in its file (3, 5, 7)" in ended.notes
    assert library.load(tmp_path / "d.csid").classes_.tolist() == [3, 5, 7]


REFUSED: dict[str, tuple[list[str], list[str], str]] = {
    "mostly numbers": (["1.5", "2.5", "x", "3.5"] * 15, [], "must be numeric, but row 3 holds 'x'"),
    "hardly a text repeats": ([f"t{i}" for i in range(60)], [], "'y' holds 60 different texts in 60 rows"),
    "one class": (["a"] * 40, [], "a classifier needs rows of at least two classes"),
    "fractions": (["1.5", "2.5"] * 20, ["--task", "classification"], "holds 1.5 in row 1, but numbers that are labels"),
    "no targets": ([""] * 40, [], "0 row(s) with a target"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_targets_that_are_no_classes_are_refused(what: str, csid: Run, tmp_path: Path) -> None:
    labels, options, message = REFUSED[what]
    labels_file(tmp_path / "d.csv", labels)
    ended = csid("fit", "d.csv", "--target", "y", *options, *FAST)
    assert ended.code == Exit.DATA
    assert message in ended.notes
    assert not (tmp_path / "d.csid").exists()


def test_options_of_the_wrong_task_are_refused(csid: Run, sizes: Path, model: Path) -> None:
    ended = csid("fit", sizes, "--target", "size", "--target", "area", "--task", "classification")
    assert ended.code == Exit.USAGE
    assert "predicts one target, but --target names 2 ('size', 'area')" in ended.notes
    ended = csid("predict", model, sizes, "--std")
    assert ended.code == Exit.USAGE
    assert "--std: a predicted class has no standard deviation. Use --interval 0.9" in ended.notes
    assert csid("fit", sizes, "--target", "size", "--task", "nonsense").code == Exit.USAGE


def test_least_squares_classifies(csid: Run, sizes: Path) -> None:
    assert csid("fit", sizes, "--target", "size", "--estimator", "als", "--set", "rank=2").code == 0
    assert set(csid("evaluate", "sizes.csid", sizes, "--json").document["overall"]) == {"size"}
    assert csid("predict", "sizes.csid", sizes).out.startswith('"size","p_large","p_small","p_so so"\n')
    assert csid("predict", "sizes.csid", sizes, "--interval", "0.9").code == Exit.USAGE


# --- the output ------------------------------------------------------------------------------------------------------


def test_fit_ends_with_classes_and_their_metrics(csid: Run, sizes: Path) -> None:
    line = ("fit", sizes, "--target", "size", *FAST, "--set", 'prior=["medium", "smooth"]')
    shown = csid(*line).out
    assert re.search(r"size: accuracy \d\d\.\d%, log loss 0\.\d+ and Brier score 0\.\d+ on 200 held-out rows", shown)
    assert re.search(r"To predict so so always would have an accuracy of \d\d\.\d%", shown)
    assert re.search(r"Rows of each class: large \d+, small \d+, so so \d+\.", shown)
    training = csid("info", "sizes.csid", "--json").document["training"]
    assert set(training["accuracy"]["size"]) == {"rows", "accuracy", "log_loss", "brier"}
    assert sum(training["classes"].values()) == 200


def test_predict_writes_the_class_and_its_probabilities(csid: Run, sizes: Path, model: Path, tmp_path: Path) -> None:
    ended = csid("predict", model, sizes, "--interval", "0.8", "-o", "p.parquet")
    assert ended.code == 0
    found = pa.parquet.read_table(tmp_path / "p.parquet")
    labels = ["large", "small", "so so"]
    assert found.column_names == [
        "size",
        *(f"{kind}_{each}" for kind in ("p", "lower_p", "upper_p") for each in labels),
    ]
    loaded: Any = library.load(model)
    from csid.cli.columns import predictors

    X = predictors(classified(), loaded.schema_)
    assert found["size"].to_pylist() == loaded.predict(X).tolist()
    values = np.stack([found[name].to_numpy() for name in found.column_names[1:]], axis=1)
    np.testing.assert_array_equal(values[:, :3], loaded.predict_proba(X))
    np.testing.assert_array_equal(values[:, 3:], np.hstack(loaded.predict_proba_interval(X, 0.8)))
    assert (values[:, 3:6] <= values[:, 6:]).all()


def test_no_rows_give_no_classes(csid: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("area,town,state,lift,built\n")
    ended = csid("predict", model, "new.csv", "--interval", "0.9")
    assert ended.code == 0
    assert ended.out.startswith('"size","p_large","p_small","p_so so","lower_p_large"')
    assert len(ended.out.splitlines()) == 1


def test_copied_columns_are_not_replaced(csid: Run, sizes: Path, model: Path, tmp_path: Path) -> None:
    rows = classified().append_column("p_small", pa.array(range(200)))
    (tmp_path / "new.csv").write_bytes(as_csv(rows))
    found = records(csid("predict", model, "new.csv", "--keep", "all").out)
    assert [row["size"] for row in found] == rows["size"].to_pylist()
    assert [row["p_small"] for row in found] == list(map(str, range(200)))
    assert {"predicted_size", "size_p_small", "size_p_large"} <= set(found[0])
    twice = rows.append_column("predicted_size", pa.array(range(200)))
    (tmp_path / "new.csv").write_bytes(as_csv(twice))
    ended = csid("predict", model, "new.csv", "--keep", "all")
    assert (ended.code, ended.out) == (Exit.USAGE, "")
    assert "two columns of the output would be named 'predicted_size'" in ended.notes


def test_predictions_are_read_part_by_part(
    csid: Run, sizes: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = pd.read_csv(io.StringIO(csid("predict", model, sizes).out))
    monkeypatch.setattr("csid.cli.tables.read_table._PART_ROWS", 70)
    pd.testing.assert_frame_equal(pd.read_csv(io.StringIO(csid("predict", model, sizes).out)), whole)


def test_evaluate_gives_metrics_and_a_confusion_matrix(csid: Run, sizes: Path, model: Path) -> None:
    ended = csid("evaluate", model, sizes, "--group", "lift", "--json")
    overall = ended.document["overall"]["size"]
    names = ("accuracy", "balanced_accuracy", "log_loss", "brier", "calibration_error", "roc_auc")
    assert [overall[name]["low"] <= overall[name]["value"] <= overall[name]["high"] for name in names] == [True] * 6
    predicted = [row["size"] for row in records(csid("predict", model, sizes).out)]
    right = np.array(predicted) == np.array(classified()["size"].to_pylist())
    assert overall["accuracy"]["value"] == pytest.approx(right.mean())
    confusion = np.array(overall["confusion"]["seen_by_predicted"])
    assert overall["confusion"]["labels"] == ["large", "small", "so so"]
    assert confusion.sum() == 200
    assert np.trace(confusion) == right.sum()
    groups = ended.document["groups"]
    assert sum(found["size"]["rows"] for found in groups.values()) == 200
    shown = csid("evaluate", model, sizes, "--group", "lift").out
    for part in ("expected calibration error", "ROC AUC", "predicted so so", "size by lift"):
        assert part in shown


def test_evaluate_weighs_rows(csid: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_bytes(as_csv(classified().append_column("w", pa.array(np.arange(200) % 2))))
    (tmp_path / "half.csv").write_bytes(as_csv(classified().take(np.arange(1, 200, 2))))
    weighted = csid("evaluate", model, "w.csv", "--weight", "w", "--json").document["overall"]["size"]
    half = csid("evaluate", model, "half.csv", "--json").document["overall"]["size"]
    for name in ("accuracy", "balanced_accuracy", "log_loss", "brier", "calibration_error", "roc_auc"):
        assert weighted[name]["value"] == pytest.approx(half[name]["value"])


def test_a_label_only_in_new_rows_is_an_error(csid: Run, sizes: Path, model: Path, tmp_path: Path) -> None:
    lines = sizes.read_text().splitlines()
    lines[1] = lines[1].rpartition(",")[0] + ","  # rows are counted as in the file, with those that are skipped
    for label, hint in (("huge", ""), ("Small ", "It differs from 'small' only in case or blanks")):
        lines[5] = lines[5].rpartition(",")[0] + "," + label
        (tmp_path / "new.csv").write_text("\n".join(lines))
        ended = csid("evaluate", model, "new.csv")
        assert ended.code == Exit.DATA
        assert f"the target 'size' holds {label!r} in row 5, a class that no training row had" in ended.notes
        assert "The classes of the model are 'large', 'small', 'so so'" in ended.notes
        assert hint in ended.notes


def test_explain_is_on_the_latent_scale(csid: Run, model: Path) -> None:
    document = csid("explain", model, "--json").document
    assert (document["explained"], document["targets"]) == ("latent value", ["size"])
    assert document["outputs"] == ["large", "small", "so so"]
    assert document["predictors"][0]["predictor"] == "area"
    assert set(document["predictors"][0]["effect_std"]) == set(document["outputs"])
    shown = csid("explain", model, "--predictor", "town").out
    for part in ("Main effects on size = so so", "Effects are on the latent scale", "Mean latent value at each level"):
        assert part in shown


def test_what_the_library_does_not_do_is_an_error_of_usage(
    csid: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: Any, **__: Any) -> None:
        raise NotImplementedError("reports do not support this.")

    monkeypatch.setattr("csid.report.write_report", unsupported)
    ended = csid("report", model)
    assert (ended.code, ended.notes) == (Exit.USAGE, "csid: reports do not support this.\n")


# --- options of a fit ------------------------------------------------------------------------------------------------


def test_streamed_rows_give_classes_too(
    csid: Run, sizes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = ("fit", sizes, "--target", "size", *FAST)
    assert csid(*line, "--in-memory", "-o", "whole.csid").code == 0
    monkeypatch.setattr("csid.cli.tables.read_table._PART_ROWS", 70)
    assert csid(*line, "--out-of-core", "-o", "parts.csid").code == 0
    whole, parts = (library.load(tmp_path / name) for name in ("whole.csid", "parts.csid"))
    assert whole.schema_ == parts.schema_
    assert whole.fitted_.classes.labels.tolist() == parts.fitted_.classes.labels.tolist()
    assert whole.fitted_.classes.counts.tolist() == parts.fitted_.classes.counts.tolist()


def test_a_holdout_has_rows_of_each_class_and_leaves_some() -> None:
    labels = np.array(["a"] * 50 + ["b"] * 9 + ["c"], object)
    train, test = LabelledRows(table(60), labels, None, None).split(0.6, 0, by_class=True)
    assert {label: int((test.y == label).sum()) for label in "abc"} == {"a": 30, "b": 5, "c": 0}
    assert len(train.y) + len(test.y) == 60


def test_holdout_weights_and_config(csid: Run, sizes: Path, tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_bytes(as_csv(classified().append_column("w", pa.array(np.arange(200) % 2))))
    (tmp_path / "c.toml").write_text(
        'target = ["size"]\n[fit]\ntask = "classification"\nweight = "w"\nholdout = 0.25\n'
    )
    ended = csid("fit", "w.csv", "--config", "c.toml", "--json", *FAST)
    assert ended.code == 0
    assert ended.document["held_out"]["size"]["rows"] == pytest.approx(50, abs=2)
    assert ended.document["task"] == "classification"
    assert library.load(tmp_path / "w.csid").n_samples_ == 100
    assert "Confusion matrix" in csid("fit", sizes, "--target", "size", "--holdout", "0.25", *FAST).out


def test_texts_that_differ_in_case_or_blanks_are_one_class(csid: Run, tmp_path: Path) -> None:
    labels_file(tmp_path / "d.csv", ["Yes", "no"] * 20 + [" yes", "NO"] * 5)
    ended = csid("fit", "d.csv", "--target", "y", *FAST)
    assert "The target 'y': 'Yes' (20), ' yes' (5) differ only in case or blanks" in ended.notes
    assert library.load(tmp_path / "d.csid").classes_.tolist() == [" yes", "NO", "Yes", "no"]
    for where in ("--in-memory", "--out-of-core"):
        assert csid("fit", "d.csv", where, "--target", "y", "--normalise-text", *FAST).code == 0
        assert library.load(tmp_path / "d.csid").classes_.tolist() == ["no", "yes"]
    assert csid("evaluate", "d.csid", "d.csv").code == 0


def test_strict_refuses_odd_labels(csid: Run, tmp_path: Path) -> None:
    labels_file(tmp_path / "d.csv", ["0", "1"] * 20 + ["-"])
    ended = csid("fit", "d.csv", "--target", "y", *FAST)
    assert "Column 'y': 1 of 41 cells is not a number ('-' in row 41) and was treated as missing." in ended.notes
    assert "Rows skipped because a target is missing: 1." in ended.notes
    refused = csid("fit", "d.csv", "--target", "y", "--strict", *FAST)
    assert refused.code == Exit.DATA
    assert "'-' in row 41" in refused.notes


def test_few_odd_labels_are_classes_where_numbers_are_asked_to_be(csid: Run, tmp_path: Path) -> None:
    labels_file(tmp_path / "d.csv", ["1", "2", "3"] * 20 + ["x"] * 2 + ["-"])
    assert csid("fit", "d.csv", "--target", "y", "--task", "classification", *FAST).code == 0
    assert library.load(tmp_path / "d.csid").classes_.tolist() == ["-", "1", "2", "3", "x"]
    labels_file(tmp_path / "d.csv", ["1", "2", "3"] * 20 + ["-"])
    assert csid("fit", "d.csv", "--target", "y", "--task", "classification", *FAST).code == 0
    assert library.load(tmp_path / "d.csid").classes_.tolist() == [1, 2, 3]


def test_tune_minimises_the_log_loss(csid: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from csid.estimators import sampling

    plan = sampling._PLANS["fast"]
    quick = plan._replace(chains=2, burn=10, draws=6, pilot=plan.pilot._replace(chains=1, burn=5, draws=3))
    monkeypatch.setitem(sampling._PLANS, "fast", quick)
    (tmp_path / "some.csv").write_bytes(as_csv(classified(80)))
    line = ("tune", "some.csv", "--target", "size", "--trials", "1", "--folds", "2", "-q")
    ended = csid(*line, "--json")
    assert ended.code == 0
    assert 0.0 < ended.document["error"] < np.log(3.0)
    assert "likelihood" not in ended.document["settings"]
    assert "cross-validated log loss" in csid(*line).out


# --- nasty targets ---------------------------------------------------------------------------------------------------


NASTY: dict[str, tuple[list[str], list[Any]]] = {
    "blanks and quotes": (['a "b"', "c, d", " e "] * 20, [" e ", 'a "b"', "c, d"]),
    "formulas": (["=1+1", "@x", "-y"] * 20, ["-y", "=1+1", "@x"]),
    "umlauts": (["größer", "kleiner", "日本"] * 20, ["größer", "kleiner", "日本"]),
    "numbers as text": (["01", "02"] * 30, [1, 2]),
    "yes and no": (["yes", "no"] * 30, ["no", "yes"]),
    "a truth value in three": (["true", "false", "maybe"] * 20, ["false", "maybe", "true"]),
    "empty cells": (["a", "b", ""] * 20, ["a", "b"]),
    "nearly all one value": (["a"] * 118 + ["b"] * 2, ["a", "b"]),
    "dates": (["2020-01-01", "x"] * 30, ["2020-01-01", "x"]),
    "a line break": (["two\nlines", "one"] * 30, ["one", "two\nlines"]),
}


@pytest.mark.parametrize("what", NASTY)
def test_nasty_labels_are_predicted_and_read_back(what: str, csid: Run, tmp_path: Path) -> None:
    labels, classes = NASTY[what]
    labels_file(tmp_path / "d.csv", labels)
    assert csid("fit", "d.csv", "--target", "y", *FAST).code == 0
    fitted: Any = library.load(tmp_path / "d.csid")
    assert fitted.classes_.tolist() == classes
    evaluated = csid("evaluate", "d.csid", "d.csv", "--json").document["overall"]["y"]
    assert evaluated["rows"] == sum(label != "" for label in labels)
    assert csid("predict", "d.csid", "d.csv", "-o", "p.csv").code == 0
    with (tmp_path / "p.csv").open(newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    assert [*found[0]] == ["y", *(f"p_{label}" for label in classes)]
    assert {row["y"].removeprefix("'") for row in found} <= set(map(str, classes))
    assert not any(row["y"].startswith(("=", "@", "-")) for row in found)
    for command in ("info", "explain"):
        assert csid(command, "d.csid").code == 0


def test_truth_values_of_files_of_any_kind_are_the_same(csid: Run, tmp_path: Path) -> None:
    labels_file(tmp_path / "d.csv", ["TRUE", "FALSE"] * 30)
    assert csid("fit", "d.csv", "--target", "y", *FAST).code == 0
    pa.parquet.write_table(pa.table({"x": [0.0, 1.0] * 9, "y": [True, False] * 9}), tmp_path / "n.parquet")
    assert csid("evaluate", "d.csid", "n.parquet", "--json").document["overall"]["y"]["accuracy"]["value"] == 1.0
    assert csid("predict", "d.csid", "n.parquet").out.splitlines()[0] == '"y","p_false","p_true"'
    (tmp_path / "odd.csv").write_text("x,y\n0,TRUE\n1,false\n0,perhaps\n")
    ended = csid("evaluate", "d.csid", "odd.csv")
    assert "1 of 3 cells is not true or false ('perhaps' in row 3) and was treated as missing" in ended.notes
    (tmp_path / "odd.csv").write_text("x,y\n0,perhaps\n1,no\n")
    assert "must hold true or false, but row 1 holds 'perhaps'" in csid("evaluate", "d.csid", "odd.csv").notes


def test_very_many_classes(csid: Run, tmp_path: Path) -> None:
    labels_file(tmp_path / "d.csv", [f"class {at % 40:03}" for at in range(200)])
    ended = csid("fit", "d.csv", "--target", "y", "-q", *FAST)
    assert ended.code == 0
    assert "and 28 more classes" in ended.out
    assert "Most frequent errors" in csid("evaluate", "d.csid", "d.csv").out
    shown = csid("explain", "d.csid").out
    assert "--json has the effects on the other 30 outputs." in shown


def test_a_file_says_how_its_labels_are_read(model: Path) -> None:
    from csid.model_file import container

    header, arrays = container.read(model)
    entries = {name: value for name, value in header.entries.items() if name != "sha256"}
    assert entries["schema"]["labels"] == "text"
    entries["schema"] = {**entries["schema"], "labels": "number"}
    container.write(model, entries, arrays)
    with pytest.raises(
        library.ModelFileError, match=r"schema.labels is 'number', but the model has labels of type 'text'"
    ):
        library.load(model)


def test_a_model_fitted_in_python_is_read_by_its_labels(csid: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=80)})
    fitted = library.BayesianCSIDClassifier(rank=2, n_chains=1, n_burn=20, n_draws=4, prior="medium", random_state=0)
    for y, labels in (
        (X["x"] > 0.0, "boolean"),
        ((X["x"] > 0.0).astype(int), "number"),
        (X["x"].gt(0).map(str), "text"),
    ):
        fitted.fit(X, y.rename("positive"))
        fitted.save(tmp_path / "m.csid")
        X.assign(positive=y).to_csv(tmp_path / "d.csv", index=False)
        ended = csid("evaluate", "m.csid", "d.csv", "--json")
        assert (ended.code, labels) == (0, labels)
        assert ended.document["overall"]["positive"]["accuracy"]["value"] > 0.8


def _numbers(rows: int = 60) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.uniform(size=rows), "b": rng.uniform(size=rows)})
    return X, rng.poisson(np.exp(2 * X.a))


SHORT: dict[str, Any] = {"rank": 2, "effort": "fast", "prior": ["medium"], "random_state": 0}


def test_models_of_other_targets_are_refused(csid: Run, tmp_path: Path) -> None:
    X, y = _numbers()
    model = BayesianCSIDRegressor(likelihood="negative_binomial", **SHORT).fit(X, pd.Series(y, name="y"))
    model.save(tmp_path / "counts.csid")
    X.assign(y=y).to_csv(tmp_path / "counts.csv", index=False)
    for command in (("info",), ("explain",), ("predict", "counts.csv"), ("evaluate", "counts.csv")):
        ended = csid(command[0], "counts.csid", *command[1:])
        assert ended.code == Exit.USAGE
        assert "does not support likelihood='negative_binomial' yet: use csid.load" in ended.notes


def test_ordered_classes_are_explained_by_their_one_latent_value(csid: Run, tmp_path: Path) -> None:
    X, y = _numbers()
    model = BayesianCSIDClassifier(likelihood="ordinal", **SHORT).fit(X, pd.Series(np.minimum(y, 3), name="y"))
    model.save(tmp_path / "ordinal.csid")
    ended = csid("explain", "ordinal.csid", "--json")
    assert ended.code == 0
    assert ended.document["outputs"] == ["3"]
