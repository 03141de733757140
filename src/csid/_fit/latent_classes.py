"""Latent classes: a joint PMF of the levels that is itself a non-negative CPD, fitted by expectation maximisation.

    Pr(i_1, ..., i_N) = sum_r lambda_r prod_n B_n(i_n, r)

Given its class r, the predictors of a row are independent (Kargas, Sidiropoulos and Fu 2018). Missing cells only drop
out of the product. B_n is written as a lift over the marginal, `B_n(i, r) = p_n(i) lift_n(c, r)`, constant over the
levels i in a bin c: so one fit serves any levels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from csid._fit.compiled import inner, kernel
from csid._fit.statistics import Workers, row_parts

Array = NDArray[np.float64]

_PSEUDO_ROWS = 2.0
_SPREAD_OF_START = 0.3
_CLOSE = 1e-5
_ROWS_OF_DOUBT = 10.0


@dataclass(frozen=True)
class LatentClasses:
    """R classes of rows over bins of the predictors.

    shares : (R,) lambda; lifts : N arrays (C_n, R), how much likelier a bin is in a class than among all rows.
    """

    shares: Array
    lifts: tuple[Array, ...]

    @property
    def rank(self) -> int:
        return len(self.shares)

    def scores(self, bins: NDArray[Any], workers: Workers) -> Array:
        """Logarithms (M, R) of lambda_r times the lifts of a row's observed bins (N, M); bin C_n is a missing cell."""
        table, offsets = _stacked([np.log(lift) for lift in self.lifts])
        scores = np.empty((bins.shape[1], self.rank))

        def fill(part: tuple[int, int]) -> None:
            _score(bins, table, offsets, np.log(self.shares), *part, scores)

        workers.map(fill, row_parts(len(scores)))
        return scores

    def log_likelihood(self, bins: NDArray[Any], weights: Array, workers: Workers) -> float:
        """Mean logarithm of how much likelier rows are than if the predictors were independent."""
        scores = self.scores(bins, workers)
        return float(np.average(np.logaddexp.reduce(scores, axis=1), weights=weights))


