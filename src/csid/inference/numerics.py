"""The error of a fit that overflows."""


class NumericalError(ArithmeticError):
    """A fit has overflowed and cannot continue."""
