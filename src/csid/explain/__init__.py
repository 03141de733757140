"""Explanations of a fitted model: its factors, whether they are unique, and the effects of each predictor."""

from csid.explain.bands import Band
from csid.explain.counterfactuals import Counterfactual, Counterfactuals, counterfactuals
from csid.explain.dependence import Dependence, empirical_dependence, ice_curves, partial_dependence
from csid.explain.identifiability import Identifiability, identifiability
from csid.explain.importance import factor_variation
from csid.explain.shapley import banzhaf_values, shapley_interactions, shapley_values
from csid.explain.uniqueness import Uniqueness, uniqueness
from csid.explain.variance import Additivity, SobolIndices, additivity, shapley_effects, sobol_indices

__all__ = [
    "Additivity",
    "Band",
    "Counterfactual",
    "Counterfactuals",
    "Dependence",
    "Identifiability",
    "SobolIndices",
    "Uniqueness",
    "additivity",
    "banzhaf_values",
    "counterfactuals",
    "empirical_dependence",
    "factor_variation",
    "ice_curves",
    "identifiability",
    "partial_dependence",
    "shapley_effects",
    "shapley_interactions",
    "shapley_values",
    "sobol_indices",
    "uniqueness",
]
