"""A table as problems to sample."""

from dataclasses import replace

import numpy as np
from numpy.testing import assert_array_equal

from csid.data.table import LocalTable
from csid.inference.treatments import Treatment
from csid.priors import CATALOGUE
from tables import local_table

TREATMENT = Treatment("auto", "linear", "marginalize", merge=True)


def _table(rows: int) -> LocalTable:
    rng = np.random.default_rng(0)
    return local_table(rng.uniform(size=(rows, 3)), rng.normal(size=(rows, 1)))


def test_levels_are_bounded_by_rows_unless_given() -> None:
    table, held_out = _table(400), np.arange(80)
    for levels, prior, expected in [("auto", "fine_grid", 40), ("auto", "medium", 32), (50, "medium", 50)]:
        treatment = replace(TREATMENT, levels=levels)
        given = replace(CATALOGUE[prior], levels=50) if levels == 50 else CATALOGUE[prior]
        fold = treatment.encoder(table.holding_out(held_out))(given)
        assert fold.encoding.levels.tolist() == [expected] * 3
        assert fold.train.n_rows == 320
        assert fold.held_out is not None
        assert_array_equal(fold.held_out.targets, table.targets[:80])


def test_priors_with_as_many_levels_share_an_encoding() -> None:
    encoder = TREATMENT.encoder(_table(400).holding_out(np.arange(80)))
    assert encoder(CATALOGUE["medium"]) is encoder(CATALOGUE["rough"])
    assert encoder(CATALOGUE["fine_grid"]) is encoder(CATALOGUE["finest_grid"])  # both are bounded by the rows
    assert encoder(CATALOGUE["fine_grid"]) is not encoder(CATALOGUE["medium"])


def test_rows_on_the_same_cell_are_merged_only_where_all_have_the_same_noise() -> None:
    table = _table(50)
    twice = local_table(np.concatenate([table.X, table.X]), np.concatenate([table.targets, table.targets + 1.0]))
    for merge, rows in [(True, 50), (False, 100)]:
        fold = replace(TREATMENT, merge=merge).encoder(twice)(CATALOGUE["medium"])
        assert fold.train.n_rows == rows
        assert fold.train.total_weight == 100.0
