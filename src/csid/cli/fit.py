"""csid fit: from a file of data to a model file."""

import json
import warnings
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from csid.cli import options
from csid.cli.console import Terminal
from csid.cli.errors import DataError, Exit, UsageError

_ENDINGS = (".csv", ".tsv", ".txt", ".parquet", ".arrow", ".feather")


class Estimator(StrEnum):
    bayesian = "bayesian"
    als = "als"


class Effort(StrEnum):
    fast = "fast"
    default = "default"
    best = "best"


def run(
    data: options.Data,
    target: options.Target,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The model file; DATA with the ending .csid if not given.")
    ] = None,
    estimator: Annotated[
        Estimator, typer.Option(help="Posterior draws with intervals, or alternating least squares.")
    ] = Estimator.bayesian,
    effort: Annotated[Effort, typer.Option(help="How much the Bayesian estimator samples.")] = Effort.default,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the estimator, as in rank=16. May repeat.")
    ] = None,
    holdout: Annotated[
        float, typer.Option(help="Share of the rows to keep from the fit and to evaluate it on.", min=0.0, max=0.9)
    ] = 0.0,
    categorical: options.Categorical = None,
    ordinal: options.Ordinal = None,
    ignore: options.Ignore = None,
    missing: options.Missing = None,
    weight: options.Weight = None,
    group: options.Group = None,
    out_of_core: Annotated[
        bool | None,
        typer.Option(
            "--out-of-core/--in-memory",
            help="Read rows in parts and keep codes of them on disk, or keep all in memory; if not given, by size.",
        ),
    ] = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf8",
    seed: options.Seed = 0,
    threads: options.Threads = -1,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    config: options.Config = None,
) -> None:
    """Train a model on DATA and write it to a file. Columns are typed by themselves; what was found is shown first."""
    from csid.cli.figures import figure_rows
    from csid.cli.large import is_large, read_large
    from csid.cli.training import Wanted, read_training
    from csid.scores import figures

    terminal = Terminal(as_json, quiet)
    path = output or model_path(data)
    wanted = Wanted(data, target, (missing, delimiter, encoding), categorical, ordinal, ignore, weight, group)
    in_parts = is_large(data) if out_of_core is None else out_of_core
    training: Any = read_large(wanted) if in_parts else read_training(wanted)
    terminal.note_table(data if in_parts else f"{data}: {len(training.y):,} rows", training.columns)
    for text in training.notes:
        terminal.note(text)
    rows, test = training.split(holdout, seed) if holdout else (None, None)
    part = training if rows is None else training.take(rows)
    model = make(estimator, effort, set_ or [], part, seed, threads, terminal.shows_bars)
    interrupted = train(model, part, terminal)
    model.schema_ = training.schema
    model.save(path)
    count = model.n_samples_ if in_parts else len(part.y)
    document: dict[str, Any] = {"model": str(path), "rows": count, "predictors": len(training.schema.columns)}
    if test is not None:
        unseen = training.take(test)
        found = figures(model, unseen.X, unseen.y, unseen.weights, training.schema.targets, seed)
        document["held_out"] = found
        terminal.table(f"On {len(test):,} rows held out", figure_rows(found))
    terminal.result(document | summary(model))
    terminal.say(_closing(document))
    if interrupted:
        raise typer.Exit(Exit.INTERRUPTED)


def train(model: Any, training: Any, terminal: Terminal) -> bool:
    """Fit a model, and say whether it was interrupted: it then has the draws that were made before."""
    from csid.bayesian import InterruptedFitWarning

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(training.X, training.y, sample_weight=training.weights)
    for each in said:
        terminal.note(str(each.message))
    return any(issubclass(each.category, InterruptedFitWarning) for each in said)


def make(
    estimator: Estimator, effort: Effort, given: list[str], training: Any, seed: int, threads: int, bars: bool
) -> Any:
    """The estimator that the flags ask for."""
    from csid import BayesianCSIDRegressor, CSIDRegressor
    from csid.cli.frames import categorical_names

    common: dict[str, Any] = {
        "categorical_features": categorical_names(training.schema),
        "random_state": seed,
        "n_jobs": threads,
        "verbose": int(bars),
    }
    model: Any
    if estimator == Estimator.als:
        model = CSIDRegressor(**common)
    else:
        model = BayesianCSIDRegressor(effort=effort.value, **common)
    legal = set(model.get_params()) - set(common)
    for text in given:
        name, _, value = text.partition("=")
        if name not in legal:
            raise UsageError(f"--set {text}: parameters of {type(model).__name__} are {', '.join(sorted(legal))}.")
        model.set_params(**{name: _value(value)})
    return model


def summary(model: Any) -> dict[str, Any]:
    """What a fit says of itself."""
    if hasattr(model, "posterior_"):
        return {
            "noise": model.noise_.tolist(),
            "priors": {name: share for name, share in model.shares_.items() if share > 0.0},
            "convergence": model.convergence_,
        }
    return {"sweeps": model.n_iter_, "rank": model.cpd_.rank}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def model_path(data: str) -> Path:
    """Beside the data, with our own ending."""
    if data == "-" or any(mark in data for mark in "*?["):
        raise UsageError(f"with {data}, say where the model goes: --output MODEL.csid.")
    path = Path(data)
    if path.is_dir():
        return path.with_name(path.resolve().name + ".csid")
    if path.suffix == ".gz":
        path = path.with_suffix("")
    if path.suffix == ".csid":
        raise DataError(f"{data} is a model file, where data are expected.")
    return path.with_suffix(".csid") if path.suffix.lower() in _ENDINGS else path.with_name(path.name + ".csid")


def _closing(document: dict[str, Any]) -> str:
    return (
        f"wrote {document['model']}: {document['rows']:,} rows, {document['predictors']} predictors. "
        f"Next: csid predict {document['model']} NEW.csv, csid explain {document['model']}"
    )
