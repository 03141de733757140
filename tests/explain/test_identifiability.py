"""Degrees of freedom, Kruskal ranks and Kruskal's condition, against the definitions."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from csid import CSIDRegressor, identifiability
from csid.explain.identifiability import examine, k_rank, live_components
from csid.tensor.cpd import CPD

Array = NDArray[np.float64]


def random_cpd(levels: tuple[int, ...], rank: int, outputs: int = 1, seed: int = 0) -> CPD:
    rng = np.random.default_rng(seed)
    return CPD(
        tuple(rng.normal(size=(I_n, rank)) for I_n in levels),
        rng.normal(size=(outputs, rank)),
        np.zeros(outputs),
        tuple(np.full(I_n, 1 / I_n) for I_n in levels),
    )


def names(cpd: CPD) -> list[str]:
    return [f"x{n}" for n in range(cpd.n_modes)]


def k_rank_by_definition(A: Array) -> int:
    """The largest k such that every k columns are independent."""
    F = A.shape[1]
    for k in range(1, F + 1):
        if any(np.linalg.matrix_rank(A[:, chosen]) < k for chosen in combinations(range(F), k)):
            return k - 1
    return F


# --- Kruskal ranks ------------------------------------------------------------------------------------------------


@settings(max_examples=150)
@given(st.integers(1, 4), st.integers(1, 6), st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 9]))
def test_k_rank_is_that_of_the_definition(rows: int, columns: int, seed: int, largest: int) -> None:
    A = np.random.default_rng(seed).integers(-largest, largest + 1, (rows, columns)).astype(float)
    assert k_rank(A) == (k_rank_by_definition(A), True)


@pytest.mark.parametrize(
    ("A", "expected"),
    [
        (np.eye(3), 3),
        (np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 1.0]]), 1),  # two columns point the same way
        (np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), 0),  # a column is zero
        (np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.0]]), 2),  # any two are independent, the three not
        # three columns at 120 degrees add up to zero: the bound by coherence is met with equality
        (np.array([[1.0, 0.0, -1.0, 1.0], [-1.0, 1.0, 0.0, 1.0], [0.0, -1.0, 1.0, 1.0]]), 2),
        (np.array([[1.0, 1.0, 1.0]]), 1),  # a single level
        (np.zeros((3, 0)), 0),
    ],
)
def test_k_ranks_of_known_matrices(A: Array, expected: int) -> None:
    assert k_rank(A) == (expected, True)


@given(st.integers(0, 2**32 - 1), st.floats(1e-6, 1e6))
def test_k_rank_does_not_depend_on_the_scale_of_columns(seed: int, scale: float) -> None:
    A = np.random.default_rng(seed).integers(-1, 2, (3, 5)).astype(float)
    assert k_rank(A * [scale, 1, -1, 1, 1 / scale]) == k_rank(A)


@given(st.integers(0, 2**32 - 1))
def test_out_of_reach_of_all_subsets_a_lower_bound_stands(seed: int) -> None:
    A = np.random.default_rng(seed).normal(size=(4, 9))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(k_rank.__globals__, "_MOST_SUBSETS", 10)
        k, exact = k_rank(A)
    assert 1 <= k <= 4
    assert exact == (k == 4)
    assert k_rank(A) == (4, True)


# --- degrees of freedom and Kruskal's condition -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("levels", "rank", "outputs"), [((5, 5, 5), 2, 1), ((4, 3), 3, 1), ((6, 2, 3), 2, 4), ((3, 1, 4), 2, 1)]
)
def test_degrees_of_freedom_are_the_entries_less_the_scales_that_factors_trade(
    levels: tuple[int, ...], rank: int, outputs: int
) -> None:
    """The rank of the Jacobian of all cells of the tensor, taken numerically."""
    cpd = random_cpd(levels, rank, outputs)
    start = np.concatenate([A.ravel() for A in cpd.factors] + ([cpd.V.ravel()] if outputs > 1 else []))

    def cells(parameters: Array) -> Array:
        sizes = [I_n * rank for I_n in levels]
        parts = np.split(parameters, np.cumsum(sizes))
        tensor = np.ones((1, rank))
        for part, I_n in zip(parts, levels, strict=False):
            tensor = (tensor[:, None, :] * part.reshape(I_n, rank)).reshape(-1, rank)
        V = parts[-1].reshape(outputs, rank) if outputs > 1 else np.ones((1, rank))
        return (tensor @ V.T).ravel()

    step = 1e-6
    moves = step * np.eye(len(start))
    jacobian = np.array([cells(start + move) - cells(start - move) for move in moves]) / (2 * step)
    scales = rank * (len(levels) + (outputs > 1) - 1)
    freedom = examine(cpd, names(cpd), 100).degrees_of_freedom
    assert freedom == len(start) - scales + outputs
    if len(levels) + (outputs > 1) > 2 and 1 not in levels:  # in matrices, factors can trade more than scales
        assert np.linalg.matrix_rank(jacobian, tol=1e-6) == freedom - outputs


def test_generic_factors_of_a_low_rank_are_unique() -> None:
    found = examine(random_cpd((5, 5, 5), 3), ["a", "b", "c"], 370)
    assert found.k_ranks == {"a": 3, "b": 3, "c": 3}
    assert (found.kruskal_sum, found.kruskal_bound) == (9, 2 * 3 + 3 - 1)
    assert found.unique
    assert found.k_ranks_exact
    assert found.samples_per_degree_of_freedom == 370 / found.degrees_of_freedom
    assert "unique up to order and scale" in str(found)


def test_a_rank_beyond_kruskals_bound_is_not_guaranteed_to_be_unique() -> None:
    found = examine(random_cpd((3, 3, 3), 4), ["a", "b", "c"], 100)
    assert (found.kruskal_sum, found.kruskal_bound) == (9, 10)
    assert not found.unique
    assert "not guaranteed" in str(found)


def test_matrices_are_never_unique() -> None:
    assert not examine(random_cpd((9, 9), 2), ["a", "b"], 100).unique


def test_equal_columns_in_a_factor_can_cost_uniqueness() -> None:
    cpd = random_cpd((3, 3, 3), 2)
    cpd.factors[0][:, 1] = -2 * cpd.factors[0][:, 0]
    found = examine(cpd, names(cpd), 100)
    assert found.k_ranks == {"x0": 1, "x1": 2, "x2": 2}
    assert (found.kruskal_sum, found.kruskal_bound) == (5, 6)
    assert not found.unique


def test_outputs_are_a_mode_and_a_single_level_is_none() -> None:
    several = examine(random_cpd((5, 5), 2, outputs=3), ["a", "b"], 100)
    assert several.k_ranks == {"a": 2, "b": 2, "output": 2}
    assert (several.kruskal_sum, several.kruskal_bound) == (6, 6)
    assert several.unique
    with_constant = examine(random_cpd((5, 5, 1), 2), ["a", "b", "c"], 100)
    assert (with_constant.kruskal_sum, with_constant.kruskal_bound) == (4, 5)


# --- components that are zero -------------------------------------------------------------------------------------


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("where", ["one factor", "every factor", "V"])
def test_components_that_are_zero_do_not_count(where: str, outputs: int) -> None:
    alive = random_cpd((5, 5, 5), 2, outputs)
    dead = random_cpd((5, 5, 5), 2, outputs, seed=1)
    zeroed = {"one factor": dead.factors[1:2], "every factor": dead.factors, "V": (dead.V,)}[where]
    for A in zeroed:
        A[:] = 0.0
    cpd = CPD(
        tuple(np.hstack([B[:, :1], A, B[:, 1:]]) for A, B in zip(alive.factors, dead.factors, strict=True)),
        np.hstack([dead.V[:, :1], alive.V, dead.V[:, 1:]]),
        alive.bias,
        alive.marginals,
    )
    assert live_components(cpd).tolist() == [False, True, True, False]
    assert examine(cpd, names(cpd), 100) == examine(alive, names(alive), 100)
    assert examine(cpd, names(cpd), 100).rank == 2


def test_a_tensor_without_components_is_legal() -> None:
    cpd = random_cpd((5, 5, 5), 2)
    cpd.V[:] = 0.0
    found = examine(cpd, names(cpd), 10)
    assert (found.rank, found.degrees_of_freedom) == (0, 1)
    assert not found.unique


# --- of a fitted estimator ----------------------------------------------------------------------------------------


def test_a_fitted_model_is_examined_by_the_names_of_its_predictors() -> None:
    X = np.random.default_rng(0).integers(0, 5, (400, 3)).astype(float)
    y = np.prod(np.sin(X + 1), axis=1) + np.prod(np.cos(X), axis=1)
    model = CSIDRegressor(rank=2, max_iter=20, early_stopping=False, random_state=0).fit(X, y)
    found = identifiability(model)
    assert list(found.k_ranks) == ["x0", "x1", "x2"]
    assert found.n_samples == 400
    assert found.degrees_of_freedom == 3 * 5 * 2 - 2 * 2 + 1
    assert found.unique


def test_a_model_must_be_fitted() -> None:
    with pytest.raises(NotFittedError):
        identifiability(CSIDRegressor())
