"""Encode rows in batches into a code file: one pass for the levels, one for the codes."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from csid.data.checks import check_weights, number_of_rows
from csid.data.out_of_core.code_file import CodeFile
from csid.data.out_of_core.rows import Batch, OpenRows, prefix_errors
from csid.data.problem import Problem
from csid.data.targets import TargetReader, is_one_output
from csid.data.weights import WeightUnit
from csid.encoding import Encoding, LevelCounts, Mode, Moments, TableSketch
from csid.encoding.columns import is_table
from csid.encoding.encoding import encode_columns

Array = NDArray[np.float64]

TRAINED, HELD_OUT = 1, 2


@dataclass(frozen=True)
class DiskSurvey:
    """Results of the first pass over the rows.

    sketch : of the predictors; moments : of the targets.
    one_output : whether y is one-dimensional; weighted : whether the rows have weights.
    """

    sketch: TableSketch
    moments: Moments
    one_output: bool
    weighted: bool


@dataclass(frozen=True)
class CheckedBatch:
    """Checked rows: targets (m, K), weights (m,) or None, and roles (m,): `TRAINED`, `HELD_OUT` or 0."""

    X: Any
    targets: Array
    weights: Array | None
    roles: NDArray[np.uint8]
    one_output: bool
    label: str

    def __len__(self) -> int:
        return len(self.roles)

    def rows(self, role: int) -> NDArray[np.intp] | None:
        """The rows with this role; None when all rows have it."""
        own = self.roles == role
        return None if own.all() else np.flatnonzero(own)


class RowChecks(NamedTuple):
    """How the rows of a batch are checked.

    table : checks the predictors of a batch against the columns of the fit; targets : reads its targets.
    """

    table: Callable[[Any], Any]
    targets: TargetReader


@dataclass(frozen=True)
class Encoder:
    """Encodes rows batch by batch, the columns of a batch in threads.

    roles : (M,) of all rows.
    unit : of the sample weights.
    checks : of the rows of each batch.
    open_bar : opens a progress bar for one pass, and returns a function to call with the number of rows of each batch.
    """

    rows: OpenRows
    roles: NDArray[np.uint8]
    unit: WeightUnit
    checks: RowChecks
    n_threads: int = 1
    open_bar: Callable[[], AbstractContextManager[Callable[[int], None]]] = lambda: nullcontext(lambda rows: None)

    def survey(self, names: list[str], categorical: list[bool | None]) -> DiskSurvey:
        """First pass: summarise the training rows."""
        sketch, moments, one_output, weighted = TableSketch(names, categorical), None, True, False
        with self._threads() as map_columns:
            for batch in self._batches():
                train = batch.rows(TRAINED)
                weights = np.ones(len(batch)) if batch.weights is None else batch.weights
                with prefix_errors(batch.label):
                    sketch.update(batch.X, len(batch), batch.weights, train, map_columns)
                if moments is None:
                    moments, one_output = Moments(batch.targets.shape[1]), batch.one_output
                moments.update(*((batch.targets, weights) if train is None else (batch.targets[train], weights[train])))
                weighted |= batch.weights is not None
        if moments is None:
            raise ValueError("there are 0 rows: a fit needs at least 2.")
        return DiskSurvey(sketch, moments, one_output, weighted)

    def write(
        self,
        levels: Encoding | tuple[Mode, ...],
        centre: Array,
        scale: Array,
        name: str = "",
    ) -> tuple[Encoding, Problem, Problem | None]:
        """Encode the training rows, and the held-out rows if any, into one code file each.

        levels : an encoding, or modes whose marginals are counted in this pass.
        name : prefix of the file names.
        """
        modes = levels.modes if isinstance(levels, Encoding) else levels
        counts = LevelCounts(modes)
        sizes = {role: int(np.count_nonzero(self.roles == role)) for role in (TRAINED, HELD_OUT)}
        names = {TRAINED: f"{name}train", HELD_OUT: f"{name}held-out"}
        paths = {role: self.rows.folder / names[role] for role in names if sizes[role]}
        with ExitStack() as stack:
            map_columns = stack.enter_context(self._threads())
            files = {
                role: stack.enter_context(CodeFile.create(path, modes, sizes[role], len(centre)))
                for role, path in paths.items()
            }
            filled = dict.fromkeys(files, 0)
            for batch in self._batches():
                for role, file in files.items():
                    here = batch.rows(role)
                    count = len(batch) if here is None else len(here)
                    if count == 0:
                        continue
                    part = slice(filled[role], filled[role] + count)
                    filled[role] += count
                    codes, positions = file.codes[:, part].T, file.positions[:, part].T
                    with prefix_errors(batch.label):
                        self._fill(modes, batch, here, codes, positions, map_columns)
                    targets, weights = batch.targets, batch.weights
                    file.targets[part] = ((targets if here is None else targets[here]) - centre) / scale
                    file.weights[part] = 1.0 if weights is None else weights if here is None else weights[here]
                    if role == TRAINED:
                        counts.update(codes, positions, None if weights is None else file.weights[part], map_columns)
        encoding = levels if isinstance(levels, Encoding) else Encoding(modes, counts.marginals())
        problems = {role: CodeFile.open(path).problem(encoding) for role, path in paths.items()}
        return encoding, problems[TRAINED], problems.get(HELD_OUT)

    def marginals(self, modes: tuple[Mode, ...]) -> tuple[Array, ...]:
        """The marginals of these modes over the training rows, without writing a file."""
        counts = LevelCounts(modes)
        with self._threads() as map_columns:
            for batch in self._batches():
                train = batch.rows(TRAINED)
                encoded = Encoding(modes, ()).encode_training(batch.X, len(batch))
                some = slice(None) if train is None else train
                positions = encoded.fractions[some] if len(encoded.fractions) else encoded.fractions
                weights = None if batch.weights is None else batch.weights[some]
                counts.update(encoded.codes[some], positions, weights, map_columns)
        return counts.marginals()

    def take(self, rows: NDArray[np.intp]) -> tuple[Any, Array, Array]:
        """Training rows by index, in the given order: their table, targets (m, K) and weights (m,)."""
        order = np.argsort(rows, kind="stable")
        wanted, start, parts = rows[order], 0, []
        for batch in self._batches():
            train = np.flatnonzero(batch.roles == TRAINED)
            inside = wanted[(wanted >= start) & (wanted < start + len(train))] - start
            start += len(train)
            if len(inside):
                weights = np.ones(len(batch)) if batch.weights is None else batch.weights
                here = train[inside]
                parts.append((_safe_indexing(batch.X, here), batch.targets[here], weights[here]))
            if start > wanted[-1]:
                break
        tables, every_target, every_weight = zip(*parts, strict=True)
        back = np.argsort(order)
        targets, masses = np.concatenate(every_target), np.concatenate(every_weight)
        return _safe_indexing(_stacked(tables), back), targets[back], masses[back]

    def _fill(
        self,
        modes: tuple[Mode, ...],
        batch: CheckedBatch,
        here: NDArray[np.intp] | None,
        codes: NDArray[Any],
        positions: NDArray[Any],
        map_columns: Any,
    ) -> None:
        if here is None:
            encode_columns(modes, batch.X, codes, positions, map_columns=map_columns)
            return
        every_code = np.empty((len(batch), len(modes)), codes.dtype, order="F")
        every_position = np.zeros((len(batch) if len(positions) else 0, len(modes)), positions.dtype, order="F")
        encode_columns(modes, batch.X, every_code, every_position, map_columns=map_columns)
        codes[:] = every_code[here]
        if len(positions):
            positions[:] = every_position[here]

    def _batches(self) -> Iterator[CheckedBatch]:
        start, outputs = 0, None
        with self.open_bar() as on_rows:
            for batch in self.rows.given.batches():
                n_rows = number_of_rows(batch.X)
                if n_rows == 0:
                    continue
                checked = self._checked(batch, n_rows, start)
                K = checked.targets.shape[1]
                outputs = outputs or K
                if outputs != K:
                    raise ValueError(f"{batch.label}: y has {K} outputs, but earlier batches have {outputs}.")
                start += n_rows
                yield checked
                on_rows(n_rows)
        if start != len(self.roles):
            raise ValueError(
                f"the rows changed during the fit: {len(self.roles)} in the first pass, {start} now. "
                "Every pass must read the same rows."
            )

    def _checked(self, batch: Batch, n_rows: int, start: int) -> CheckedBatch:
        with prefix_errors(batch.label):
            X = self.checks.table(batch.X)
            y = self.checks.targets.read(batch.y, n_rows)
            weights = None
            if self.rows.weighted is not None:  # some batches have weights
                weights = self.unit.of(check_weights(batch.weights, n_rows, fewest=0))
            factors = self.checks.targets.factors(y)
            if factors is not None:
                weights = factors if weights is None else weights * factors
        roles = self.roles[start : start + n_rows]
        if len(roles) < n_rows:
            raise ValueError(
                f"the rows changed during the fit: {len(self.roles)} in the first pass, more now. "
                "Every pass must read the same rows."
            )
        return CheckedBatch(
            X, y.reshape(n_rows, -1), weights, roles, is_one_output(self.checks.targets, y), batch.label
        )

    @contextmanager
    def _threads(self) -> Iterator[Any]:
        """A map over columns, in threads."""
        if self.n_threads == 1:
            yield map
        else:
            with ThreadPoolExecutor(self.n_threads) as pool:
                yield pool.map


def _stacked(tables: Sequence[Any]) -> Any:
    """Concatenate tables, or arrays, by rows."""
    if not is_table(tables[0]):
        return np.concatenate(tables)
    frames = [nw.from_native(table, eager_only=True) for table in tables]
    return nw.concat(frames, how="vertical").to_native()


def roles_of(n_rows: int, train: NDArray[np.intp], held_out: NDArray[np.intp]) -> NDArray[np.uint8]:
    """The role of each row: `TRAINED`, `HELD_OUT` or 0."""
    roles = np.zeros(n_rows, np.uint8)
    roles[train], roles[held_out] = TRAINED, HELD_OUT
    return roles
