"""The joint PMF of the predictors, beyond the paper's rank-one model: latent classes over bins of every predictor."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csid._fit.alike import rows_are_few
from csid._fit.latent_classes import Bins, ClassPrior, LatentClasses, first_factor, fit_latent_classes
from csid._fit.missing_cells import LevelPMF
from csid._fit.statistics import Workers
from csid.encoding import CategoricalMode, Encoding, Mode, OrdinalMode, fit_encoding

Array = NDArray[np.float64]

_MOST_BINS = 32
_RANKS = (2, 4, 8, 16, 32, 64, 128)
_REACHES, _RANK_OF_REACH = (0, 1, 2, 4, 8), 16
_FACTOR_ROWS, _REACH_OF_FACTOR, _STRENGTH = (10.0, 50.0), 4, 1.5
_SWEEPS = 60
_ROWS_TO_CHOOSE, _ROWS_TO_FIT = 10_000, 100_000
_HELD_OUT = 0.2
_LEAST_MASS = 1e-9


@dataclass(frozen=True)
class JointPMF:
    """Classes of rows, and the bins that they are over: `modes`, one per predictor, constant between their levels."""

    modes: tuple[Mode, ...]
    classes: LatentClasses

    @property
    def rank(self) -> int:
        return self.classes.rank

    def on(self, encoding: Encoding) -> LevelPMF:
        """The PMF on the levels of an encoding."""
        bins, lifts = [], []
        for mode, own, lift in zip(encoding.modes, self.modes, self.classes.lifts, strict=True):
            if isinstance(mode, OrdinalMode) and isinstance(own, OrdinalMode):
                bins.append(np.searchsorted(0.5 * own.grid[1:] + 0.5 * own.grid[:-1], mode.grid))
                lifts.append(lift)
            elif isinstance(mode, CategoricalMode) and isinstance(own, CategoricalMode):
                places = {value: c for c, value in enumerate(own.categories)}
                known = [lift[places[value]] if value in places else np.ones(self.rank) for value in mode.categories]
                lifts.append(np.array(known).reshape(-1, self.rank) if known else lift)
                bins.append(np.arange(len(lifts[-1])))
        return LevelPMF(LatentClasses(self.classes.shares, tuple(lifts)), tuple(bins), encoding.marginals)


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
    """Fit the classes to a table; rank "auto" has the greatest likelihood on held-out rows.

    None for a single class, which says no more than the marginals, and by "auto" where no cell is missing.
    """
    everyone = np.arange(n_rows)
    encoding, rows = fit_encoding(
        X, n_rows, names, weights, everyone, _MOST_BINS, "constant", "marginalize", categorical
    )
    if rank == "auto" and not (rows.codes == encoding.levels).any():
        return None
    marginals = [(p + _LEAST_MASS) / (p + _LEAST_MASS).sum() for p in encoding.marginals]
    ordered = [mode.n_ordered > 0 for mode in encoding.modes]
    order = rng.permutation(n_rows)
    held_out, train = np.split(order[:_ROWS_TO_CHOOSE], [int(_HELD_OUT * min(n_rows, _ROWS_TO_CHOOSE))])
    if len(held_out) == 0:
        return None
    seed = int(rng.integers(2**63))
    with Workers(n_threads) as workers:

        def fitted(some: NDArray[np.intp], form: Form) -> LatentClasses:
            cells = np.ascontiguousarray(rows.codes[some].T)
            bins = Bins.of(marginals, ordered, form.reach)
            prior = form.prior(cells, bins, ordered)
            own = np.random.default_rng(seed)
            return fit_latent_classes(cells, bins, weights[some], prior, own, workers, _SWEEPS)

        cells = np.ascontiguousarray(rows.codes[held_out].T)

        @cache
        def likelihood(form: Form) -> float:
            return fitted(train, form).log_likelihood(cells, weights[held_out], workers)

        form = _likeliest(likelihood, None if rank == "auto" else int(rank))
        if form.rank == 1 and rank == "auto" and rows_are_few(n_rows, len(names)):
            form = Form(_RANK_OF_REACH, _REACH_OF_FACTOR, _FACTOR_ROWS[-1])
        return None if form.rank == 1 else JointPMF(encoding.modes, fitted(order[:_ROWS_TO_FIT], form))


class Form(NamedTuple):
    """What classes may be like: how many, how far their kernels reach, and the rows of a one-factor prior, if any."""

    rank: int
    reach: int
    factor_rows: float = 0.0

    def prior(self, cells: NDArray[Any], bins: Bins, ordered: Sequence[bool]) -> ClassPrior:
        if self.factor_rows == 0.0:
            return ClassPrior.marginal(bins, self.rank)
        loadings = _STRENGTH * first_factor(cells, bins, ordered)
        return ClassPrior.one_factor(bins, loadings, self.rank, self.factor_rows)


def _likeliest(likelihood: Callable[[Form], float], rank: int | None) -> Form:
    """The form under which held-out rows are likeliest, of a rank or of any; one class if none beats independence."""
    some = _RANK_OF_REACH if rank is None else rank
    reach = max(_REACHES, key=lambda reach: likelihood(Form(some, reach)))
    forms = [Form(some if rank is not None else _best_rank(lambda R: likelihood(Form(R, reach))), reach)]
    forms += [Form(some, _REACH_OF_FACTOR, rows) for rows in _FACTOR_ROWS]
    return max(forms, key=lambda form: likelihood(form) if form.rank > 1 else 0.0)


def _best_rank(likelihood: Callable[[int], float]) -> int:
    """The number of classes that makes held-out rows likeliest, tried until it has not risen twice."""
    best, value, failures = 1, 0.0, 0  # the likelihood is that beside independent predictors
    for rank in _RANKS:
        found = likelihood(rank)
        if found > value:
            best, value, failures = rank, found, 0
        else:
            failures += 1
        if failures == 2:
            break
    return best
