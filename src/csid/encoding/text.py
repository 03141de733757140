"""Texts that differ only in case or blanks."""


def normalised(text: str) -> str:
    """Lower case, single blanks, none at the ends.

    >>> normalised("  Kehl  Rhein")
    'kehl rhein'
    """
    return " ".join(text.split()).lower()
