"""How methods were tuned, and whether csid is significantly better than each of them."""

from collections.abc import Iterable

import numpy as np

from comparisons import corrected_t
from methods import METHODS
from methods.method import Space
from sections.measured import LABELS, Errors, markdown


def significance(errors: Errors, tasks: Iterable[str], methods: Iterable[str], csid: str = "csid") -> str:
    """For each other method: on how many tasks csid is better or worse, and on how many of those significantly."""
    lines = []
    for method in methods:
        pairs = [(errors.get((task, csid)), errors.get((task, method))) for task in tasks]
        pairs = [(ours, theirs) for ours, theirs in pairs if ours is not None and theirs is not None]
        if method == csid or not pairs:
            continue
        gaps = [ours[: len(theirs)] - theirs[: len(ours)] for ours, theirs in pairs]
        signs = [(np.mean(gap), corrected_t(gap) < 0.05) for gap in gaps if len(gap) > 1]
        counts = [sum(d < 0 for d, _ in signs), sum(d < 0 and significant for d, significant in signs)]
        counts += [sum(d > 0 for d, _ in signs), sum(d > 0 and significant for d, significant in signs)]
        lines.append([LABELS[method], str(len(signs)), *map(str, counts)])
    return markdown(["csid compared with", "tasks", "better", "of these p < 0.05", "worse", "of these p < 0.05"], lines)


def searches(methods: Iterable[str]) -> str:
    """How the settings of each method are tuned."""
    lines = []
    for name in methods:
        method = METHODS[name]
        fixed = ", ".join(f"{setting} {value}" for setting, value in method.settings.items())
        if method.search is None:
            lines.append([LABELS[name], fixed or "defaults", "", ""])
            continue
        found = "random search" if isinstance(method.search, Space) else "grid"
        most = f"{method.tuning_rows:,}" if method.tuning_rows else "all"
        lines.append([LABELS[name], f"{found}; {fixed}" if fixed else found, str(method.search.folds), most])
    return markdown(["method", "settings", "folds", "maximum rows in the search"], lines)
