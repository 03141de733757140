"""What a file of data holds, as a model remembers it: the columns, their types, and what stands for missing."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, cast, get_args

from csid.model_file import Section

Type = Literal["number", "text", "boolean", "date"]
Kind = Literal["number", "category"]


@dataclass(frozen=True)
class ColumnSchema:
    """A predictor.

    type : how its cells are read; kind : what they are to the model, a date being a number of days.
    order : the words of a text that is a number, from the lowest to the highest.
    """

    name: str
    type: Type
    kind: Kind
    order: tuple[str, ...] = ()


@dataclass(frozen=True)
class Schema:
    """The columns of a file.

    targets : what is predicted; missing : words that stand for a missing cell.
    weight, group : columns with the weights of rows, and with what belongs together.
    ignored : columns that are no predictors.
    """

    columns: tuple[ColumnSchema, ...]
    targets: tuple[str, ...]
    missing: tuple[str, ...]
    weight: str | None = None
    group: str | None = None
    ignored: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, section: Section) -> "Schema":
        """From the header of a model file."""
        columns = tuple(
            ColumnSchema(
                column.text("name"),
                cast(Type, _one_of(column, "type", get_args(Type))),
                cast(Kind, _one_of(column, "kind", get_args(Kind))),
                tuple(column.texts("order")),
            )
            for column in section.sections("columns")
        )
        lists = (tuple(section.texts(key)) for key in ("targets", "missing", "ignored"))
        targets, missing, ignored = lists
        weight, group = (
            section.text(key) if section.entries.get(key) is not None else None for key in ("weight", "group")
        )
        return cls(columns, targets, missing, weight, group, ignored)


def default_targets(outputs: int) -> tuple[str, ...]:
    """What outputs are called that have no names."""
    return ("y",) if outputs == 1 else tuple(f"y{j + 1}" for j in range(outputs))


def _one_of(section: Section, key: str, legal: tuple[str, ...]) -> str:
    value = section.text(key)
    if value not in legal:
        raise section.wrong(key, f"is {value!r}, not one of {', '.join(legal)}")
    return value
