"""The error of a model file."""


class ModelFileError(ValueError):
    """A model file cannot be read."""
