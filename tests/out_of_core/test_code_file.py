"""The code file: what is written is read, and anything else is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from csid.data.out_of_core import CodeFile, CodeFileError
from csid.encoding import Levels, OrdinalMode, fit_encoding


@pytest.fixture
def written(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    levels = Levels(8, "linear", "marginalize")
    encoding, rows = fit_encoding(X, 50, list("abc"), np.ones(50), np.arange(50), levels, [None] * 3)
    with CodeFile.create(tmp_path / "codes", encoding.modes, 50, 2) as file:
        file.codes[:], file.positions[:] = rows.codes.T, np.rint(rows.fractions.T * 65536)
        file.targets[:], file.weights[:] = rng.normal(size=(50, 2)), 1.0
        assert_array_equal(file.problem(encoding).cells.codes, rows.codes)
    return tmp_path / "codes"


def test_what_is_written_is_read(written: Path) -> None:
    file = CodeFile.open(written)
    assert (file.n_rows, file.codes.shape, file.codes.dtype, file.positions.dtype) == (50, (3, 50), np.uint8, np.uint16)
    bytes_per_cell = (file.codes.nbytes + file.positions.nbytes) / file.codes.size
    assert bytes_per_cell == 3


def test_a_file_that_was_not_finished_is_not_there(written: Path) -> None:
    modes = (OrdinalMode("a", np.arange(3.0), True, False),)
    with pytest.raises(RuntimeError), CodeFile.create(written.parent / "other", modes, 0, 1):
        raise RuntimeError
    assert sorted(path.name for path in written.parent.iterdir()) == ["codes"]


def test_other_folders_are_refused(written: Path, tmp_path: Path) -> None:
    with pytest.raises(CodeFileError, match="is not a code file"):
        CodeFile.open(tmp_path)
    header = json.loads((written / "header.json").read_text())
    (written / "header.json").write_text(json.dumps(header | {"version": 9}))
    with pytest.raises(CodeFileError, match="of version 9"):
        CodeFile.open(written)
    (written / "header.json").write_text(json.dumps(header | {"rows": 51}))
    with pytest.raises(CodeFileError, match=r"holds uint8 of shape \(3, 50\), but must hold uint8 or"):
        CodeFile.open(written)


def test_a_file_of_objects_is_refused(written: Path) -> None:
    np.save(written / "codes.npy", np.array([[object()]]), allow_pickle=True)
    with pytest.raises(CodeFileError):
        CodeFile.open(written)
