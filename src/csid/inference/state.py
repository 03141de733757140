"""The state of a chain, and a chain with its history."""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from csid.missing.drawn_cells import DrawnCells
from csid.tensor.factors import Factors

Array = NDArray[np.float64]


@dataclass
class State:
    """The state of a chain: factors, precisions mu (N, F) and tau (F,), and the likelihood's own parameters.

    parameters : by name; "alpha" (K,) is the precision of the working targets. Its arrays are replaced, never modified.
    prior_mean : (T, F) prior mean of the factors, in the rows of their table. Never modified.
    """

    factors: Factors
    mu: Array
    tau: Array
    parameters: dict[str, Array]
    prior_mean: Array

    @property
    def alpha(self) -> Array:
        return self.parameters["alpha"]

    def copy(self) -> "State":
        return State(self.factors.copy(), self.mu.copy(), self.tau.copy(), dict(self.parameters), self.prior_mean)

    def components(self, chosen: NDArray[np.intp]) -> "State":
        """A copy of some components."""
        some = self.factors.components(chosen), self.mu.take(chosen, axis=1), self.tau[chosen]
        return State(*some, self.parameters, self.prior_mean.take(chosen, axis=1))

    def set_components(self, chosen: NDArray[np.intp], part: "State") -> None:
        """Replace some components by those of another state."""
        self.factors.set_components(chosen, part.factors)
        self.mu[:, chosen], self.tau[chosen] = part.mu, part.tau


@dataclass
class Chain:
    """A chain: its current state, its thinned draws, and its history.

    trace : after every sweep, the quantities (Q,) that the likelihood monitors.
    residual : after every sweep, mean squared residuals (K,) of the working targets.
    kept : the sweep of each draw.
    cells : the missing cells as last drawn, if they are drawn.
    """

    state: State
    draws: list[State] = field(default_factory=list)
    trace: list[Array] = field(default_factory=list)
    residual: list[Array] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    cells: DrawnCells | None = None

    def copy(self) -> "Chain":
        """A copy that can be continued without changing this chain. It has the same draws so far."""
        return replace(
            self,
            state=self.state.copy(),
            draws=list(self.draws),
            trace=list(self.trace),
            residual=list(self.residual),
            kept=list(self.kept),
            cells=None if self.cells is None else self.cells.copy(),
        )
