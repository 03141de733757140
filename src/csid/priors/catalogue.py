"""The catalogue of priors that the pilot weighs. A new prior is a new entry."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from csid.data.table import rows_are_few
from csid.priors.prior import Prior

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PriorSpec:
    """A prior, and the number of levels that it is used with.

    summary : what it assumes, and when it wins.
    levels : the largest number of levels of a numeric predictor.
    noise_prior_weight : weight of the held-out error as a prior of the noise variance, as a fraction of the rows.
        Without it, a flexible prior can mistake training noise for signal.
    max_rank : largest rank of its chains. Components with many levels are more expressive, and cost more.
    shared_slope : standard deviation of the slope that all predictors share (`shared_slope.py`); zero for none.
    """

    summary: str
    prior: Prior
    levels: int
    noise_prior_weight: float = 0.0
    max_rank: int = 1024
    shared_slope: float = 0.0

    def same_as(self, other: "PriorSpec") -> bool:
        """Whether both give the same fit: they differ in their summary at most."""
        return replace(self, summary=other.summary) == other

    def suits(self, n_rows: int, n_predictors: int) -> bool:
        """Whether to try it on a table. Shared slopes are tried only when rows are few."""
        return self.shared_slope == 0.0 or rows_are_few(n_rows, n_predictors)


CATALOGUE: dict[str, PriorSpec] = {
    "medium": PriorSpec(
        "Moderately smooth effects on 32 levels. A good first guess on most tables.",
        Prior(),
        levels=32,
    ),
    "smooth": PriorSpec(
        "Smooth effects on 64 levels: neighbouring levels differ little. Wins on physical, low-noise systems.",
        Prior(smoothness=(10.0, 1.0)),
        levels=64,
    ),
    "low_curvature": PriorSpec(
        "Small second differences on 64 levels: nearly straight lines. Wins on few rows and near-linear effects.",
        Prior(smoothness=(10.0, 0.1), smoothness_order=2),
        levels=64,
    ),
    "rough": PriorSpec(
        "Neighbouring levels may differ much, on 32 levels. Wins on jagged effects with many rows.",
        Prior(smoothness=(1.0, 3.0)),
        levels=32,
    ),
    "fine_grid": PriorSpec(
        "As medium, on 200 levels. Wins where effects change over short distances.",
        Prior(),
        levels=200,
    ),
    "finest_grid": PriorSpec(
        "As medium, on 800 levels and at rank 16 or less. Wins where single values of a predictor matter.",
        Prior(),
        levels=800,
        max_rank=16,
    ),
    "informed_noise": PriorSpec(
        "As medium, with the noise shrunk towards the held-out error. Wins on noisy tables that invite overfitting.",
        Prior(),
        levels=32,
        noise_prior_weight=0.25,
    ),
    "second_order": PriorSpec(
        "Second instead of first differences, noise shrunk towards the held-out error. Wins on smooth, noisy tables.",
        Prior(smoothness_order=2),
        levels=32,
        noise_prior_weight=0.25,
    ),
    "strong_shrinkage": PriorSpec(
        "Factors strongly shrunk to one: weak interactions. Wins on few rows and much noise.",
        Prior(nu=1.0),
        levels=32,
        noise_prior_weight=0.25,
    ),
    "mildly_sparse": PriorSpec(
        "Factors are nearly constant without strong evidence, on 32 levels. Wins with some irrelevant predictors.",
        Prior(smoothness=(3.0, 0.001)),
        levels=32,
    ),
    "sparse": PriorSpec(
        "Effects of irrelevant predictors are shrunk to zero. Wins when most predictors are irrelevant.",
        Prior(smoothness=(10.0, 0.001)),
        levels=64,
    ),
    "shared_slope": PriorSpec(
        "All predictors share a slope: the target depends mostly on their sum. For few rows per predictor only.",
        Prior(nu=50.0, smoothness=(10.0, 0.1), smoothness_order=2, weight=(2.0, 0.2)),
        levels=32,
        shared_slope=0.3,
    ),
    "loose_shared_slope": PriorSpec(
        "As shared_slope, but each predictor may deviate from the shared slope. For few rows per predictor only.",
        Prior(nu=5.0, smoothness=(10.0, 0.1), smoothness_order=2, weight=(2.0, 0.2)),
        levels=32,
        shared_slope=0.3,
    ),
}


def weights_for_few_rows(specs: Sequence[PriorSpec]) -> Array | None:
    """Weights (S,) that stacking is shrunk towards when rows are few: equal weights of the priors with a shared slope.

    None if there are no such priors.
    """
    favoured = np.array([spec.shared_slope > 0.0 for spec in specs])
    return favoured / favoured.sum() if favoured.any() else None


def chosen_priors(
    prior: str | Sequence[str], levels: int | str, order: int | Literal["auto"], shape: tuple[int, int]
) -> dict[str, PriorSpec]:
    """The distinct priors to weigh, by name, given a user's parameters.

    shape : the numbers of rows and of predictors.
    """
    if isinstance(prior, str):
        prior = [name for name in CATALOGUE if CATALOGUE[name].suits(*shape)] if prior == "auto" else [prior]
    prior = list(prior)
    unknown = [name for name in prior if name not in CATALOGUE]
    if unknown or not prior:
        raise ValueError(f"prior={prior!r}: give 'auto', or one or more of {', '.join(map(repr, CATALOGUE))}.")
    chosen: dict[str, PriorSpec] = {}
    for name in prior:
        spec = CATALOGUE[name]
        if order != "auto":
            spec = replace(spec, prior=replace(spec.prior, smoothness_order=int(order)))
        if levels != "auto":
            spec = replace(spec, levels=int(levels), max_rank=PriorSpec.max_rank)
        if not any(spec.same_as(other) for other in chosen.values()):
            chosen[name] = spec
    return chosen
