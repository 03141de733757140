"""The classification problems of the benchmarks, where their files are installed."""

import numpy as np
import pytest

import problems

if not problems.data_at_hand("classification"):
    pytest.skip("no folder of classification data: set CSID_DATA", allow_module_level=True)


@pytest.mark.parametrize(
    ("name", "shape", "categories", "missing", "counts"),
    [
        ("heart_cleveland", (303, 13), 7, 6, [164, 55, 36, 35, 13]),
        ("german_credit", (1000, 20), 13, 0, [700, 300]),
        ("titanic", (1309, 7), 3, 266, [809, 500]),
        ("car", (1728, 6), 6, 0, [384, 69, 1210, 65]),  # acc, good, unacc, vgood
        ("breast_cancer_wisconsin", (699, 9), 0, 16, [458, 241]),
    ],
)
def test_a_problem_is_what_its_description_says(
    name: str, shape: tuple[int, int], categories: int, missing: int, counts: list[int]
) -> None:
    problem = problems.load(name)
    assert problem.X.shape == shape
    assert problem.X.select_dtypes("category").shape[1] == categories
    assert problem.X.select_dtypes("number").shape[1] == shape[1] - categories
    assert problem.X.isna().to_numpy().sum() == missing
    assert np.bincount(problem.y).tolist() == counts


@pytest.mark.parametrize("name", ["yeast", "heart_cleveland", "car"])
def test_training_rows_of_every_split_have_every_class(name: str) -> None:
    problem = problems.load(name)
    for split in range(problems.CLASSES[name].splits):
        train, _ = problems.split(problem, split)
        assert set(problem.y[train]) == set(problem.y)
