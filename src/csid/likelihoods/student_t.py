"""Student's t noise: `likelihood="student_t"`. Its heavy tails make the fit robust to outliers.

Student's t is a normal distribution whose precision alpha is multiplied by lambda_m ~ Gamma(df / 2, df / 2) in row m.
Given the residuals r_m, lambda_m is Gamma again. All outputs of a row share it:

    lambda_m | r_m ~ Gamma((df + K) / 2, (df + alpha |r_m|^2) / 2)

Working targets are the targets; lambda_m multiplies the weight of row m. A row of weight s is s rows, each with its
own lambda; their sum is Gamma(s (df + K) / 2, (df + alpha |r_m|^2) / 2).
"""

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, stdtr, stdtrit

from csid.likelihoods.likelihood import Parameters
from csid.likelihoods.location_scale import LocationScale, OnnxNoise

Array = NDArray[np.float64]

_DEGREES_OF_FREEDOM = 4.0


@dataclass(frozen=True)
class StudentT(LocationScale):
    """y ~ t(eta, 1 / alpha) with `degrees_of_freedom`, above 2."""

    name: ClassVar[str] = "student_t"

    degrees_of_freedom: float = _DEGREES_OF_FREEDOM

    def working(
        self, targets: Array, weights: Array, eta: Array, parameters: Parameters, rng: np.random.Generator | None
    ) -> tuple[Array, Array]:
        df, K, alpha = self.degrees_of_freedom, targets.shape[1], parameters["alpha"]
        if rng is None:  # least squares uses one precision for all outputs
            return targets, weights * (df + K) / (df + float(alpha.min()) * ((targets - eta) ** 2).sum(axis=1))
        squares = (targets - eta) ** 2 @ alpha
        return targets, rng.gamma(0.5 * (df + K) * weights, 2.0 / (df + squares))

    def losses(self, targets: Array, eta: Array, parameters: Parameters) -> Array:
        """`(df + K) / alpha log(1 + alpha |r|^2 / df)`: up to a constant, -2 / alpha times the log-likelihood.

        It decreases in alpha, and its derivative with respect to |r|^2 is the working weight of the row.
        """
        df, K, alpha = self.degrees_of_freedom, targets.shape[1], float(parameters["alpha"].min())
        squares = ((targets - eta) ** 2).sum(axis=1)
        return np.asarray((df + K) / alpha * np.log1p(alpha * squares / df))

    @property
    def label(self) -> str:
        return "Student's t, heavy tails"

    @property
    def variance_of_one(self) -> float:
        return self.degrees_of_freedom / (self.degrees_of_freedom - 2.0)

    def cdf(self, z: Array) -> Array:
        return np.asarray(stdtr(self.degrees_of_freedom, z))

    def pdf(self, z: Array) -> Array:
        df = self.degrees_of_freedom
        size = np.exp(gammaln(0.5 * (df + 1.0)) - gammaln(0.5 * df)) / np.sqrt(df * np.pi)
        return np.asarray(size * (1.0 + z**2 / df) ** (-0.5 * (df + 1.0)))

    def ppf(self, q: float) -> float:
        return float(stdtrit(self.degrees_of_freedom, q))

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        return rng.standard_t(self.degrees_of_freedom, shape)

    def as_json(self) -> dict[str, Any]:
        return super().as_json() | {"degrees_of_freedom": self.degrees_of_freedom}

    @classmethod
    def of_json(cls, entries: Mapping[str, Any]) -> Self:
        df = entries.get("degrees_of_freedom")
        if not isinstance(df, int | float) or isinstance(df, bool) or not 2.0 < df < math.inf:
            raise ValueError(f"has {df!r} degrees of freedom, not a number above 2")
        return replace(super().of_json(entries), degrees_of_freedom=float(df))

    @property
    def javascript(self) -> str:
        self._check_closed_form()
        return _JAVASCRIPT

    @property
    def python(self) -> str:
        self._check_closed_form()
        return "import math\n\n\n" + inspect.getsource(StandardStudent4)

    def onnx(self) -> OnnxNoise:
        self._check_closed_form()
        return OnnxNoise(_onnx_cdf, _onnx_pdf, lambda q: np.asarray(stdtrit(_DEGREES_OF_FREEDOM, q)))

    def _check_closed_form(self) -> None:
        if self.degrees_of_freedom != _DEGREES_OF_FREEDOM:
            raise ValueError(
                f"the likelihood has {self.degrees_of_freedom:g} degrees of freedom, but reports and exports support "
                "Student's t with 4 degrees of freedom only. Fit with likelihood='student_t'."
            )


class StandardStudent4:
    """Student's t distribution with 4 degrees of freedom, in pure Python."""

    def cdf(self, z: float) -> float:
        s = z / math.hypot(2.0, z)
        return 0.5 + 0.25 * s * (3.0 - s * s)

    def pdf(self, z: float) -> float:
        return 0.375 * math.pow(1.0 + 0.25 * z * z, -2.5)

    def ppf(self, q: float) -> float:
        root = math.sqrt(4.0 * q * (1.0 - q))
        return math.copysign(2.0 * math.sqrt(max(math.cos(math.acos(root) / 3.0) / root - 1.0, 0.0)), q - 0.5)


_JAVASCRIPT = """{
  cdf: (z) => {
    const s = z / Math.hypot(2, z);
    return 0.5 + 0.25 * s * (3 - s * s);
  },
  pdf: (z) => 0.375 * Math.pow(1 + 0.25 * z * z, -2.5),
}"""


def _onnx_cdf(z: Any) -> Any:
    clipped = z.then("Clip", -1e30, 1e30)
    s = clipped / (clipped * clipped + 4.0).then("Sqrt")
    return s * (3.0 - s * s) * 0.25 + 0.5


def _onnx_pdf(z: Any) -> Any:
    c = (z * z * 0.25 + 1.0).then("Reciprocal")
    return c * c * c.then("Sqrt") * 0.375
