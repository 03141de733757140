"""Pictures are drawn without a screen, in matplotlib's own default settings, and closed after each test."""

from collections.abc import Iterator

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def no_picture_left_open() -> Iterator[None]:
    with plt.style.context("default"):
        yield
    plt.close("all")
