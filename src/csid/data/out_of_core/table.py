"""A table whose rows are in files: each encoding of it is written to a code file."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from csid.data.out_of_core.encoder import DiskSurvey, Encoder
from csid.data.problem import Problem
from csid.data.table import EncodedTable, LocalTable, TableHeader, present
from csid.encoding import Encoding, Levels
from csid.encoding.encoding import refined_modes

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DiskTable:
    """Rows that are read in batches, and one code file for each encoding of them."""

    encoder: Encoder
    survey: DiskSurvey
    header: TableHeader
    _files: list[str] = field(default_factory=list)

    one_at_a_time = False

    def __len__(self) -> int:
        return self.survey.sketch.n_rows

    def encoded(self, levels: Levels, n_threads: int = 1) -> EncodedTable:
        known, header = levels.most, self.header
        target = known if isinstance(known, Encoding) else self.survey.sketch.modes(levels)
        return EncodedTable(*self.encoder.write(target, header.centre, header.scale, self._new_name()))

    def in_memory(self, encoded: EncodedTable) -> Problem:
        return present(encoded.problem)

    def refined(self, encodings: Sequence[Encoding]) -> Encoding:
        modes = refined_modes(encodings)
        return Encoding(modes, self.encoder.marginals(modes))

    def sampled(self, most: int, rng: np.random.Generator) -> LocalTable:
        return self._take(rng.permutation(len(self))[:most])

    def first(self, count: int) -> LocalTable:
        return self._take(np.arange(min(count, len(self))))

    def whole_numbers(self, most: int) -> dict[int, Array]:
        return self.survey.sketch.whole_numbers(most)

    def as_categories(self, columns: Collection[int]) -> Self:
        survey = replace(self.survey, sketch=self.survey.sketch.as_categories(columns))
        return replace(self, survey=survey, header=self.header.as_categories(columns))

    def release(self) -> None:
        """Nothing to free: code files are removed with their folder."""

    def _take(self, rows: NDArray[np.intp]) -> LocalTable:
        X, targets, weights = self.encoder.take(rows)
        return LocalTable(X, self.header.standardised(targets), weights, self.header)

    def _new_name(self) -> str:
        self._files.append(f"levels-{len(self._files)}-")
        return self._files[-1]
