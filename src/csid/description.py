"""A fitted model as plain data: all that a prediction needs, and what exports and the report are made from."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from csid._fit.missing_cells import LEAST_PROBABILITY, LevelPMF, quantiles_of_draws
from csid.encoding import CategoricalMode, Mode
from csid.schema import Schema

Array = NDArray[np.float64]
Level = str | bool | int | float

_DEGREES_OF_FREEDOM = (4.0, math.inf)


@dataclass(frozen=True)
class Number:
    """A predictor that is a number.

    grid : (G,) rising levels; between them the nearest counts, or with `linear` the two neighbours share; a number
        beyond them counts as the outer one.
    rows : (G + 1, R) of the factor, one for each level, the last for a missing cell.
    words : that stand for 0, 1, … in a file, where it holds ordered words; date : whether the file holds dates, which
        stand for days since 1970.
    """

    name: str
    grid: Array
    linear: bool
    rows: Array
    words: tuple[str, ...] = ()
    date: bool = False

    @property
    def edges(self) -> Array:
        """(G - 1,) where the nearest level changes; the number on an edge belongs to the lower one."""
        return np.asarray(0.5 * self.grid[1:] + 0.5 * self.grid[:-1])


@dataclass(frozen=True)
class Category:
    """A predictor that is a category.

    categories : C of them, all strings, all booleans or all numbers.
    rows : (L, R) of the factor, one for each category first, the last for a category never seen.
    missing : which row is that of a missing cell: one of its own, or the last.
    """

    name: str
    categories: tuple[Level, ...]
    rows: Array
    missing: int

    @property
    def unseen(self) -> int:
        return len(self.rows) - 1

    @property
    def of_strings(self) -> bool:
        """Whether its cells are strings; a column that was never observed may hold anything, and counts as strings."""
        return not self.categories or isinstance(self.categories[0], str)


Predictor = Number | Category


@dataclass(frozen=True)
class Draws:
    """Posterior draws, whose components follow one another in the tensor, and the spread of predictions.

    ranks : (D,) components of each draw, R in all; shares : (D,) positive weights of the draws, which sum to one.
    bias, noise : (D, K) of each draw. Its output factor is its part of the tensor's `V`, divided by its share.
    degrees_of_freedom : of the noise, 4 for Student's t or infinite for the normal distribution.
    knots, logs : (K, P) predicted means, and the logarithm of the factor on deviations from the mean there.
    """

    ranks: NDArray[np.intp]
    shares: Array
    bias: Array
    noise: Array
    degrees_of_freedom: float
    knots: Array
    logs: Array

    @property
    def owners(self) -> NDArray[np.intp]:
        """(R,) the draw that each component is of."""
        return np.repeat(np.arange(len(self.ranks)), self.ranks)


@dataclass(frozen=True)
class Classes:
    """Classes of rows, whose mixture is the joint PMF that missing cells follow.

    pmf : C classes, over the levels of the predictors; least : a class that is less probable is left out of means.
    quantiles : (D,), which say what class a row has in each draw; drawn : (N, D, C), what level a missing cell has
        there if its row is of a class.
    """

    pmf: LevelPMF
    least: float
    quantiles: Array
    drawn: NDArray[np.intp]


@dataclass(frozen=True)
class Description:
    """The tensor f_j(x) = b_j + sum_r V(j, r) prod_n a_n(x)_r, where a_n(x) is read from the rows of predictor n.

    V : (K, R); bias : (K,); draws : of a Bayesian model, else None.
    classes : by which rows that lack cells are predicted; None where the row of a missing cell is all that it takes.
    targets : what the outputs are called, if known; missing : words that stand for a missing cell in a file.
    """

    predictors: tuple[Predictor, ...]
    V: Array
    bias: Array
    draws: Draws | None
    targets: tuple[str, ...] = ()
    missing: tuple[str, ...] = ("",)
    classes: Classes | None = None


def description_of(model: Any) -> Description:
    """What a fitted csid estimator predicts with."""
    check_is_fitted(model, "cpd_")
    encoding, cpd = model.encoding_, model.cpd_
    names = [mode.name for mode in encoding.modes]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ValueError(f"two columns are called {repeated!r}: rename one and fit again.")
    described = tuple(map(_predictor, encoding.modes, cpd.factors, cpd.marginals))
    plain = Description(described, cpd.V, cpd.bias, _draws(model), classes=_classes(model))
    return plain if model.schema_ is None else _of_files(plain, model.schema_)


def _of_files(model: Description, schema: Schema) -> Description:
    """What is known of the files that a model was fitted to."""
    columns = {column.name: column for column in schema.columns}
    predictors = tuple(
        replace(each, words=columns[each.name].order, date=columns[each.name].type == "date")
        if isinstance(each, Number) and each.name in columns
        else each
        for each in model.predictors
    )
    return replace(model, predictors=predictors, targets=schema.targets, missing=schema.missing)


def _predictor(mode: Mode, A: Array, p: Array) -> Predictor:
    average = p @ A  # Eq. (12) and (13): what stands for a missing cell, or for a category never seen
    if not isinstance(mode, CategoricalMode):
        return Number(mode.name, mode.grid, mode.linear, A if mode.missing_level else np.vstack([A, average]))
    categories = tuple(_level(value, mode.name) for value in mode.categories)
    return Category(
        mode.name,
        categories,
        np.vstack([A, average]),
        missing=len(categories) if mode.missing_level else len(A),
    )


def _level(value: Any, name: str) -> Level:
    """A category as a string, a boolean or a number of Python's own."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    number = math.nan if isinstance(value, bytes) else float(value)
    if not math.isfinite(number) or number != value:
        raise ValueError(
            f"column {name!r} has the category {value!r} ({type(value).__name__}), which other formats do not have: "
            "make its categories strings or ordinary numbers, and fit again."
        )
    return int(number) if number.is_integer() else number


def _draws(model: Any) -> Draws | None:
    if not hasattr(model, "posterior_"):
        return None
    posterior, spread = model.posterior_, model.spread_
    if posterior.degrees_of_freedom not in _DEGREES_OF_FREEDOM:
        raise ValueError(
            f"the noise has {posterior.degrees_of_freedom} degrees of freedom: only normal noise and Student's t with "
            "4 degrees of freedom can be exported."
        )
    return Draws(
        np.array([draw.rank for draw in posterior.draws]),
        posterior.shares,
        np.array([draw.bias for draw in posterior.draws]),
        posterior.noise,
        posterior.degrees_of_freedom,
        spread.knots,
        spread.logs,
    )


def _classes(model: Any) -> Classes | None:
    if model.pmf_ is None:
        return None
    pmf = model.pmf_.on(model.encoding_)
    D = len(model.posterior_.shares) if hasattr(model, "posterior_") else 0
    quantiles = quantiles_of_draws(D, len(pmf.levels))
    all_missing, certain = np.tile(pmf.levels.astype(np.uint16), (pmf.classes.rank, 1)), np.eye(pmf.classes.rank)
    drawn = [pmf.completed(all_missing, certain, u) for u in quantiles]
    by_predictor = np.array(drawn, dtype=np.intp).reshape(D, *all_missing.shape).transpose(2, 0, 1)
    return Classes(pmf, LEAST_PROBABILITY, quantiles[:, 0], by_predictor)
