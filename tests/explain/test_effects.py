"""Main effects, against averages over all cells."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from csid.explain.effects import effect_deviations, main_effects
from csid.tensor.cpd import CPD


@given(
    st.integers(0, 10_000), st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(1, 3), st.integers(1, 2)
)
def test_effects_are_means_over_all_cells(seed: int, levels: list[int], rank: int, outputs: int) -> None:
    rng = np.random.default_rng(seed)
    factors = tuple(rng.standard_normal((size, rank)) for size in levels)
    p = tuple(rng.dirichlet(np.ones(size)) for size in levels)
    cpd = CPD(factors, rng.standard_normal((outputs, rank)), rng.standard_normal(outputs), p)
    cells = np.array(list(product(*map(range, levels))), dtype=np.uint8)
    values = cpd.evaluate(cells, np.zeros((0, len(levels))))
    mass = np.prod([p[n][cells[:, n]] for n in range(len(levels))], axis=0)
    for n, effect in enumerate(main_effects(cpd)):
        expected = [
            np.average(values[cells[:, n] == i], weights=mass[cells[:, n] == i], axis=0) for i in range(levels[n])
        ]
        assert_allclose(effect, expected, atol=1e-9)
        variance = p[n] @ (effect - p[n] @ effect) ** 2
        assert_allclose(effect_deviations(cpd)[n] ** 2, variance, atol=1e-12)


def test_five_hundred_predictors_of_very_different_sizes() -> None:
    """Means of one component: products that leave the range of floats on the way, by sums of logarithms."""
    rng = np.random.default_rng(0)
    factors = tuple(10.0 ** (3 if n < 250 else -3) * (1 + 0.1 * rng.random((3, 1))) for n in range(500))
    cpd = CPD(factors, np.ones((1, 1)), np.zeros(1), (np.full(3, 1 / 3),) * 500)
    logs = np.array([np.log(A.mean()) for A in factors])
    for n, effect in enumerate(main_effects(cpd)):
        assert_allclose(effect, factors[n] * np.exp(logs.sum() - logs[n]), rtol=1e-10)
