"""The columns of the table that a model was fitted to, and the check of new tables against them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from csid.data.checks import check_table, number_of_rows


@dataclass(frozen=True)
class Columns:
    """The columns of a table.

    estimator : name of the fitted class, for error messages.
    count : N; names : of the columns, None if the table had none.
    targets : names of the outputs; none if y had no names.
    """

    estimator: str
    count: int
    names: tuple[str, ...] | None
    targets: tuple[str, ...] = ()

    @classmethod
    def of(cls, table: Any, estimator: str, targets: tuple[str, ...] = ()) -> "Columns":
        """The columns of a checked table."""
        stand_in = _stand_in(estimator)
        validate_data(stand_in, table, skip_check_array=True, reset=True)
        names = getattr(stand_in, "feature_names_in_", None)
        return cls(estimator, int(stand_in.n_features_in_), None if names is None else tuple(names.tolist()), targets)

    @property
    def labels(self) -> list[str]:
        """The name of each column; x0, x1, … if the table had no names."""
        return [f"x{n}" for n in range(self.count)] if self.names is None else [str(name) for name in self.names]

    def checked(self, X: Any, min_rows: int = 1) -> tuple[Any, int]:
        """Check that a table has these columns. Returns the table and its number of rows."""
        stand_in = _stand_in(self.estimator)
        stand_in.n_features_in_ = self.count
        if self.names is not None:
            stand_in.feature_names_in_ = np.array(self.names, dtype=object)
        X = check_table(X, stand_in, min_rows)
        validate_data(stand_in, X, skip_check_array=True, reset=False)
        return X, number_of_rows(X)


def _stand_in(estimator: str) -> Any:
    """An empty estimator of this name for scikit-learn to store and check columns on, so that no model is changed."""
    return type(estimator, (BaseEstimator,), {})()
