"""What both regressors share: reading a table, predicting with the tensor, and reading the model."""

from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar, Literal

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from csid._fit.problem import Problem
from csid.cpd import CPD
from csid.encoding import EncodedRows, Encoding, Interpolation
from csid.encoding.modes import MOST_LEVELS
from csid.explain.importance import factor_variation
from csid.inputs import check_table, number_of_rows

Array = NDArray[np.float64]

_PREDICTED_ROWS = 1 << 18


class TensorRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A regressor whose fitted model is a tensor `cpd_` over the levels of `encoding_`."""

    cpd_: CPD
    encoding_: Encoding
    levels: int | Literal["auto"]
    interpolation: Interpolation
    categorical_features: Any
    missing: Any
    n_jobs: int | None
    _one_output: bool
    _tamer: ClassVar[str]
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "rank": [Interval(Integral, 1, None, closed="left")],
        "levels": [Interval(Integral, 1, MOST_LEVELS, closed="both"), StrOptions({"auto"})],
        "interpolation": [StrOptions({"linear", "constant"})],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "missing": [StrOptions({"marginalize", "level"})],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    @property
    def feature_importances_(self) -> Array:
        """The paper's measure: how much the factor of each predictor varies, as shares that sum to one."""
        check_is_fitted(self, "cpd_")
        return factor_variation(self.cpd_, self.encoding_.ordered.tolist())

    @property
    def factors_(self) -> dict[str, Array]:
        """The factor `A_n` (I_n, F) of each predictor, by name, in canonical form; its rows are `levels_`."""
        check_is_fitted(self, "cpd_")
        return dict(zip(self._names(), self.cpd_.normalised().factors, strict=True))

    @property
    def levels_(self) -> dict[str, list[Any]]:
        """The levels of each predictor by name: grid points or categories; None is the level of missing cells."""
        check_is_fitted(self, "cpd_")
        return {mode.name: mode.level_names for mode in self.encoding_.modes}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.target_tags.multi_output = True
        return tags

    def _names(self) -> list[str]:
        given = getattr(self, "feature_names_in_", None)
        return [f"x{n}" for n in range(self.n_features_in_)] if given is None else [str(name) for name in given]

    def _threads(self) -> int:
        return int(joblib.effective_n_jobs(self.n_jobs))

    def _checked(self, X: Any) -> tuple[Any, int]:
        """A table to predict from, and its number of rows."""
        check_is_fitted(self, "cpd_")
        X = check_table(X, self, min_rows=1)
        validate_data(self, X, skip_check_array=True, reset=False)
        return X, number_of_rows(X)

    def _encoded_parts(self, X: Any, n_rows: int, most: int) -> Iterator[tuple[slice, EncodedRows]]:
        """The rows of a table, encoded, at most so many at a time."""
        for start in range(0, n_rows, most):
            rows = slice(start, min(start + most, n_rows))
            part = X if n_rows <= most else _safe_indexing(X, np.arange(rows.start, rows.stop))
            yield rows, self.encoding_.encode(part, rows.stop - rows.start)

    def _means(self, X: Any, n_rows: int) -> Array:
        """Values (M, K) of the tensor."""
        values = np.empty((n_rows, self.cpd_.n_outputs))
        for rows, encoded in self._encoded_parts(X, n_rows, _PREDICTED_ROWS):
            values[rows] = self.cpd_.evaluate(encoded.codes, encoded.fractions, self._threads())
        wrong = ~np.isfinite(values).all(axis=1)
        if wrong.any():
            raise ArithmeticError(
                f"the prediction overflows in row {int(np.argmax(wrong))}: "
                f"the product of {self.n_features_in_} factors is too large. "
                f"Fit with {self._tamer}, or with fewer predictors."
            )
        return values


def problem_of(encoding: Encoding, rows: EncodedRows, weights: Array, targets: Array) -> Problem:
    """What a fit reads of encoded rows."""
    return Problem(rows.codes, rows.fractions, weights, targets, encoding.levels, encoding.ordered, encoding.marginals)


def centre_and_scale(targets: Array, weights: Array) -> tuple[Array, Array]:
    """Weighted mean and standard deviation of each output; a constant output is not scaled."""
    centre = np.average(targets, weights=weights, axis=0)
    farthest = np.abs(targets - centre).max(axis=0)
    unit = np.where(farthest > 0.0, farthest, 1.0)  # squares of very large or small targets leave the range of floats
    scale = unit * np.sqrt(np.average(((targets - centre) / unit) ** 2, weights=weights, axis=0))
    return centre, np.where(scale > 1e-12 * np.abs(centre), scale, 1.0)
