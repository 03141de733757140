"""Significance tests between methods: over the splits of one task, and over tasks."""

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, studentized_range
from scipy.stats import t as student_t


def corrected_t(differences: np.ndarray, test_to_train: float = 0.25) -> float:
    """p-value of a mean difference over random splits, by the corrected resampled t-test (Nadeau and Bengio, 2003).

    The training rows of random splits overlap; the ratio of test to training rows enlarges the variance to correct for
    that.
    """
    variance = differences.var(ddof=1) * (1.0 / len(differences) + test_to_train)
    if variance == 0.0:
        return float(np.all(differences == 0.0))
    return float(2.0 * student_t.sf(abs(differences.mean()) / np.sqrt(variance), len(differences) - 1))


def mean_ranks(errors: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Mean rank over tasks of each method, Friedman's p-value, and Nemenyi's critical difference at 5 % (Demšar, 2006).

    errors : (tasks, methods).
    """
    tasks, methods = errors.shape
    ranks = rankdata(errors, axis=1).mean(axis=0)
    critical = studentized_range.ppf(0.95, methods, np.inf) / np.sqrt(2.0)
    p_value = friedmanchisquare(*errors.T).pvalue
    return ranks, float(p_value), float(critical * np.sqrt(methods * (methods + 1) / (6.0 * tasks)))
