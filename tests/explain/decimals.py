"""Extended precision: sums of products with 200 digits, for many predictors."""

from collections.abc import Sequence
from decimal import Decimal, localcontext
from typing import Any

import numpy as np

exact = np.vectorize(lambda x: Decimal(float(x)), otypes=[object])


def digits() -> Any:
    """The context in which decimals have 200 digits."""
    return localcontext(prec=200)


def shapley_term(line: Sequence[tuple[Decimal, Decimal]], n: int) -> Decimal:
    """`d_n int_0^1 prod_(j != n) (b_j + t d_j) dt` from the pairs b_j, d_j: the polynomial in t, multiplied out."""
    polynomial = np.array([Decimal(1)])
    for b, d in [*line[:n], *line[n + 1 :]]:
        polynomial = np.append(b * polynomial, 0) + np.append(0, d * polynomial)
    return line[n][1] * sum((c / (k + 1) for k, c in enumerate(polynomial)), Decimal(0))
