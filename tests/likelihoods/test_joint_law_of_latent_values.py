"""Sweeps that draw latent values leave the joint law of parameters and targets in place (Geweke 2004).

The joint law is that given a bias of zero: the flat prior of the bias has no draws.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from csid.data.censored_targets import coded
from csid.data.problem import Problem
from csid.data.samples import LocalSamples, RowSums
from csid.inference import gibbs
from csid.inference.gibbs import SampledModel, Sweeps, run_chain
from csid.inference.state import Chain, State
from csid.likelihoods import Likelihood, latent_normal, ordinal_probit
from csid.likelihoods.censored_gaussian import CensoredGaussian
from csid.likelihoods.location_scale import GammaPrior
from csid.likelihoods.ordinal_probit import OrdinalProbit
from csid.priors.prior import Prior
from csid.tensor.factors import stack_factors
from fit.strategies import build_problem
from joint_law import PriorDraws, draw_tensors, row_products, shows, z_scores
from naive import dense_units, level_weights, model_of, products

Array = np.ndarray
Parameters = dict[str, Array]

DEVIATION = 0.5  # of the logarithms of the scale and of the distances between cuts
PRECISIONS = GammaPrior(5.0, 5.0)
ORDINAL = OrdinalProbit((0.1, 0.2, 0.4, 0.3))
CENSORED = CensoredGaussian(PRECISIONS)
JOINT = Prior(nu=2.0, smoothness=(5.0, 6.0), weight=(6.0, 5.0))


@pytest.fixture(autouse=True)
def _priors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Priors that a short chain explores, a bias of zero, and complete rows."""

    def keep_bias(samples: RowSums, state: State, rng: np.random.Generator) -> Array:
        return samples.residual_sums(state.factors)[1] + samples.summary.within

    monkeypatch.setattr(latent_normal, "_LOG_SCALE_DEVIATION", DEVIATION)
    monkeypatch.setattr(ordinal_probit, "_LOG_DISTANCE_DEVIATION", DEVIATION)
    monkeypatch.setattr(gibbs, "draw_bias", keep_bias)
    monkeypatch.setattr(Problem, "any_incomplete", False)


def _own_parameters(likelihood: Likelihood, rng: np.random.Generator) -> Parameters:
    """A draw of the likelihood's parameters from their prior."""
    if not isinstance(likelihood, OrdinalProbit):
        return {"alpha": rng.gamma(PRECISIONS.shape, 1.0 / PRECISIONS.rate, 1)}
    start = likelihood._first_cuts
    distances = np.diff(start) * np.exp(DEVIATION * rng.standard_normal(len(start) - 1))
    cuts = np.concatenate([[0.0], np.cumsum(distances)])
    scale = np.exp(DEVIATION * rng.standard_normal(1))
    return {"alpha": scale**2, "loss": np.zeros(1), "cuts": cuts - cuts[likelihood._fixed]}


def _targets(likelihood: Likelihood, z: Array, parameters: Parameters) -> Array:
    """What is known of latent values (M,): their class, or bounds of several kinds."""
    if isinstance(likelihood, OrdinalProbit):
        return np.searchsorted(parameters["cuts"], z)[:, None].astype(float)
    low, high = z.copy(), z.copy()
    every = np.arange(len(z))
    above, below, within = (every % 4 == 0) & (z > 0.3), (every % 4 == 1) & (z < -0.2), every % 4 == 2
    low[above], high[above] = 0.3, np.inf
    low[below], high[below] = -np.inf, -0.2
    low[within], high[within] = np.floor(z[within]), np.floor(z[within]) + 1.0
    return coded(low, high)


