"""Writes the model files of this version that later ones must read: run it once, at a release.

python tests/model_file/write_released.py
"""

import json
from pathlib import Path

import numpy as np

import csid
from csid import BayesianCSIDRegressor, CSIDRegressor
from csid.schema import ColumnSchema, Schema

FOLDER = Path(__file__).parent / "released"


def main() -> None:
    rng = np.random.default_rng(0)
    numbers = rng.uniform(-1.0, 1.0, (200, 2)).round(3)
    words = rng.choice(["low", "high"], 200)
    X = np.array([[a, b, c] for (a, b), c in zip(numbers.tolist(), words.tolist(), strict=True)], dtype=object)
    X[rng.random(X.shape) < 0.05] = None
    y = numbers[:, 0] * numbers[:, 1] + (words == "high") + 0.1 * rng.standard_normal(200)
    models = {
        "als": CSIDRegressor(rank=3, n_estimators=2, random_state=0).fit(X, np.stack([y, -y], axis=1)),
        "bayesian": BayesianCSIDRegressor(rank=3, n_chains=3, n_draws=12, effort="fast", random_state=0).fit(X, y),
    }
    columns = tuple(
        ColumnSchema(f"x{n}", kind, "category" if kind == "text" else "number")
        for n, kind in enumerate(("number", "date", "text"))
    )
    models["bayesian"].schema_ = Schema(columns, ("y",), ("", "NA"), weight="w", ignored=("id",))
    FOLDER.mkdir(exist_ok=True)
    for name, model in models.items():
        path = FOLDER / f"{csid.__version__}-{name}.csid"
        model.save(path)
        expected = {"rows": X[:20].tolist(), "predictions": model.predict(X[:20]).tolist()}
        if isinstance(model, BayesianCSIDRegressor):
            expected["lower"] = model.predict_interval(X[:20])[0].tolist()
        path.with_suffix(".json").write_text(json.dumps(expected))


if __name__ == "__main__":
    main()
