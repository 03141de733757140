"""Weighted posterior draws of the tensor and its noise: means, spreads, quantiles and samples of predictions."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtr, ndtri, stdtr, stdtrit

from csid._fit.missing_cells import LevelPMF, completed_values
from csid._fit.statistics import Workers
from csid.cpd import CPD, ConditionalCPD
from csid.encoding import Encoding, Mode, moved_factor

Array = NDArray[np.float64]

_NEWTON_STEPS = 60
_CLOSE = 1e-12


@dataclass(frozen=True)
class Draws:
    """D draws on the same levels, their components side by side; R is the sum of their ranks.

    modes : levels of the N predictors; factors : N arrays (I_n, R), float32, which is finer than draws are.
    V : (K, R) and bias : (D, K), in the units of y; ranks : (D,).
    noise : (D, K) scales of the noise, its standard deviations when it is normal.
    shares : (D,) weights; those of all draws of a posterior sum to one.
    """

    modes: tuple[Mode, ...]
    factors: tuple[NDArray[np.float32], ...]
    V: Array
    bias: Array
    ranks: NDArray[np.int64]
    noise: Array
    shares: Array

    @classmethod
    def of(cls, modes: tuple[Mode, ...], draws: Sequence[CPD], noise: Array, shares: Array) -> "Draws":
        """Draws that are tensors on these levels."""
        return cls(
            modes,
            tuple(np.hstack(parts).astype(np.float32) for parts in zip(*(draw.factors for draw in draws), strict=True)),
            np.hstack([draw.V for draw in draws]),
            np.array([draw.bias for draw in draws]),
            np.array([draw.rank for draw in draws]),
            noise,
            shares,
        )

    def on(self, encoding: Encoding) -> list[CPD]:
        """Each draw as a tensor on the levels of an encoding that has these among its own."""
        modes = zip(self.factors, self.modes, encoding.modes, strict=True)
        moved = [moved_factor(A.astype(np.float64), old, new) for A, old, new in modes]
        ends = np.cumsum(self.ranks)
        parts = [slice(end - rank, end) for end, rank in zip(ends, self.ranks, strict=True)]
        return [
            CPD(tuple(A[:, part] for A in moved), self.V[:, part], bias, encoding.marginals)
            for part, bias in zip(parts, self.bias, strict=True)
        ]


@dataclass(frozen=True)
class Posterior:
    """Weighted draws of the tensor.

    groups : the draws, those on the same levels together; encoding : common levels of them all.
    degrees_of_freedom : of Student's t that the noise follows; infinite for normal noise.
    pmf : joint PMF of the levels that missing cells follow; None for the marginals, over which a draw is averaged.
    """

    groups: tuple[Draws, ...]
    encoding: Encoding
    degrees_of_freedom: float = np.inf
    pmf: LevelPMF | None = None

    @cached_property
    def draws(self) -> tuple[CPD, ...]:
        """All draws on the common levels, in the units of y."""
        return tuple(draw for group in self.groups for draw in group.on(self.encoding))

    @property
    def shares(self) -> Array:
        """(D,) weights of the draws, which sum to one."""
        return np.concatenate([group.shares for group in self.groups])

    @property
    def noise(self) -> Array:
        """(D, K) scales of the noise, its standard deviations when it is normal."""
        return np.concatenate([group.noise for group in self.groups])

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("draws", "mean", "expectation")}

    @cached_property
    def mean(self) -> CPD:
        """The posterior mean, as one tensor."""
        return CPD.average(self.draws, self.shares)

    @cached_property
    def expectation(self) -> CPD | ConditionalCPD:
        """What predicts: the posterior mean, given what is observed of a row."""
        return self.mean if self.pmf is None else ConditionalCPD(self.mean, self.pmf)

    def each(self, codes: NDArray[Any], fractions: NDArray[Any], n_threads: int = 1) -> Array:
        """Values (D, M, K) of every draw at encoded rows.

        Under a joint PMF, draws differ in what they take for a missing cell; their mean is the expectation.
        """
        rows = self.mean.at(codes, fractions)
        expected = np.empty(0) if self.pmf is None else self.expectation.evaluate(codes, fractions, n_threads)
        with Workers(n_threads) as workers:
            stacked = [draw.stacked for draw in self.draws]
            return completed_values(rows, stacked, self.shares, expected, self.pmf, workers)

    def predictive(self, each: Array) -> "Mixture":
        """The predictive distribution at rows where the draws have these values (D, M, K)."""
        return Mixture(each, self.noise[:, None, :], self.shares, self.degrees_of_freedom)


@dataclass(frozen=True)
class Mixture:
    """A mixture at each row and output of normals, or of Student's t.

    centres : (D, M, K); scales : (D, M, K), or (D, 1, K) where all rows have the same; shares : (D,).
    """

    centres: Array
    scales: Array
    shares: Array
    degrees_of_freedom: float = np.inf

    @property
    def mean(self) -> Array:
        return np.asarray(np.tensordot(self.shares, self.centres, 1))

    @property
    def model_variance(self) -> Array:
        """(M, K), what the draws disagree by."""
        return np.asarray(np.tensordot(self.shares, (self.centres - self.mean) ** 2, 1))

    @property
    def noise_variance(self) -> Array:
        """(M, K) or (1, K), the noise of a new observation."""
        df = self.degrees_of_freedom
        return np.asarray((df / (df - 2.0) if np.isfinite(df) else 1.0) * np.tensordot(self.shares, self.scales**2, 1))

    @property
    def variance(self) -> Array:
        """(M, K), of a new observation."""
        return self.model_variance + self.noise_variance

    def _noise_below(self, z: Array) -> Array:
        df = self.degrees_of_freedom
        return np.asarray(stdtr(df, z) if np.isfinite(df) else ndtr(z))

    def _quantile_of_noise(self, q: float) -> float:
        df = self.degrees_of_freedom
        return float(stdtrit(df, q) if np.isfinite(df) else ndtri(q))

    def _density_of_noise(self, z: Array) -> Array:
        df = self.degrees_of_freedom
        if not np.isfinite(df):
            return np.asarray(np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi))
        size = np.exp(gammaln(0.5 * (df + 1.0)) - gammaln(0.5 * df)) / np.sqrt(df * np.pi)
        return np.asarray(size * (1.0 + z**2 / df) ** (-0.5 * (df + 1.0)))

    def below(self, y: Array) -> Array:
        """(M, K): the probability that a new observation is below y (M, K)."""
        return np.asarray(np.tensordot(self.shares, self._noise_below((y - self.centres) / self.scales), 1))

    def quantile(self, q: float) -> Array:
        """(M, K): where the distribution function reaches q, by Newton's method inside a shrinking bracket."""
        scale = self.scales
        at_q = self.centres + self._quantile_of_noise(q) * scale  # of each part; theirs enclose that of the mixture
        low, high = at_q.min(axis=0), at_q.max(axis=0)
        x = self.mean + ndtri(q) * np.sqrt(self.variance)
        for _ in range(_NEWTON_STEPS):
            x = np.where((x > low) & (x < high), x, 0.5 * (low + high))
            z = (x - self.centres) / scale
            excess = np.tensordot(self.shares, self._noise_below(z), 1) - q
            if (np.abs(excess) < _CLOSE).all():
                break
            low, high = np.where(excess < 0.0, x, low), np.where(excess > 0.0, x, high)
            density = np.tensordot(self.shares, self._density_of_noise(z) / scale, 1)
            x = x - excess / np.maximum(density, 1e-300)
        return np.asarray(np.clip(x, low, high))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """(M, n, K) draws of a new observation at each row."""
        D, M, K = self.centres.shape
        which = rng.choice(D, size=(M, n), p=self.shares)
        rows = np.arange(M)[:, None]
        centres, scales = self.centres[which, rows], np.broadcast_to(self.scales, self.centres.shape)[which, rows]
        df = self.degrees_of_freedom
        noise = rng.standard_t(df, (M, n, K)) if np.isfinite(df) else rng.standard_normal((M, n, K))
        return np.asarray(centres + scales * noise)
