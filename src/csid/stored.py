"""A table whose rows are in files: what the sampler asks of a table, from code files written when it asks."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from csid._fit.problem import Problem
from csid.coding import LocalTable
from csid.encoding import Encoding, Interpolation, Missing
from csid.encoding.encoding import refined_modes
from csid.out_of_core import Encoder, Survey

Array = NDArray[np.float64]


@dataclass(frozen=True)
class StoredTable:
    """Rows that are read in batches, and code files of them, one for each number of levels.

    centre, scale : of the targets.
    """

    encoder: Encoder
    survey: Survey
    centre: Array
    scale: Array
    _files: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return self.survey.sketch.n_rows

    @property
    def n_outputs(self) -> int:
        return len(self.centre)

    def take(self, rows: NDArray[np.intp]) -> LocalTable:
        X, targets, weights = self.encoder.take(rows)
        sketch = self.survey.sketch
        flags = [column.categorical for column in sketch.columns]
        return LocalTable(X, (targets - self.centre) / self.scale, weights, sketch.names, flags)

    def encoded(
        self, levels: int, interpolation: Interpolation, missing: Missing, train: NDArray[np.intp] | None
    ) -> tuple[Encoding, Problem]:
        if train is not None:
            raise NotImplementedError("rows are held out of tables in memory only.")
        encoding, problem, _ = self.encoder.write(
            self.survey.sketch.modes(levels, interpolation, missing), self.centre, self.scale, self._new_name()
        )
        return encoding, problem

    def on(self, encoding: Encoding) -> Problem:
        return self.encoder.write(encoding, self.centre, self.scale, self._new_name())[1]

    def refined(self, encodings: Sequence[Encoding]) -> Encoding:
        modes = refined_modes(encodings)
        return Encoding(modes, self.encoder.marginals(modes))

    def _new_name(self) -> str:
        self._files.append(f"levels-{len(self._files)}-")
        return self._files[-1]
