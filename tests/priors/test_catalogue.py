"""The priors: which a user's parameters leave, what they say of themselves, and how they adapt to a table."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from csid.likelihoods.gaussian import Gaussian
from csid.priors import CATALOGUE
from csid.priors.adaptation import adapted_prior
from csid.priors.catalogue import chosen_priors, weights_for_few_rows
from fit.strategies import build_problem

FEW_ROWS = (100, 10)


def test_parameters_narrow_the_priors() -> None:
    assert chosen_priors("auto", "auto", "auto", FEW_ROWS) == CATALOGUE
    assert list(chosen_priors(["fine_grid", "smooth"], "auto", "auto", FEW_ROWS)) == ["fine_grid", "smooth"]
    with_levels = chosen_priors("auto", 25, "auto", FEW_ROWS)
    assert {spec.levels for spec in with_levels.values()} == {25}
    assert not {"fine_grid", "finest_grid"} & set(with_levels)  # with the levels given they are "medium" once more
    of_order_two = chosen_priors("auto", "auto", 2, FEW_ROWS)
    assert {spec.prior.smoothness_order for spec in of_order_two.values()} == {2}


@pytest.mark.parametrize("prior", [[], ["medium", "loose"], "loose"])
def test_unknown_priors_are_refused_with_a_list_of_the_known_ones(prior: str | list[str]) -> None:
    with pytest.raises(ValueError, match="give 'auto', or one or more of 'medium', 'smooth'"):
        chosen_priors(prior, "auto", "auto", FEW_ROWS)


def test_every_prior_says_what_it_assumes_and_where_it_is_for() -> None:
    for name, spec in CATALOGUE.items():
        assert 40 < len(spec.summary) < 120, name
        assert "Wins " in spec.summary or "For few rows" in spec.summary or "good first guess" in spec.summary, name
    assert len({spec.summary for spec in CATALOGUE.values()}) == len(CATALOGUE)


@pytest.mark.parametrize(("rows", "few"), [(199, True), (200, False)])
def test_slopes_are_shared_only_where_rows_are_few_or_a_user_says_so(rows: int, few: bool) -> None:
    shared = {name for name, spec in CATALOGUE.items() if spec.shared_slope}
    assert shared == {"shared_slope", "loose_shared_slope"}
    assert shared & set(chosen_priors("auto", "auto", "auto", (rows, 10))) == (shared if few else set())
    assert list(chosen_priors("shared_slope", "auto", "auto", (rows, 10))) == ["shared_slope"]


def test_weights_are_shrunk_to_the_priors_for_few_rows_alone() -> None:
    medium, low, shared, loose = (
        CATALOGUE[name] for name in ("medium", "low_curvature", "shared_slope", "loose_shared_slope")
    )
    assert weights_for_few_rows([medium, low]) is None
    assert_allclose(weights_for_few_rows([medium, shared, low, loose]), [0.0, 0.5, 0.0, 0.5])


def test_few_rows_tighten_the_prior() -> None:
    medium = CATALOGUE["medium"].prior
    assert adapted_prior(medium, build_problem(0, levels=(3, 3), rows=400)) == medium
    assert adapted_prior(medium, build_problem(0, levels=(3,) * 10, rows=20)).nu == 5.0


def test_a_likelihood_is_told_the_error_on_held_out_rows() -> None:
    error = np.array([0.3, 0.5])
    shape, rate = Gaussian().with_noise_prior(error, 50.0).precision_prior
    assert shape == 25.0  # draws add half of the number of rows
    assert_allclose(rate, 25.0 * error)
