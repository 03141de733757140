"""`CSIDRegressor`: the paper's system by alternating least squares."""

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils.metaestimators import available_if

from csid._kernels.threads import Workers
from csid.data.checks import check_targets, check_weights
from csid.data.table import problem_of
from csid.data.targets import NumericTargets
from csid.estimators.als import LeastSquaresEstimator
from csid.estimators.regression import TensorRegressor
from csid.fitted.model import LeastSquaresRecord
from csid.inference.stream import StreamBatch

Array = NDArray[np.float64]


def _keeps_sums(estimator: "CSIDRegressor") -> bool:
    if estimator.solver != "stochastic":
        raise AttributeError(
            f"solver={estimator.solver!r} does not support partial_fit: only solver='stochastic' keeps sums over rows."
        )
    return True


class CSIDRegressor(TensorRegressor, LeastSquaresEstimator):
    """Canonical system identification: a nonlinear function as a low-rank tensor with smooth factors.

    Each predictor is a mode of a tensor whose cells hold the values of the function. A canonical polyadic decomposition
    completes the cells not seen in the data. It is fitted by alternating least squares (Kargas and Sidiropoulos,
    "Nonlinear System Identification via Tensor Completion", AAAI 2020).

    Parameters
    ----------
    rank : int, default=10
        Number of components F.
    levels : int or "auto", default="auto"
        Largest number of levels of a continuous predictor; 25 in the paper. "auto" is one for every 4 rows per
        predictor, from 16 to 255.
    interpolation : {"linear", "constant"}, default="linear"
        Interpolate the factors between levels, or take the nearest level as in the paper.
    categorical_features : "from_dtype", None, or array-like, default="from_dtype"
        Which predictors are categorical. "from_dtype": columns of strings, booleans or unordered categoricals. None: no
        column. Else names, positions or a boolean mask, in addition to columns of strings or booleans. A column of
        numbers that are codes is a number unless it is named here.
    missing : {"marginalize", "level"}, default="marginalize"
        Treatment of missing cells. "marginalize" averages over their distribution, as in the paper. "level" gives
        missing cells a level of their own in each predictor that has some in training.
    pmf_rank : int or "auto", default="auto"
        Number of latent classes of the joint PMF of the predictors, for missing="marginalize". With 1, as in the paper,
        predictors are independent. With more, predictions average over missing cells given the observed cells, and an
        incomplete training row is replaced by several completions of it. "auto" maximises the likelihood of held-out
        rows; it is 1 if training rows are complete.
    likelihood : {"gaussian", "student_t", "censored_gaussian"} or Likelihood, default="gaussian"
        Distribution of the targets given the value of the system. "gaussian" gives the paper's squared error.
        "student_t" is robust to outliers (expectation maximisation: rows are reweighted before every sweep).
        "censored_gaussian" is for targets of which some are only known to be above, below or between bounds: y is then
        `csid.censored(lower, upper)`, and predictions are of the value itself.
    weights : {"relative", "counts"}, default="relative"
        What `sample_weight` means. "relative": how much a row counts compared with others, such as survey weights or
        1 / n. They are divided by their mean, so their scale does not matter, and the fit is as sure as its number of
        rows allows. "counts": whole numbers, how often a row was observed; the fit is that of repeated rows.
    ridge : float, default=2e-5
        Penalty rho on the squared entries of the factors. For a predictor with more than 25 levels, the number in the
        paper, it is multiplied by 25 / levels, so that the penalty does not grow with the number of levels.
    smoothness : float, array-like or dict, default=0.03
        Penalty mu on squared differences of neighbouring levels: one number, one per predictor, or a dict by name.
        Categorical predictors ignore it.
    smoothness_order : {1, 2}, default=1
        Penalise first or second differences.
    output_smoothness : float, default=0.0
        The same penalty on neighbouring outputs.
    update : {"mode", "row", "cg"}, default="mode"
        "mode" solves each factor exactly by its block-banded normal equations. "row" updates its rows once, one by one,
        by the paper's closed form. "cg" solves it by conjugate gradients, without forming the blocks.
    solver : {"als", "stochastic"}, default="als"
        "als" updates the factors from all rows. "stochastic" updates them from one random block of rows at a time,
        mixed with the sums of earlier blocks with decaying step sizes; with many rows it needs far fewer passes. It
        also supports `partial_fit`. With too few rows for several blocks, both are the same.
    max_iter : int, default=200
        Largest number of passes over the rows. Each pass updates all factors, with blocks many times.
    tol : float, default=1e-4
        A sweep is progress if it lowers the objective, or the held-out error, by this fraction.
    early_stopping : "auto" or bool, default="auto"
        Hold out rows, and keep the factors of the sweep that predicts them best. "auto" does so with at least 200 rows.
    validation_fraction : float, default=0.1
        Fraction of the rows to hold out. The members of an ensemble use their out-of-bag rows instead.
    n_iter_no_change : int, default=10
        Stop after this number of sweeps without progress.
    n_init : int, default=1
        Number of random starts, of which the best is kept. Every second one starts the bias at the mean of y, which
        suits systems whose effects cancel out on average; the others start it low, which suits most systems.
    n_estimators : int, default=1
        Members of a bagged ensemble, each with its own bootstrap rows and start, averaged into one tensor.
    warm_start : bool, default=False
        Continue from the factors and levels of the previous fit.
    random_state : int, RandomState instance or None, default=None
    n_jobs : int, default=-1
        Number of threads; -1 for one per core. The result does not depend on it.
    verbose : int, default=0
        Show a progress bar when positive.

    Attributes
    ----------
    cpd_ : CPD
        The fitted tensor, in the units of y.
    encoding_ : Encoding
        The levels of each predictor and their marginals.
    pmf_ : JointPMF or None
        The joint PMF of the predictors; None for the product of the marginals.
    n_iter_ : int
        Number of sweeps, of the longest member.
    objective_history_, validation_history_ : list of arrays
        For each member of the ensemble, the objective after each sweep, and the held-out mean squared error of the
        standardised targets (empty without held-out rows).
    n_samples_ : int
        Number of training rows.
    n_features_in_ : int
    feature_names_in_ : array of str, when X has column names.

    Examples
    --------
    >>> import numpy as np
    >>> from csid import CSIDRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (2000, 3))
    >>> y = np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2
    >>> model = CSIDRegressor(rank=4, random_state=0).fit(X[:1500], y[:1500])
    >>> bool(model.score(X[1500:], y[1500:]) > 0.99)
    True
    """

    _bayesian = "BayesianCSIDRegressor"

    @available_if(_keeps_sums)  # type: ignore[untyped-decorator]
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Update the model by one sweep over new rows; the first call is `fit`. Requires `solver="stochastic"`.

        Levels, their marginals and the units of y stay those of the first call, so it should have many, typical rows. A
        number beyond the levels takes the nearest level, and an unseen category is averaged over, as in `predict`. A
        new row counts twice as much as an earlier row does on average. Memory use is constant.
        `validation_history_` records the error on the new rows before they are used.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
            After the first call, a single row is enough. Relative weights are relative to the mean of the first call.

        Returns
        -------
        self
        """
        if self.n_estimators > 1:
            raise ValueError(
                f"n_estimators={self.n_estimators}: partial_fit updates a single model, not an ensemble. Set "
                "n_estimators=1."
            )
        if self._likelihood(NumericTargets()).augmented:
            raise ValueError(f"likelihood={self.likelihood!r}: partial_fit supports likelihood='gaussian' only.")
        if not hasattr(self, "fitted_"):
            self.fit(X, y, sample_weight)
            return self
        fitted, stream = self.fitted_, self._stream
        if stream is None:
            raise ValueError(
                "the earlier fit kept no sums over rows: fit anew with solver='stochastic' and likelihood='gaussian'."
            )
        X, n_rows = fitted.columns.checked(X)
        y = check_targets(y, n_rows)
        self._check_continuable(fitted, 1 if y.ndim == 1 else y.shape[1], "partial_fit")
        weights = check_weights(sample_weight, n_rows, fewest=1)
        if sample_weight is not None:
            weights = stream.weight_unit.of(weights)
        rows = fitted.encoding.encode_training(X, n_rows)
        targets = (y.reshape(n_rows, -1) - stream.centre) / stream.scale
        problem = problem_of(fitted.encoding, rows, weights, targets)
        if not weights.all():
            problem = problem.take(weights > 0)
        rng = np.random.default_rng([self._seed(), fitted.n_iter])
        with Workers(self._threads()) as workers:
            batch = StreamBatch(problem, fitted.level_pmf, rng, workers)
            after, tensor, error = stream.after(batch, fitted.tensor, self._options(fitted.columns))

        record = LeastSquaresRecord(
            (tensor,), tuple(self.objective_history_), (np.append(self.validation_history_[0], error),)
        )
        n_samples = fitted.n_samples + problem.n_rows
        new = replace(fitted, tensor=tensor, n_iter=fitted.n_iter + 1, n_samples=n_samples, training=record)
        self.__dict__.update(fitted_=new, _stream=after)
        return self

    def predict(self, X: Any) -> Array:
        """Predict the value of the system, (M,) or (M, K). Missing and unseen cells are averaged over."""
        fitted = self._fitted()
        return fitted.squeeze(fitted.means(X, self._threads()))
