"""The interface of a likelihood: everything that depends on the distribution of targets given the system's value.

    y_m ~ p(y | eta_m, parameters),      eta_m = f(x_m)

For a fit, a likelihood gives *working targets* and *weights*, with which a sweep over the factors is linear least
squares, and its own parameters. Gibbs sampling draws both; least squares takes expectations (EM). For predictions it
gives the predictive distribution, and for report pages and exports that distribution in other languages. No other code
asks which likelihood it is: a new likelihood is a new file in this folder.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from csid.data.problem import Summary
from csid.likelihoods.predictive import Predictive, PredictiveCalibration
from csid.tensor.factors import Factors
from csid.tensor.gaps import deviations_in_gaps

Array = NDArray[np.float64]
Parameters = dict[str, Array]
"""A likelihood's own parameters, by name. "alpha" (K,) is the precision of the working targets."""

HeldOutScore = Literal["squared_error", "log_density"]

TargetKind = Literal["number", "interval", "survival", "class", "count"]

LIKELIHOODS: dict[str, type["Likelihood"]] = {}
"""All likelihoods by name."""


class StartValues(NamedTuple):
    """Where the values of the system start: their mean, deviation, and a bound from below, (K,) each."""

    mean: Array
    deviation: Array
    least: Array


class Likelihood(ABC):
    """The distribution of targets given the value of the system.

    name : as in `likelihood=`, and in model files.
    target : what it is the distribution of.
    held_out_score : how the pilot weighs priors on held-out rows.
    augmented : whether every sweep has new working targets or weights. Rows on the same cell are then not merged.
    latent : whether working targets are unknown values on which the targets depend, drawn anew. Targets are then not
        standardised.
    noise_prior : whether a prior of the noise can use the squared error on held-out rows (`with_noise_prior`).
    mean_is_value : whether the mean of a new observation is the value of the system, up to centre and scale.
    draw_parameters : names of the parameters that a posterior draw keeps.
    monitored : what convergence diagnostics monitor along a chain, see `trace`: in a word, as pages and plots say it.
    """

    name: ClassVar[str]
    target: ClassVar[TargetKind] = "number"
    held_out_score: ClassVar[HeldOutScore] = "log_density"
    augmented: ClassVar[bool] = True
    latent: ClassVar[bool] = False
    noise_prior: ClassVar[bool] = True
    mean_is_value: ClassVar[bool] = True
    draw_parameters: ClassVar[tuple[str, ...]] = ()
    monitored: ClassVar[str] = "noise"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" in cls.__dict__:
            LIKELIHOODS[cls.name] = cls

    def n_outputs(self, columns: int) -> int:
        """The number K of values of the system, given the number of columns of the targets."""
        return columns

    # --- fitting ------------------------------------------------------------------------------------------------------

    @abstractmethod
    def start(self, summary: Summary) -> Parameters:
        """Initial parameters of a chain or a fit, for a system that predicts the mean of the targets."""

    def start_values(self, summary: Summary) -> StartValues:
        """The values of the system at which a chain or a fit starts."""
        deviation = np.sqrt((summary.squares + summary.within) / summary.total_weight)
        return StartValues(summary.mean, deviation, summary.least)

    def with_noise_prior(self, error: Array, rows: float) -> Self:
        """The likelihood with a prior at the held-out mean squared errors (K,), with the weight of `rows` rows."""
        return self

    def draw_given_targets(
        self, parameters: Parameters, loss: Callable[[Parameters], float], rng: np.random.Generator
    ) -> Parameters:
        """Draw parameters given the targets and the system's values, before the working targets are drawn.

        loss : the weighted sum over rows of `losses` at other parameters. For latent targets, -2 times the
            log-likelihood.
        """
        return parameters

    @abstractmethod
    def draw(
        self, parameters: Parameters, squares: Array, n_observations: float, rng: np.random.Generator
    ) -> Parameters:
        """Draw the parameters given the weighted sums of squared residuals (K,) of the working targets."""

    def fit_to_held_out(self, parameters: Parameters, loss: Callable[[Parameters], float]) -> Parameters:
        """Parameters for the predictions of a least-squares fit.

        loss : the weighted mean over held-out rows of `losses`, at other parameters.
        """
        return parameters

    @abstractmethod
    def maximise(self, parameters: Parameters, squares: Array, n_observations: float) -> Parameters:
        """The M-step of least squares: parameters for which the loss does not rise."""

    def working(
        self, targets: Array, weights: Array, eta: Array, parameters: Parameters, rng: np.random.Generator | None
    ) -> tuple[Array, Array]:
        """Working targets (M, K) and weights (M,) at values eta (M, K): drawn, or their expectations without `rng`."""
        return targets, weights

    def within(self, targets: Array, weights: Array, eta: Array, parameters: Parameters, drawn: bool) -> Array | None:
        """Weighted sums of squares (K,) that squared residuals of the working targets leave out; None for none.

        Of a latent value that is expected, its variance; with `drawn`, of a row that stands for several observations,
        the variance of their latent values around the mean.
        """
        return None

    def losses(self, targets: Array, eta: Array, parameters: Parameters) -> Array:
        """Losses (M,), whose mean least squares minimises. Their gradient in eta is that of the working problem."""
        return np.asarray(((targets - eta) ** 2).sum(axis=1))

    def deviations(
        self, targets: Array, eta: Array, variances: Array, parameters: Parameters, rng: np.random.Generator
    ) -> Array:
        """Draw the deviations (J, K) of the system's values from eta in rows that lack cells, given their targets.

        variances : (J, K) of these deviations. See `csid.tensor.gaps`.
        """
        return deviations_in_gaps(targets - eta, variances, parameters["alpha"], rng)

    def units(self, centre: Array, scale: Array) -> tuple[Array, Array]:
        """Centre and scale (K,) of the values of the system, given those of the targets (T,)."""
        return centre, scale

    # --- draws --------------------------------------------------------------------------------------------------------

    @abstractmethod
    def trace(self, parameters: Parameters) -> Array:
        """Quantities (Q,) that convergence diagnostics monitor along a chain."""

    def trace_in_units(self, trace: Array, scale: Array) -> Array:
        """A trace (sweeps, Q) in the units of y. scale : (K,) of the standardised targets."""
        return trace

    def in_units(self, factors: Factors, parameters: Parameters) -> Factors:
        """The factors of a draw whose values `predictive` takes, up to the centre and scale of standardised targets."""
        return factors

    @abstractmethod
    def parameters_in_units(self, parameters: Parameters, centre: Array, scale: Array) -> dict[str, Array]:
        """The parameters of a posterior draw in the units of y: `y = centre + scale * working targets`."""

    def draw_sizes(self, outputs: int) -> dict[str, int]:
        """The number of values of each parameter that a posterior draw keeps, by name."""
        return dict.fromkeys(self.draw_parameters, outputs)

    def wrong_draws(self, name: str, values: Array) -> str | None:
        """What is wrong with such a parameter of all draws (D, ...) in a model file; None if it is legal."""
        return None if (values > 0.0).all() else "is not positive"

    @abstractmethod
    def predictive(self, values: Array, parameters: Mapping[str, Array], weights: Array) -> Predictive:
        """The predictive distribution, given values (D, M, K), parameters and weights (D,) of posterior draws.

        parameters : (D, P) each, or (D, M, P) if they differ between rows. See `draw_sizes`.
        """

    @abstractmethod
    def no_calibration(self, outputs: int) -> PredictiveCalibration:
        """A calibration that changes nothing."""

    @abstractmethod
    def fit_calibration(self, predictive: Any, truth: Array, weights: Array) -> PredictiveCalibration:
        """Fit the calibration of predictive distributions to held-out targets (M, T), with weights (M, K)."""

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

    def check_described(self) -> None:
        """Raise a NotImplementedError if pages and exports cannot describe models of this likelihood yet."""
        return

    @property
    @abstractmethod
    def javascript(self) -> str:
        """A JavaScript object with `cdf(z)` and `pdf(z)` of noise of scale one.

        Of classes, with `probabilities(values)`, given a latent value for each class. Of two classes, the latent value
        of the first is minus that of the second.
        """

    @property
    @abstractmethod
    def python(self) -> str:
        """Python source of a class with `cdf(z)`, `pdf(z)` and `ppf(q)` of noise of scale one, for exported modules.

        Of classes, it has `probabilities(values, parameters)` of the latent values and parameters of a draw. It starts
        with its imports, which are from the standard library of Python 3.8 only.
        """

    @abstractmethod
    def onnx(self) -> Any:
        """The same functions on values of an ONNX graph; `ppf` on an array. Of classes, `probabilities` of draws."""


def likelihood_of(given: str | Likelihood, *kinds: TargetKind) -> Likelihood:
    """The likelihood of such targets with this name, or the given `Likelihood`."""
    legal = ", ".join(sorted(repr(name) for name, each in LIKELIHOODS.items() if each.target in kinds))
    known = LIKELIHOODS.get(given) if isinstance(given, str) else type(given)
    if known is None:
        raise ValueError(f"likelihood={given!r}: give one of {legal}.")
    if known.target not in kinds:
        what, estimators = _TARGETS[known.target]
        raise ValueError(f"likelihood={given!r} is for {what}: give one of {legal}, or use {estimators}.")
    return LIKELIHOODS[given]() if isinstance(given, str) else given


_TARGETS: dict[TargetKind, tuple[str, str]] = {
    "number": ("numbers", "a regressor"),
    "interval": ("censored targets", "a regressor"),
    "survival": ("survival times", "BayesianCSIDSurvival"),
    "class": ("classes", "a classifier"),
    "count": ("counts", "BayesianCSIDRegressor"),
}
"""Each kind of targets, and the estimators that take it, for error messages."""
