"""What is known of a data set before it is read: its task, its files, where they come from, and whom to cite."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from csid.datasets.originals import Reader


@dataclass(frozen=True)
class File:
    """A table of a set.

    path : where it lies in a data folder.
    fingerprint : of its values, see `csid.datasets.tables.fingerprint`.
    adds : a column and the one value it has in this file, where files are stacked.
    """

    path: str
    fingerprint: str
    adds: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Origin:
    """A public address of an original.

    saved_as : the name that a browser gives the download.
    readers : one for each file of the set.
    """

    url: str
    saved_as: str
    readers: tuple[Reader, ...] = field(repr=False)


@dataclass(frozen=True)
class Description:
    """A data set and its task.

    target : what is predicted; several names are several outputs, of which `load` can choose one.
    categorical : predictors that are categories; all others are numbers.
    dropped : columns that are no predictors.
    groups : the column that says which rows belong together, if one does.
    lags : for a record over time, how far back the predictors reach by default.
    """

    name: str
    title: str
    task: str
    target: tuple[str, ...]
    licence: str
    citation: str
    page: str
    files: tuple[File, ...] = field(repr=False)
    origins: tuple[Origin, ...] = field(repr=False)
    categorical: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    groups: str | None = None
    lags: int | None = None

    def __str__(self) -> str:
        lines = {
            "task": self.task,
            "target": ", ".join(self.target),
            "categorical": ", ".join(self.categorical) or "none",
            "groups": self.groups or "none",
            "licence": self.licence,
            "citation": self.citation,
            "page": self.page,
        }
        return "\n".join([f"{self.name}: {self.title}", *(f"  {name}: {line}" for name, line in lines.items())])
