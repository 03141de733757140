"""Reading a model: what its factors say, and how far they can be trusted."""

from csid.explain.identifiability import Identifiability, identifiability
from csid.explain.importance import factor_variation

__all__ = ["Identifiability", "factor_variation", "identifiability"]
