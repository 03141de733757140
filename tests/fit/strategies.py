"""Random encoded problems and factors: builders from a seed, and Hypothesis strategies that choose what to build."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from csid.data.problem import Problem
from csid.inference.als import ALSOptions
from csid.tensor.cells import Cells
from csid.tensor.factors import Factors, stack_factors

Array = NDArray[np.float64]


def build_problem(
    seed: int,
    *,
    levels: Sequence[int] = (4, 3),
    ordered: Sequence[int] | None = None,
    rows: int = 40,
    outputs: int = 1,
    linear: bool = False,
    missing: float = 0.0,
    weighted: bool = False,
    dtype: Any = np.uint8,
) -> Problem:
    """A problem with random cells and targets; every level is ordered unless said otherwise."""
    rng = np.random.default_rng(seed)
    ordered = levels if ordered is None else ordered
    codes = np.column_stack([rng.integers(0, I_n, rows) for I_n in levels]).astype(dtype)
    fractions = np.zeros((rows if linear else 0, len(levels)), np.float32)
    if linear:
        inside = (codes < np.array(ordered) - 1) & (rng.random(codes.shape) < 0.8)
        fractions[inside] = rng.random(inside.sum())
    absent = rng.random(codes.shape) < missing
    codes = np.where(absent, np.array(levels), codes).astype(dtype)
    if linear:
        fractions[absent] = 0
    return Problem(
        Cells(codes, fractions, np.array(levels, np.intp), np.array(levels, np.intp)),
        weights=rng.uniform(0.1, 3.0, rows) if weighted else np.ones(rows),
        targets=rng.standard_normal((rows, outputs)),
        ordered=np.array(ordered, np.intp),
        marginals=tuple(rng.dirichlet(np.ones(I_n)) for I_n in levels),
    )


def with_cells(problem: Problem, **changes: Any) -> Problem:
    """The same weights and targets on other cells."""
    return replace(problem, cells=replace(problem.cells, **changes))


def build_factors(problem: Problem, rank: int, seed: int) -> Factors:
    """Factors of either sign, with an output factor that is not one."""
    rng = np.random.default_rng([seed, 1])
    A = tuple(rng.standard_normal((int(I_n), rank)) for I_n in problem.levels)
    V = rng.standard_normal((problem.n_outputs, rank))
    return stack_factors(A, V, rng.standard_normal(problem.n_outputs), problem.marginals)


seeds = st.integers(0, 2**32 - 1)
ranks = st.integers(1, 20)


@st.composite
def problems(draw: Any, *, max_modes: int = 4, max_levels: int = 6, max_rows: int = 60) -> Problem:
    """Any encoded problem: levels, order, interpolation, missing cells, weights, outputs and width of codes."""
    levels = draw(st.lists(st.integers(1, max_levels), min_size=1, max_size=max_modes))
    # a category, a number, or a number whose last level stands for "missing"
    ordered = [draw(st.sampled_from(sorted({0, I_n, I_n - 1}))) for I_n in levels]
    return build_problem(
        draw(seeds),
        levels=levels,
        ordered=ordered,
        rows=draw(st.integers(1, max_rows)),
        outputs=draw(st.integers(1, 3)),
        linear=draw(st.booleans()),
        missing=draw(st.sampled_from([0.0, 0.3, 0.9])),
        weighted=draw(st.booleans()),
        dtype=draw(st.sampled_from([np.uint8, np.uint16])),
    )


@st.composite
def als_options(draw: Any, n_modes: int, ridges: Sequence[float] = (0.0, 1e-8, 1e-2), **fixed: Any) -> ALSOptions:
    """Penalties of any strength and order; without ridge, systems may be singular."""
    strengths = st.sampled_from([0.0, 1e-3, 0.5])
    return ALSOptions(
        ridge=draw(st.sampled_from(ridges)),
        smoothness=tuple(draw(strengths) for _ in range(n_modes)),
        smoothness_order=draw(st.sampled_from([1, 2])),
        output_smoothness=draw(strengths),
        **fixed,
    )
