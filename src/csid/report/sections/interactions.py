"""How much of the variance is due to interactions, and the strongest pairs of predictors."""

from typing import Any

from csid.report.inputs import ReportInputs, rounded


def data(inputs: ReportInputs) -> dict[str, Any]:
    """Shares of the variance, and for each output pairs of predictors with their share, the largest first."""
    shares = inputs.shares
    return {
        "main": rounded(shares.main),
        "pairs": rounded(shares.pairs),
        "higher": rounded(shares.higher),
        "strongest": shares.strongest,
    }