def posterior(scores: Array) -> Array:
    """Probabilities (M, R) of the classes from their scores."""
    likelihood = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(likelihood / likelihood.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Bins:
    """The bins of the predictors.

    marginals : N arrays p_n (C_n,), positive; kernels : N arrays (C_n, C_n), in column h the distribution of the bins
    about bin h. A class is a mixture of such distributions, so that it is smooth over ordered bins.
    """

    marginals: tuple[Array, ...]
    kernels: tuple[Array, ...]

    @classmethod
    def of(cls, marginals: Sequence[Array], ordered: Sequence[bool], reach: int) -> "Bins":
        """Triangular kernels over ordered bins, down to zero beyond `reach` neighbours, times the marginal."""
        kernels = []
        for p, along in zip(marginals, ordered, strict=True):
            places = np.arange(len(p))
            apart = np.abs(places[:, None] - places)
            near = np.maximum(0.0, 1.0 - apart / (reach + 1.0)) if along else np.eye(len(p))
            kernels.append(p[:, None] * near / (p @ near))
        return cls(tuple(marginals), tuple(kernels))


@dataclass(frozen=True)
class ClassPrior:
    """What a class is drawn to: beside its own rows it has some that follow `lean`, N arrays (C_n, R) of distributions.

    No lift becomes zero, therefore.
    """

    rows: float
    lean: tuple[Array, ...]

    @property
    def rank(self) -> int:
        return int(self.lean[0].shape[1])

    @classmethod
    def marginal(cls, bins: Bins, rank: int) -> "ClassPrior":
        """All classes are drawn to the marginals."""
        return cls(_PSEUDO_ROWS, tuple(np.tile(p[:, None], rank) for p in bins.marginals))

    @classmethod
    def one_factor(cls, bins: Bins, loadings: Array, rank: int, rows: float) -> "ClassPrior":
        """Classes are steps of one hidden number, with which predictors rise, or fall, by their loadings (N,).

        That is as much as a table can tell in which most cells are missing: some grades of many courses.
        """
        steps = ndtri((np.arange(rank) + 0.5) / rank)
        pairs = zip(bins.marginals, loadings, strict=True)
        tilted = [p[:, None] * np.exp(loading * normal_scores(p)[:, None] * steps) for p, loading in pairs]
        return cls(rows, tuple(lean / lean.sum(axis=0) for lean in tilted))


def normal_scores(p: Array) -> Array:
    """Quantiles of the normal distribution in the middle of each bin's part of the marginal."""
    return np.asarray(ndtri(np.clip(p.cumsum() - 0.5 * p, 1e-3, 1.0 - 1e-3)))


def first_factor(cells: NDArray[Any], bins: Bins, ordered: Sequence[bool]) -> Array:
    """Loadings (N,) of ordered predictors on the first factor of their correlations, over rows that have both."""
    Z, seen = np.zeros(cells.shape), np.zeros(cells.shape)
    for n, (p, along) in enumerate(zip(bins.marginals, ordered, strict=True)):
        if along:
            Z[n], seen[n] = np.append(normal_scores(p), 0.0)[cells[n]], cells[n] < len(p)
    together, both = (np.einsum("nm,km->nk", each, each) for each in (Z, seen))  # not by BLAS: see `sums_over_rows`
    correlations = together / (both + _ROWS_OF_DOUBT)
    np.fill_diagonal(correlations, 1.0)
    values, vectors = np.linalg.eigh(correlations)
    largest = vectors[:, -1] * np.sqrt(values[-1])
    return np.asarray(np.where(ordered, largest, 0.0) * (1.0 if largest.sum() >= 0.0 else -1.0))


@dataclass(frozen=True)
class Parameters:
    """What is fitted: shares (R,), and N arrays (C_n, R) of weights of the kernels in each class."""

    shares: Array
    weights: tuple[Array, ...]

    @classmethod
    def random(cls, prior: ClassPrior, rng: np.random.Generator) -> "Parameters":
        """Classes that differ a little from what they are drawn to."""
        drawn = [rng.dirichlet(np.ones(len(lean)), prior.rank).T for lean in prior.lean]
        pairs = zip(prior.lean, drawn, strict=True)
        mixed = [(1.0 - _SPREAD_OF_START) * lean + _SPREAD_OF_START * other for lean, other in pairs]
        return cls(np.full(prior.rank, 1.0 / prior.rank), tuple(mixed))

    def classes(self, bins: Bins) -> LatentClasses:
        modes = zip(bins.marginals, bins.kernels, self.weights, strict=True)
        return LatentClasses(self.shares, tuple(about @ weights / p[:, None] for p, about, weights in modes))


def fit_latent_classes(
    cells: NDArray[Any],
    bins: Bins,
    weights: Array,
    prior: ClassPrior,
    rng: np.random.Generator,
    workers: Workers,
    sweeps: int,
) -> LatentClasses:
    """The classes under which the bins (N, M) of rows are likeliest, by EM from a random start."""
    parameters, before = Parameters.random(prior, rng), -np.inf
    for _ in range(sweeps if prior.rank > 1 else 1):
        parameters, value = em_step(parameters, cells, bins, weights, prior, workers)
        if value - before < _CLOSE:
            break
        before = value
    return parameters.classes(bins)


def em_step(
    parameters: Parameters, cells: NDArray[Any], bins: Bins, weights: Array, prior: ClassPrior, workers: Workers
) -> tuple[Parameters, float]:
    """One step of EM, and the objective before it: mean log-likelihood plus logarithm of the prior, over the rows."""
    classes = parameters.classes(bins)
    table, offsets = _stacked([np.log(lift) for lift in classes.lifts])
    log_shares = np.log(classes.shares)

    def expect(part: tuple[int, int]) -> tuple[Array, Array, float]:
        sums, of_classes = np.zeros_like(table), np.zeros(classes.rank)
        value = _expect(cells, table, offsets, log_shares, weights, *part, sums, of_classes)
        return sums, of_classes, value

    sums, of_classes, values = zip(*workers.map(expect, row_parts(len(weights))), strict=True)
    total, mass, value = np.sum(sums, axis=0), np.sum(of_classes, axis=0), float(np.sum(values))
    value += prior.rows * float(log_shares.mean())
    new = []
    modes = zip(bins.marginals, bins.kernels, parameters.weights, prior.lean, strict=True)
    for n, (p, about, old, lean) in enumerate(modes):
        value += prior.rows * float((lean * np.log(old)).sum())
        of_bins = total[offsets[n] : offsets[n] + len(p)] / (p[:, None] * classes.lifts[n])
        expected = old * (about.T @ of_bins) + prior.rows * lean
        new.append(expected / expected.sum(axis=0))
    shares = mass + prior.rows / classes.rank
    return Parameters(shares / shares.sum(), tuple(new)), value / float(weights.sum())


def _stacked(tables: Sequence[Array]) -> tuple[Array, NDArray[np.intp]]:
    """Tables (C_n, R) under one another, each followed by a row of zeros that stands for a missing cell."""
    rows = [len(table) + 1 for table in tables]
    offsets = np.concatenate([[0], np.cumsum(rows)[:-1]]).astype(np.intp)
    stacked = np.zeros((sum(rows), tables[0].shape[1]))
    for start, table in zip(offsets, tables, strict=True):
        stacked[start : start + len(table)] = table
    return stacked, offsets


@inner
def _score_row(bins: Any, m: int, table: Any, offsets: Any, log_shares: Any, score: Any) -> None:
    for r in range(len(score)):
        score[r] = log_shares[r]
    for n in range(len(offsets)):
        row = table[offsets[n] + bins[n, m]]
        for r in range(len(score)):
            score[r] += row[r]


@kernel
def _score(bins: Any, table: Any, offsets: Any, log_shares: Any, start: int, stop: int, scores: Any) -> None:
    for m in range(start, stop):
        _score_row(bins, m, table, offsets, log_shares, scores[m])


@kernel
def _expect(
    bins: Any,
    table: Any,
    offsets: Any,
    log_shares: Any,
    weights: Any,
    start: int,
    stop: int,
    sums: Any,
    of_classes: Any,
) -> float:
    """Add the probabilities of the classes, given each row, to the bins that it has; return its log-likelihood."""
    R = len(log_shares)
    score = np.empty(R)
    value = 0.0
    for m in range(start, stop):
        _score_row(bins, m, table, offsets, log_shares, score)
        largest = score[0]
        for r in range(1, R):
            largest = max(largest, score[r])
        total = 0.0
        for r in range(R):
            score[r] = np.exp(score[r] - largest)
            total += score[r]
        value += weights[m] * (largest + np.log(total))
        for r in range(R):
            score[r] *= weights[m] / total
            of_classes[r] += score[r]
        for n in range(len(offsets)):
            row = sums[offsets[n] + bins[n, m]]
            for r in range(R):
                row[r] += score[r]
    return value
