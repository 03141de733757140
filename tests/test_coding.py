"""A table as problems to sample."""

from dataclasses import replace

import numpy as np
from numpy.testing import assert_array_equal

from csid.coding import Coding, LocalTable
from csid.portfolio import SETTINGS

CODING = Coding("auto", "linear", "marginalize", merge=True)


def _table(rows: int) -> LocalTable:
    rng = np.random.default_rng(0)
    return LocalTable(
        rng.uniform(size=(rows, 3)), rng.normal(size=(rows, 1)), np.ones(rows), ["a", "b", "c"], [None] * 3
    )


def test_levels_are_bounded_by_rows_unless_given() -> None:
    table, held_out = _table(400), np.arange(80)
    for levels, setting, expected in [("auto", "fine", 40), ("auto", "medium", 32), (50, "medium", 50)]:
        coding = replace(CODING, levels=levels)
        given = replace(SETTINGS[setting], levels=50) if levels == 50 else SETTINGS[setting]
        encoding, train, rest, *_ = coding.encoder(table, held_out)(given)
        assert encoding.levels.tolist() == [expected] * 3
        assert train.n_rows == 320
        assert_array_equal(rest.targets, table.targets[:80])


def test_settings_with_as_many_levels_share_an_encoding() -> None:
    encoder = CODING.encoder(_table(400), np.arange(80))
    assert encoder(SETTINGS["medium"]) is encoder(SETTINGS["rough"])
    assert encoder(SETTINGS["fine"]) is encoder(SETTINGS["finest"])  # both are bounded by the rows
    assert encoder(SETTINGS["fine"]) is not encoder(SETTINGS["medium"])
