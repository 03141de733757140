"""The tasks of the command line: what a target is, which estimator fits it, and what is written about it."""

from typing import TYPE_CHECKING

from csid.cli.tasks.classification import Classification
from csid.cli.tasks.regression import Regression
from csid.cli.tasks.task import Estimator, Task, TaskName

if TYPE_CHECKING:
    from csid.fitted.model import FittedModel

__all__ = ["TASKS", "Estimator", "Task", "TaskName", "task_of"]

TASKS: dict[TaskName, Task] = {each.name: each for each in (Regression(), Classification())}
"""All tasks by name. `auto` is one of them, as the target decides."""


def task_of(fitted: "FittedModel") -> Task:
    """The task of a fitted model, or an error if the command line does not have it."""
    for task in TASKS.values():
        if task.target == fitted.likelihood.target:
            return task
    raise NotImplementedError(
        f"the command line does not support likelihood={fitted.likelihood.name!r} yet: use csid.load(path) in Python."
    )
