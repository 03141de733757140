"""A model as a JSON document, with all its digits: enough to predict in any language.

Version 1 is an object with these members; `R` is the rank, `K` the number of outputs, `D` that of draws:

format, version   "csid" and 1
producer          the library that wrote it
predictors        for each column, in order, an object with its "name" and
    kind              "number" or "category"
    grid              of a number: its levels, rising
    interpolation     of a number: "linear" or "constant"
    words             of a number: words that stand for 0, 1, … in files; empty for a number that is one
    date              of a number: whether files hold dates, which stand for days since 1970-01-01
    categories        of a category: strings, booleans or numbers
    rows              rows of the factor, R numbers each: one for each level or category, then those named below
    missing           which of the rows, from 0, is that of a missing cell
    unseen            of a category: which is that of one never seen
V, bias           K rows of R numbers, and K numbers
targets           K names, or none
missing           words that stand for a missing cell in files
posterior         null, or an object with
    ranks, shares     D numbers each
    bias, noise       D rows of K numbers
    degrees_of_freedom   4 for Student's t, null for normal noise
    knots, logs       K rows of P numbers
classes           only of a model with a joint PMF of its predictors, which is a mixture of C classes: an object with
    shares            C numbers
    least             a probability
    quantiles         D numbers
    predictors        for each column, in order, an object with
        bins              for each level or category, the number of its bin
        lifts             for each bin, C numbers
        marginal          for each level or category, its probability
        drawn             D rows of C numbers of levels

Prediction j is `bias[j]` plus the sum over r of `V[j][r]` times the product, over predictors, of entry r of their row.

The row of a number x between levels i and i + 1 is `rows[i] + t (rows[i + 1] - rows[i])`, t its position between them
rounded to single precision; beyond the outer levels it is that of the outer one. With "constant" it is the row of the
nearest level, the lower one of two that are as near.

A new observation is distributed as a mixture of D parts, draw d with the weight `shares[d]`. The components of a draw,
`ranks[d]` of them, follow those of the draw before; its centre is `bias[d][j]` plus its part of the sum above divided
by `shares[d]`, its scale `noise[d][j]`. All deviations from the prediction are then multiplied by exp(h), where h is a
function of the prediction: `logs[j]` at `knots[j]`, linear between them and constant beyond.

With `classes`, this holds for rows that lack no cell; a category never seen is a missing one. For other rows, the
probability of class c is proportional to `shares[c]` times `lifts[b][c]` of all cells that are there, b the bin of the
nearest level (the upper one if t > 1/2). The prediction is the mean, by these probabilities, of the predictions in the
classes, where the row of a missing cell is the mean of the rows of the levels i, with weights that are proportional to
`marginal[i]` times `lifts[bins[i]][c]`. Classes less probable than `least` are left out of that mean. In draw d, the
row is of the first class c at which the sum of the probabilities (none left out) is not below `quantiles[d]`, and the
row of a missing cell is that of the level `drawn[d][c]`. To the centres of all draws a number is added, so that their
mean, by the shares of the draws, is the prediction.
"""

import json
import math
from importlib.metadata import version
from typing import Any

from csid.description import Classes, Description, Draws, Number, Predictor
from csid.export.description import describe

VERSION = 1


def to_json(model: Any) -> str:
    """The JSON document of a fitted model, as described in `csid.export.document`.

    Numbers have all their digits; there is no NaN and no infinity.

    Examples
    --------
    >>> import json
    >>> import numpy as np
    >>> from csid import CSIDRegressor
    >>> from csid.export import to_json
    >>> X = np.random.default_rng(0).uniform(size=(50, 2))
    >>> document = json.loads(to_json(CSIDRegressor(rank=2, random_state=0).fit(X, X[:, 0] * X[:, 1])))
    >>> document["format"], document["version"], [predictor["name"] for predictor in document["predictors"]]
    ('csid', 1, ['x0', 'x1'])
    """
    return json.dumps(document(describe(model)), allow_nan=False)


def document(model: Description) -> dict[str, Any]:
    """The document as Python's own lists, dictionaries, strings and numbers."""
    told = {
        "format": "csid",
        "version": VERSION,
        "producer": f"csid {version('csid')}",
        "predictors": [_predictor(predictor) for predictor in model.predictors],
        "V": model.V.tolist(),
        "bias": model.bias.tolist(),
        "targets": list(model.targets),
        "missing": list(model.missing),
        "posterior": None if model.draws is None else _posterior(model.draws),
    }
    return told if model.classes is None else {**told, "classes": _classes(model.classes)}


def _predictor(predictor: Predictor) -> dict[str, Any]:
    rows = predictor.rows.tolist()
    if isinstance(predictor, Number):
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


def _posterior(draws: Draws) -> dict[str, Any]:
    df = draws.degrees_of_freedom
    return {
        "ranks": draws.ranks.tolist(),
        "shares": draws.shares.tolist(),
        "bias": draws.bias.tolist(),
        "noise": draws.noise.tolist(),
        "degrees_of_freedom": df if math.isfinite(df) else None,
        "knots": draws.knots.tolist(),
        "logs": draws.logs.tolist(),
    }


def _classes(classes: Classes) -> dict[str, Any]:
    pmf = classes.pmf
    return {
        "shares": pmf.classes.shares.tolist(),
        "least": classes.least,
        "quantiles": classes.quantiles.tolist(),
        "predictors": [
            {"bins": bins.tolist(), "lifts": lifts.tolist(), "marginal": p.tolist(), "drawn": drawn.tolist()}
            for bins, lifts, p, drawn in zip(pmf.bins, pmf.classes.lifts, pmf.marginals, classes.drawn, strict=True)
        ],
    }
