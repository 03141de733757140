"""What is known about a data set before it is read: its task, files, origins, licence and citation."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from csid.datasets.originals import Reader


@dataclass(frozen=True)
class File:
    """One table of a data set.

    path : path inside a data folder, such as `paper/concrete.csv.gz`.
    fingerprint : sha256 of its column names and values, see `csid.datasets.tables.fingerprint`.
    constants : columns to add, each with a single value; they tell stacked files apart.
    """

    path: str
    fingerprint: str
    constants: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Origin:
    """A public address of the original file.

    file_name : the file name under which it is saved.
    readers : one for each file of the data set.
    """

    url: str
    file_name: str
    readers: tuple[Reader, ...] = field(repr=False)


@dataclass(frozen=True)
class Description:
    """A data set and its task.

    target : the columns to predict; if there are several, `load` can select one.
    categorical : categorical predictors; all others are numeric.
    dropped : columns that are neither predictors nor targets.
    groups : the column that groups rows (by person, student or record), if there is one.
    origins : mirrors of the original file, tried in turn.
    lags : for a time series, the default number of lags.
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
