"""`BayesianCSIDClassifier`: classes with calibrated probabilities, by Gibbs sampling of a probit model."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from csid.data.targets import ClassWeight
from csid.data.weights import WeightMeaning
from csid.encoding import Interpolation, Missing
from csid.estimators.base import Constraints
from csid.estimators.classification import CLASS_CONSTRAINTS, TensorClassifier
from csid.estimators.sampling import SAMPLING_CONSTRAINTS, BayesianEstimator, Effort
from csid.inference.jobs import Start
from csid.inference.whole_numbers import Kind
from csid.likelihoods import Likelihood

Array = NDArray[np.float64]


class BayesianCSIDClassifier(TensorClassifier, BayesianEstimator):
    """Classification by canonical system identification, with calibrated probabilities and nothing to tune.

    Each class has a latent utility, a low-rank tensor of the predictors plus normal noise, and the class with the
    largest utility is seen (probit). With two classes there is one latent value, positive for the second class. Gibbs
    sampling draws the latent values and the tensor from their posterior; a pilot weighs several priors by the
    probabilities that they give to the classes of held-out rows.

    Parameters
    ----------
    likelihood : {"probit", "ordinal"}, default="probit"
        Distribution of the classes given the latent values. "ordinal" is for ordered classes, such as grades: there is
        one latent value, and the class is the interval between cut points in which it is.
    class_order : sequence of labels, optional
        The order of the classes, in `classes_` and in the columns of probabilities. Default: ascending, or the order of
        an ordered category. With likelihood="ordinal", texts need an order.
    class_weight : "balanced" or dict, optional
        Factors of the weights of the rows of each class, from label to number; 1 for labels that are not named.
        "balanced" gives all classes the same total weight. Probabilities are then those of such a population.
    rank, levels, prior, smoothness_order, effort, n_chains, n_burn, n_draws, weights, start, solver, max_rank,
    interpolation, categorical_features, whole_numbers, missing, pmf_rank, warm_start, random_state, n_jobs, verbose :
        As in `BayesianCSIDRegressor`.

    Attributes
    ----------
    classes_ : array (C,)
        The labels.
    cpd_ : CPD
        The posterior mean of the latent values, one for two classes and for ordered classes, else one for each class.
        Their noise has variance one.
    calibration_ : ProbabilityCalibration
        The power to which probabilities are raised, which the pilot fits on held-out rows.
    accuracy_ : ClassAccuracy or None
        Accuracy, log loss and Brier score on the held-out rows of the pilot.
    posterior_, encoding_, stacking_weights_, whole_numbers_, missing_, pmf_, convergence_, trace_ :
        As in `BayesianCSIDRegressor`; `trace_` is of the scale of the noise in units of the latent value.

    Examples
    --------
    >>> import numpy as np
    >>> from csid import BayesianCSIDClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (400, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(400) > 0, "above", "below")
    >>> model = BayesianCSIDClassifier(rank=4, effort="fast", random_state=0).fit(X[:300], y[:300])
    >>> model.classes_.tolist()
    ['above', 'below']
    >>> bool(model.score(X[300:], y[300:]) > 0.8)
    True
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **SAMPLING_CONSTRAINTS,
        **CLASS_CONSTRAINTS,
    }

    def __init__(  # noqa: PLR0913 (parameters of scikit-learn estimators are flat)
        self,
        rank: int = 32,
        *,
        levels: int | Literal["auto"] = "auto",
        prior: str | Sequence[str] = "auto",
        smoothness_order: int | Literal["auto"] = "auto",
        effort: Effort = "default",
        n_chains: int | None = None,
        n_burn: int | None = None,
        n_draws: int | None = None,
        likelihood: str | Likelihood = "probit",
        class_order: Sequence[Any] | None = None,
        class_weight: ClassWeight = None,
        weights: WeightMeaning = "relative",
        start: Start = "random",
        solver: Literal["gibbs", "stochastic"] = "gibbs",
        max_rank: int = 2048,
        interpolation: Interpolation = "linear",
        categorical_features: Any = "from_dtype",
        whole_numbers: Kind | Literal["auto"] | dict[str, Kind] = "auto",
        missing: Missing | Literal["auto"] = "auto",
        pmf_rank: int | Literal["auto"] = "auto",
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            rank,
            levels=levels,
            prior=prior,
            smoothness_order=smoothness_order,
            effort=effort,
            n_chains=n_chains,
            n_burn=n_burn,
            n_draws=n_draws,
            likelihood=likelihood,
            weights=weights,
            start=start,
            solver=solver,
            max_rank=max_rank,
            interpolation=interpolation,
            categorical_features=categorical_features,
            whole_numbers=whole_numbers,
            missing=missing,
            pmf_rank=pmf_rank,
            warm_start=warm_start,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.class_order = class_order
        self.class_weight = class_weight

    def decision_function(self, X: Any) -> Array:
        """Scores in the order of the probabilities.

        Of two classes, (M,): the latent value at which the second has its probability. Of more, (M, C): the logarithms
        of the probabilities. The posterior mean of the latent values is `cpd_`; an average of probabilities over draws
        is not a function of it.
        """
        p = self.predict_proba(X)
        return ndtri(p[:, 1]) if p.shape[1] == 2 else np.log(p)

    def predict_proba_interval(self, X: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Bounds of the probabilities over posterior draws, (M, C) each: how sure the model is of them.

        Parameters
        ----------
        X : data frame or array, (M, N)
        coverage : float, default=0.9
            The posterior probability that the probability of a class is inside.
        """
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage={coverage}: give a probability between 0 and 1, such as 0.9.")
        bounds = np.array([0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage])
        parts = [each.quantiles(bounds) for _, each in self._fitted().class_predictives(X, self._threads())]
        lower, upper = np.concatenate(parts, axis=1)
        return lower, upper