def _scores(likelihood: Likelihood, rows: int, sweeps: int) -> dict[str, float]:
    """z-scores of all test functions."""
    rng = np.random.default_rng(1)
    problem = build_problem(0, levels=(3, 2), ordered=[3, 0], rows=rows)
    centre = [rng.uniform(0.5, 1.5, (levels, 2)) for levels in problem.levels.tolist()]
    model = SampledModel(JOINT, likelihood)
    drawn = draw_tensors(dense_units(problem, 1), centre, JOINT, (20_000, 1), rng)
    etas = np.einsum("nmf,njf->nmj", row_products(problem, drawn.A), drawn.V)[..., 0]
    own = [_own_parameters(likelihood, rng) for _ in range(20_000)]

    def renewed(eta: Array, parameters: Parameters) -> Array:
        z = eta + rng.standard_normal(len(eta)) / np.sqrt(parameters["alpha"])
        return _targets(likelihood, z, parameters)

    targets = np.array([renewed(eta, parameters) for eta, parameters in zip(etas, own, strict=True)])
    expected = _functions(drawn, own, targets)

    factors = stack_factors(tuple(A[0] for A in drawn.A), drawn.V[0], np.zeros(1), problem.marginals)
    prior_mean = stack_factors(tuple(centre), drawn.V[0], np.zeros(1), problem.marginals).table[:, :2].copy()
    state = State(factors, drawn.mu[0], drawn.tau[0], own[0], prior_mean)
    problem = replace(problem, targets=targets[0].copy())
    weights, kept = level_weights(problem), []

    def renew_targets(chain: Chain) -> bool:
        fitted = model_of(state.factors)
        kept.append((*fitted.A, fitted.V, state.mu.copy(), state.tau.copy(), state.parameters, problem.targets.copy()))
        eta = (products(weights, fitted.A, range(problem.n_modes)) @ fitted.V.T)[:, 0]
        problem.targets[:] = renewed(eta, state.parameters)
        return True

    run_chain(LocalSamples(problem), model, Chain(state), rng, Sweeps(sweeps, 0), renew_targets)
    first, second, V, mu, tau, parameters, targets = zip(*kept, strict=True)
    chain = PriorDraws([np.array(first), np.array(second)], *(np.array(draws) for draws in (V, mu, tau)))
    return z_scores(expected, _functions(chain, list(parameters), np.array(targets)))


def _functions(drawn: PriorDraws, own: list[Parameters], targets: Array) -> dict[str, Array]:
    """Numbers of each draw, whose means both simulators must share."""
    A, V, mu, tau = drawn
    value, seen = V[:, 0] * A[0][:, 0] * A[1][:, -1], targets[:, :, 0]
    log_s = 0.5 * np.log([parameters["alpha"][0] for parameters in own])
    found = {
        "log s": log_s,
        "log s squared": log_s**2,
        "A first": A[0][:, 0].mean(axis=1),
        "A squares": (A[1] ** 2).mean(axis=(1, 2)),
        "V squares": (V**2).mean(axis=(1, 2)),
        "log tau": np.log(tau).mean(axis=1),
        "log mu": np.log(mu).mean(axis=(1, 2)),
        "value": value.mean(axis=1),
        "|value|": np.abs(value).mean(axis=1),
        "seen": seen.mean(axis=1),
        "seen squares": (seen**2).mean(axis=1),
        "seen squares by scale": (seen**2).mean(axis=1) * log_s,
        "first row by value": seen[:, 0] * value.mean(axis=1),
        "bounded": (targets[:, :, -1] == 0.0).mean(axis=1),
    }
    if "cuts" in own[0]:
        distances = np.log(np.diff([parameters["cuts"] for parameters in own], axis=1))
        found |= {f"log distance {k}": column for k, column in enumerate(distances.T)}
        found |= {f"log distance {k} squared": column**2 for k, column in enumerate(distances.T)}
        found["distance by class"] = distances[:, 0] * seen.mean(axis=1)
    return found


@pytest.mark.parametrize("likelihood", [ORDINAL, CENSORED], ids=lambda likelihood: likelihood.name)
def test_sweeps_leave_the_joint_law_in_place(likelihood: Likelihood) -> None:
    scores = _scores(likelihood, 7, 3000)
    assert {name: z for name, z in scores.items() if not abs(z) < 4.0} == {}


# The test above must be able to fail.


def _expected(self: Any, targets: Array, weights: Array, eta: Array, parameters: Any, rng: Any, right: Any) -> Any:
    """Latent values are their expectations, without their variance."""
    return right(self, targets, weights, eta, parameters, None)


def _at_zero(self: Any, targets: Array, weights: Array, eta: Array, parameters: Any, rng: Any, right: Any) -> Any:
    """Latent values are drawn around zero."""
    return right(self, targets, weights, 0.0 * eta, parameters, rng)


def _forget_units(self: Any, targets: Array, weights: Array, eta: Array, parameters: Any, rng: Any, right: Any) -> Any:
    """Latent values are not divided by s."""
    z, weights = right(self, targets, weights, eta, parameters, rng)
    return z * np.sqrt(parameters["alpha"]), weights


@pytest.mark.parametrize(
    ("likelihood", "wrong"),
    [(ORDINAL, _at_zero), (ORDINAL, _forget_units), (CENSORED, _at_zero), (CENSORED, _expected)],
)
def test_wrong_latent_values_show_in_the_joint_law(
    likelihood: Likelihood, wrong: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = type(likelihood).working
    monkeypatch.setattr(type(likelihood), "working", lambda *given: wrong(*given, right=right))
    assert shows(lambda: _scores(likelihood, 30, 4000))
