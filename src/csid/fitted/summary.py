"""A fitted model at a glance: what was fitted, on what, and how good it is. Nothing is computed from the tensor."""

from typing import Any

import numpy as np

from csid.fitted.accuracy import AnyAccuracy, CensoredAccuracy, ClassAccuracy, CountAccuracy
from csid.fitted.model import FittedModel, LeastSquaresRecord, SamplingRecord
from csid.fitted.posterior import Posterior
from csid.small_tables import SmallTable, shown

_MOST_NAMES = 6


def summary_table(fitted: FittedModel) -> SmallTable:
    """One line for each thing that a reader wants to know first."""
    of_fit = _sampled if isinstance(fitted.training, SamplingRecord) else _least_squares
    lines: list[tuple[str, str]] = [
        ("rows", f"{fitted.n_samples:,}"),
        ("predictors", _listed(fitted.names)),
        *_targets(fitted),
        ("missing cells", _missing(fitted)),
        *of_fit(fitted),
    ]
    return SmallTable(f"Fitted {fitted.estimator}", ["", ""], lines, _attributes(fitted))


def _sampled(fitted: FittedModel) -> list[tuple[str, str]]:
    """Draws, noise, priors and held-out accuracy of a Bayesian fit."""
    record, posterior = fitted.training, fitted.require_posterior("a summary")
    assert isinstance(record, SamplingRecord)
    weights = sorted(record.stacking_weights.items(), key=lambda pair: -pair[1])
    return [
        *_accuracy(record.accuracy),
        _likelihood(fitted, posterior),
        ("draws", f"{len(posterior.weights)} from {len(record.trace)} chains; their ranks sum to {fitted.tensor.rank}"),
        ("priors", ", ".join(f"{name} {shown(weight)}" for name, weight in weights if weight > 0.0)),
    ]


def _targets(fitted: FittedModel) -> list[tuple[str, str]]:
    """The names of the targets, or the classes with the number of training rows of each."""
    if fitted.classes is None:
        return [("target" if fitted.n_outputs == 1 else "targets", _listed(fitted.target_names))]
    pairs = zip(fitted.classes.labels.tolist(), fitted.classes.counts.tolist(), strict=True)
    return [("classes", _listed([f"{label} ({count:,.0f})" for label, count in pairs]))]


def _likelihood(fitted: FittedModel, posterior: Posterior) -> tuple[str, str]:
    """The likelihood, and the scale of its noise if it has one."""
    if "noise" not in posterior.parameters:
        return "likelihood", fitted.likelihood.label
    noise = np.sqrt(posterior.weights @ posterior.noise**2).tolist()
    return "noise scale", f"{_numbers(noise)} ({fitted.likelihood.name})"


def _accuracy(found: AnyAccuracy | None) -> list[tuple[str, str]]:
    """How good the fit is on the held-out rows of its pilot, if there was one."""
    if found is None:
        return []
    if isinstance(found, ClassAccuracy):
        metrics = f"accuracy {found.accuracy:.3g}, log loss {found.log_loss:.3g}, Brier score {found.brier:.3g}"
        return [("held out", f"{metrics} on {found.rows:,} rows of the pilot")]
    if isinstance(found, CensoredAccuracy):
        of_rows = f"{found.rows:,} rows of the pilot, of which {found.known:.0%} are not censored"
        return [("held out", f"concordance index {found.concordance:.3g} on {of_rows}")]
    if isinstance(found, CountAccuracy):
        metrics = f"mean Poisson deviance {found.deviance:.3g}, mean log density {found.log_density:.3g}"
        percent = f"{100.0 * found.coverage:.0f} %"
        return [("held out", f"{metrics}, 90 % intervals cover {percent} of {found.rows:,} rows of the pilot")]
    metrics = f"R² {_numbers(found.r2.tolist())}, RMSE {_numbers(found.rmse.tolist())}"
    percent = ", ".join(f"{100.0 * each:.0f} %" for each in found.coverage.tolist())
    return [("held out", f"{metrics}, 90 % intervals cover {percent} of {found.rows:,} rows of the pilot")]


def _least_squares(fitted: FittedModel) -> list[tuple[str, str]]:
    """Rank, sweeps and the held-out error of a least-squares fit."""
    record = fitted.training
    assert isinstance(record, LeastSquaresRecord)
    validation = [float(errors.min()) for errors in record.validation if len(errors)]
    lines = [("model", f"rank {fitted.tensor.rank}, {fitted.n_iter} sweeps, {len(record.members)} in the ensemble")]
    if validation and fitted.classes is not None:
        lines.insert(0, ("held out", f"log loss {0.5 * float(np.mean(validation)):.3g} on the rows for early stopping"))
    elif validation and not fitted.likelihood.augmented:
        r2 = 1.0 - float(np.mean(validation)) / fitted.n_outputs
        lines.insert(0, ("held out", f"R² {r2:.3g} on the rows for early stopping"))
    return lines


def _missing(fitted: FittedModel) -> str:
    if fitted.pmf is not None:
        return f"imputed from the other predictors ({fitted.pmf.rank} latent classes)"
    return "averaged over" if fitted.missing == "marginalize" else "a level of their own"


def _attributes(fitted: FittedModel) -> str:
    more = "" if fitted.classes is None else ", classes_"
    if fitted.posterior is not None:
        more += ", posterior_, convergence_" + (", noise_" if fitted.classes is None else "")
    return f"Attributes: cpd_, encoding_, factors_, levels_, feature_importances_{more}"


def _listed(names: Any) -> str:
    """The number of names, and the first of them."""
    some = ", ".join(map(str, names[:_MOST_NAMES])) + (", …" if len(names) > _MOST_NAMES else "")
    return some if len(names) == 1 else f"{len(names):,}: {some}"


def _numbers(values: list[float]) -> str:
    return ", ".join(map(shown, values[:_MOST_NAMES])) + (", …" if len(values) > _MOST_NAMES else "")
