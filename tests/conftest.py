"""What the tests share: one smooth system, and a regressor that is quick to fit."""

import signal
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import settings
from numpy.typing import NDArray

from csid import CSIDRegressor

Array = NDArray[np.float64]

# Shells start background jobs with SIGINT ignored, and nohup with SIGHUP. Tests interrupt fits by both.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

settings.register_profile("csid", deadline=None, max_examples=40)
settings.load_profile("csid")


@pytest.fixture(scope="session")
def system() -> tuple[Array, Array]:
    """300 rows of three predictors, and a noisy function of them."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 3))
    y = np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2 + 0.1 * rng.standard_normal(300)
    return X, y


@pytest.fixture(scope="session")
def quick() -> Callable[..., CSIDRegressor]:
    """A small regressor with a fixed seed, on one thread; arguments override."""
    return partial(CSIDRegressor, rank=3, max_iter=8, random_state=0, n_jobs=1)
