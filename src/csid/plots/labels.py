"""Names and numbers in a plot: shortened to the room there is, and never read as formulas."""

import math
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

_ELLIPSIS = "…"


def short(value: Any, most: int = 22) -> str:
    """A name of at most so many letters, with the middle cut out.

    >>> short("temperature of the cooling water", 16)
    'temperat…g water'
    """
    text = " ".join(str(value).split())
    if len(text) > most:
        end = (most - 1) // 2
        text = text[: most - 1 - end] + _ELLIPSIS + text[len(text) - end :]
    return text.replace("$", r"\$")


def wrapped(name: str, width: int = 30) -> str:
    """A name on at most two lines.

    >>> wrapped("the temperature of the cooling water", 20).splitlines()
    ['the temperature of', 'the cooling water']
    """
    lines = wrap(name, width)
    return "\n".join(short(line, width) for line in [*lines[:1], " ".join(lines[1:])] if line)


def number(value: float, digits: int = 4) -> str:
    """A number with so many significant digits.

    >>> number(1234.5678), number(-0.0123456), number(1.2e7)
    ('1,235', '−0.01235', '1.2e+07')
    """
    text = f"{value:,.0f}" if 1000.0 <= abs(value) < 1e6 else f"{value:.{digits}g}"
    return text.replace("-", "−") if "e" not in text else text


def signed(values: Sequence[float]) -> list[str]:
    """Numbers with their signs, to the same decimal place, such that the largest has three digits.

    >>> signed([12.345, -0.6789, 0.0])
    ['+12.3', '−0.7', '+0.0']
    """
    largest = max((abs(value) for value in values), default=0.0) or 1.0
    if not 1e-4 <= largest < 1e6:
        return [f"{value:+.2e}" for value in values]
    decimals = max(0, 2 - math.floor(math.log10(largest)))
    return [f"{round(value, decimals) + 0.0:+,.{decimals}f}".replace("-", "−") for value in values]
