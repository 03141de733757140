"""The base of all estimators: opening a table for a fit, and reading the fitted model."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Literal, NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, _safe_indexing, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from csid.data.checks import (
    categorical_flags,
    check_cells,
    check_table,
    check_weights,
    number_of_rows,
    target_names,
)
from csid.data.count_targets import CountsWithExposure
from csid.data.labels import ClassCounts
from csid.data.out_of_core import Encoder, RowBatches, RowChecks, count_classes, open_rows, roles_of, row_batches
from csid.data.out_of_core.table import DiskTable
from csid.data.table import LocalTable, Table, TableHeader, centre_and_scale, draw_held_out
from csid.data.targets import TargetReader, is_one_output
from csid.data.weights import WeightMeaning, WeightTotals
from csid.encoding import Encoding, Interpolation
from csid.encoding.modes import MOST_LEVELS
from csid.estimators.progress import row_progress
from csid.explain.importance import mean_effects
from csid.fitted.columns import Columns
from csid.fitted.model import FittedModel
from csid.fitted.schema import Schema
from csid.fitted.summary import summary_table
from csid.fitted.unseen import UnseenValues
from csid.likelihoods import LIKELIHOODS, Likelihood
from csid.likelihoods.likelihood import TargetKind
from csid.missing.joint_pmf import JointPMF
from csid.tensor.cpd import CPD

Array = NDArray[np.float64]
Units = tuple[Array, Array]
HoldOut = Callable[[int], int]
Constraints = dict[str, list[Any]]


COMMON_CONSTRAINTS: Constraints = {
    "rank": [Interval(Integral, 1, None, closed="left")],
    "levels": [Interval(Integral, 1, MOST_LEVELS, closed="both"), StrOptions({"auto"})],
    "interpolation": [StrOptions({"linear", "constant"})],
    "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
    "missing": [StrOptions({"marginalize", "level"})],
    "pmf_rank": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    "likelihood": [str, Likelihood],
    "weights": [StrOptions({"relative", "counts"})],
    "warm_start": ["boolean"],
    "random_state": ["random_state"],
    "n_jobs": [Integral, None],
    "verbose": ["verbose"],
}
"""Legal values of the parameters that all estimators have."""


class TrainingData(NamedTuple):
    """The arguments of `fit`, not yet checked."""

    X: Any
    y: Any
    sample_weight: Any
    exposure: Any = None

    @property
    def targets(self) -> Any:
        """What a `TargetReader` reads."""
        return self.y if self.exposure is None else CountsWithExposure(self.y, self.exposure)


class OpenOptions(NamedTuple):
    """How the rows of a fit are opened.

    rng : draws the held-out rows.
    hold_out : function from the number of rows to the number to hold out; None to hold out none.
    columns, units, reader : of an earlier fit that is continued; None for a new fit.
    """

    rng: np.random.Generator
    hold_out: HoldOut | None = None
    columns: Columns | None = None
    units: Units | None = None
    reader: TargetReader | None = None

    def units_for(self, n_outputs: int) -> Units | None:
        """Centre and scale of the targets in the earlier fit, if any. It must have the same number of outputs."""
        if self.units is not None and len(self.units[0]) != n_outputs:
            raise ValueError(
                f"warm_start continues a fit of {len(self.units[0])} output(s), but y has {n_outputs}: "
                "keep the outputs, or fit anew with warm_start=False."
            )
        return self.units


class OpenedTable(NamedTuple):
    """Checked rows, their columns, and how their targets are read."""

    table: Table
    columns: Columns
    reader: TargetReader


class _FittedTable:
    """A summary of a fitted model as scikit-learn's HTML representation asks for it. It is one entry long."""

    def __init__(self, fitted: FittedModel) -> None:
        self._fitted = fitted

    def __len__(self) -> int:
        return 1

    def _repr_html_inner(self) -> str:
        return f'<div class="estimator-table">{summary_table(self._fitted).html()}</div>'


class TensorEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator that stores everything it has fitted in `fitted_`, a `FittedModel`."""

    fitted_: FittedModel
    levels: int | Literal["auto"]
    interpolation: Interpolation
    categorical_features: Any
    missing: Any
    pmf_rank: int | Literal["auto"]
    likelihood: str | Likelihood
    weights: WeightMeaning
    random_state: Any
    n_jobs: int | None
    verbose: int
    _parameter_constraints: ClassVar[Constraints] = COMMON_CONSTRAINTS

    targets: ClassVar[tuple[TargetKind, ...]]
    """The kinds of targets that it can be fitted to."""

    # --- the fitted model -----------------------------------------------------------------------------------------

    @property
    def n_features_in_(self) -> int:
        return self._fitted().columns.count

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        names = self._fitted().columns.names
        if names is None:
            raise AttributeError("this model was fitted to a table without column names.")
        return np.array(names, dtype=object)

    @property
    def cpd_(self) -> CPD:
        return self._fitted().tensor

    @property
    def encoding_(self) -> Encoding:
        return self._fitted().encoding

    @property
    def pmf_(self) -> JointPMF | None:
        return self._fitted().pmf

    @property
    def schema_(self) -> Schema | None:
        return self._fitted().schema

    @property
    def n_samples_(self) -> int:
        return self._fitted().n_samples

    @property
    def n_iter_(self) -> int:
        return self._fitted().n_iter

    @property
    def feature_importances_(self) -> Array:
        """Shapley effects (N,): the share of the variance of the prediction that is due to each predictor.

        They sum to one. Each lies between the first-order and the total Sobol index of its predictor. With several
        outputs they are averaged over the outputs. The paper's measure is `csid.explain.factor_variation`.
        """
        return mean_effects(self._fitted().tensor)

    @property
    def factors_(self) -> dict[str, Array]:
        """The factor `A_n` (I_n, F) of each predictor by name, in canonical form. Its rows are the `levels_`."""
        return dict(zip(self._fitted().names, self._fitted().tensor.normalised().factors, strict=True))

    @property
    def levels_(self) -> dict[str, list[Any]]:
        """The levels of each predictor by name: grid points or categories. None is the level of missing cells."""
        return {mode.name: mode.level_names for mode in self._fitted().encoding.modes}

    def _fitted(self) -> FittedModel:
        """The fitted model, or a `NotFittedError`."""
        check_is_fitted(self)
        return self.fitted_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fitted_")

    def unseen_values(self, X: Any) -> tuple[UnseenValues, ...]:
        """What `predict` does not know: values of X that no training row had, for each predictor that has some.

        An unseen category counts as missing, and a number beyond the training range as its nearest end. Models from
        files of csid 0.1.0 do not know the training range.

        Parameters
        ----------
        X : data frame or array, (M, N)

        Examples
        --------
        >>> import pandas as pd
        >>> from csid import CSIDRegressor
        >>> X = pd.DataFrame({"town": ["Ulm", "Aalen"] * 20, "area": range(40)})
        >>> model = CSIDRegressor(rank=1, random_state=0).fit(X, range(40))
        >>> for each in model.unseen_values(pd.DataFrame({"town": ["Rome", "ulm"], "area": [-1, 5]})):
        ...     print(each)
        column 'town': 2 of 2 rows hold unseen categories, which count as missing: 'Rome' (1), 'ulm' (1, like 'Ulm')
        column 'area': 1 of 2 rows are beyond the training range 0 to 39, and count as its end: -1 (1)
        """
        return self._fitted().unseen_values(X)

    def _get_fitted_attr_html(self, doc_link: str = "") -> "_FittedTable":
        """The fitted part of scikit-learn's HTML representation, which by default evaluates every fitted property."""
        return _FittedTable(self._fitted())

    # --- files and pages ------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file, which `csid.load` reads.

        The file holds numbers and strings only, and cannot run code. An existing file is replaced only when the new one
        is complete. Parameters are saved, except `n_jobs` and `verbose`, and a `random_state` that is a generator.

        Parameters
        ----------
        path : path of the file, such as "model.csid"
        """
        from csid.estimators.loading import save

        save(self, path)

    def report(
        self,
        path: str | os.PathLike[str],
        X: Any = None,
        y: Any = None,
        *,
        title: str | None = None,
        targets: Sequence[str] | None = None,
    ) -> None:
        """Write a report on the fitted model: one HTML file that opens from disk, and predicts in the browser.

        It shows metrics, predictors by importance, the effects of predictors and of the strongest pairs, calibration
        and convergence. In a what-if panel, the reader edits a row and sees its prediction, predictive interval and
        exact Shapley values.

        Parameters
        ----------
        path : path of the page, such as "model.html"
            An existing file is replaced only when the new one is complete.
        X, y : held-out rows, optional
            The metrics are computed on these. Without y, rows of X are only offered in the what-if panel.
        title : str, optional
            Title of the page.
        targets : sequence of str, optional
            Names of the outputs. Default: those of y or of the data file of the fit, or y1, y2, …

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
        from csid.report import write_report

        write_report(self, path, X, y, title=title, targets=targets)

    # --- opening rows for a fit -----------------------------------------------------------------------------------

    @contextmanager
    def _open_table(self, given: TrainingData, options: OpenOptions) -> Iterator[OpenedTable]:
        """Check the rows of a fit and standardise their targets: in memory, or read in batches."""
        batches = row_batches(*given)
        if given.exposure is not None or (batches is not None and batches.exposure is not None):
            self._check_takes_exposure(self.likelihood)
        if batches is None:
            yield self._in_memory(given, options)
        else:
            with self._in_batches(batches, options) as found:
                yield found

    def _in_memory(self, given: TrainingData, options: OpenOptions) -> OpenedTable:
        X, columns, n_rows = self._checked_columns(given.X, target_names(given.y), options, min_rows=2)
        weights = check_weights(given.sample_weight, n_rows)
        unit = WeightTotals.of(weights).unit(self.weights)
        weights = unit.of(weights)
        reader = self._target_reader(options.reader, lambda: ClassCounts.of(given.y, weights))
        y = reader.read(given.targets, n_rows)
        targets = y.reshape(n_rows, -1)
        factors = reader.factors(targets)
        weights = weights if factors is None else weights * factors
        positive = np.flatnonzero(weights)
        if len(positive) < n_rows:
            check_cells(X, self._flags(columns))  # before rows are dropped, so that errors have the user's row numbers
            X, targets, weights = _safe_indexing(X, positive), targets[positive], weights[positive]
        wanted = 0 if options.hold_out is None else options.hold_out(len(positive))
        held_out = draw_held_out(len(positive), wanted, options.rng) if wanted else np.empty(0, np.intp)
        train = np.setdiff1d(np.arange(len(positive)), held_out) if wanted else slice(None)
        units = options.units_for(targets.shape[1])
        if units is None:
            units = reader.units(*centre_and_scale(targets[train], weights[train]))
        header = TableHeader(columns.labels, self._flags(columns), *units, is_one_output(reader, y), unit)
        return OpenedTable(LocalTable(X, header.standardised(targets), weights, header, held_out), columns, reader)

    @contextmanager
    def _in_batches(self, given: RowBatches, options: OpenOptions) -> Iterator[OpenedTable]:
        """Rows that are encoded into code files. Missing cells follow the product of the marginals."""
        if self.pmf_rank not in (1, "auto"):
            raise ValueError(
                f"pmf_rank={self.pmf_rank} is not supported for rows that are read in batches: leave it at 'auto' or "
                "1, or fit to a table in memory."
            )
        with open_rows(given) as rows:
            _, columns, _ = self._checked_columns(rows.first, given.target_names, options, min_rows=1)
            positive = rows.positive_weight
            wanted = 0 if options.hold_out is None else options.hold_out(len(positive))
            held_out = draw_held_out(len(positive), wanted, options.rng) if wanted else np.empty(0, np.intp)
            train = np.setdiff1d(np.arange(len(positive)), held_out) if wanted else np.arange(len(positive))
            roles = roles_of(rows.n_rows, positive[train], positive[held_out])
            open_bar = partial(row_progress, bool(self.verbose), rows.n_rows, "rows read")
            unit = rows.totals.unit(self.weights)
            reader = self._target_reader(options.reader, lambda: count_classes(rows.given, unit))
            checks = RowChecks(lambda X: columns.checked(X)[0], reader)
            encoder = Encoder(rows, roles, unit, checks, self._threads(), open_bar)
            survey = encoder.survey(columns.labels, self._flags(columns))
            units = options.units_for(len(survey.moments.mean))
            if units is None:
                units = reader.units(*survey.moments.centre_and_scale())
            header = TableHeader(columns.labels, self._flags(columns), *units, survey.one_output, unit)
            yield OpenedTable(DiskTable(encoder, survey, header), columns, reader)

    def _target_reader(self, earlier: TargetReader | None, count: Callable[[], ClassCounts]) -> TargetReader:
        """How the targets of a fit are read.

        earlier : of the fit that is continued, if any; count : counts the labels of all rows.
        """
        raise NotImplementedError

    def _checked_columns(
        self, X: Any, targets: tuple[str, ...], options: OpenOptions, min_rows: int
    ) -> tuple[Any, Columns, int]:
        """A checked table, its columns (those of an earlier fit if it is continued), and its number of rows."""
        if options.columns is not None:
            X, n_rows = options.columns.checked(X, min_rows)
            return X, options.columns, n_rows
        X = check_table(X, self, min_rows)
        return X, Columns.of(X, type(self).__name__, targets), number_of_rows(X)

    def _flags(self, columns: Columns) -> list[bool | None]:
        return categorical_flags(self.categorical_features, columns.labels)

    def _check_takes_exposure(self, likelihood: str | Likelihood) -> None:
        """Refuse `exposure` for a likelihood of other targets than counts."""
        name = likelihood if isinstance(likelihood, str) else likelihood.name
        if name not in LIKELIHOODS or LIKELIHOODS[name].target != "count":
            legal = " or ".join(repr(each) for each, kind in sorted(LIKELIHOODS.items()) if kind.target == "count")
            raise ValueError(
                f"exposure is given, but likelihood={name!r} is not of counts: leave out the exposure, or use "
                f"BayesianCSIDRegressor(likelihood={legal})."
            )

    def _likelihood(self, reader: TargetReader) -> Likelihood:
        """The likelihood of a fit to targets that are read like this."""
        raise NotImplementedError

    def _residual_text(self, residual: float) -> str:
        """The mean squared residual of a sweep of the sampler, in words."""
        raise NotImplementedError

    def _held_out_text(self, error: float) -> str:
        """The error of least squares on held-out rows, in words."""
        raise NotImplementedError

    def _drift_text(self, drift: float) -> str:
        """By how much the trace of the chains drifted, in words."""
        raise NotImplementedError

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31))

    def _threads(self) -> int:
        return int(joblib.effective_n_jobs(self.n_jobs))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
