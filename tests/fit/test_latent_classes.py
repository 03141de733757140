"""Latent classes: the likelihood, what a step of EM does to it, and what is found."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from csid._kernels.threads import Workers
from csid.missing.joint_pmf import fit_joint_pmf
from csid.missing.latent_classes import (
    Bins,
    ClassParameters,
    ClassPrior,
    LatentClasses,
    class_probabilities,
    em_step,
    first_factor,
    fit_latent_classes,
    normal_scores,
)

Array = np.ndarray


def _cells(seed: int, counts: tuple[int, ...] = (4, 3, 5), rows: int = 60, missing: float = 0.3) -> Array:
    """Bins (N, M), C_n for a missing cell."""
    rng = np.random.default_rng(seed)
    cells = np.array([rng.integers(0, C, rows) for C in counts])
    return np.where(rng.random(cells.shape) < missing, np.array(counts)[:, None], cells).astype(np.uint8)


def _bins(seed: int, counts: tuple[int, ...] = (4, 3, 5), bandwidth: int = 1) -> Bins:
    rng = np.random.default_rng([seed, 1])
    marginals = [rng.dirichlet(3.0 * np.ones(C)) for C in counts]
    return Bins.of(marginals, [n != 1 for n in range(len(counts))], bandwidth)


def _classes(seed: int, bins: Bins, rank: int) -> LatentClasses:
    return ClassParameters.random(ClassPrior.marginal(bins, rank), np.random.default_rng([seed, 2])).classes(bins)


def _prior(bins: Bins, rank: int, rows: float) -> ClassPrior:
    """The marginals, or with some rows one factor that the predictors load on in either direction."""
    if rows == 0.0:
        return ClassPrior.marginal(bins, rank)
    return ClassPrior.one_factor(bins, np.array([1.0, 0.0, -0.7]), rank, rows)


def test_logits_are_the_logarithms_of_weights_times_lifts() -> None:
    bins, cells = _bins(0), _cells(0)
    classes = _classes(0, bins, 3)
    expected = np.zeros((cells.shape[1], 3))
    for m in range(cells.shape[1]):
        for r in range(3):
            factors = [lift[c, r] for lift, c in zip(classes.lifts, cells[:, m], strict=True) if c < len(lift)]
            expected[m, r] = np.log(classes.weights[r] * np.prod(factors))
    logits = classes.logits(cells, Workers())
    assert_allclose(logits, expected, atol=1e-12)
    probabilities = np.exp(expected) / np.exp(expected).sum(axis=1, keepdims=True)
    assert_allclose(class_probabilities(logits), probabilities, atol=1e-12)
    weights = np.arange(1.0, 61.0)
    likelihood = np.average(np.log(np.exp(expected).sum(axis=1)), weights=weights)
    assert_allclose(classes.log_likelihood(cells, weights, Workers()), likelihood)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    rank=st.integers(1, 6),
    bandwidth=st.integers(0, 3),
    missing=st.sampled_from([0.0, 0.4]),
    rows=st.sampled_from([0.0, 10.0]),
)
def test_no_step_lowers_the_objective(seed: int, rank: int, bandwidth: int, missing: float, rows: float) -> None:
    bins, cells = _bins(seed, bandwidth=bandwidth), _cells(seed, missing=missing)
    rng, prior = np.random.default_rng(seed), _prior(bins, rank, rows)
    weights, parameters = rng.uniform(0.1, 2.0, cells.shape[1]), ClassParameters.random(prior, rng)
    values = []
    for _ in range(12):
        parameters, value = em_step(parameters, cells, bins, weights, prior, Workers())
        values.append(value)
    assert (np.diff(values) >= -1e-12).all()


def test_the_objective_is_the_likelihood_and_the_prior() -> None:
    bins, cells, weights = _bins(1), _cells(1), np.full(60, 2.0)
    for prior in (_prior(bins, 3, 0.0), _prior(bins, 3, 7.0)):
        parameters = ClassParameters.random(prior, np.random.default_rng(0))
        _, value = em_step(parameters, cells, bins, weights, prior, Workers())
        expected = np.log(parameters.weights).mean()
        expected += sum((mean * np.log(B)).sum() for mean, B in zip(prior.mean, parameters.mixtures, strict=True))
        likelihood = parameters.classes(bins).log_likelihood(cells, weights, Workers())
        assert_allclose(value, likelihood + prior.rows * expected / 120.0)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), bandwidth=st.integers(0, 4))
def test_a_class_is_a_distribution_over_the_bins(seed: int, bandwidth: int) -> None:
    bins = _bins(seed, bandwidth=bandwidth)
    prior, rng = _prior(bins, 4, 0.0), np.random.default_rng(seed)
    classes = fit_latent_classes(_cells(seed), bins, np.ones(60), prior, rng, Workers(), 20)
    assert_allclose(classes.weights.sum(), 1.0)
    for p, lift in zip(bins.marginals, classes.lifts, strict=True):
        assert (lift > 0.0).all()
        assert_allclose(p @ lift, np.ones(4))


def test_kernels_reach_as_far_as_they_should_and_only_over_ordered_bins() -> None:
    bins = _bins(0, (6, 4), bandwidth=2)
    near, category = bins.kernels
    assert_allclose(near.sum(axis=0), np.ones(6))
    assert_array_equal(near > 0.0, np.abs(np.subtract.outer(np.arange(6), np.arange(6))) <= 2)
    assert category is None
    mixture = np.random.default_rng(0).dirichlet(np.ones(6), 2).T
    assert_allclose(bins.mixed([mixture, mixture[:4]])[0], near @ mixture)
    assert_allclose(bins.mixed([mixture, mixture[:4]])[1], mixture[:4])


def test_memory_is_linear_in_the_number_of_categories() -> None:
    """A category of 6,000 words and one missing cell: a matrix over pairs of categories would take 288 MB."""
    words = np.array([f"word {c}" for c in range(6000)], dtype=object)
    words[0] = None
    table, weights, rng = pd.DataFrame({"word": words}), np.ones(len(words)), np.random.default_rng(0)
    tracemalloc.start()
    try:
        pmf = fit_joint_pmf(table, len(words), ["word"], weights, [True], 2, rng, 1)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert pmf is not None
    assert pmf.classes.lifts[0].shape == (5999, 2)
    assert peak < 30e6


def test_a_single_class_says_that_predictors_are_independent() -> None:
    """Whose marginals are those of the rows."""
    cells = _cells(3, missing=0.0)
    marginals = [np.bincount(row, minlength=C) / 60 for row, C in zip(cells, (4, 3, 5), strict=True)]
    bins = Bins.of(marginals, [True] * 3, 0)
    rng = np.random.default_rng(0)
    classes = fit_latent_classes(cells, bins, np.ones(60), ClassPrior.marginal(bins, 1), rng, Workers(), 5)
    assert_array_equal(classes.weights, [1.0])
    for lift in classes.lifts:
        assert_allclose(lift, 1.0)


def test_two_kinds_of_rows_are_told_apart_though_cells_are_missing() -> None:
    rng = np.random.default_rng(0)
    kind = rng.random(2000) < 0.3
    cells = np.array([np.where(rng.random(2000) < 0.9, kind, ~kind) for _ in range(5)]).astype(np.uint8)
    cells[rng.random(cells.shape) < 0.3] = 2
    marginals = [np.bincount(row[row < 2], minlength=2) / (row < 2).sum() for row in cells]
    bins = Bins.of(marginals, [False] * 5, 0)
    classes = fit_latent_classes(cells, bins, np.ones(2000), ClassPrior.marginal(bins, 2), rng, Workers(), 200)
    rare = int(np.argmin(classes.weights))
    assert_allclose(classes.weights[rare], 0.3, atol=0.04)
    for p, lift in zip(marginals, classes.lifts, strict=True):
        assert_allclose(p[1] * lift[1, rare], 0.9, atol=0.05)
    assert classes.log_likelihood(cells, np.ones(2000), Workers()) > 0.3


@pytest.mark.parametrize("rows", [50, 70_000])
def test_threads_do_not_change_a_bit(rows: int) -> None:
    bins, cells = _bins(4), _cells(4, rows=rows)
    with Workers(3) as three:
        many = fit_latent_classes(cells, bins, np.ones(rows), _prior(bins, 3, 0.0), np.random.default_rng(0), three, 3)
    one = fit_latent_classes(cells, bins, np.ones(rows), _prior(bins, 3, 0.0), np.random.default_rng(0), Workers(), 3)
    assert_array_equal(many.weights, one.weights)
    for a, b in zip(many.lifts, one.lifts, strict=True):
        assert_array_equal(a, b)


def test_normal_scores_are_standard_over_the_marginal() -> None:
    p = np.full(200, 1.0 / 200.0)
    assert_allclose([p @ normal_scores(p), p @ normal_scores(p) ** 2], [0.0, 1.0], atol=0.02)
    assert (np.diff(normal_scores(p)) > 0.0).all()


def test_a_factor_is_found_in_a_table_of_few_cells() -> None:
    """Five numbers that rise or fall with a hidden one, one that does not, a category; four of five cells hidden."""
    rng = np.random.default_rng(0)
    hidden = rng.standard_normal(4000)
    signs = np.array([1.0, 1.0, -1.0, 1.0, -1.0, 0.0])
    values = 0.8 * signs[:, None] * hidden + 0.6 * rng.standard_normal((6, 4000))
    cells = np.array([np.searchsorted(np.quantile(row, np.arange(1, 8) / 8), row) for row in values])
    cells = np.vstack([cells, rng.integers(0, 8, 4000)])
    cells[rng.random(cells.shape) < 0.8] = 8
    marginals, ordered = [np.full(8, 0.125)] * 7, [True] * 6 + [False]
    bins = Bins.of(marginals, ordered, 1)
    loadings = first_factor(cells, bins, ordered)
    assert_array_equal(np.sign(loadings[:5]), signs[:5])
    assert np.abs(loadings[5]) < 0.2 < np.abs(loadings[:5]).min()
    assert loadings[6] == 0.0
    prior = ClassPrior.one_factor(bins, 1.5 * loadings, 5, 10.0)
    for mean, sign in zip(prior.mean, signs[:5], strict=False):
        assert_allclose(mean.sum(axis=0), np.ones(5))
        assert (np.diff(sign * (np.arange(8.0) @ mean)) > 0.0).all()
    assert_allclose(prior.mean[6], 0.125)
    few = cells[:, :150].astype(np.uint8)
    likelihood = {
        name: fit_latent_classes(few, bins, np.ones(150), one, np.random.default_rng(0), Workers(), 40).log_likelihood(
            cells[:, 150:].astype(np.uint8), np.ones(3850), Workers()
        )
        for name, one in {"factor": prior, "marginal": ClassPrior.marginal(bins, 5)}.items()
    }
    assert likelihood["factor"] > max(0.0, likelihood["marginal"])
