"""Which task a target asks for, where --task does not say it, and why."""

from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from csid.cli.cells import Recognised
from csid.cli.columns import first_non_number
from csid.cli.errors import DataError
from csid.cli.tasks import TaskName

_MOST_LISTED = 8
_MANY_VALUES = 50
"""A target of text with more distinct values than this, most of which occur once, does not hold classes."""


class Choice(NamedTuple):
    """A task, and a sentence that says why; none if --task says it.

    n_numbers : how many different numbers it was decided by; 0 if it was not decided by numbers.
    """

    task: TaskName
    reason: str = ""
    n_numbers: int = 0


def choose(name: str, found: Recognised, is_category: bool) -> Choice:
    """The task of a target, of which `found` is what its cells are as numbers.

    is_category : whether its column was a category in the file.
    """
    distinct = pc.unique(found.cells).drop_null()
    if found.type in ("text", "boolean"):
        n_known = len(found.cells) - found.cells.null_count
        if not n_known or 2 * first_non_number(found.cells).n_numbers >= n_known:
            return Choice(TaskName.regression)  # refused when it is read, with the cells that are not numbers
        if len(distinct) > _MANY_VALUES and 2 * len(distinct) > n_known:
            raise DataError(
                f"the target {name!r} holds {len(distinct):,} different texts in {n_known:,} rows, too few rows of "
                "each to learn from. Choose another --target, or use --task classification to take them as classes."
            )
        kind = "truth values" if found.type == "boolean" else "texts"
        return _classification(name, f"holds {kind}", distinct)
    if is_category:
        return _classification(name, "is a category in its file", distinct)
    return by_numbers(name, distinct) if found.type == "number" else Choice(TaskName.regression)


def by_numbers(name: str, distinct: pa.Array) -> Choice:
    """The task of a target that holds these numbers: classification for two whole numbers."""
    n = len(distinct)
    if n == 2 and pc.all(pc.equal(distinct, pc.round(distinct))).as_py():
        return _classification(name, "holds two different numbers", distinct)._replace(n_numbers=n)
    return Choice(TaskName.regression, f"Task: regression, because {name!r} holds numbers ({n:,} different ones).", n)


def _classification(name: str, why: str, distinct: pa.Array) -> Choice:
    values = sorted(distinct.to_pylist())
    shown = ", ".join(_shown(value) for value in values[:_MOST_LISTED])
    more = f" and {len(values) - _MOST_LISTED:,} more" if len(values) > _MOST_LISTED else ""
    other = "" if isinstance(values[0], str) else " Use --task regression to predict their mean instead."
    return Choice(TaskName.classification, f"Task: classification, because {name!r} {why} ({shown}{more}).{other}")


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value) if isinstance(value, int) else repr(value)
