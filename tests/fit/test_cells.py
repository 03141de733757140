"""Codes are checked before a compiled loop reads them: what does not fit the tensor is an error, never memory."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from csid.data.out_of_core.code_file import CodeFile
from csid.encoding import Encoding
from csid.encoding.encoding import Levels, fit_encoding
from csid.tensor.cells import Cells
from csid.tensor.cpd import CPD

LEVELS = np.array([3, 2], np.intp)


def tensor() -> CPD:
    marginals = tuple(np.full(I_n, 1.0 / I_n) for I_n in LEVELS.tolist())
    return CPD((np.ones((3, 4)), np.ones((2, 4))), np.ones((1, 4)), np.zeros(1), marginals)


def encoding() -> Encoding:
    X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]])
    return fit_encoding(X, 3, ["a", "b"], np.ones(3), np.arange(3), Levels(8, "linear", "marginalize"), [None, None])[0]


@given(st.data())
def test_a_code_beyond_the_levels_is_an_error_that_names_the_first(data: st.DataObject) -> None:
    M = data.draw(st.integers(1, 200))
    n, row = data.draw(st.integers(0, 1)), data.draw(st.integers(0, M - 1))
    code = data.draw(st.integers(int(LEVELS[n]) + 1, 255))
    codes = np.zeros((M, 2), np.uint8)
    codes[row, n] = code
    with pytest.raises(ValueError, match=f"predictor {n} has the code {code} in row {row + 1}, .* {LEVELS[n]} levels"):
        tensor().evaluate(codes, np.zeros((0, 2)))


@given(st.integers(1, 50), st.sampled_from([np.uint8, np.uint16]))
def test_every_code_up_to_that_of_a_missing_cell_is_legal(rows: int, kind: Any) -> None:
    codes = np.random.default_rng(rows).integers(0, LEVELS + 1, (rows, 2)).astype(kind)
    np.testing.assert_allclose(tensor().evaluate(codes, np.zeros((0, 2))), 4.0)


@pytest.mark.parametrize(
    ("codes", "fractions"),
    [
        (np.zeros((5, 1), np.uint8), np.zeros((0, 1), np.float32)),
        (np.zeros((5, 3), np.uint8), np.zeros((0, 3), np.float32)),
        (np.zeros(5, np.uint8), np.zeros((0, 2), np.float32)),
        (np.zeros((5, 2), np.int64), np.zeros((0, 2), np.float32)),
        (np.zeros((5, 2), np.uint8), np.zeros((4, 2), np.float32)),
        (np.zeros((5, 2), np.uint8), np.zeros((5, 1), np.float32)),
        (np.zeros((5, 2), np.uint8), np.zeros((5, 2), np.float64)),
    ],
    ids=["few columns", "many columns", "one dimension", "wide codes", "few positions", "narrow", "wide positions"],
)
def test_arrays_of_another_shape_are_refused(codes: NDArray[Any], fractions: NDArray[Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Cells(codes, fractions, LEVELS, LEVELS)


@pytest.mark.parametrize("columns", [1, 3])
def test_a_table_of_other_columns_leaves_no_column_unfilled(columns: int) -> None:
    with pytest.raises(ValueError, match=f"the table has 3 rows and {columns} columns, but 3 rows and 2 columns"):
        encoding().encode(np.zeros((3, columns)), 3)
    with pytest.raises(ValueError, match="the table has 1 rows"):
        encoding().encode(np.zeros((1, 2)), 3)


def test_a_code_file_that_was_changed_is_refused(tmp_path: Path) -> None:
    own = encoding()
    with CodeFile.create(tmp_path / "train", own.modes, 4, 1) as file:
        file.codes[:] = 0
        file.codes[1, 2] = 200
        for each in (file.positions, file.targets, file.weights):
            each[:] = 0
    with pytest.raises(ValueError, match="predictor 1 has the code 200 in row 3"):
        CodeFile.open(tmp_path / "train").problem(own)
