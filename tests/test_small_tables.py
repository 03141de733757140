"""How a fitted model and its results show themselves in a terminal and in a notebook."""

import numpy as np
import pandas as pd
import pytest

from csid import BayesianCSIDRegressor, CSIDRegressor
from csid.estimators.als import LeastSquaresEstimator
from csid.estimators.base import TensorEstimator
from csid.estimators.sampling import BayesianEstimator
from csid.explain import additivity, partial_dependence, sobol_indices
from csid.fitted.summary import summary_table
from csid.small_tables import MOST_ROWS, SmallTable

FITTED_PROPERTIES = sorted(
    name
    for cls in (TensorEstimator, LeastSquaresEstimator, BayesianEstimator, BayesianCSIDRegressor)
    for name, member in vars(cls).items()
    if isinstance(member, property) and name.endswith("_") and not name.startswith("_")
)


@pytest.fixture(scope="module")
def rows() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 5, (80, 3)).astype(float), columns=["<b>age</b>", "rooms", "noise"])
    X["city"] = rng.choice(["Rome", "Oslo"], 80)
    return X, 3.0 * X["rooms"].to_numpy() + (X["city"] == "Rome").to_numpy() + 0.1 * rng.standard_normal(80)


@pytest.fixture(scope="module")
def least_squares(rows: tuple[pd.DataFrame, np.ndarray]) -> CSIDRegressor:
    return CSIDRegressor(rank=2, pmf_rank=2, early_stopping=True, random_state=0).fit(*rows)


@pytest.fixture(scope="module")
def bayesian(rows: tuple[pd.DataFrame, np.ndarray]) -> BayesianCSIDRegressor:
    return BayesianCSIDRegressor(rank=2, prior="smooth", n_chains=2, n_burn=3, n_draws=4, random_state=0).fit(*rows)


@pytest.mark.parametrize("kind", ["least_squares", "bayesian"])
def test_a_notebook_shows_a_fit_without_computing_anything(
    kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = request.getfixturevalue(kind)

    def computed(self: object) -> None:
        raise AssertionError("a fitted property was evaluated")

    for name in FITTED_PROPERTIES:
        owner = next(cls for cls in type(model).__mro__ if name in vars(cls)) if hasattr(type(model), name) else None
        if owner is not None:
            monkeypatch.setattr(owner, name, property(computed))
    page = model._repr_html_()
    for text in ("80" if kind == "bayesian" else "72", "4: &lt;b&gt;age&lt;/b&gt;, rooms, noise, city"):
        assert text in page
    assert "<b>age</b>" not in page
    assert type(model).__name__ in summary_table(model.fitted_).title


def test_a_model_that_is_not_fitted_shows_its_parameters() -> None:
    assert "rank" in CSIDRegressor(rank=3)._repr_html_()


def test_the_summary_says_how_good_the_fit_is(least_squares: CSIDRegressor, bayesian: BayesianCSIDRegressor) -> None:
    held_out = dict(summary_table(least_squares.fitted_).rows)["held out"]
    assert 0.5 < float(held_out.split()[1]) <= 1.0
    assert dict(summary_table(bayesian.fitted_).rows)["priors"] == "smooth 1"


@pytest.mark.parametrize("draws", [False, True])
def test_sobol_indices_print_predictors_by_their_share(bayesian: BayesianCSIDRegressor, draws: bool) -> None:
    found = sobol_indices(bayesian, draws=draws)
    table = found.table()
    assert [row[0] for row in table.rows][:2] == ["rooms", "city"]
    assert len(table.rows) == 4
    total = table.rows[0][2]
    assert total == pytest.approx(tuple(float(part[1]) for part in found.total) if draws else found.total[1])
    assert repr(found).count("\n") == 5
    assert "&lt;b&gt;" in found._repr_html_()
    assert "main effects" in repr(additivity(bayesian, draws=draws))


def test_of_many_predictors_only_the_first_are_listed() -> None:
    X = np.random.default_rng(0).integers(0, 3, (60, 20)).astype(float)
    model = CSIDRegressor(rank=1, random_state=0).fit(X, X[:, 17])
    table = sobol_indices(model).table()
    assert table.rows[0][0] == "x17"
    assert len(table.rows) == MOST_ROWS
    assert table.note == "12 of 20 predictors are shown."
    assert repr(model.encoding_).count("\n") == MOST_ROWS + 2


def test_dependence_prints_its_values_at_the_levels(bayesian: BayesianCSIDRegressor) -> None:
    one = partial_dependence(bayesian, "rooms")
    assert one.lower is not None
    assert one.upper is not None
    for i, (level, cell) in enumerate(one.table().rows):
        assert float(level) == one.levels[0][i]
        assert cell == (one.values[i], one.lower[i], one.upper[i])
    two = partial_dependence(bayesian, ("rooms", "city")).table()
    assert list(two.header) == ["rooms \\ city", "Oslo", "Rome"]
    assert len(two.rows) == len(one.levels[0])


def test_a_joint_pmf_prints_its_classes(least_squares: CSIDRegressor) -> None:
    pmf = least_squares.pmf_
    assert pmf is not None
    table = pmf.table()
    assert list(table.header) == ["class", "weight", "<b>age</b>", "rooms", "noise", "city"]
    assert sum(row[1] for row in table.rows) == pytest.approx(1.0)
    assert {row[-1] for row in table.rows} <= {"Rome", "Oslo"}


def test_several_outputs_have_columns_of_their_own(rows: tuple[pd.DataFrame, np.ndarray]) -> None:
    X, y = rows
    model = CSIDRegressor(rank=2, random_state=0).fit(X, np.column_stack([y, -y]))
    assert len(sobol_indices(model).table().header) == 6
    assert len(partial_dependence(model, "rooms").table().header) == 3
    assert "first output" in partial_dependence(model, ("rooms", "city")).table().title
    assert len(additivity(model).table().header) == 3


def test_words_stand_left_and_numbers_right() -> None:
    text = SmallTable("T", ["name", "n"], [["a", 1.0], ["long", 1234567.0]], "Note.").text()
    assert text == "T\nname        n\na           1\nlong  1234567\nNote."
