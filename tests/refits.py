"""The law of a refit: what a fitted estimator is, that it is still the same, and fits that stop anywhere."""

import inspect
import pickle
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

import csid

Array = NDArray[np.float64]

PACKAGE = str(Path(csid.__file__).parent)


class Rows(NamedTuple):
    """What a fit is given."""

    X: Any
    y: Any
    sample_weight: Any = None


def rows(n: int = 60, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"x": rng.uniform(-1, 1, n), "z": rng.uniform(-1, 1, n), "word": rng.choice(["u", "v"], n)})
    y = np.array(X["x"] * X["z"] + (X["word"] == "u"), float) + 0.1 * rng.standard_normal(n)
    return Rows(X.mask(rng.random(X.shape) < 0.1), y)


class Snapshot(NamedTuple):
    """A fitted estimator at one time: the fitted model, what it predicts, and all that a fit would go on from."""

    fitted: Any
    predictions: Array
    state: bytes

    @classmethod
    def of(cls, model: Any) -> "Snapshot":
        predictions = model.predict(rows(20, 9).X)
        parameters = model.get_params()
        own = {name: value for name, value in sorted(vars(model).items()) if name not in parameters}
        return cls(model.fitted_, predictions, pickle.dumps(own))

    def assert_still(self, model: Any) -> None:
        now = Snapshot.of(model)
        assert now.fitted is self.fitted
        assert_array_equal(now.predictions, self.predictions)
        assert now.state == self.state


@contextmanager
def left_as_it_was(model: Any) -> Iterator[None]:
    before = Snapshot.of(model)
    yield
    before.assert_still(model)


@contextmanager
def fails_at(call: int, error: type[BaseException]) -> Iterator[list[int]]:
    """An error at a call of one of csid's own functions, in whatever thread; gives how many calls there were."""
    seen, lock = [0], threading.Lock()

    def on_event(frame: Any, event: str, argument: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE) or code.co_flags & inspect.CO_GENERATOR:
            return  # Python drops an error in a generator that nobody reads on
        with lock:
            seen[0] += 1
            now = seen[0] == call
        if now:
            raise error

    threading.setprofile(on_event)
    sys.setprofile(on_event)
    try:
        yield seen
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
