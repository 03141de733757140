"""Pictures look as they did: compared with those in `baseline`, which `pictures.py` draws."""

from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch
from matplotlib.testing.compare import compare_images

from plots.pictures import BASELINE, PICTURES, save

TOLERANCE = 3.0
"""Root mean square of the differences of pixels, of 255; between matplotlib 3.9 and 3.11 it is at most 2."""


def found_different(name: str, figure: Figure, folder: Path) -> bool:
    save(figure, folder / f"{name}.png")
    return compare_images(str(BASELINE / f"{name}.png"), str(folder / f"{name}.png"), TOLERANCE) is not None


@pytest.mark.parametrize("name", PICTURES)
def test_looks_as_before(name: str, tmp_path: Path) -> None:
    assert not found_different(name, PICTURES[name].figure(), tmp_path)


def test_every_baseline_is_compared() -> None:
    assert {path.stem for path in BASELINE.glob("*.png")} == set(PICTURES)
    assert sum(path.stat().st_size for path in BASELINE.glob("*.png")) < 400_000


def without_the_density(ax: Axes) -> None:
    for patch in [child for child in ax.get_children() if isinstance(child, StepPatch)]:
        patch.remove()


def without_the_curve(ax: Axes) -> None:
    next(line for line in ax.lines if line.get_label() == "effect").remove()


def with_another_scale(ax: Axes) -> None:
    low, high = ax.get_ylim()
    ax.set_ylim(low - 0.3 * (high - low), high)


@pytest.mark.parametrize("change", [without_the_density, without_the_curve, with_another_scale])
def test_a_change_of_one_part_is_noticed(change: Callable[[Axes], None], tmp_path: Path) -> None:
    figure = PICTURES["effects"].figure()
    for ax in figure.axes:
        change(ax)
    assert found_different("effects", figure, tmp_path)


def test_another_picture_is_noticed(tmp_path: Path) -> None:
    assert found_different("pair", PICTURES["pair_with_categories"].figure(), tmp_path)
