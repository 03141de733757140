"""Option groups: the flags that Typer sees, and the objects that a command gets."""

from inspect import signature
from typing import Annotated, Any, NamedTuple

import pytest
import typer
from typer.testing import CliRunner

from csid.cli.option_groups import flattened

Size = Annotated[int, typer.Option(help="Size.")]


class Inner(NamedTuple):
    size: Size = 3
    loud: Annotated[bool, typer.Option("--loud", "-l")] = False


class Outer(NamedTuple):
    words: Annotated[list[str] | None, typer.Option("--word")] = None
    inner: Inner = Inner()


def invoke(command: Any, *line: str) -> str:
    app = typer.Typer()
    app.command()(flattened(command))
    ended = CliRunner().invoke(app, line)
    assert ended.exit_code == 0, ended.output
    return ended.output


def test_groups_become_flags_in_order_and_come_back_as_objects() -> None:
    got: list[Any] = []

    def run(*, name: Annotated[str, typer.Argument()], first: int = 7, outer: Outer) -> None:
        """What it does."""
        got.append((name, first, outer))

    flat = flattened(run)
    assert list(signature(flat).parameters) == ["name", "first", "words", "size", "loud"]
    assert flat.__doc__ == "What it does."
    invoke(run, "x")
    invoke(run, "--word", "a", "--word", "b", "x", "-l", "--size", "5", "--first", "1")
    assert got == [("x", 7, Outer()), ("x", 1, Outer(["a", "b"], Inner(5, True)))]
    assert "Size." in invoke(run, "--help")


def test_a_field_without_default_is_a_required_flag() -> None:
    class Needed(NamedTuple):
        size: Size

    def run(*, needed: "Needed") -> None: ...

    run.__annotations__["needed"] = Needed  # a local class is not found by name
    app = typer.Typer()
    app.command()(flattened(run))
    assert CliRunner().invoke(app, []).exit_code == 2


def test_a_command_without_groups_is_as_it_was() -> None:
    got: list[int] = []

    def run(size: Size = 2) -> None:
        got.append(size)

    invoke(run, "--size", "4")
    assert got == [4]


def test_two_fields_of_one_name_are_refused() -> None:
    def run(*, size: Size, inner: Inner) -> None: ...

    with pytest.raises(TypeError, match="two option groups have the field 'size'"):
        flattened(run)
