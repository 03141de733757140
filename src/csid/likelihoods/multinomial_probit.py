"""Three or more classes: `likelihood="probit"`. Each has a utility s eta_k + noise; the largest is the class seen.

All classes share the tensor, and with it one Gram matrix: 26 classes cost what 26 outputs cost. Only differences of
utilities matter, so their mean over classes is left out of the values and of the working targets.
"""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from csid._kernels.latent_draws import (
    class_probabilities,
    draw_utilities,
    expected_utilities,
    log_probabilities,
)
from csid.data.problem import Summary
from csid.likelihoods.class_likelihood import ClassLikelihood, LatentConditions, OnnxClasses
from csid.likelihoods.largest_utility import JAVASCRIPT, LargestUtility, onnx_probabilities
from csid.likelihoods.likelihood import Parameters, StartValues
from csid.tensor.factors import Factors

Array = NDArray[np.float64]

_NODES = 10


@dataclass(frozen=True)
class MultinomialProbit(ClassLikelihood):
    """The class with the largest of C utilities, whose noises are independent and have variance one."""

    name: ClassVar[str] = "multinomial_probit"

    @property
    def label(self) -> str:
        return f"probit, {self.n_classes} classes"

    def n_outputs(self, columns: int) -> int:
        return self.n_classes

    def start_values(self, summary: Summary) -> StartValues:
        mean = ndtri(np.array(self.frequencies))
        mean -= mean.mean()
        return StartValues(mean, np.ones(len(mean)), mean - 2.0)

    def latent_values(
        self,
        targets: Array,
        eta: Array,
        parameters: Mapping[str, Array],
        rng: np.random.Generator | None,
        units: Array | None = None,
    ) -> Array:
        eta, classes = np.ascontiguousarray(eta), targets[:, 0].astype(np.intp)
        if rng is None:
            found = np.empty((len(eta), self.n_classes + 1))
            expected_utilities(eta, classes, *_quadrature(), found)
            return found[:, :-1]
        values = np.empty(eta.shape)
        draw_utilities(eta, classes, np.uint64(rng.integers(2**63)), values)
        return np.asarray(values - values.mean())

    def log_probabilities(self, targets: Array, eta: Array, parameters: Mapping[str, Array]) -> Array:
        found = np.empty(len(eta))
        log_probabilities(np.ascontiguousarray(eta), targets[:, 0].astype(np.intp), *_quadrature(), found)
        return found

    def class_probabilities(self, values: Array, parameters: Mapping[str, Array]) -> Array:
        found, eta = np.empty(values.shape), np.ascontiguousarray(values).reshape(-1, self.n_classes)
        class_probabilities(eta, LargestUtility.step, LargestUtility.reach, found.reshape(-1, self.n_classes))
        return found

    def likeliest(self, index: int) -> LatentConditions:
        contrasts = np.delete(np.eye(self.n_classes), index, axis=0)
        contrasts[:, index] = -1.0
        return LatentConditions(contrasts, np.zeros(len(contrasts)))

    @property
    def python(self) -> str:
        return "import math\nfrom typing import ClassVar\n\n\n" + inspect.getsource(LargestUtility)

    def onnx(self) -> OnnxClasses:
        return OnnxClasses(onnx_probabilities)

    def in_units(self, factors: Factors, parameters: Parameters) -> Factors:
        scaled = super().in_units(factors, parameters)
        return replace(scaled, V=scaled.V - scaled.V.mean(axis=0), bias=scaled.bias - scaled.bias.mean())

    @property
    def javascript(self) -> str:
        return JAVASCRIPT


@cache
def _quadrature() -> tuple[Array, Array]:
    """Nodes of Gauss-Hermite quadrature, and logarithms of weights for integrals over the real line."""
    nodes, weights = np.polynomial.hermite.hermgauss(_NODES)
    return nodes, np.log(weights) + nodes**2
