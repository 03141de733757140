"""Latent classes: a joint PMF of the levels that is itself a non-negative CPD, fitted by expectation maximisation.

    Pr(i_1, ..., i_N) = sum_r lambda_r prod_n B_n(i_n, r)

Given its class r, the predictors of a row are independent (Kargas, Sidiropoulos and Fu 2018). Missing cells drop out
of the product. B_n is stored as a lift over the marginal, `B_n(i, r) = p_n(i) lift_n(c, r)`, constant over the levels i
of a bin c, so that one fit applies to any levels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from csid._kernels.class_logits import ClassTables, expect_classes, fill_logits
from csid._kernels.threads import Workers, row_parts

Array = NDArray[np.float64]

_PSEUDO_ROWS = 2.0
_START_NOISE = 0.3
_TOLERANCE = 1e-5
_CORRELATION_SHRINKAGE_ROWS = 10.0


@dataclass(frozen=True)
class LatentClasses:
    """R classes of rows over bins of the predictors.

    weights : (R,) lambda.
    lifts : N arrays (C_n, R), the probability of a bin given the class, relative to the marginal.
    """

    weights: Array
    lifts: tuple[Array, ...]

    @property
    def rank(self) -> int:
        return len(self.weights)

    def logits(self, bins: NDArray[Any], workers: Workers) -> Array:
        """Class logits (M, R): log(lambda_r times the lifts of a row's observed bins).

        bins : (N, M); C_n for a missing cell.
        """
        tables, logits = self.tables(), np.empty((bins.shape[1], self.rank))
        workers.map(lambda part: fill_logits(bins, tables, part, logits), row_parts(len(logits)))
        return logits

    def tables(self) -> ClassTables:
        """The classes as kernels read them."""
        return ClassTables(*_stacked([np.log(lift) for lift in self.lifts]), np.log(self.weights))

    def log_likelihood(self, bins: NDArray[Any], weights: Array, workers: Workers) -> float:
        """Weighted mean log-likelihood of rows, relative to independent predictors."""
        logits = self.logits(bins, workers)
        return float(np.average(np.logaddexp.reduce(logits, axis=1), weights=weights))


def class_probabilities(logits: Array) -> Array:
    """The softmax (M, R) of class logits."""
    likelihood = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(likelihood / likelihood.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Bins:
    """The bins of the predictors.

    marginals : N arrays p_n (C_n,), positive.
    kernels : N arrays (C_n, C_n); column h is a distribution centred on bin h. The distribution of a class is a mixture
        of these, so it is smooth over ordered bins. None for a category, whose bins have no neighbours: the identity.
    """

    marginals: tuple[Array, ...]
    kernels: tuple[Array | None, ...]

    @classmethod
    def of(cls, marginals: Sequence[Array], ordered: Sequence[bool], bandwidth: int) -> "Bins":
        """Triangular kernels over ordered bins, zero beyond `bandwidth` neighbours, times the marginal."""
        kernels: list[Array | None] = []
        for p, is_ordered in zip(marginals, ordered, strict=True):
            if not is_ordered:
                kernels.append(None)
                continue
            index = np.arange(len(p))
            kernel = np.maximum(0.0, 1.0 - np.abs(index[:, None] - index) / (bandwidth + 1.0))
            kernels.append(p[:, None] * kernel / (p @ kernel))
        return cls(tuple(marginals), tuple(kernels))

    def mixed(self, mixtures: Sequence[Array]) -> list[Array]:
        """The distributions (C_n, R) over bins that mixtures of the kernels are."""
        pairs = zip(self.kernels, mixtures, strict=True)
        return [mixture if kernels is None else kernels @ mixture for kernels, mixture in pairs]

    def transposed(self, n: int, of_bins: Array) -> Array:
        """The product (C_n, R) of the transposed kernels of predictor n with an array over its bins."""
        kernels = self.kernels[n]
        return of_bins if kernels is None else kernels.T @ of_bins


@dataclass(frozen=True)
class ClassPrior:
    """Dirichlet prior of the classes, as pseudo-rows. It keeps every lift positive.

    rows : the number of pseudo-rows of each class; mean : N arrays (C_n, R), their distributions.
    """

    rows: float
    mean: tuple[Array, ...]

    @property
    def rank(self) -> int:
        return int(self.mean[0].shape[1])

    @classmethod
    def marginal(cls, bins: Bins, rank: int) -> "ClassPrior":
        """All classes are shrunk towards the marginals."""
        return cls(_PSEUDO_ROWS, tuple(np.tile(p[:, None], rank) for p in bins.marginals))

    @classmethod
    def one_factor(cls, bins: Bins, loadings: Array, rank: int, rows: float) -> "ClassPrior":
        """Classes are shrunk towards a one-factor model: quantiles of one latent factor, with loadings (N,).

        A table in which most cells are missing, such as some grades of many courses, identifies no more than this.
        """
        quantiles = ndtri((np.arange(rank) + 0.5) / rank)
        pairs = zip(bins.marginals, loadings, strict=True)
        tilted = [p[:, None] * np.exp(loading * normal_scores(p)[:, None] * quantiles) for p, loading in pairs]
        return cls(rows, tuple(mean / mean.sum(axis=0) for mean in tilted))


def normal_scores(p: Array) -> Array:
    """Normal scores of the bins: standard normal quantiles at the middle of each bin's probability."""
    return np.asarray(ndtri(np.clip(p.cumsum() - 0.5 * p, 1e-3, 1.0 - 1e-3)))


def first_factor(cells: NDArray[Any], bins: Bins, ordered: Sequence[bool]) -> Array:
    """Loadings (N,) of ordered predictors on the first factor of their pairwise correlations."""
    Z, observed = np.zeros(cells.shape), np.zeros(cells.shape)
    for n, (p, is_ordered) in enumerate(zip(bins.marginals, ordered, strict=True)):
        if is_ordered:
            Z[n], observed[n] = np.append(normal_scores(p), 0.0)[cells[n]], cells[n] < len(p)
    products, counts = (np.einsum("nm,km->nk", each, each) for each in (Z, observed))  # no BLAS: see `sums_over_rows`
    correlations = products / (counts + _CORRELATION_SHRINKAGE_ROWS)
    np.fill_diagonal(correlations, 1.0)
    values, vectors = np.linalg.eigh(correlations)
    largest = vectors[:, -1] * np.sqrt(values[-1])
    return np.asarray(np.where(ordered, largest, 0.0) * (1.0 if largest.sum() >= 0.0 else -1.0))


@dataclass(frozen=True)
class ClassParameters:
    """The parameters of an EM fit.

    weights : (R,) lambda; mixtures : N arrays (C_n, R), the weights of the kernels in each class.
    """

    weights: Array
    mixtures: tuple[Array, ...]

    @classmethod
    def random(cls, prior: ClassPrior, rng: np.random.Generator) -> "ClassParameters":
        """A random start near the prior mean."""
        drawn = [rng.dirichlet(np.ones(len(mean)), prior.rank).T for mean in prior.mean]
        pairs = zip(prior.mean, drawn, strict=True)
        mixed = [(1.0 - _START_NOISE) * mean + _START_NOISE * other for mean, other in pairs]
        return cls(np.full(prior.rank, 1.0 / prior.rank), tuple(mixed))

    def classes(self, bins: Bins) -> LatentClasses:
        modes = zip(bins.marginals, bins.mixed(self.mixtures), strict=True)
        return LatentClasses(self.weights, tuple(mixed / p[:, None] for p, mixed in modes))


def fit_latent_classes(
    cells: NDArray[Any],
    bins: Bins,
    weights: Array,
    prior: ClassPrior,
    rng: np.random.Generator,
    workers: Workers,
    sweeps: int,
) -> LatentClasses:
    """Fit the classes to rows by EM from a random start.

    cells : (N, M) the bin of each cell, C_n for a missing one; weights : (M,) of the rows; sweeps : EM steps at most.
    """
    parameters, before = ClassParameters.random(prior, rng), -np.inf
    for _ in range(sweeps if prior.rank > 1 else 1):
        parameters, value = em_step(parameters, cells, bins, weights, prior, workers)
        if value - before < _TOLERANCE:
            break
        before = value
    return parameters.classes(bins)


def em_step(
    parameters: ClassParameters, cells: NDArray[Any], bins: Bins, weights: Array, prior: ClassPrior, workers: Workers
) -> tuple[ClassParameters, float]:
    """One EM step, and the objective before it: log-likelihood plus log-prior, divided by the weight of the rows."""
    classes = parameters.classes(bins)
    tables = classes.tables()

    def expect(part: tuple[int, int]) -> tuple[Array, Array, float]:
        sums, of_classes = np.zeros_like(tables.table), np.zeros(classes.rank)
        value = expect_classes(cells, tables, weights, part, sums, of_classes)
        return sums, of_classes, value

    sums, of_classes, values = zip(*workers.map(expect, row_parts(len(weights))), strict=True)
    total, mass, value = np.sum(sums, axis=0), np.sum(of_classes, axis=0), float(np.sum(values))
    value += prior.rows * float(tables.log_weights.mean())
    new = []
    modes = zip(bins.marginals, parameters.mixtures, prior.mean, strict=True)
    for n, (p, old, mean) in enumerate(modes):
        value += prior.rows * float((mean * np.log(old)).sum())
        of_bins = total[tables.offsets[n] : tables.offsets[n] + len(p)] / (p[:, None] * classes.lifts[n])
        expected = old * bins.transposed(n, of_bins) + prior.rows * mean
        new.append(expected / expected.sum(axis=0))
    unnormalised = mass + prior.rows / classes.rank
    return ClassParameters(unnormalised / unnormalised.sum(), tuple(new)), value / float(weights.sum())


def _stacked(tables: Sequence[Array]) -> tuple[Array, NDArray[np.intp]]:
    """Tables (C_n, R) stacked by rows, each followed by a row of zeros for missing cells, and where each starts."""
    rows = [len(table) + 1 for table in tables]
    offsets = np.concatenate([[0], np.cumsum(rows)[:-1]]).astype(np.intp)
    stacked = np.zeros((sum(rows), tables[0].shape[1]))
    for start, table in zip(offsets, tables, strict=True):
        stacked[start : start + len(table)] = table
    return stacked, offsets
