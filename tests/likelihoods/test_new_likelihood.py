"""Proof of the seam: a likelihood that no other file knows of passes through the whole product.

Laplace noise is a scale mixture of normals: given its residual, the inverse variance of a row is inverse Gaussian.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from csid import Batches, BayesianCSIDRegressor, CSIDRegressor, load
from csid.export import to_json, to_onnx, to_python
from csid.likelihoods import LIKELIHOODS
from csid.likelihoods.likelihood import HeldOutScore, Parameters
from csid.likelihoods.location_scale import LocationScale, OnnxNoise

Array = np.ndarray


@dataclass(frozen=True)
class Laplace(LocationScale):
    """One output; noise of scale one has the density exp(-|z|) / 2."""

    name: ClassVar[str] = "laplace"
    held_out_score: ClassVar[HeldOutScore] = "log_density"

    def working(
        self, targets: Array, weights: Array, eta: Array, parameters: Parameters, rng: np.random.Generator | None
    ) -> tuple[Array, Array]:
        size = np.maximum(np.sqrt(parameters["alpha"]) * np.abs(targets - eta), 1e-6)[:, 0]
        return targets, weights * (1.0 / size if rng is None else rng.wald(1.0 / size, 1.0))

    def losses(self, targets: Array, eta: Array, parameters: Parameters) -> Array:
        return np.asarray(2.0 * np.abs(targets - eta)[:, 0] / np.sqrt(parameters["alpha"].min()))

    @property
    def label(self) -> str:
        return "Laplace"

    @property
    def variance_of_one(self) -> float:
        return 2.0

    def cdf(self, z: Array) -> Array:
        return np.where(z < 0.0, 0.5 * np.exp(-np.abs(z)), 1.0 - 0.5 * np.exp(-np.abs(z)))

    def pdf(self, z: Array) -> Array:
        return np.asarray(0.5 * np.exp(-np.abs(z)))

    def ppf(self, q: float) -> float:
        return math.log(2.0 * q) if q < 0.5 else -math.log(2.0 - 2.0 * q)

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        return rng.laplace(size=shape)

    @property
    def javascript(self) -> str:
        return """{
          cdf: (z) => (z < 0 ? 0.5 * Math.exp(z) : 1 - 0.5 * Math.exp(-z)),
          pdf: (z) => 0.5 * Math.exp(-Math.abs(z)),
        }"""

    @property
    def python(self) -> str:
        return '''
import math


class StandardLaplace:
    """Laplace noise of scale one."""

    def cdf(self, z: float) -> float:
        return 0.5 * math.exp(z) if z < 0.0 else 1.0 - 0.5 * math.exp(-z)

    def pdf(self, z: float) -> float:
        return 0.5 * math.exp(-abs(z))

    def ppf(self, q: float) -> float:
        return math.log(2.0 * q) if q < 0.5 else -math.log(2.0 - 2.0 * q)
'''

    def onnx(self) -> OnnxNoise:
        def cdf(z: Any) -> Any:
            tail = (z.then("Abs") * -1.0).then("Exp") * 0.5
            return z.then("Less", 0.0).where(tail, 1.0 - tail)

        def pdf(z: Any) -> Any:
            return (z.then("Abs") * -1.0).then("Exp") * 0.5

        return OnnxNoise(
            cdf, pdf, lambda q: np.array([self.ppf(float(one)) for one in np.ravel(q)]).reshape(np.shape(q))
        )


@pytest.fixture(autouse=True, scope="module")
def _known() -> Iterator[None]:
    """Known by its name, as a file of the package would make it, and only to these tests."""
    yield
    del LIKELIHOODS[Laplace.name]


QUICK: dict[str, Any] = {
    "rank": 4,
    "effort": "fast",
    "prior": ["medium", "smooth"],
    "likelihood": "laplace",
    "random_state": 0,
    "n_jobs": 1,
}


def _system(rows: int, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (rows, 3))
    return X, 10.0 * np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] + rng.laplace(size=rows)


@pytest.fixture(scope="module")
def fitted() -> BayesianCSIDRegressor:
    return BayesianCSIDRegressor(**QUICK).fit(*_system(600))


def test_intervals_cover_and_the_noise_is_found(fitted: BayesianCSIDRegressor) -> None:
    X, y = _system(1000, seed=1)
    lower, upper = fitted.predict_interval(X, 0.9)
    assert abs(np.mean((lower < y) & (y < upper)) - 0.9) < 0.05
    assert 0.8 < float(fitted.noise_[0]) < 1.3  # the truth is 1
    assert fitted.score(X, y) > 0.8
    assert set(fitted.stacking_weights_) == {"medium", "smooth"}


def test_least_squares_takes_its_expectations() -> None:
    """The objective falls; outliers pull less than under squared errors."""
    X, y = _system(400)
    y[::20] += 60.0
    new, truth = _system(400, seed=2)
    models = [CSIDRegressor(rank=4, likelihood=name, random_state=0).fit(X, y) for name in ("laplace", "gaussian")]
    assert (np.diff(models[0].objective_history_[0]) <= 1e-9).all()
    errors = [np.mean(np.abs(model.predict(new) - truth)) for model in models]
    assert errors[0] < 0.8 * errors[1]


def test_it_survives_a_file(fitted: BayesianCSIDRegressor, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model.csid")
    again, (X, _) = load(tmp_path / "model.csid"), _system(20)
    assert_array_equal(again.predict(X), fitted.predict(X))
    assert_array_equal(again.predict_interval(X), fitted.predict_interval(X))
    assert again.get_params()["likelihood"] == "laplace"
    assert isinstance(again.fitted_.likelihood, Laplace)


def test_a_page_tells_and_computes_it(fitted: BayesianCSIDRegressor, tmp_path: Path) -> None:
    fitted.report(tmp_path / "model.html", *_system(50, seed=3))
    page = (tmp_path / "model.html").read_text(encoding="utf-8")
    assert "Laplace" in page
    assert "0.5 * Math.exp(-Math.abs(z))" in page


def test_other_programs_compute_the_same_intervals(fitted: BayesianCSIDRegressor) -> None:
    import onnxruntime

    X, _ = _system(10, seed=4)
    lower, upper = fitted.predict_interval(X, 0.8)
    session = onnxruntime.InferenceSession(to_onnx(fitted, interval=0.8).SerializeToString())
    _, low, high = session.run(None, {f"x{n}": X[:, [n]] for n in range(3)})
    assert_allclose(low[:, 0], lower, atol=1e-8)
    assert_allclose(high[:, 0], upper, atol=1e-8)
    module: dict[str, Any] = {"__name__": "model"}
    exec(to_python(fitted), module)
    found = module["predict_interval"](dict(zip(("x0", "x1", "x2"), X[0], strict=True)), coverage=0.8)
    assert_allclose(found, (lower[0], upper[0]), atol=1e-8)
    assert '"name": "laplace"' in to_json(fitted)


def test_rows_on_disk_and_on_a_cluster_are_fitted(fitted: BayesianCSIDRegressor) -> None:
    import dask
    import dask.array as da

    from csid.dask import DaskBayesianCSIDRegressor, DaskCSIDRegressor

    X, y = _system(600)

    def batches() -> Iterator[tuple[Array, Array]]:
        yield X[:250], y[:250]
        yield X[250:], y[250:]

    new, truth = _system(300, seed=5)
    best = fitted.score(new, truth)
    on_disk = BayesianCSIDRegressor(**QUICK).fit(Batches(batches))
    assert on_disk.score(new, truth) > best - 0.02
    lazy = da.from_array(X, chunks=(200, 3)), da.from_array(y, chunks=200)
    with dask.config.set(scheduler="synchronous"):
        makes: list[Callable[[], Any]] = [
            lambda: DaskBayesianCSIDRegressor(**QUICK),
            lambda: DaskCSIDRegressor(rank=4, likelihood="laplace", random_state=0),
        ]
        for make in makes:
            assert make().fit(*lazy).to_local().score(new, truth) > best - 0.05
