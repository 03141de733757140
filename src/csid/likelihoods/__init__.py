"""Likelihoods: the distribution of targets given the value of the system. One file each.

To add one, add a file that defines a `Likelihood` with a `name`. It is registered by that name.
"""

from importlib import import_module
from pkgutil import iter_modules

from csid.likelihoods.likelihood import LIKELIHOODS, Likelihood, likelihood_of

__all__ = ["LIKELIHOODS", "Likelihood", "likelihood_of"]

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
