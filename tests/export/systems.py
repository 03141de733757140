"""Fitted models of every kind, rows to predict, and ways to run exported models."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pandas as pd
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from csid import BayesianCSIDRegressor, CSIDRegressor
from csid.export.description import describe
from csid.fitted.description import CategoricalPredictor

Array = NDArray[np.float64]

ALS = partial(CSIDRegressor, rank=3, max_iter=5, random_state=0, n_jobs=1)
BAYES = partial(
    BayesianCSIDRegressor, rank=3, n_chains=2, n_burn=3, n_draws=4, prior="medium", random_state=0, n_jobs=1
)


def mixed_table(rows: int = 150, seed: int = 0) -> pd.DataFrame:
    """Numbers, integers, words, booleans and coded categories, with odd names and a tenth of the cells missing."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "x": rng.normal(size=rows),
            "a count": rng.integers(0, 9, rows),
            'wörd "quoted"': rng.choice(["u", "v", "größer als\n'1'"], rows),
            "__import__('os')": rng.uniform(size=rows) < 0.5,
            "prediction": rng.choice([1.5, 2.0, 7.0], rows),
        }
    ).astype(object)
    return table.mask(rng.uniform(size=table.shape) < 0.1, None)


def related_table(rows: int, seed: int = 0) -> pd.DataFrame:
    """The same columns, but count and word depend on x, so that missing cells can be imputed from the others."""
    table = mixed_table(rows, seed)
    x = table["x"].fillna(0.0).astype(np.float64)
    table["a count"] = np.clip(4 + 2 * x, 0, 8).round().where(table["a count"].notna(), None)
    table['wörd "quoted"'] = np.where(table['wörd "quoted"'].isna(), None, np.where(x > 0.5, "u", "v"))
    return table


def _targets(table: pd.DataFrame) -> Array:
    x, count, word, flag, code = (table[name] for name in table)
    y = x.fillna(0) * flag.eq(True) + count.fillna(4) * (word == "u") + code.fillna(0)
    return y.to_numpy(dtype=np.float64)


def new_rows(model: Any) -> pd.DataFrame:
    """Rows with missing cells and unseen categories, and numbers on, between and beyond the levels of a model."""
    table = mixed_table(200, seed=1)
    table.iloc[::7, 2] = "never seen"
    table.iloc[1::9, 4] = 33.0
    for predictor in describe(model).predictors:
        if not isinstance(predictor, CategoricalPredictor):
            spots = np.concatenate([predictor.grid, predictor.edges, [-1e9, 1e9]])
            spots = np.concatenate([spots, np.nextafter(spots, -np.inf), np.nextafter(spots, np.inf)])
            chosen = np.random.default_rng(2).choice(spots, 100)
            table.loc[table.index[100:], predictor.name] = chosen
    return table


def _fitted(
    make: Callable[..., Any],
    outputs: int = 1,
    rows: int = 150,
    table_of: Callable[[int], pd.DataFrame] = mixed_table,
    **options: Any,
) -> Any:
    table = table_of(rows)
    y = _targets(table)
    options = {"categorical_features": ["prediction"], **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return make(**options).fit(table, y if outputs == 1 else np.column_stack([y, 5.0 - y**2, np.sin(y)]))


_joint = partial(_fitted, table_of=related_table, missing="marginalize", pmf_rank=4)

_KINDS: dict[str, Callable[[], Any]] = {
    "als": partial(_fitted, ALS),
    "als, constant": partial(_fitted, ALS, interpolation="constant", levels=12),
    "als, missing as a level": partial(_fitted, ALS, missing="level"),
    "als, several outputs": partial(_fitted, ALS, outputs=3),
    "als, averaged": partial(_fitted, ALS, n_estimators=3),
    "bayes": partial(_fitted, BAYES, missing="marginalize"),
    "bayes, constant": partial(_fitted, BAYES, missing="marginalize", interpolation="constant"),
    "bayes, missing as a level": partial(_fitted, BAYES, missing="level"),
    "bayes, several outputs": partial(_fitted, BAYES, outputs=3, missing="level"),
    "bayes, heavy tails": partial(_fitted, BAYES, likelihood="student_t", outputs=3),
    "bayes, after a pilot": partial(
        _fitted, BAYES, rows=600, prior=["medium", "finest_grid"], rank=20, effort="fast", n_chains=3, outputs=3
    ),
    "als, joint": partial(_joint, ALS),
    "als, joint, constant": partial(_joint, ALS, interpolation="constant", levels=12, outputs=3),
    "als, joint, averaged": partial(_joint, ALS, n_estimators=3),
    "bayes, joint": partial(_joint, BAYES),
    "bayes, joint, constant": partial(_joint, BAYES, interpolation="constant"),
    "bayes, joint, heavy tails": partial(_joint, BAYES, likelihood="student_t", outputs=3),
    "bayes, joint, after a pilot": partial(
        _joint, BAYES, rows=600, prior=["medium", "finest_grid"], rank=20, effort="fast", n_chains=3, outputs=3
    ),
}
KINDS = tuple(_KINDS)
BAYESIAN_KINDS = tuple(kind for kind in KINDS if kind.startswith("bayes"))
JOINT_KINDS = tuple(kind for kind in KINDS if "joint" in kind)


@cache
def fitted(kind: str) -> Any:
    """A model of this kind; do not change it. The draws of Bayesian ones are calibrated at rows with missing cells."""
    model = _KINDS[kind]()
    if isinstance(model, BayesianCSIDRegressor):
        factor = np.linspace(1.5, 0.7, model.cpd_.n_outputs)
        posterior = replace(model.posterior_, imputation_factor=factor)
        model.fitted_ = replace(model.fitted_, posterior=posterior)
    return model


def bounds(model: Any, table: Any, coverage: float) -> tuple[Array, Array]:
    """Lower and upper bounds (M, K)."""
    lower, upper = model.predict_interval(table, coverage)
    return lower.reshape(len(table), -1), upper.reshape(len(table), -1)


def feeds(model: Any, table: pd.DataFrame) -> dict[str, NDArray[Any]]:
    """The columns of a table as inputs of ONNX."""
    return {
        predictor.name: _strings(table[predictor.name])
        if isinstance(predictor, CategoricalPredictor) and predictor.of_strings
        else _doubles(table[predictor.name])
        for predictor in describe(model).predictors
    }


def _strings(column: pd.Series) -> NDArray[Any]:
    return np.array([["" if pd.isna(value) else value] for value in column], dtype=object).reshape(-1, 1)


def _doubles(column: pd.Series) -> Array:
    return np.array([[np.nan if pd.isna(value) else float(value)] for value in column]).reshape(-1, 1)


def run(exported: onnx.ModelProto, inputs: dict[str, NDArray[Any]]) -> dict[str, Array]:
    """What ONNX Runtime computes, by the names of the outputs."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(exported.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip((output.name for output in session.get_outputs()), session.run(None, inputs), strict=True))
