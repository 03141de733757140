"""Batches that fit in memory, for what is computed row by row or level by level."""

_MAX_NUMBERS = 1 << 24


def batches(n: int, size: int, min_length: int = 1) -> list[slice]:
    """Slices of n rows or levels, each of which needs memory for `size` numbers.

    >>> batches(5, 1 << 23)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    length = max(min_length, _MAX_NUMBERS // size)
    return [slice(start, min(start + length, n)) for start in range(0, n, length)]
