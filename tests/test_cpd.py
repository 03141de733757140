"""The tensor against plain loops over its definition, its average, its mean, and its canonical form."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from csid.tensor.cpd import CPD

Array = NDArray[np.float64]

seeds = st.integers(0, 2**32 - 1)
ranks = st.integers(1, 18)  # on both sides of a vector's eight lanes, and of two
outputs = st.integers(1, 3)


def random_cpd(rng: np.random.Generator, rank: int, outputs: int, levels: tuple[int, ...] = (4, 1, 3)) -> CPD:
    """A tensor with entries of either sign, and a marginal for each predictor."""
    return CPD(
        tuple(rng.normal(size=(I_n, rank)) for I_n in levels),
        rng.normal(size=(outputs, rank)),
        rng.normal(size=outputs),
        tuple(rng.dirichlet(np.ones(I_n)) for I_n in levels),
    )


def random_rows(rng: np.random.Generator, cpd: CPD, n: int, linear: bool) -> tuple[Array, Array]:
    """Codes with missing cells; with `linear`, positions between levels where there is a next one."""
    levels = np.array([len(A) for A in cpd.factors])
    codes = rng.integers(0, levels + 1, (n, len(levels)))
    between = (codes < levels - 1) & (rng.uniform(size=codes.shape) < 0.7)
    fractions = np.where(between, rng.uniform(size=codes.shape), 0.0).astype(np.float32)
    return codes.astype(np.uint8), fractions if linear else np.zeros((0, len(levels)))


def value(cpd: CPD, codes: Array, fractions: Array | None) -> Array:
    """`b + sum_f V(:, f) prod_n w_n^T A_n(:, f)` at one row, by loops."""
    total = cpd.bias.copy()
    for f in range(cpd.rank):
        term = cpd.V[:, f].copy()
        for n, (A, p) in enumerate(zip(cpd.factors, cpd.marginals, strict=True)):
            w = np.zeros(len(A))
            if codes[n] == len(A):
                w[:] = p
            else:
                t = 0.0 if fractions is None else float(fractions[n])
                w[codes[n]] = 1.0 - t
                if t > 0.0:
                    w[codes[n] + 1] = t
            term *= sum(w[i] * A[i, f] for i in range(len(A)))
        total += term
    return total


def values(cpd: CPD, codes: Array, fractions: Array) -> Array:
    return np.array([value(cpd, codes[m], fractions[m] if len(fractions) else None) for m in range(len(codes))])


# --- evaluation ---------------------------------------------------------------------------------------------------


@given(seeds, ranks, outputs, st.booleans())
def test_evaluate_is_the_sum_of_products(seed: int, rank: int, outputs: int, linear: bool) -> None:
    rng = np.random.default_rng(seed)
    cpd = random_cpd(rng, rank, outputs)
    codes, fractions = random_rows(rng, cpd, 12, linear)
    assert_allclose(cpd.evaluate(codes, fractions), values(cpd, codes, fractions), rtol=1e-10, atol=1e-10)


def test_codes_may_be_wider_than_a_byte_and_rows_none() -> None:
    rng = np.random.default_rng(0)
    cpd = random_cpd(rng, 3, 2, levels=(300, 2))
    codes = np.array([[299, 0], [300, 1], [256, 2]], dtype=np.uint16)
    none = np.zeros((0, 2))
    assert_allclose(cpd.evaluate(codes, none), values(cpd, codes, none), rtol=1e-12)
    assert cpd.evaluate(codes[:0], none).shape == (0, 2)


def test_threads_do_not_change_a_bit() -> None:
    rng = np.random.default_rng(0)
    cpd = random_cpd(rng, 5, 2)
    codes, fractions = random_rows(rng, cpd, 50_000, linear=True)
    assert_array_equal(cpd.evaluate(codes, fractions, n_threads=2), cpd.evaluate(codes, fractions))


def test_sizes() -> None:
    cpd = random_cpd(np.random.default_rng(0), 5, 2)
    assert (cpd.rank, cpd.n_outputs, cpd.n_modes) == (5, 2, 3)


# --- the mean -----------------------------------------------------------------------------------------------------


@given(seeds, outputs)
def test_the_mean_is_the_average_over_all_cells_by_their_probability(seed: int, outputs: int) -> None:
    cpd = random_cpd(np.random.default_rng(seed), 3, outputs)
    expected = np.zeros(outputs)
    for cell in product(*(range(len(A)) for A in cpd.factors)):
        probability = np.prod([p[i] for p, i in zip(cpd.marginals, cell, strict=True)])
        expected += probability * value(cpd, np.array(cell), None)
    assert_allclose(cpd.mean(), expected, rtol=1e-10, atol=1e-12)
    all_missing = np.array([[len(A) for A in cpd.factors]], dtype=np.uint8)
    assert_allclose(cpd.mean(), cpd.evaluate(all_missing, np.zeros((0, 3)))[0], rtol=1e-10, atol=1e-12)


# --- the average of several ---------------------------------------------------------------------------------------


@given(seeds, st.lists(ranks, min_size=1, max_size=4), outputs)
def test_the_average_predicts_the_mean_of_the_members(seed: int, ranks: list[int], outputs: int) -> None:
    rng = np.random.default_rng(seed)
    first = random_cpd(rng, ranks[0], outputs)
    members = [CPD(m.factors, m.V, m.bias, first.marginals) for m in (random_cpd(rng, F, outputs) for F in ranks)]
    average = CPD.average(members)
    codes, fractions = random_rows(rng, first, 10, linear=True)
    expected = np.mean([values(member, codes, fractions) for member in members], axis=0)
    assert average.rank == sum(ranks)
    assert_allclose(average.evaluate(codes, fractions), expected, rtol=1e-10, atol=1e-10)


# --- the canonical form -------------------------------------------------------------------------------------------


@given(seeds, ranks, outputs)
def test_the_canonical_form_has_the_same_values(seed: int, rank: int, outputs: int) -> None:
    rng = np.random.default_rng(seed)
    cpd = random_cpd(rng, rank, outputs)
    codes, fractions = random_rows(rng, cpd, 10, linear=True)
    canonical = cpd.normalised()
    assert_allclose(canonical.evaluate(codes, fractions), cpd.evaluate(codes, fractions), rtol=1e-10, atol=1e-10)
    for A in canonical.factors:
        assert_allclose(np.linalg.norm(A, axis=0), 1.0, rtol=1e-12)
        assert (A.max(axis=0) >= -A.min(axis=0)).all()
    assert (np.diff(np.linalg.norm(canonical.V, axis=0)) <= 0).all()


@given(seeds, ranks, outputs)
def test_equivalent_tensors_have_one_canonical_form(seed: int, rank: int, outputs: int) -> None:
    rng = np.random.default_rng(seed)
    cpd = random_cpd(rng, rank, outputs)
    order = rng.permutation(rank)
    scales = rng.choice([-1.0, 1.0], (3, rank)) * 10.0 ** rng.uniform(-3, 3, (3, rank))
    equivalent = CPD(
        tuple((A * s)[:, order] for A, s in zip(cpd.factors, scales, strict=True)),
        (cpd.V / scales.prod(axis=0))[:, order],
        cpd.bias,
        cpd.marginals,
    )
    one, other = cpd.normalised(), equivalent.normalised()
    for A, B in zip((*one.factors, one.V), (*other.factors, other.V), strict=True):
        assert_allclose(A, B, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dead", ["factor", "V"])
def test_a_component_that_is_zero_stays_harmless(dead: str) -> None:
    rng = np.random.default_rng(0)
    cpd = random_cpd(rng, 3, 1)
    (cpd.factors[0] if dead == "factor" else cpd.V)[:, 1] = 0.0
    codes, fractions = random_rows(rng, cpd, 10, linear=True)
    assert_allclose(cpd.normalised().evaluate(codes, fractions), values(cpd, codes, fractions), rtol=1e-10, atol=1e-12)
