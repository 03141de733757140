"""What both regressors share: reading a table, predicting with the tensor, and reading the model."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils._param_validation import Interval, InvalidParameterError, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from csid._fit.problem import Problem
from csid.cpd import CPD, ConditionalCPD
from csid.encoding import EncodedRows, Encoding, Interpolation, Moments, any_missing
from csid.encoding.modes import MOST_LEVELS
from csid.explain.importance import mean_effects
from csid.inputs import categorical_flags, check_table, number_of_rows
from csid.model_file import Arrays, Section, pack_encoding, pack_pmf, unpack_encoding, unpack_pmf, write
from csid.out_of_core import OpenRows, Rows, opened
from csid.pmf import JointPMF, fit_joint_pmf
from csid.report import write_report
from csid.schema import Schema

Array = NDArray[np.float64]

_PREDICTED_ROWS = 1 << 18


class TensorRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A regressor whose fitted model is a tensor `cpd_` over the levels of `encoding_`."""

    cpd_: CPD
    encoding_: Encoding
    n_samples_: int
    n_iter_: int
    levels: int | Literal["auto"]
    interpolation: Interpolation
    categorical_features: Any
    missing: Any
    pmf_rank: int | Literal["auto"]
    pmf_: JointPMF | None
    n_jobs: int | None
    schema_: Schema | None = None
    _one_output: bool
    _expectation: CPD | ConditionalCPD
    _tamer: ClassVar[str]
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "rank": [Interval(Integral, 1, None, closed="left")],
        "levels": [Interval(Integral, 1, MOST_LEVELS, closed="both"), StrOptions({"auto"})],
        "interpolation": [StrOptions({"linear", "constant"})],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "missing": [StrOptions({"marginalize", "level"})],
        "pmf_rank": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    @property
    def feature_importances_(self) -> Array:
        """Shapley effects: the share (N,) of the variance of the prediction that is due to each predictor.

        They sum to one and each lies between the predictor's first and total Sobol index, which do not; with several
        outputs they are a mean over them. The paper's measure is `csid.explain.factor_variation`.
        """
        check_is_fitted(self, "cpd_")
        return mean_effects(self.cpd_)

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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, which `csid.load` reads; it holds numbers and texts, and runs nothing.

        A file that was there before stays whole until the new one is. Parameters are kept but for `n_jobs` and
        `verbose`, which are of the machine, and a `random_state` that is a generator.
        """
        check_is_fitted(self, "cpd_")
        predictors, arrays = pack_encoding(self.encoding_)
        entries, more = self._pack_fit()
        if self.pmf_ is not None:
            more |= pack_pmf(self.pmf_)
        names = getattr(self, "feature_names_in_", None)
        header = {
            "csid": version("csid"),
            "estimator": type(self).__name__,
            "parameters": {name: _as_json(getattr(self, name)) for name in self._kept_parameters()},
            "predictors": predictors,
            "has_names": names is not None,
            "pmf_rank": 1 if self.pmf_ is None else self.pmf_.rank,
            "outputs": self.cpd_.n_outputs,
            "one_output": self._one_output,
            "n_samples": int(self.n_samples_),
            "n_iter": int(self.n_iter_),
            "schema": None if self.schema_ is None or not self._is_of(self.schema_) else self.schema_.as_json(),
        }
        write(path, header | entries, arrays | more)

    def report(
        self,
        path: str | os.PathLike[str],
        X: Any = None,
        y: Any = None,
        *,
        title: str | None = None,
        targets: Sequence[str] | None = None,
    ) -> None:
        """Write a page about the fitted model: one HTML file that opens from disk, and predicts in the browser.

        It shows how good the model is, its predictors by importance, what each and the strongest pairs do, calibration
        and convergence, and has a panel where a reader changes a row and sees its prediction, interval and exact
        Shapley values.

        Parameters
        ----------
        path : of the page, such as "model.html"; a file that was there before stays whole until the new one is.
        X, y : rows that the model has not seen, optional
            The figures on how good it is are of these. Without y, rows of X are only offered to start from.
        title : of the page.
        targets : names of the outputs; if not given, those of the file that the model was fitted to, or y1, y2, …

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> from csid import CSIDRegressor
        >>> X = np.random.default_rng(0).uniform(size=(80, 2))
        >>> y = X.prod(axis=1)
        >>> model = CSIDRegressor(rank=2, random_state=0).fit(X[:50], y[:50])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.report(f"{folder}/model.html", X[50:], y[50:], title="A product")
        """
        write_report(self, path, X, y, title=title, targets=targets)

    @classmethod
    def _unpacked(cls, header: Section, arrays: Arrays) -> Self:
        """A model from the contents of its file."""
        parameters = header.section("parameters").entries
        unknown = set(parameters) - set(cls._kept_parameters())
        if unknown:
            raise header.wrong("parameters", f"names {sorted(unknown)[0]!r}, which {cls.__name__} does not have")
        model = cls(**parameters)
        try:
            model._validate_params()
        except InvalidParameterError as error:
            raise header.wrong("parameters", f"are not those of a model ({error})") from None
        model.encoding_ = unpack_encoding(list(header.sections("predictors")), arrays)
        model.n_features_in_ = len(model.encoding_.modes)
        if not model.n_features_in_:
            raise header.wrong("predictors", "is empty")
        if header.flag("has_names"):
            model.feature_names_in_ = np.array([mode.name for mode in model.encoding_.modes], dtype=object)
        model._one_output = header.flag("one_output")
        model.n_samples_, model.n_iter_ = header.whole("n_samples"), header.whole("n_iter")
        outputs = header.whole("outputs", 1)
        if model._one_output and outputs > 1:
            raise header.wrong("one_output", f"contradicts its {outputs} outputs")
        if header.entries.get("schema") is not None:
            model.schema_ = Schema.of(header.section("schema"))
        joint = "pmf_rank" in header.entries and header.whole("pmf_rank", 1) > 1  # not in files of version 0.1
        model.pmf_ = unpack_pmf(model.encoding_, arrays) if joint else None
        model._unpack_fit(header, arrays, outputs)
        arrays.finish()
        return model

    def _is_of(self, schema: Schema) -> bool:
        """Whether a schema has the columns of the fit, as it does not once a loaded model is fitted to others."""
        return [column.name for column in schema.columns] == [mode.name for mode in self.encoding_.modes]

    @classmethod
    def _kept_parameters(cls) -> list[str]:
        return [name for name in cls._get_param_names() if name not in ("n_jobs", "verbose")]

    def _pack_fit(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Entries of the header, and arrays, of what only this kind of estimator has."""
        raise NotImplementedError

    def _unpack_fit(self, header: Section, arrays: Arrays, outputs: int) -> None:
        """Take up what `_pack_fit` gave."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.target_tags.multi_output = True
        return tags

    def _fit_pmf(self, X: Any, train: NDArray[np.intp], weights: Array, rng: np.random.Generator) -> JointPMF | None:
        """The joint PMF of the predictors, where it is wanted: if rows lack some, or a rank above one is asked for."""
        if self.pmf_rank == 1 or self.missing == "level" or (self.pmf_rank == "auto" and not any_missing(X)):
            return None
        flags = categorical_flags(self.categorical_features, self._names())
        rows = _safe_indexing(X, train)
        given = (weights[train], flags, self.pmf_rank, rng, self._threads())
        return fit_joint_pmf(rows, len(train), self._names(), *given)

    @contextmanager
    def _opened(self, given: Rows, reset: bool) -> Iterator[OpenRows]:
        """Rows in batches, whose columns are those of the first; joint distributions are of tables in memory only."""
        if self.pmf_rank not in (1, "auto"):
            raise ValueError(
                f"pmf_rank={self.pmf_rank}: of rows that are read in batches, missing cells follow the product of the "
                "marginals. Leave it at 'auto' or 1, or fit to a table in memory."
            )
        with opened(given) as rows:
            validate_data(self, check_table(rows.first, self, min_rows=1), skip_check_array=True, reset=reset)
            yield rows

    def _checked_batch(self, X: Any) -> Any:
        X = check_table(X, self, min_rows=1)
        validate_data(self, X, skip_check_array=True, reset=False)
        return X

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
            values[rows] = self._expectation.evaluate(encoded.codes, encoded.fractions, self._threads())
        wrong = ~np.isfinite(values).all(axis=1)
        if wrong.any():
            raise ArithmeticError(
                f"the prediction overflows in row {int(np.argmax(wrong))}: "
                f"the product of {self.n_features_in_} factors is too large. "
                f"Fit with {self._tamer}, or with fewer predictors."
            )
        return values


def _as_json(value: Any) -> Any:
    """A parameter as JSON has it; None for what is no value, such as a generator."""
    if isinstance(value, np.ndarray | np.generic):
        return _as_json(value.tolist())
    if isinstance(value, dict):
        return {str(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [_as_json(item) for item in value]
    return value if isinstance(value, str | int | float | bool) else None


def problem_of(encoding: Encoding, rows: EncodedRows, weights: Array, targets: Array) -> Problem:
    """What a fit reads of encoded rows."""
    return Problem(rows.codes, rows.fractions, weights, targets, encoding.levels, encoding.ordered, encoding.marginals)


def centre_and_scale(targets: Array, weights: Array) -> tuple[Array, Array]:
    """Weighted mean and standard deviation of each output; a constant output is not scaled."""
    moments = Moments(targets.shape[1])
    moments.update(targets, weights)
    return moments.centre_and_scale()
