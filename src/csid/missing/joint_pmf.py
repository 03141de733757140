"""Fit the joint PMF of the predictors: latent classes over bins, which generalise the paper's rank-one PMF."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid._kernels.threads import Workers
from csid.data.table import rows_are_few
from csid.encoding import CategoricalMode, Encoding, Levels, Mode, OrdinalMode, fit_encoding
from csid.missing.latent_classes import Bins, ClassPrior, LatentClasses, first_factor, fit_latent_classes
from csid.missing.level_pmf import LevelPMF
from csid.small_tables import MOST_ROWS, SmallTable, Tabular, left_out

Array = NDArray[np.float64]

_MOST_BINS, _MOST_COLUMNS = 32, 8
_RANK_FOR_BANDWIDTH = 16
_FACTOR_BANDWIDTH, _LOADING_SCALE = 4, 1.5
_SWEEPS = 60
_HELD_OUT = 0.2
_LEAST_MASS = 1e-9


class PMFSearch(NamedTuple):
    """The hyperparameters to try, and the most rows to choose them by and to fit them to.

    failures : ranks in a row without improvement after which the search for the rank ends.
    numbers : the most numbers that a PMF may have.
    """

    bandwidths: tuple[int, ...]
    ranks: tuple[int, ...]
    factor_rows: tuple[float, ...]
    failures: int
    rows_to_choose: int
    rows_to_fit: int
    numbers: float = np.inf

    def on(self, bins: int) -> "PMFSearch":
        """The search for PMFs over this number of bins in all."""
        return self._replace(ranks=tuple(rank for rank in self.ranks if rank * bins <= self.numbers))


_THOROUGH = PMFSearch((0, 1, 2, 4, 8), (2, 4, 8, 16, 32, 64, 128), (10.0, 50.0), 2, 10_000, 100_000)
_QUICK = PMFSearch((0, 2, 8), (8, 32, 128), (50.0,), 1, 4_000, 20_000, 1 << 18)
"""Where no training cell is missing, the fit itself does not need the classes; new rows may."""


@dataclass(frozen=True, repr=False)
class JointPMF(Tabular):
    """Latent classes of rows over bins of the predictors. modes : N constant modes, whose levels are the bins."""

    modes: tuple[Mode, ...]
    classes: LatentClasses

    @property
    def rank(self) -> int:
        return self.classes.rank

    def table(self) -> SmallTable:
        """The classes by weight, and for each predictor the value whose probability a class raises most."""
        N, order = len(self.modes), np.argsort(-self.classes.weights, kind="stable")[:MOST_ROWS].tolist()
        some = list(zip(self.modes, self.classes.lifts, strict=True))[:_MOST_COLUMNS]
        rows = []
        for r in order:
            favoured = [mode.level_names[lift[:, r].argmax()] if mode.n_levels else "" for mode, lift in some]
            rows.append([f"{r + 1}", float(self.classes.weights[r]), *favoured])
        note = left_out(self.rank, "classes") or left_out(N, "predictors", _MOST_COLUMNS)
        title = f"Joint PMF of {N} predictors: latent classes, and the values they favour"
        return SmallTable(title, ["class", "weight", *(mode.name for mode, _ in some)], rows, note)

    def on(self, encoding: Encoding) -> LevelPMF:
        """The PMF on the levels of an encoding."""
        bins, lifts = [], []
        for mode, own, lift in zip(encoding.modes, self.modes, self.classes.lifts, strict=True):
            if isinstance(mode, OrdinalMode) and isinstance(own, OrdinalMode):
                bins.append(np.searchsorted(0.5 * own.grid[1:] + 0.5 * own.grid[:-1], mode.grid))
                lifts.append(lift)
            elif isinstance(mode, CategoricalMode) and isinstance(own, CategoricalMode):
                bin_of = {value: c for c, value in enumerate(own.categories)}
                known = [lift[bin_of[value]] if value in bin_of else np.ones(self.rank) for value in mode.categories]
                lifts.append(np.array(known).reshape(-1, self.rank) if known else lift)
                bins.append(np.arange(len(lifts[-1])))
        return LevelPMF(LatentClasses(self.classes.weights, tuple(lifts)), tuple(bins), encoding.marginals)


def fit_joint_pmf(
    X: Any,
    n_rows: int,
    names: Sequence[str],
    weights: Array,
    categorical: Sequence[bool | None],
    rank: int | str,
    rng: np.random.Generator,
    n_threads: int,
) -> JointPMF | None:
    """Fit the classes to a table. Rank "auto" maximises the likelihood of held-out rows.

    Returns None for a single class, which adds nothing to the marginals.

    Parameters
    ----------
    X, n_rows : a checked table and its number of rows
    names : of the N predictors
    weights : (M,) of the rows
    categorical : for each predictor True, False, or None to decide by its type
    rank : the number of classes, or "auto"
    """
    everyone = np.arange(n_rows)
    levels = Levels(_MOST_BINS, "constant", "marginalize")
    encoding, rows = fit_encoding(X, n_rows, names, weights, everyone, levels, categorical)
    complete = not (rows.codes == encoding.levels).any()
    search = _QUICK.on(int(encoding.levels.sum())) if rank == "auto" and complete else _THOROUGH
    marginals = [(p + _LEAST_MASS) / (p + _LEAST_MASS).sum() for p in encoding.marginals]
    ordered = [mode.n_ordered > 0 for mode in encoding.modes]
    order = rng.permutation(n_rows)
    most = search.rows_to_choose
    held_out, train = np.split(order[:most], [int(_HELD_OUT * min(n_rows, most))])
    if len(held_out) == 0 or (rank == "auto" and len(names) == 1) or not search.ranks:
        return None
    seed = int(rng.integers(2**63))
    with Workers(n_threads) as workers:

        def fitted(some: NDArray[np.intp], options: ClassOptions) -> LatentClasses:
            cells = np.ascontiguousarray(rows.codes[some].T)
            bins = Bins.of(marginals, ordered, options.bandwidth)
            prior = options.prior(cells, bins, ordered)
            own = np.random.default_rng(seed)
            return fit_latent_classes(cells, bins, weights[some], prior, own, workers, _SWEEPS)

        cells = np.ascontiguousarray(rows.codes[held_out].T)

        @cache
        def likelihood(options: ClassOptions) -> float:
            return fitted(train, options).log_likelihood(cells, weights[held_out], workers)

        best = _most_likely(likelihood, search, None if rank == "auto" else int(rank))
        if best.rank == 1 and rank == "auto" and rows_are_few(n_rows, len(names)):
            best = ClassOptions(_RANK_FOR_BANDWIDTH, _FACTOR_BANDWIDTH, search.factor_rows[-1])
        return None if best.rank == 1 else JointPMF(encoding.modes, fitted(order[: search.rows_to_fit], best))


class ClassOptions(NamedTuple):
    """Hyperparameters of latent classes.

    rank : the number of classes; bandwidth : of the kernels over ordered bins.
    factor_rows : pseudo-rows of a one-factor prior; zero for a prior at the marginals.
    """

    rank: int
    bandwidth: int
    factor_rows: float = 0.0

    def prior(self, cells: NDArray[Any], bins: Bins, ordered: Sequence[bool]) -> ClassPrior:
        if self.factor_rows == 0.0:
            return ClassPrior.marginal(bins, self.rank)
        loadings = _LOADING_SCALE * first_factor(cells, bins, ordered)
        return ClassPrior.one_factor(bins, loadings, self.rank, self.factor_rows)


def _most_likely(likelihood: Callable[[ClassOptions], float], search: PMFSearch, rank: int | None) -> ClassOptions:
    """The options with the highest likelihood of held-out rows; one class if none beats independent predictors."""
    trial_rank = _RANK_FOR_BANDWIDTH if rank is None else rank
    bandwidth = max(search.bandwidths, key=lambda bandwidth: likelihood(ClassOptions(trial_rank, bandwidth)))
    best_rank = trial_rank if rank is not None else _best_rank(lambda R: likelihood(ClassOptions(R, bandwidth)), search)
    candidates = [ClassOptions(best_rank, bandwidth)]
    candidates += [ClassOptions(trial_rank, _FACTOR_BANDWIDTH, rows) for rows in search.factor_rows]
    return max(candidates, key=lambda options: likelihood(options) if options.rank > 1 else 0.0)


def _best_rank(likelihood: Callable[[int], float], search: PMFSearch) -> int:
    """The rank with the highest likelihood of held-out rows."""
    best, value, failures = 1, 0.0, 0  # zero is the likelihood of independent predictors
    for rank in search.ranks:
        found = likelihood(rank)
        if found > value:
            best, value, failures = rank, found, 0
        else:
            failures += 1
        if failures == search.failures:
            break
    return best
