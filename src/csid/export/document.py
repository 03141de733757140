"""A model as a JSON document, with all its digits: enough to predict in any language.

Version 4 is an object with these members; `R` is the rank, `K` the number of outputs, `D` the number of draws:

format, version   "csid" and 4
producer          the library that wrote it
predictors        for each column, in order, an object with its "name" and
    kind              "number" or "category"
    grid              of a number: its levels, increasing
    interpolation     of a number: "linear" or "constant"
    words             of a number: ordered words that stand for 0, 1, … in files; empty for a plain number
    date              of a number: whether files hold dates, which stand for days since 1970-01-01
    categories        of a category: strings, booleans or numbers
    rows              rows of the factor, R numbers each: one per level or category, then those named below
    missing           index, from 0, of the row of a missing cell
    unseen            of a category: index of the row of an unseen category
V, bias           K rows of R numbers, and K numbers
targets           K names, or none
missing           words that mark a missing cell in files
normalise_text    whether texts are looked up in lower case, with single blanks and none at the ends
posterior         null, or an object with
    ranks, weights    D numbers each
    bias              D rows of K numbers
    and, unless there is a `classification`,
    likelihood        an object with its "name": "gaussian", or "student_t" with its "degrees_of_freedom"
    noise             D rows of K numbers
    knots, log_factors   K rows of P numbers
classification    of a classifier: an object with
    labels            for each class, a string, boolean or number
    likelihood        an object with its "name": "binary_probit" or "multinomial_probit"
    parameters        of the likelihood, by name: D rows of numbers each
    exponent          a positive number
classes           of a model with a posterior or a joint PMF of its predictors, which is a mixture of C latent classes,
                  one if predictors are independent: an object with
    conditional       whether the prediction of a row with missing cells uses the classes
    weights           C numbers
    least             a probability
    quantiles         D numbers
    imputation_factor K numbers
    predictors        for each column, in order, an object with
        bins              for each level or category, the index of its bin
        lifts             for each bin, C numbers
        marginal          for each level or category, its probability
        drawn             D rows of C level indices

Value j of the system is `bias[j]` plus the sum over r of `V[j][r]` times the product, over predictors, of entry r of
their row. It is the prediction, unless there is a `classification`.

The row of a number x between levels i and i + 1 is `rows[i] + t (rows[i + 1] - rows[i])`, where t is its position
between them, rounded to single precision. Beyond the outer levels it is that of the outer level. With "constant" it is
the row of the nearest level, the lower one at a midpoint.

A new observation follows a mixture of D parts, draw d with weight `weights[d]`. The components of a draw, `ranks[d]` of
them, follow those of the draw before. Its centre is `bias[d][j]` plus its part of the sum above divided by
`weights[d]`. Its noise is that of the likelihood, with scale `noise[d][j]`. All deviations from the prediction are then
multiplied by the calibration factor exp(h), where h is a function of the prediction: `log_factors[j]` at `knots[j]`,
linear between them and constant beyond.

With a `classification`, the values of the system are the means of latent values with standard normal noise. With
"binary_probit" there is one: the second class is seen if it is positive, so its probability is Phi(value). With
"multinomial_probit" there is one for each class: the class with the largest is seen. Probabilities are those at the
centres of the draws, averaged by `weights`, or at the value without a posterior. Those below 1e-12 count as 1e-12. They
are then raised to the power `exponent` and divided by their sum.

With `classes`, this holds for rows without missing cells; an unseen category counts as missing. In other rows, the
probability of class c is proportional to `weights[c]` times `lifts[b][c]` of all observed cells, b the bin of the
nearest level (the upper one if t > 1/2). If `conditional`, the prediction is the mean, by these probabilities, of the
predictions in the classes, where the row of a missing cell is the mean of the rows of the levels i, with weights
proportional to `marginal[i]` times `lifts[bins[i]][c]`; classes less probable than `least` are left out of that mean.
Otherwise the row of a missing cell is that at `missing`, of an unseen category that at `unseen`. In draw d, the row is
of the first class c at which the cumulative probability (of all classes) reaches `quantiles[d]`, and a missing cell has
the level `drawn[d][c]`. Deviations of the centres from their mean, by the weights of the draws, are multiplied by
`imputation_factor[j]`, and the same number is added to all, so that their mean is the prediction.

Version 3 has no `classification`. In version 2, only models with a joint PMF have `classes`, which are `conditional`
with an `imputation_factor` of 1. Version 1 also differs in names and in the likelihood. It had `shares` for `weights`,
also of the classes, and `logs` for `log_factors`. In place of `likelihood` it had `degrees_of_freedom`: 4 for Student's
t, null for normal noise.
"""

