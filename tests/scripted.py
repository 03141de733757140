"""A generator whose numbers are known beforehand."""

from collections.abc import Sequence

import numpy as np

Array = np.ndarray


class Scripted:
    """In place of a Generator: its normal numbers are given ones, then zeros, and its Gammas are their means.

    gammas : the shape and the scale of each that was asked for.
    """

    def __init__(self, normals: Array | Sequence[float] = ()) -> None:
        self._normals = list(np.ravel(normals))
        self.gammas: list[tuple[float, Array]] = []

    def standard_normal(self, size: int | tuple[int, ...]) -> Array:
        count = int(np.prod(size))
        taken, self._normals = self._normals[:count], self._normals[count:]
        return np.array(taken + [0.0] * (count - len(taken))).reshape(size)

    def gamma(self, shape: float, scale: Array) -> Array:
        self.gammas.append((shape, scale.copy()))
        return shape * scale
