"""Draws from the prior of a tensor, and z-scores between two simulators of one joint law, after Geweke (2004).

Two simulators of the same joint law must agree in every mean. One draws the parameters from the prior and then the
targets. The other alternates the library's sweep with new targets given the parameters.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from csid.data.problem import Problem
from csid.inference.numerics import NumericalError
from csid.priors.prior import Prior
from naive import level_weights

Array = np.ndarray


class PriorDraws(NamedTuple):
    """n draws: A, for each mode (n, I, F); V (n, K, F); mu (n, N, F); tau (n, F)."""

    A: list[Array]
    V: Array
    mu: Array
    tau: Array


def draw_mu(U: Array, prior: Prior, size: tuple[int, int], rng: np.random.Generator) -> Array:
    """From Gamma(mu) mu^(rank / 2) det(mu U + nu I)^(-1/2), by its distribution function on a fine grid of log mu."""
    (shape, rate), nu = prior.smoothness, prior.nu
    t = np.linspace(np.log(1e-6), np.log(1e4), 20_001)
    determinants = np.log(np.exp(t)[:, None] * np.linalg.eigvalsh(U) + nu).sum(axis=1)
    rank = np.linalg.matrix_rank(U)
    density = (shape + 0.5 * rank) * t - rate / len(U) * np.exp(t) - 0.5 * determinants
    density = np.exp(density - density.max())
    below = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
    return np.exp(np.interp(rng.random(size), below / below[-1], t))


def draw_tensors(
    units: Sequence[Array], centre: Sequence[Array], prior: Prior, shape: tuple[int, int], rng: np.random.Generator
) -> PriorDraws:
    """Independent draws of factors and weights. units : dense U_n; centre : prior means; shape : n and K."""
    (n, K), A, mu = shape, [], []
    rank = centre[0].shape[1]
    for U, mean in zip(units, centre, strict=True):
        size, Q = np.linalg.eigh(U)
        mu.append(draw_mu(U, prior, (n, rank), rng))
        root = np.sqrt(np.maximum(size, 0.0)[:, None] * mu[-1][:, None, :] + prior.nu)
        A.append(mean + np.einsum("ij,njf->nif", Q, rng.standard_normal(root.shape) / root))
    tau = rng.gamma(prior.weight[0], 1.0 / prior.weight[1], (n, rank))
    V = rng.standard_normal((n, K, rank)) / np.sqrt(tau)[:, None, :]
    return PriorDraws(A, V, np.stack(mu, axis=1), tau)


def row_products(problem: Problem, A: Sequence[Array]) -> Array:
    """(n, M, F) for n draws of the factors."""
    q = 1.0
    for W, drawn in zip(level_weights(problem), A, strict=True):
        q = q * np.einsum("mi,nif->nmf", W, drawn)
    return np.asarray(q)


def z_scores(independent: dict[str, Array], chain: dict[str, Array], batches: int = 40) -> dict[str, float]:
    """How many standard errors the means are apart; the chain's error is that of the means of its long batches."""
    scores = {}
    for name, draws in independent.items():
        means = chain[name][: len(chain[name]) // batches * batches].reshape(batches, -1).mean(axis=1)
        error = np.sqrt(draws.var() / len(draws) + means.var(ddof=1) / batches)
        scores[name] = float((means.mean() - draws.mean()) / error)
    return scores


def shows(scores: Callable[[], dict[str, float]]) -> bool:
    """Whether a wrong simulator shows: a mean is six standard errors off, or the chain leaves the range of floats."""
    try:
        with np.errstate(all="ignore"):
            return max(map(abs, scores().values())) > 6.0
    except NumericalError:
        return True
