"""How much of the variance is due to interactions, and the strongest pairs of predictors."""

from typing import Any

from csid.report.inputs import PAIRS, ReportInputs, rounded

_LEAST_SHARE = 0.01


def data(inputs: ReportInputs) -> dict[str, Any]:
    """Shares of the variance, and for each output pairs of predictors with their share, the largest first.

    There are at most `most` pairs, and none with a share below `least`.
    """
    shares = inputs.shares
    return {
        "main": rounded(shares.main),
        "pairs": rounded(shares.pairs),
        "higher": rounded(shares.higher),
        "strongest": [[pair for pair in pairs if pair[2] >= _LEAST_SHARE] for pairs in shares.strongest],
        "most": PAIRS,
        "least": _LEAST_SHARE,
    }
