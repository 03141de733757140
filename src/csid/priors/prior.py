"""Hyperparameters of the prior of factors and component weights, and the prior precision matrix of a mode."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csid.data.problem import Summary
from csid.tensor.penalties import penalty_bands

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Prior:
    """Hyperparameters of the prior. A Gamma distribution is given by its shape and its rate.

    nu : precision of every factor entry around the prior mean.
    smoothness : Gamma in the prior of mu_nf. The rate is divided by the number of levels, so that its effect does not
        depend on that number.
    smoothness_order : 1 or 2, of the differences.
    weight : Gamma of tau_f, the precision of the weight of component f.
    """

    nu: float = 0.1
    smoothness: tuple[float, float] = (1.0, 0.3)
    smoothness_order: int = 1
    weight: tuple[float, float] = (2.0, 0.02)


@dataclass(frozen=True)
class ModePrior:
    """The matrix U_n of one mode. unit : (w, I) its diagonals; rank : of U_n."""

    unit: Array
    rank: int

    @classmethod
    def of(cls, levels: int, ordered: int, order: int) -> "ModePrior":
        smooth = ordered if ordered > order else 0
        unit = penalty_bands(levels, smooth, 0.0, 1.0, order)
        unit[0, smooth:] += 1.0
        return cls(unit, levels - (order if smooth else 0))


def mode_priors(summary: Summary, order: int) -> list[ModePrior]:
    """The prior of each mode."""
    numbers = zip(summary.levels.tolist(), summary.ordered.tolist(), strict=True)
    return [ModePrior.of(levels, ordered, order) for levels, ordered in numbers]
