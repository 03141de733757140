"""The stream of `partial_fit` as header entries and arrays. Of symmetric sums, one triangle is stored."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from csid.data.weights import AS_GIVEN, WeightUnit
from csid.inference.stochastic import OUTPUTS, RunningSums
from csid.inference.stream import Stream
from csid.model_file.container import Section
from csid.model_file.parts import Arrays, Packed
from csid.tensor.cpd import CPD
from csid.tensor.factors import padded_rank

Array = NDArray[np.float64]


def pack_stream(stream: Stream, cpd: CPD) -> tuple[dict[str, Any], Packed]:
    """The weights of a stream, and its sums for a tensor."""
    F, running = cpd.rank, stream.running
    upper = np.triu_indices(F)
    arrays: Packed = {"stream.centre": stream.centre, "stream.scale": stream.scale}
    for mode, (*grams, rhs) in running.sums.items():
        arrays |= {f"stream.{mode}.gram.{g}": gram[..., *upper] for g, gram in enumerate(grams)}
        arrays[f"stream.{mode}.rhs"] = rhs[..., :F]
    return {"weight": running.weight, "seen": running.seen, "weight_unit": stream.weight_unit._asdict()}, arrays


def unpack_stream(cpd: CPD, header: Section, arrays: Arrays) -> Stream:
    """A stream that continues from a tensor."""
    F, K = cpd.rank, cpd.n_outputs
    centre, scale = arrays.take("stream.centre", (K,)), arrays.take("stream.scale", (K,))
    weight, seen = header.number("weight"), header.number("seen")
    if not (scale > 0.0).all() or not (0.0 < weight < np.inf and 0.0 < seen < np.inf):
        raise header.wrong("weight", "or seen, or the scale of the targets, is not positive")
    grown = (padded_rank(F) + K) * padded_rank(F) * (2 * int(sum(map(len, cpd.factors))) + K)
    arrays.check_memory("stream.centre", grown)
    sums: dict[int, tuple[Array, ...]] = {}
    for k, A in enumerate(cpd.factors):
        D, O = (_square(arrays, f"stream.{k}.gram.{g}", (rows,), F) for g, rows in enumerate((len(A) + 1, -1)))
        if len(O) not in (0, len(D)):
            raise arrays.wrong(f"stream.{k}.gram.1", f"has {len(O)} levels")
        sums[k] = D, O, _padded(arrays, f"stream.{k}.rhs", (len(D), K), F)
    if K > 1:
        gram, rhs = (
            _square(arrays, f"stream.{OUTPUTS}.gram.0", (), F),
            _padded(arrays, f"stream.{OUTPUTS}.rhs", (K,), F),
        )
        sums[OUTPUTS] = gram, rhs
    return Stream(RunningSums(sums, weight, seen), centre, scale, _weight_unit(header))


def _weight_unit(header: Section) -> WeightUnit:
    if "weight_unit" not in header.entries:  # missing in the first files, whose weights had no unit
        return AS_GIVEN
    entry = header.section("weight_unit")
    unit = WeightUnit(entry.number("largest"), entry.number("mean"), entry.flag("counts"))
    if not (0.0 < unit.largest < np.inf and 0.0 < unit.mean <= 1.0):
        raise header.wrong("weight_unit", "is not positive")
    return unit


def _square(arrays: Arrays, name: str, shape: tuple[int, ...], rank: int) -> Array:
    """Padded symmetric matrices, from one stored triangle."""
    rows, columns = np.triu_indices(rank)
    triangles = arrays.take(name, (*shape, len(rows)))
    full = np.zeros((*triangles.shape[:-1], padded_rank(rank), padded_rank(rank)))
    full[..., rows, columns] = full[..., columns, rows] = triangles
    return full


def _padded(arrays: Arrays, name: str, shape: tuple[int, ...], rank: int) -> Array:
    stored = arrays.take(name, (*shape, rank))
    full = np.zeros((*shape, padded_rank(rank)))
    full[..., :rank] = stored
    return full