import json
from importlib.metadata import version
from typing import Any

from csid.export.description import describe
from csid.fitted.description import (
    Classification,
    DescribedClasses,
    DescribedDraws,
    ModelDescription,
    NumericPredictor,
    Predictor,
)
from csid.fitted.model import Model

VERSION = 4


def to_json(model: Model) -> str:
    """The JSON document of a fitted model; `csid.export.document` describes its members.

    Numbers keep all their digits. There is no NaN or infinity.

    Examples
    --------
    >>> import json
    >>> import numpy as np
    >>> from csid import CSIDRegressor
    >>> from csid.export import to_json
    >>> X = np.random.default_rng(0).uniform(size=(50, 2))
    >>> document = json.loads(to_json(CSIDRegressor(rank=2, random_state=0).fit(X, X[:, 0] * X[:, 1])))
    >>> document["format"], document["version"], [predictor["name"] for predictor in document["predictors"]]
    ('csid', 4, ['x0', 'x1'])
    """
    return json.dumps(document(describe(model)), allow_nan=False)


def document(model: ModelDescription) -> dict[str, Any]:
    """The document as plain lists, dictionaries, strings and numbers."""
    members = {
        "format": "csid",
        "version": VERSION,
        "producer": f"csid {version('csid')}",
        "predictors": [_predictor(predictor) for predictor in model.predictors],
        "V": model.V.tolist(),
        "bias": model.bias.tolist(),
        "targets": list(model.targets),
        "missing": list(model.missing),
        "normalise_text": model.normalise_text,
        "posterior": None if model.draws is None else _posterior(model.draws, model.classification),
    }
    if model.classification is not None:
        members["classification"] = _classification(model.classification, model.draws)
    if model.classes is not None:
        members["classes"] = _classes(model.classes)
    return members


def _predictor(predictor: Predictor) -> dict[str, Any]:
    rows = predictor.rows.tolist()
    if isinstance(predictor, NumericPredictor):
        return {
            "name": predictor.name,
            "kind": "number",
            "grid": predictor.grid.tolist(),
            "interpolation": "linear" if predictor.linear else "constant",
            "words": list(predictor.words),
            "date": predictor.date,
            "rows": rows,
            "missing": len(rows) - 1,
        }
    return {
        "name": predictor.name,
        "kind": "category",
        "categories": list(predictor.categories),
        "rows": rows,
        "missing": predictor.missing,
        "unseen": predictor.unseen,
    }


def _posterior(draws: DescribedDraws, classification: Classification | None) -> dict[str, Any]:
    members = {"ranks": draws.ranks.tolist(), "weights": draws.weights.tolist(), "bias": draws.bias.tolist()}
    if classification is not None:
        return members
    return members | {
        "noise": draws.noise.tolist(),
        "likelihood": draws.likelihood.as_json(),
        "knots": draws.knots.tolist(),
        "log_factors": draws.log_factors.tolist(),
    }


def _classification(classification: Classification, draws: DescribedDraws | None) -> dict[str, Any]:
    parameters = {} if draws is None else draws.parameters
    return {
        "labels": list(classification.labels),
        "likelihood": classification.likelihood.as_json(),
        "parameters": {name: rows.reshape(len(rows), -1).tolist() for name, rows in parameters.items()},
        "exponent": classification.exponent,
    }


def _classes(classes: DescribedClasses) -> dict[str, Any]:
    pmf = classes.pmf
    return {
        "conditional": classes.conditional,
        "weights": pmf.classes.weights.tolist(),
        "least": classes.least,
        "quantiles": classes.quantiles.tolist(),
        "imputation_factor": classes.imputation_factor.tolist(),
        "predictors": [
            {"bins": bins.tolist(), "lifts": lifts.tolist(), "marginal": p.tolist(), "drawn": drawn.tolist()}
            for bins, lifts, p, drawn in zip(pmf.bins, pmf.classes.lifts, pmf.marginals, classes.drawn, strict=True)
        ],
    }
