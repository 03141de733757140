"""Survival times: `likelihood="log_normal"`. The logarithm of the time is a censored Gaussian target."""

from dataclasses import dataclass
from typing import ClassVar

from csid.likelihoods.censored_gaussian import CensoredGaussian
from csid.likelihoods.likelihood import TargetKind


@dataclass(frozen=True)
class LogNormal(CensoredGaussian):
    """Log-normal times of events, of which those after the end of follow-up are not known. Values are log times."""

    name: ClassVar[str] = "log_normal"
    target: ClassVar[TargetKind] = "survival"

    @property
    def label(self) -> str:
        return "log-normal time, censored"

    def check_described(self) -> None:
        raise NotImplementedError(
            f"report pages and exports do not support likelihood={self.name!r} yet, as they would show log times: use "
            "save, predict and predict_survival_function."
        )
