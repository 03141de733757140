"""The interface of a task: everything that a command does differently for another kind of target."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import pyarrow as pa

    from csid.cli.labelled_rows import LabelledRows
    from csid.cli.output_columns import OutputColumns
    from csid.cli.tuning.losses import Loss
    from csid.fitted.schema import Schema

MetricTable = tuple[str, list[dict[str, Any]]]
"""A title and lines."""


class TaskName(StrEnum):
    """What --task may be."""

    auto = "auto"
    regression = "regression"
    classification = "classification"


class Estimator(StrEnum):
    """What --estimator may be."""

    bayesian = "bayesian"
    als = "als"


class Task(ABC):
    """A kind of target.

    target : the kind of target of its likelihoods; estimators : the name in `csid` of each estimator.
    labelled : whether targets are labels of classes, of one column; else numbers, of one column or several.
    likelihoods : those that csid tune tries with the Bayesian estimator.
    tuned : what csid tune minimises; explained : what csid explain explains; about_effects : a sentence about it.
    """

    name: ClassVar[TaskName]
    target: ClassVar[str]
    estimators: ClassVar[Mapping[Estimator, str]]
    labelled: ClassVar[bool]
    likelihoods: ClassVar[tuple[str, ...]]
    tuned: ClassVar[str]
    explained: ClassVar[str]
    about_effects: ClassVar[str] = ""

    @abstractmethod
    def check_wanted(self, wanted: "OutputColumns") -> None:
        """Refuse options of csid predict that this task does not have."""

    @abstractmethod
    def predicted(
        self, model: Any, X: "pa.Table", targets: Sequence[str], wanted: "OutputColumns", copied: Collection[str]
    ) -> dict[str, Any]:
        """The columns that csid predict writes beside those copied from the file."""

    @abstractmethod
    def metrics(self, model: Any, rows: "LabelledRows", schema: "Schema", seed: int) -> dict[str, dict[str, Any]]:
        """For each target by name, its metrics on some rows, with confidence intervals."""

    def more_tables(self, metrics: Mapping[str, Any]) -> Iterator[MetricTable]:
        """Tables of csid evaluate beside that of the metrics."""
        yield from ()

    @abstractmethod
    def summary(self, model: Any, targets: Sequence[str]) -> dict[str, Any]:
        """What the summary of a fit has besides what all tasks have: `accuracy` (None if not known), and more."""

    @abstractmethod
    def summary_lines(self, document: Mapping[str, Any]) -> list[str]:
        """The same as sentences."""

    @abstractmethod
    def outputs(self, model: Any, targets: Sequence[str]) -> tuple[str, ...]:
        """A name for each output of the tensor, for csid explain."""

    @abstractmethod
    def loss(self, rows: "LabelledRows") -> "Loss":
        """What csid tune minimises on these rows."""
