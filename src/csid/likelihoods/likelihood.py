"""The interface of a likelihood: everything that depends on the distribution of targets given the system's value.

    y_m ~ p(y | eta_m, parameters),      eta_m = f(x_m)

For a fit, a likelihood gives *working targets* and *weights*, with which a sweep over the factors is linear least
squares, and its own parameters. Gibbs sampling draws both; least squares takes expectations (EM). For predictions it
gives the predictive distribution, and for report pages and exports that distribution in other languages. No other code
asks which likelihood it is: a new likelihood is a new file in this folder.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from csid.data.problem import Summary
from csid.likelihoods.calibration import Calibration
from csid.likelihoods.mixture import Mixture

Array = NDArray[np.float64]
Parameters = dict[str, Array]
"""A likelihood's own parameters, by name. "alpha" (K,) is the precision of the working targets."""

HeldOutScore = Literal["squared_error", "log_density"]

LIKELIHOODS: dict[str, type["Likelihood"]] = {}
"""All likelihoods by name."""


class Likelihood(ABC):
    """The distribution of targets given the value of the system.

    name : as in `likelihood=`, and in model files.
    held_out_score : how the pilot weighs priors on held-out rows.
    augmented : whether every sweep has new working targets or weights. Rows on the same cell are then not merged.
    draw_parameters : names of the parameters that a posterior draw keeps.
    """

    name: ClassVar[str]
    held_out_score: ClassVar[HeldOutScore] = "log_density"
    augmented: ClassVar[bool] = True
    draw_parameters: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" in cls.__dict__:
            LIKELIHOODS[cls.name] = cls

    # --- fitting ------------------------------------------------------------------------------------------------------

    @abstractmethod
    def start(self, summary: Summary) -> Parameters:
        """Initial parameters of a chain or a fit, for a system that predicts the mean of the targets."""

    def with_noise_prior(self, error: Array, rows: float) -> Self:
        """The likelihood with a prior at the held-out mean squared errors (K,), with the weight of `rows` rows."""
        return self

    @abstractmethod
    def draw(self, squares: Array, n_observations: float, rng: np.random.Generator) -> Parameters:
        """Draw the parameters given the weighted sums of squared residuals (K,) of the working targets."""

    @abstractmethod
    def maximise(self, parameters: Parameters, squares: Array, n_observations: float) -> Parameters:
        """The M-step of least squares: parameters for which the loss does not rise."""

    def working(
        self, targets: Array, weights: Array, eta: Array, parameters: Parameters, rng: np.random.Generator | None
    ) -> tuple[Array, Array]:
        """Working targets (M, K) and weights (M,) at values eta (M, K): drawn, or their expectations without `rng`."""
        return targets, weights

    def losses(self, targets: Array, eta: Array, parameters: Parameters) -> Array:
        """Losses (M,), whose mean least squares minimises. Their gradient in eta is that of the working problem."""
        return np.asarray(((targets - eta) ** 2).sum(axis=1))

    # --- draws --------------------------------------------------------------------------------------------------------

    @abstractmethod
    def trace(self, parameters: Parameters) -> Array:
        """Quantities (Q,) that convergence diagnostics monitor along a chain."""

    def trace_in_units(self, trace: Array, scale: Array) -> Array:
        """A trace (sweeps, Q) in the units of y. scale : (K,) of the standardised targets."""
        return trace

    @abstractmethod
    def parameters_in_units(self, parameters: Parameters, centre: Array, scale: Array) -> dict[str, Array]:
        """The parameters of a posterior draw, (K,) each, in the units of y: `y = centre + scale * working targets`."""

    @abstractmethod
    def predictive(self, values: Array, parameters: Mapping[str, Array], weights: Array) -> Mixture:
        """The predictive distribution, given values (D, M, K), parameters and weights (D,) of posterior draws.

        parameters : (D, K) each, or (D, M, K) if they differ between rows.
        """

    @abstractmethod
    def fit_calibration(self, predictive: Mixture, truth: Array, weights: Array) -> Calibration:
        """Fit the calibration of predictive distributions to held-out targets (M, K), with weights (M, K)."""

    def noise_variance(self, parameters: Mapping[str, Array], weights: Array) -> Array:
        """Variance (K,) of an observation given the system's value; zero if it is not the same for all rows."""
        return np.zeros(1)

    # --- files, pages and other programs ------------------------------------------------------------------------------

    @property
    @abstractmethod
    def label(self) -> str:
        """A name for report pages, such as "normal"."""

    def as_json(self) -> dict[str, Any]:
        """The entry of a model file, which `of_json` reads."""
        return {"name": self.name}

    @classmethod
    def of_json(cls, entries: Mapping[str, Any]) -> Self:
        """The likelihood from its entry in a model file. A ValueError explains an invalid entry."""
        return cls()

    @property
    @abstractmethod
    def javascript(self) -> str:
        """A JavaScript object with `cdf(z)` and `pdf(z)` of noise of scale one."""

    @property
    @abstractmethod
    def python(self) -> str:
        """Python source of a class with `cdf(z)`, `pdf(z)` and `ppf(q)` of noise of scale one, for exported modules.

        It starts with its imports, which are from the standard library of Python 3.8 only.
        """

    @abstractmethod
    def onnx(self) -> Any:
        """The same functions on values of an ONNX graph; `ppf` on an array."""


def likelihood_of(given: str | Likelihood) -> Likelihood:
    """The likelihood with this name, or the given `Likelihood`."""
    if isinstance(given, Likelihood):
        return given
    if given not in LIKELIHOODS:
        raise ValueError(f"likelihood={given!r}: give one of {', '.join(map(repr, sorted(LIKELIHOODS)))}.")
    return LIKELIHOODS[given]()
