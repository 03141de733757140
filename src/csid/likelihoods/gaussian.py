"""Gaussian noise: `likelihood="gaussian"`. Working targets and weights are the targets and the sample weights."""

import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from csid.likelihoods.location_scale import LocationScale, OnnxNoise

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Gaussian(LocationScale):
    """y ~ N(eta, 1 / alpha)."""

    name: ClassVar[str] = "gaussian"
    augmented: ClassVar[bool] = False

    @property
    def label(self) -> str:
        return "normal"

    @property
    def variance_of_one(self) -> float:
        return 1.0

    def cdf(self, z: Array) -> Array:
        return np.asarray(ndtr(z))

    def pdf(self, z: Array) -> Array:
        return np.asarray(np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi))

    def ppf(self, q: float) -> float:
        return float(ndtri(q))

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        return rng.standard_normal(shape)

    @property
    def javascript(self) -> str:
        return NORMAL_JAVASCRIPT

    @property
    def python(self) -> str:
        return "import math\nfrom statistics import NormalDist\n\n\n" + inspect.getsource(StandardNormal)

    def onnx(self) -> OnnxNoise:
        return OnnxNoise(onnx_cdf, _onnx_pdf, ndtri)


class StandardNormal:
    """The standard normal distribution in pure Python."""

    def cdf(self, z: float) -> float:
        return 0.5 * math.erfc(-z / math.sqrt(2.0))

    def pdf(self, z: float) -> float:
        return math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)

    def ppf(self, q: float) -> float:
        return NormalDist().inv_cdf(q)


# The standard normal distribution in JavaScript. The complementary error function for z >= 0, to rounding error: a
# series of positive terms, or a continued fraction.
NORMAL_JAVASCRIPT = """(() => {
  function erfcOfPositive(z) {
    if (z < 3) {
      let term = z, sum = z;
      for (let n = 1; term > 1e-17 * sum; n++) sum += term *= (2 * z * z) / (2 * n + 1);
      return 1 - (2 / Math.sqrt(Math.PI)) * Math.exp(-z * z) * sum;
    }
    let fraction = z;
    for (let n = 60; n > 0; n--) fraction = z + n / 2 / fraction;
    return Math.exp(-z * z) / (Math.sqrt(Math.PI) * fraction);
  }
  return {
    cdf: (z) => (z < 0 ? 0.5 * erfcOfPositive(-z / Math.SQRT2) : 1 - 0.5 * erfcOfPositive(z / Math.SQRT2)),
    pdf: (z) => Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI),
  };
})()"""

# ONNX Runtime has no `Erf` of doubles. Algorithm 5666 of Hart (1968), after West (2005), "Better approximations to
# cumulative normal functions", with coefficients from the highest power down. It is used for all |z|: beyond 7, where
# West switches to a continued fraction, both tails are below 1e-12.
_HART_ABOVE = (
    3.52624965998911e-02,
    0.700383064443688,
    6.37396220353165,
    33.912866078383,
    112.079291497871,
    221.213596169931,
    220.206867912376,
)
_HART_BELOW = (
    8.83883476483184e-02,
    1.75566716318264,
    16.064177579207,
    86.7807322029461,
    296.564248779674,
    637.333633378831,
    793.826512519948,
    440.413735824752,
)


def onnx_cdf(z: Any) -> Any:
    """The standard normal distribution function of a value of an ONNX graph."""
    size = z.then("Abs").then("Min", 40.0)
    tail = (size * size * -0.5).then("Exp") * _polynomial(_HART_ABOVE, size) / _polynomial(_HART_BELOW, size)
    return z.then("Less", 0.0).where(tail, 1.0 - tail)


def _onnx_pdf(z: Any) -> Any:
    return (z * z * -0.5).then("Exp") * (1.0 / math.sqrt(2.0 * math.pi))


def _polynomial(coefficients: Sequence[float], x: Any) -> Any:
    """Horner's rule. coefficients : from the highest power down."""
    highest, following, *others = coefficients
    value = x * highest + following
    for coefficient in others:
        value = value * x + coefficient
    return value
