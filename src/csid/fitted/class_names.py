"""What the classes of a classifier are called in pages and plots."""

from typing import Any

from numpy.typing import NDArray


def class_names(labels: NDArray[Any], target: str) -> tuple[str, ...]:
    """Texts as they are; numbers and booleans after the name of the target.

    >>> import numpy as np
    >>> class_names(np.array([0, 1]), "survived")
    ('survived 0', 'survived 1')
    >>> class_names(np.array(["no", "yes"], dtype=object), "survived")
    ('no', 'yes')
    """
    return tuple(label if isinstance(label, str) else f"{target} {label}" for label in labels.tolist())
