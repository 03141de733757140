"""`CSIDClassifier`: classes by alternating least squares, as expectation maximisation of a probit model."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from csid.data.targets import ClassWeight, TargetReader
from csid.data.weights import WeightMeaning
from csid.encoding import Interpolation, Missing
from csid.estimators.als import LEAST_SQUARES_CONSTRAINTS, LeastSquaresEstimator
from csid.estimators.base import Constraints
from csid.estimators.classification import CLASS_CONSTRAINTS, TensorClassifier
from csid.inference.als import Update
from csid.likelihoods import Likelihood


class CSIDClassifier(TensorClassifier, LeastSquaresEstimator):
    """Classification by canonical system identification, fitted by alternating least squares.

    Each class has a latent utility, a low-rank tensor of the predictors plus normal noise, and the class with the
    largest utility is seen (probit). With two classes there is one latent value, positive for the second class.
    Before every sweep, the expected latent values are the targets of least squares: expectation maximisation, which
    lowers the penalised log loss in every sweep. All classes share one tensor.

    Parameters
    ----------
    likelihood : {"probit"}, default="probit"
        Distribution of the classes given the latent values.
    class_order : sequence of labels, optional
        The order of the classes, in `classes_` and in the columns of probabilities. Default: ascending, or the order of
        an ordered category.
    class_weight : "balanced" or dict, optional
        Factors of the weights of the rows of each class, from label to number; 1 for labels that are not named.
        "balanced" gives all classes the same total weight. Probabilities are then those of such a population.
    rank : int, default=5
        Number of components F, shared by all classes. More than about ten classes need a higher rank.
    ridge, smoothness : default=1e-3, 0.3
        As in `CSIDRegressor`, on the scale of the latent values, whose noise has variance one.
    early_stopping : "auto" or bool, default="auto"
        As in `CSIDRegressor`; "auto" does so with at least 50 rows. The scale of the latent values is then fitted to
        the held-out rows too, so that probabilities are not overconfident.
    levels, interpolation, categorical_features, missing, pmf_rank, weights, smoothness_order, output_smoothness,
    update, solver, max_iter, tol, validation_fraction, n_iter_no_change, n_init, n_estimators,
    warm_start, random_state, n_jobs, verbose :
        As in `CSIDRegressor`. `pmf_rank` above 1 and `solver="stochastic"` are not supported. An ensemble averages
        latent values.

    Attributes
    ----------
    classes_ : array (C,)
        The labels.
    cpd_ : CPD
        The latent values, one for two classes, else one for each class.
    objective_history_, validation_history_ : list of arrays
        For each member of the ensemble, the objective after each sweep, and twice the log loss of the held-out rows
        (empty without held-out rows).
    encoding_, n_iter_, n_samples_, n_features_in_, feature_names_in_ :
        As in `CSIDRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from csid import CSIDClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (2000, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(2000) > 0, "above", "below")
    >>> model = CSIDClassifier(rank=4, random_state=0).fit(X[:1500], y[:1500])
    >>> model.predict_proba(X[1500:]).shape
    (500, 2)
    >>> bool(model.score(X[1500:], y[1500:]) > 0.8)
    True
    """

    _bayesian = "BayesianCSIDClassifier"
    _fewest_rows_to_stop_early = 50
    _parameter_constraints: ClassVar[Constraints] = {**LEAST_SQUARES_CONSTRAINTS, **CLASS_CONSTRAINTS}

    def __init__(  # noqa: PLR0913 (parameters of scikit-learn estimators are flat)
        self,
        rank: int = 5,
        *,
        levels: int | Literal["auto"] = "auto",
        interpolation: Interpolation = "linear",
        categorical_features: Any = "from_dtype",
        missing: Missing = "marginalize",
        pmf_rank: int | Literal["auto"] = "auto",
        likelihood: str | Likelihood = "probit",
        class_order: Sequence[Any] | None = None,
        class_weight: ClassWeight = None,
        weights: WeightMeaning = "relative",
        ridge: float = 1e-3,
        smoothness: Any = 0.3,
        smoothness_order: int = 1,
        output_smoothness: float = 0.0,
        update: Update = "mode",
        solver: Literal["als", "stochastic"] = "als",
        max_iter: int = 200,
        tol: float = 1e-4,
        early_stopping: bool | Literal["auto"] = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        n_init: int = 1,
        n_estimators: int = 1,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            rank,
            levels=levels,
            interpolation=interpolation,
            categorical_features=categorical_features,
            missing=missing,
            pmf_rank=pmf_rank,
            likelihood=likelihood,
            weights=weights,
            ridge=ridge,
            smoothness=smoothness,
            smoothness_order=smoothness_order,
            output_smoothness=output_smoothness,
            update=update,
            solver=solver,
            max_iter=max_iter,
            tol=tol,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            n_init=n_init,
            n_estimators=n_estimators,
            warm_start=warm_start,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.class_order = class_order
        self.class_weight = class_weight

    def _likelihood(self, reader: TargetReader) -> Likelihood:
        likelihood = super()._likelihood(reader)
        if likelihood.draw_parameters:
            raise ValueError(
                f"likelihood={self.likelihood!r} has parameters of its own ({', '.join(likelihood.draw_parameters)}), "
                "which least squares does not fit: use BayesianCSIDClassifier."
            )
        return likelihood
