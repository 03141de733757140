"""Split R-hat and effective sample size: laws, known answers, ArviZ's numbers; metrics of the chains of all priors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from csid.inference.diagnostics import convergence, effective_sample_size, monte_carlo_error, split_rhat

Array = NDArray[np.float64]
SEEDS = st.integers(0, 2**32 - 1)


def _autoregressive(correlation: float, chains: int = 4, sweeps: int = 4000, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    x = np.empty((chains, sweeps))
    x[:, 0] = rng.standard_normal(chains)
    for t in range(1, sweeps):
        x[:, t] = correlation * x[:, t - 1] + np.sqrt(1 - correlation**2) * rng.standard_normal(chains)
    return x


# R-hat and bulk ESS by arviz-stats 0.8.0, array_stats.rhat(draws) and array_stats.ess(draws, method="bulk"), of
# _autoregressive(correlation, chains, sweeps, seed) with the seeds below.
ARVIZ = {
    "independent": (_autoregressive(0.0, 4, 100, 1), 1.0000221997938554, 377.06400533929263),
    "correlated, odd length": (_autoregressive(0.8, 3, 75, 2), 1.2414757038752646, 10.916183145331107),
    "antithetic": (_autoregressive(-0.6, 2, 60, 3), 1.0401410277191327, 249.50174952571496),
    "heavy tails": (np.exp(4 * _autoregressive(0.5, 4, 50, 4)), 1.0593892500780662, 78.32622653971164),
    "ties": (_autoregressive(0.5, 2, 40, 5).round(), 1.1108407883115612, 21.47131403643818),
    "locations": (_autoregressive(0.3, 4, 50, 6) + np.arange(4)[:, None], 1.589043122316278, 7.62290761889166),
    "scales": (_autoregressive(0.3, 4, 50, 7) * 3.0 ** np.arange(4)[:, None], 1.6160279081277855, 144.45864327084772),
    "short": (_autoregressive(0.5, 4, 11, 8), 1.1855891225215422, 20.86610407225017),
    "shortest": (_autoregressive(0.3, 3, 10, 16), 1.1162684543545638, 28.26314089502097),
}


@pytest.mark.parametrize("case", ARVIZ)
def test_the_numbers_of_arviz(case: str) -> None:
    draws, rhat, size = ARVIZ[case]
    assert_allclose(split_rhat(draws), rhat, rtol=1e-9)
    assert_allclose(effective_sample_size(draws), size, rtol=1e-9)


def test_independent_draws_agree() -> None:
    draws = np.random.default_rng(0).standard_normal((4, 1000))
    assert 0.99 < split_rhat(draws) < 1.01
    assert 0.8 * 4000 < effective_sample_size(draws) < 1.2 * 4000


@pytest.mark.parametrize("correlation", [-0.5, 0.5, 0.9])
def test_the_effective_size_of_an_autoregressive_chain(correlation: float) -> None:
    """Known: n (1 - rho) / (1 + rho)."""
    expected = 4 * 4000 * (1 - correlation) / (1 + correlation)
    assert 0.75 * expected < effective_sample_size(_autoregressive(correlation)) < 1.25 * expected


def test_thinning_correlated_chains_loses_little() -> None:
    draws = _autoregressive(0.9)
    assert_allclose(effective_sample_size(draws[:, ::3]), effective_sample_size(draws), rtol=0.1)
    assert_allclose(split_rhat(draws[:, ::3]), split_rhat(draws), atol=0.01)


@given(SEEDS, st.integers(1, 5), st.integers(10, 60), st.sampled_from([1, 64]))
def test_monotone_transforms_and_permutations_of_chains_change_nothing(seed: int, m: int, n: int, grid: int) -> None:
    rng = np.random.default_rng(seed)
    # On a grid, so that rounding neither makes nor breaks ties of the distances to the median.
    draws = (grid * rng.standard_normal((m, n)).cumsum(axis=1)).round() / grid
    centred = draws - np.median(_without_the_middle(draws))
    rhat, size = split_rhat(draws), effective_sample_size(draws)
    for same in (3.0 * draws - 7.0, -draws, centred**3, draws[rng.permutation(m)]):
        assert_allclose(split_rhat(same), rhat, rtol=1e-9)
        assert_allclose(effective_sample_size(same), size, rtol=1e-9)
    # R-hat is folded about the median, so a transform must be odd about it to leave R-hat as it is. ESS is not folded.
    assert_allclose(effective_sample_size(np.exp(centred / 9)), size, rtol=1e-9)


def _without_the_middle(draws: Array) -> Array:
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


@given(SEEDS, st.integers(2, 5), st.integers(20, 60))
def test_rhat_rises_when_one_chain_is_shifted_further(seed: int, m: int, n: int) -> None:
    draws = np.random.default_rng(seed).standard_normal((m, n))
    first = np.arange(m)[:, None] == 0
    rhats = [split_rhat(draws + shift * first) for shift in (0.0, 3.0, 20.0)]
    assert rhats[0] < rhats[1] <= rhats[2]
    # Ranks bound R-hat, the more so the more chains agree.
    assert rhats[2] > 1.3


def test_chains_that_differ_in_location_scale_or_time_are_seen() -> None:
    draws = np.random.default_rng(0).standard_normal((4, 100))
    assert split_rhat(draws + 2 * np.arange(4)[:, None]) > 1.5
    assert split_rhat(draws * 3.0 ** np.arange(4)[:, None]) > 1.2
    assert split_rhat(draws + np.linspace(0, 9, 100)) > 1.5
    assert split_rhat((draws + np.linspace(0, 9, 100))[:1]) > 1.5


def test_heavy_tails_do_not_hide_a_shifted_chain() -> None:
    draws = np.random.default_rng(0).standard_cauchy((4, 200)) + 10.0 * (np.arange(4) == 0)[:, None]
    assert split_rhat(draws) > 1.2


def test_constant_very_short_and_infinite_chains() -> None:
    assert split_rhat(np.full((2, 10), 0.1)) == 1.0
    assert split_rhat(np.array([[0.1] * 14, [0.2] * 14])) == np.inf
    assert split_rhat(np.array([[-1.0, 1.0] * 6] * 2)) < 1.01
    assert effective_sample_size(np.full((2, 10), 0.1)) == 20
    assert effective_sample_size(np.array([[0.1] * 40, [0.2] * 40])) < 5
    assert np.isnan(split_rhat(np.ones((2, 3))))
    assert np.isfinite(split_rhat(np.ones((2, 4))))
    assert np.isnan(effective_sample_size(np.ones((2, 9))))
    for bad in (np.nan, np.inf):
        draws = np.array([[bad] + 19 * [1.0]])
        assert np.isnan(split_rhat(draws))
        assert np.isnan(effective_sample_size(draws))


@pytest.mark.parametrize("metric", [split_rhat, effective_sample_size])
def test_many_quantities_at_once_are_one_at_a_time(metric: object) -> None:
    assert callable(metric)
    draws = np.random.default_rng(0).standard_normal((7, 3, 21)).cumsum(axis=2)
    draws[3], draws[5, 0, 0] = 1.0, np.nan
    assert_allclose(metric(draws), [metric(each) for each in draws])
    assert metric(draws[:0]).shape == (0,)


class _Chains:
    """Chains that have converged, of which tests change some; as many as owners."""

    def __init__(self, owners: list[int], outputs: int = 2, sweeps: int = 400, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.owners = owners
        self.traces = [0.5 + 0.01 * rng.standard_normal((sweeps, outputs)) for _ in owners]
        self.smoothness = [rng.standard_normal((200, 5)) for _ in owners]
        self.values = [rng.standard_normal((200, 9)) for _ in owners]

    def metrics(self) -> dict[str, float]:
        weights = np.full(len(self.owners), 1 / len(self.owners))
        return convergence(self.traces, self.owners, self.smoothness, self.values, weights)


def test_converged_chains_raise_no_alarm() -> None:
    metrics = _Chains([0, 0, 1, 1]).metrics()
    assert list(metrics) == [
        *("noise_rhat", "noise_ess", "smoothness_rhat", "smoothness_ess", "prediction_rhat", "prediction_ess"),
        *("prediction_error", "drift"),
    ]
    assert all(type(metric) is float for metric in metrics.values())
    assert max(metrics[f"{name}_rhat"] for name in ("noise", "smoothness", "prediction")) < 1.05
    assert_allclose(metrics["noise_ess"], 4 * 400, rtol=0.15)
    assert_allclose([metrics["smoothness_ess"], metrics["prediction_ess"]], 4 * 200, rtol=0.15)
    assert_allclose(metrics["prediction_error"], np.sqrt(1 / (4 * 200)), rtol=0.3)
    assert metrics["drift"] < 0.01


@pytest.mark.parametrize("output", [0, 1, 2])
@pytest.mark.parametrize("prior", [0, 1])
def test_the_noise_of_any_output_under_any_prior_is_seen(output: int, prior: int) -> None:
    """Noise that grew sixfold in the second output once went unseen: the first one alone was looked at."""
    chains = _Chains([0, 0, 1, 1], outputs=3)
    before = chains.metrics()
    for trace, owner in zip(chains.traces, chains.owners, strict=True):
        if owner == prior:
            trace[:, output] *= np.linspace(1.0, 6.0, len(trace))
    after = chains.metrics()
    assert_allclose(after["drift"], 0.5 * 2.5, rtol=0.05)
    assert after["noise_rhat"] > 1.5 > before["noise_rhat"]
    # The other prior's draws of this output still count.
    other = np.array(
        [trace[:, output] for trace, owner in zip(chains.traces, chains.owners, strict=True) if owner != prior]
    )
    assert 0.0 < after["noise_ess"] - effective_sample_size(other) < 10.0


def test_noise_metrics_are_the_worst_of_those_of_single_outputs() -> None:
    chains = _Chains([0, 1, 1], outputs=3)
    for scale, trace in zip((0.0, 0.1, 0.3), chains.traces, strict=True):
        trace += scale * _autoregressive(0.9, 3, 400).T
    single = []
    for output in range(3):
        each = _Chains(chains.owners)
        each.traces = [trace[:, [output]] for trace in chains.traces]
        single.append(each.metrics())
    metrics = chains.metrics()
    assert_allclose(metrics["noise_rhat"], max(each["noise_rhat"] for each in single))
    assert_allclose(metrics["drift"], max(each["drift"] for each in single))
    assert_allclose(metrics["noise_ess"], min(each["noise_ess"] for each in single))


def test_smoothness_and_predictions_take_the_median_within_and_sums_or_maxima_across_priors() -> None:
    chains = _Chains([1, 0, 1, 3])
    for draws in chains.values[:2]:
        draws += np.linspace(0, 5, 200)[:, None]
    metrics = chains.metrics()
    for name, draws in (("smoothness", chains.smoothness), ("prediction", chains.values)):
        stacked = [np.array([draws[at] for at in own]).transpose(2, 0, 1) for own in ([1], [0, 2], [3])]
        assert_allclose(metrics[f"{name}_rhat"], max(np.median(split_rhat(each)) for each in stacked))
        assert_allclose(metrics[f"{name}_ess"], sum(np.median(effective_sample_size(each)) for each in stacked))
    assert metrics["prediction_rhat"] > 1.5 > metrics["smoothness_rhat"]


def test_chains_under_different_priors_may_differ() -> None:
    chains = _Chains([0, 0, 1, 1])
    for draws in (chains.traces, chains.smoothness, chains.values):
        draws[2:] = [10.0 + each for each in draws[2:]]
    metrics = chains.metrics()
    assert max(metrics[f"{name}_rhat"] for name in ("noise", "smoothness", "prediction")) < 1.05
    chains.owners = [0, 1, 0, 1]
    metrics = chains.metrics()
    assert min(metrics[f"{name}_rhat"] for name in ("noise", "smoothness", "prediction")) > 1.5


def test_the_last_draws_of_longer_chains_count() -> None:
    chains = _Chains([0, 0, 1])
    before = chains.metrics()
    weights = np.full(3, 1 / 3)
    longer = [[np.vstack([9.0 + draws[0][:7], draws[0]]), *draws[1:]] for draws in (chains.traces, chains.smoothness)]
    assert convergence(longer[0], chains.owners, longer[1], chains.values, weights) == before


def test_a_single_chain_has_halves() -> None:
    chains = _Chains([0])
    metrics = chains.metrics()
    assert metrics["noise_rhat"] == split_rhat(chains.traces[0].T[:, None]).max()
    assert metrics["noise_ess"] > 50
    assert np.isnan(metrics["prediction_error"])


@pytest.mark.parametrize("owners", [[0], [0, 0], [0, 1], [0, 1, 1]])
@pytest.mark.parametrize("sweeps", [2, 3, 40])
def test_drift_is_the_largest_change_of_the_mean_between_the_halves_of_a_prior_s_chains(
    owners: list[int], sweeps: int
) -> None:
    """Of two sweeps too, and of a prior with a single chain; the middle of an odd number is left out."""
    chains = _Chains(owners, outputs=3, sweeps=sweeps)
    half, changes = sweeps // 2, []
    for prior in set(owners):
        for output in range(3):
            own = [trace[:, output] for trace, owner in zip(chains.traces, owners, strict=True) if owner == prior]
            first, second = (np.mean([part.mean() for part in parts]) for parts in _first_and_second(own, half))
            changes.append(abs(first - second))
    assert_allclose(chains.metrics()["drift"], max(changes))


def _first_and_second(traces: list[Array], half: int) -> tuple[list[Array], list[Array]]:
    return [trace[:half] for trace in traces], [trace[-half:] for trace in traces]


@pytest.mark.parametrize("owners", [[0], [0, 0], [0, 1]])
def test_a_single_sweep_has_no_drift(owners: list[int]) -> None:
    assert _Chains(owners, sweeps=1).metrics()["drift"] == 0.0


def test_a_likelihood_without_parameters_of_its_own() -> None:
    metrics = _Chains([0, 0, 1], outputs=0).metrics()
    assert np.isnan([metrics["noise_rhat"], metrics["noise_ess"]]).all()
    assert metrics["drift"] == 0.0
    assert np.isfinite([metrics["smoothness_rhat"], metrics["prediction_ess"], metrics["prediction_error"]]).all()


def test_metrics_are_nan_only_if_undefined_for_all_priors() -> None:
    chains = _Chains([0, 1])
    for draws in (chains.traces, chains.smoothness, chains.values):
        draws[0] = draws[0][:1]
    defined = chains.metrics()
    assert np.isfinite(list(defined.values())).all()
    for draws in (chains.traces, chains.smoothness, chains.values):
        draws[1] = draws[1][:1]
    metrics = chains.metrics()
    undefined = [f"{name}_{metric}" for name in ("noise", "smoothness", "prediction") for metric in ("rhat", "ess")]
    assert_array_equal([metrics[name] for name in undefined], np.nan)
    assert metrics["drift"] == 0.0


def test_the_error_of_a_mean_of_chains_is_what_other_chains_would_give() -> None:
    rng = np.random.default_rng(0)
    weights = np.array([0.5, 0.3, 0.1, 0.1])
    means = rng.standard_normal((2000, 4, 3))
    found = np.sqrt(np.mean([monte_carlo_error(each, weights) ** 2 for each in means]))
    assert found == pytest.approx((weights @ means).std(), rel=0.05)
    for weight in (1.0, 1.0 - 1e-12):
        assert np.isnan(monte_carlo_error(means[0, :1], np.array([weight])))
    assert np.isnan(monte_carlo_error(means[0, :2], np.array([1.0, 0.0])))
    assert monte_carlo_error(np.ones((3, 5)), np.full(3, 1 / 3)) == 0.0
