"""How much factors vary: shares that only depend on the tensor, and vanish for predictors without effect."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from csid import CSIDRegressor
from csid.explain import factor_variation
from csid.tensor.cpd import CPD

Array = NDArray[np.float64]
seeds = st.integers(0, 2**32 - 1)


def random_cpd(rng: np.random.Generator, rank: int = 3, outputs: int = 2) -> CPD:
    levels = (5, 4, 3)
    return CPD(
        tuple(rng.normal(size=(I_n, rank)) for I_n in levels),
        rng.normal(size=(outputs, rank)),
        rng.normal(size=outputs),
        tuple(rng.dirichlet(np.ones(I_n)) for I_n in levels),
    )


ORDERED = (5, 3, 0)  # numbers, numbers with a level for missing cells, categories


@given(seeds)
def test_shares_sum_to_one(seed: int) -> None:
    shares = factor_variation(random_cpd(np.random.default_rng(seed)), ORDERED)
    assert (shares >= 0).all()
    assert_allclose(shares.sum(), 1.0, rtol=1e-12)


@given(seeds)
def test_shares_follow_the_definition(seed: int) -> None:
    cpd = random_cpd(np.random.default_rng(seed))
    expected = np.zeros(3)
    for f in range(cpd.rank):
        columns = [A[:, f] for A in cpd.factors]
        weight = (cpd.V[:, f] ** 2).sum() * np.prod([a @ a for a in columns])
        for n, (a, p, ordered) in enumerate(zip(columns, cpd.marginals, ORDERED, strict=True)):
            a = a / np.linalg.norm(a)
            steps = [a[i + 1] - a[i] for i in range(ordered - 1)] + [a[i] - p @ a for i in range(ordered, len(a))]
            expected[n] += weight * np.square(steps).sum()
    assert_allclose(factor_variation(cpd, ORDERED), expected / expected.sum(), rtol=1e-10)


@given(seeds)
def test_how_factors_share_out_a_scale_does_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cpd = random_cpd(rng)
    scales = rng.choice([-1.0, 1.0], (3, cpd.rank)) * 10.0 ** rng.uniform(-3, 3, (3, cpd.rank))
    rescaled = CPD(
        tuple(A * s for A, s in zip(cpd.factors, scales, strict=True)),
        cpd.V / scales.prod(axis=0),
        cpd.bias,
        cpd.marginals,
    )
    assert_allclose(factor_variation(rescaled, ORDERED), factor_variation(cpd, ORDERED), rtol=1e-9)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_constant_columns_are_no_effect(n: int) -> None:
    cpd = random_cpd(np.random.default_rng(0))
    cpd.factors[n][:] = cpd.factors[n][0]
    shares = factor_variation(cpd, ORDERED)
    assert_allclose(shares[n], 0.0, atol=1e-15)
    assert (np.delete(shares, n) > 0).all()


def test_a_component_that_is_zero_does_not_count() -> None:
    rng = np.random.default_rng(0)
    cpd = random_cpd(rng)
    alive = CPD(tuple(A[:, 1:] for A in cpd.factors), cpd.V[:, 1:], cpd.bias, cpd.marginals)
    cpd.factors[0][:, 0] = 0.0
    assert_allclose(factor_variation(cpd, ORDERED), factor_variation(alive, ORDERED), rtol=1e-12)


def test_a_constant_tensor_has_equal_shares() -> None:
    cpd = random_cpd(np.random.default_rng(0))
    cpd.V[:] = 0.0
    assert_allclose(factor_variation(cpd, ORDERED), 1 / 3)


@pytest.mark.parametrize("interpolation", ["linear", "constant"])
def test_a_predictor_that_does_not_matter_gets_next_to_nothing(interpolation: str) -> None:
    X = np.random.default_rng(0).integers(0, 12, (2000, 3)) / 12  # as many values as levels
    y = np.sin(6 * X[:, 0]) * (X[:, 2] > 0.5)
    model = CSIDRegressor(rank=3, random_state=0, interpolation=interpolation, levels=12).fit(X, y)
    for shares in (model.feature_importances_, factor_variation(model.cpd_, model.encoding_.ordered.tolist())):
        assert shares[1] < 1e-3
        assert shares[[0, 2]].min() > 0.2
