"""Stored results of small fits, which a change may not move unnoticed.

`python tests/golden/fits.py write tests/golden/stored.npz` makes them. Results of least squares are compared almost to
rounding, those of chains to a ten-thousandth of the targets' standard deviation: single-precision sums round
differently on other processors, and chains carry that on.
"""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from golden.fits import batteries

STORED = Path(__file__).parent / "stored.npz"
SLOW = {"bayes many rows", "bayes blocks", "als stream", "bayes folds"}
NAMES = [name for name, _ in batteries() if name not in SLOW]


@pytest.mark.parametrize("name", NAMES)
def test_a_fit_has_not_moved(name: str) -> None:
    found = dict(batteries())[name]()
    with np.load(STORED) as stored:
        for key, value in found.items():
            before = stored[f"{name}: {key}"]
            tolerance = 1e-8 if "als" in name else 1e-4
            assert_allclose(value, before, rtol=0.0, atol=tolerance * max(1.0, float(np.std(before))), err_msg=key)
