"""Two classes: `likelihood="probit"`. P(y = 1) = Phi(s eta)."""

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri

from csid.data.problem import Summary
from csid.likelihoods.class_likelihood import ClassLikelihood, LatentConditions, OnnxClasses
from csid.likelihoods.gaussian import NORMAL_JAVASCRIPT, onnx_cdf
from csid.likelihoods.intervals import values_between
from csid.likelihoods.likelihood import StartValues

Array = NDArray[np.float64]

_LEAST_FREQUENCY = 1e-4


@dataclass(frozen=True)
class BinaryProbit(ClassLikelihood):
    """The latent value is positive for the second class. Targets are 0 and 1."""

    name: ClassVar[str] = "binary_probit"

    @property
    def label(self) -> str:
        return "probit, two classes"

    def start_values(self, summary: Summary) -> StartValues:
        mean = ndtri(np.clip(summary.mean, _LEAST_FREQUENCY, 1.0 - _LEAST_FREQUENCY))
        return StartValues(mean, np.ones(1), mean - 2.0)

    def latent_values(
        self,
        targets: Array,
        eta: Array,
        parameters: Mapping[str, Array],
        rng: np.random.Generator | None,
        units: Array | None = None,
    ) -> Array:
        second = targets[:, 0] > 0.5
        low, high = np.where(second, 0.0, -np.inf), np.where(second, np.inf, 0.0)
        return values_between(low, high, eta[:, 0], rng)[:, None]

    def log_probabilities(self, targets: Array, eta: Array, parameters: Mapping[str, Array]) -> Array:
        return np.asarray(log_ndtr(np.where(targets[:, 0] > 0.5, eta[:, 0], -eta[:, 0])))

    def class_probabilities(self, values: Array, parameters: Mapping[str, Array]) -> Array:
        second = ndtr(values[..., 0])
        return np.stack([ndtr(-values[..., 0]), second], axis=-1)

    def likeliest(self, index: int) -> LatentConditions:
        return LatentConditions(np.array([[1.0 if index == 0 else -1.0]]), np.zeros(1))

    @property
    def javascript(self) -> str:
        return _JAVASCRIPT

    @property
    def python(self) -> str:
        return "import math\n\n\n" + inspect.getsource(TwoClasses)

    def onnx(self) -> OnnxClasses:
        return OnnxClasses(_onnx_probabilities)


class TwoClasses:
    """Probabilities of two classes in pure Python: the latent value of the second has standard normal noise."""

    def probabilities(self, values: "list[float]", parameters: "dict[str, list[float]]") -> "list[float]":
        """Probabilities of both classes, given the latent value."""
        z = values[0] / math.sqrt(2.0)
        return [0.5 * math.erfc(z), 0.5 * math.erfc(-z)]


def _onnx_probabilities(values: Any, parameters: Mapping[str, Array]) -> Any:
    return onnx_cdf(values * -1.0).then("Concat", onnx_cdf(values), axis=1)


_JAVASCRIPT = f"""(() => {{
  const normal = {NORMAL_JAVASCRIPT};
  return {{ probabilities: (values) => values.map(normal.cdf) }};
}})()"""
