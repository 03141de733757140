"""Decide which predictors of few whole numbers are categories: a factorial experiment on the pilot's held-out rows.

A code (shop 1 to 40) looks like a count (rooms 1 to 8). Of eight short chains, or sixteen, each takes half of these
predictors as categories, by the rows of a Hadamard matrix, so that every chain informs on every predictor. At least
three rows are left over: they contrast chains without a common difference, and so measure the noise between chains.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import hadamard

from csid.data.table import LocalTable, Table
from csid.encoding import Encoding
from csid.inference.pilot import Pilot, Trial
from csid.inference.treatments import EncodedFold, Treatment
from csid.priors.catalogue import PriorSpec

Array = NDArray[np.float64]
Kind = Literal["number", "category"]

_FEWEST_VALUES, _MOST_VALUES = 3, 64
_ROWS_PER_VALUE = 10
_FEW_GROUPS, _MOST_GROUPS = 4, 8
_BURN, _DRAWS, _RANK = 20, 10, 8
_FEWEST_ROWS, _FRACTION_OF_ROWS = 2_000, 3
_STANDARD_ERRORS = 2.5


def candidates(table: Table) -> list[int]:
    """Predictors of 3 to 64 whole numbers, each in ten rows on average, in order of the number of their values."""
    sizes = {n: len(values) for n, values in table.whole_numbers(_MOST_VALUES).items()}
    some = [n for n, size in sizes.items() if size >= _FEWEST_VALUES and size * _ROWS_PER_VALUE <= len(table)]
    return sorted(some, key=lambda n: sizes[n])


def better_as_categories(
    pilot: Pilot, columns: Sequence[int], treatment: Treatment, spec: PriorSpec, seed: np.random.SeedSequence
) -> list[int]:
    """Those of these predictors that clearly predict held-out rows better as categories: by 2.5 standard errors.

    More than eight are decided in eight groups of predictors with about as many values.
    """
    rows = max(_FEWEST_ROWS, pilot.plan.rows // _FRACTION_OF_ROWS)
    plan = pilot.plan._replace(chains=1, burn=_BURN, draws=_DRAWS)
    options = pilot.options._replace(rank=min(pilot.options.rank, _RANK))
    short = replace(pilot, table=pilot.table.first(rows), plan=plan, options=options)
    groups = [group.tolist() for group in np.array_split(columns, min(len(columns), _MOST_GROUPS))]
    better = _clear_gains(_losses(short, groups, treatment, spec, seed), len(groups))
    return sorted(n for group, clear in zip(groups, better, strict=True) if clear for n in group)


def _clear_gains(losses: Array, n_groups: int) -> NDArray[np.bool_]:
    """Which groups (G,) are clearly better as categories, relative to the noise of rows and of chains.

    losses : (C, R) of held-out rows under each chain. The standard error over rows is that of a group's own contrast;
    the one over chains is the root mean square of the contrasts that no group uses.
    """
    gains = _contrasts(n_groups) @ losses / (len(losses) / 2)
    totals = gains.sum(axis=1)
    of_rows = np.sqrt(losses.shape[1]) * gains.std(axis=1)
    of_chains = np.sqrt(np.mean(totals[n_groups:] ** 2))
    return np.asarray(totals > _STANDARD_ERRORS * np.maximum(of_rows, of_chains))[:n_groups]


def _contrasts(n_groups: int) -> Array:
    """Signs (C - 1, C) of the chains in each contrast: -1 where a group of predictors are categories."""
    groups = _FEW_GROUPS if n_groups <= _FEW_GROUPS else _MOST_GROUPS
    return np.asarray(hadamard(2 * groups)[1:], np.float64)


def _losses(
    pilot: Pilot, groups: Sequence[Sequence[int]], treatment: Treatment, spec: PriorSpec, seed: np.random.SeedSequence
) -> Array:
    """Losses (C, R) of the pilot's held-out rows under each chain."""
    columns, signs = [n for group in groups for n in group], _contrasts(len(groups))[: len(groups)]
    folds = [_Fold.of(pilot.table.holding_out(rows), columns, treatment, spec) for rows in pilot.folds]
    trials = []
    for of_chain, own_seed in zip(signs.T, seed.spawn(signs.shape[1]), strict=True):
        categories = {n for group, sign in zip(groups, of_chain, strict=True) if sign < 0.0 for n in group}
        encoders = [partial(fold.encoded, categories) for fold in folds]
        trials.append(Trial(encoders, spec, treatment.likelihood_power, own_seed))
    return pilot.losses(trials, "chains on whole numbers")


class _Fold(NamedTuple):
    """A fold of the pilot's rows, with its predictors encoded as numbers and as categories."""

    table: LocalTable
    treatment: Treatment
    numbers: Encoding
    categories: Encoding

    @classmethod
    def of(cls, table: LocalTable, columns: Sequence[int], treatment: Treatment, spec: PriorSpec) -> "_Fold":
        both = [treatment.encoder(each)(spec).encoding for each in (table, table.as_categories(columns))]
        return cls(table, treatment, *both)

    def encoded(self, categories: set[int], spec: PriorSpec) -> EncodedFold:
        """The rows with some predictors as categories. The levels do not depend on the prior."""
        chosen = [self.categories if n in categories else self.numbers for n in range(len(self.numbers.modes))]
        modes = tuple(encoding.modes[n] for n, encoding in enumerate(chosen))
        marginals = tuple(encoding.marginals[n] for n, encoding in enumerate(chosen))
        return self.treatment.on(self.table, Encoding(modes, marginals))
