"""The estimator that the options and the task ask for, and its fit."""

import json
import warnings
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from csid.cli.console import Terminal
from csid.cli.errors import UsageError
from csid.cli.options import Execution
from csid.cli.tasks import Estimator, Task

if TYPE_CHECKING:
    from csid.cli.file_rows import FileRows
    from csid.cli.labelled_rows import LabelledRows
    from csid.fitted.schema import Schema


class Effort(StrEnum):
    fast = "fast"
    default = "default"
    best = "best"


class Wish(NamedTuple):
    """The estimator that a command line asks for."""

    task: Task
    estimator: Estimator
    effort: Effort


def make(
    wish: Wish,
    schema: "Schema",
    execution: Execution,
    parameters: Sequence[str] = (),
    ordinal: Sequence[str] | None = None,
    progress: bool = False,
    counts: bool = False,
) -> Any:
    """An estimator to fit.

    parameters : `name=value` of --set; ordinal : of --ordinal.
    progress : whether its fit shows a progress bar; counts : whether sample weights are counts.
    """
    from csid.cli.columns import categorical_names
    from csid.cli.whole_numbers import kept_numbers

    common: dict[str, Any] = {
        "categorical_features": categorical_names(schema),
        "random_state": execution.seed,
        "n_jobs": execution.threads,
        "verbose": int(progress),
        "weights": "counts" if counts else "relative",
    }
    model = _class_of(wish)(**common)
    if wish.estimator == Estimator.bayesian:
        model.set_params(effort=wish.effort.value)
        kept = kept_numbers(schema, ordinal or [])
        if kept:
            model.set_params(whole_numbers=dict.fromkeys(kept, "number"))
    legal = set(model.get_params()) - set(common)
    for text in parameters:
        name, _, value = text.partition("=")
        if name not in legal:
            raise UsageError(
                f"--set {text}: {type(model).__name__} has no parameter {name!r} to set. "
                f"Its parameters are {', '.join(sorted(legal))}."
            )
        model.set_params(**{name: _value(value)})
    return model


def _class_of(wish: Wish) -> Any:
    import csid

    found = getattr(csid, wish.task.estimators[wish.estimator], None)
    if found is None:
        raise UsageError(
            f"--estimator {wish.estimator.value} does not support {wish.task.name.value}: leave it out, or use --task "
            "regression."
        )
    return found


def fit(
    model: Any,
    rows: "LabelledRows | FileRows",
    schema: "Schema",
    terminal: Terminal | None = None,
) -> bool:
    """Fit a model to rows of a file. Return whether it was interrupted, and keeps the draws made before.

    terminal : shows the warnings of the fit.
    """
    from csid import InterruptedFitWarning
    from csid.cli.labelled_rows import LabelledRows
    from csid.cli.whole_numbers import with_kinds

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if isinstance(rows, LabelledRows):
            model.fit(rows.X, rows.y, sample_weight=rows.weights)
        else:
            model.fit(rows)
    model.fitted_ = replace(model.fitted_, schema=with_kinds(schema, model.fitted_))
    if terminal is not None:
        for each in caught:
            terminal.note(str(each.message))
    return any(issubclass(each.category, InterruptedFitWarning) for each in caught)


def _value(text: str) -> Any:
    """A number, a list or a truth value as JSON writes it, else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text
