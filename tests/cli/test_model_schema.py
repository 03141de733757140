"""The schema that a fitted model reads files by."""

import numpy as np

from csid import BayesianCSIDRegressor
from csid.cli.model_schema import schema_of


def test_a_model_fitted_in_python_has_a_schema() -> None:
    rng = np.random.default_rng(0)
    X = np.array(
        [[a, b, c] for a, b, c in zip(rng.random(60), rng.choice(["u", "v"], 60), rng.random(60) < 0.5, strict=True)],
        object,
    )
    model = BayesianCSIDRegressor(rank=2, n_chains=1, n_burn=20, n_draws=4, prior="medium", random_state=0)
    schema = schema_of(model.fit(X, rng.random((60, 2))).fitted_)
    assert [(column.name, column.type, column.kind) for column in schema.columns] == [
        ("x0", "number", "number"),
        ("x1", "text", "category"),
        ("x2", "boolean", "category"),
    ]
    assert schema.targets == ("y1", "y2")
