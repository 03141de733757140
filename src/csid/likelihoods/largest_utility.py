"""The probability that each of C utilities with standard normal noise is the largest, for other programs.

P(k) = integral of phi(z - eta_k) prod_{j != k} Phi(z - eta_j), by the trapezoidal rule, as
`csid._kernels.latent_draws.class_probabilities` computes it. All classes share the nodes.
"""

# ruff: noqa: B905 (before Python 3.10, zip has no `strict`)

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from csid.likelihoods.gaussian import NORMAL_JAVASCRIPT, onnx_cdf

Array = NDArray[np.float64]

_TINY = float(np.finfo(np.float64).tiny)


class LargestUtility:
    """Probabilities of several classes in pure Python: the class with the largest utility is seen.

    Utilities have standard normal noise. Nodes of the integral are `step` apart, from `reach` below the largest mean.
    """

    step: ClassVar[float] = 0.35
    reach: ClassVar[float] = 8.5

    def probabilities(self, values: "list[float]", parameters: "dict[str, list[float]]") -> "list[float]":
        """Probabilities of the classes, given the means of their utilities."""
        top = max(values)
        masses = [0.0] * len(values)
        z = top - self.reach
        while z < top + self.reach:
            below = [0.5 * math.erfc((value - z) / math.sqrt(2.0)) for value in values]
            product = math.prod(below)
            if product > 0.0:
                densities = [math.exp(-0.5 * (z - value) ** 2) for value in values]
                masses = [mass + product / b * density for mass, b, density in zip(masses, below, densities)]
            z += self.step
        total = sum(masses)
        return [mass / total for mass in masses]


def onnx_probabilities(values: Any, parameters: Mapping[str, Array]) -> Any:
    """(M, C, D) from means of utilities (M, C, D), values of an ONNX graph. A loop over the nodes saves memory."""
    shift = values - values.then("ReduceMax", np.array([1]), keepdims=1)
    nodes = np.arange(-LargestUtility.reach, LargestUtility.reach, LargestUtility.step)

    def add(node: Any, masses: Any) -> Any:
        z = node.graph.constant(nodes).then("Gather", node) - shift
        logs = onnx_cdf(z).then("Max", _TINY).then("Log")
        product = logs.then("ReduceSum", np.array([1]), keepdims=1)
        return masses + (product - logs - z * z * 0.5).then("Exp")

    steps = values.graph.constant(np.arange(len(nodes)))
    masses = values.graph.each(steps, add, shift * 0.0, [None, None, None])
    return masses / masses.then("ReduceSum", np.array([1]), keepdims=1)


# The same in JavaScript. The normal distribution function is cubic between the points of a table, with an error below
# 2e-11: a page evaluates it millions of times.
JAVASCRIPT = f"""(() => {{
  const normal = {NORMAL_JAVASCRIPT};
  const STEP = {LargestUtility.step}, REACH = {LargestUtility.reach}, END = 9, PARTS = 128, LAST = 2 * END * PARTS;
  const points = Array.from({{ length: LAST + 2 }}, (_, i) => i / PARTS - END);
  const values = Float64Array.from(points, normal.cdf);
  const slopes = Float64Array.from(points, (z) => normal.pdf(z) / PARTS);

  function cdf(z) {{
    const at = (z + END) * PARTS;
    if (at <= 0) return 0;
    if (at >= LAST) return 1;
    const i = Math.floor(at), j = i + 1, t = at - i, u = 1 - t;
    return u * u * ((1 + 2 * t) * values[i] + t * slopes[i]) + t * t * ((1 + 2 * u) * values[j] - u * slopes[j]);
  }}

  function probabilities(eta) {{
    const top = eta.reduce((a, b) => Math.max(a, b));
    const sums = new Array(eta.length).fill(0), below = new Float64Array(eta.length);
    for (let z = top - REACH; z < top + REACH; z += STEP) {{
      let product = 1;
      for (let k = 0; k < eta.length; k++) product *= below[k] = cdf(z - eta[k]);
      if (product > 0) {{
        for (let k = 0; k < eta.length; k++) sums[k] += (product * Math.exp(-0.5 * (z - eta[k]) ** 2)) / below[k];
      }}
    }}
    const mass = sums.reduce((a, b) => a + b);
    return sums.map((sum) => sum / mass);
  }}
  return {{ probabilities }};
}})()"""
