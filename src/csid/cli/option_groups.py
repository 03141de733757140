"""Option groups: options that travel together, declared once as a NamedTuple and shared by commands.

Typer makes one flag of each parameter of a command. A command here may instead have a parameter annotated with a group:

    class TextFormat(NamedTuple):
        delimiter: Annotated[str | None, typer.Option(help="Column delimiter.")] = None
        encoding: Annotated[str, typer.Option(help="Encoding.")] = "utf8"

    def run(*, data: Data, text: TextFormat) -> None: ...

`flattened(run)` has the parameters `data`, `delimiter` and `encoding` for Typer to see, in this order, and calls `run`
with `text=TextFormat(delimiter, encoding)`. A group may hold other groups.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints


def flattened(command: Callable[..., None]) -> Callable[..., None]:
    """The command with one parameter for each flag."""
    hints = get_type_hints(command, include_extras=True)
    own = signature(command).parameters.values()
    flags = [flag for each in own for flag in _flags(each.name, hints[each.name], each.default)]
    names = [flag.name for flag in flags]
    for name in names:
        if names.count(name) > 1:
            raise TypeError(f"{command.__module__}: two option groups have the field {name!r}.")

    @wraps(command)
    def run(**values: Any) -> None:
        command(**{each.name: _assembled(each.name, hints[each.name], values) for each in own})

    run.__signature__ = Signature(flags)  # type: ignore[attr-defined]
    run.__annotations__ = {flag.name: flag.annotation for flag in flags}
    return run


def _is_group(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields")


def _flags(name: str, hint: Any, default: Any) -> list[Parameter]:
    """The parameter itself, or one for each field of its group."""
    if not _is_group(hint):
        return [Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)]
    fields, defaults = get_type_hints(hint, include_extras=True), hint._field_defaults
    return [flag for each in hint._fields for flag in _flags(each, fields[each], defaults.get(each, Parameter.empty))]


def _assembled(name: str, hint: Any, values: Mapping[str, Any]) -> Any:
    """The value of a parameter, put together from the values of the flags."""
    if not _is_group(hint):
        return values[name]
    fields = get_type_hints(hint, include_extras=True)
    return hint(*(_assembled(each, fields[each], values) for each in hint._fields))
