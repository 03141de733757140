"""What both estimators on Dask share: their client, lazy predictions, and the way back to a local estimator."""

import inspect
import os
from typing import Any, ClassVar, Self

from distributed import Client
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from csid.dask.partitions import Partitions, is_lazy
from csid.dask.prediction import predicted_lazily
from csid.estimator import TensorRegressor


class OnDask(TensorRegressor):
    """An estimator of partitions of Dask collections, with the parameters of a local one and `client`."""

    local: ClassVar[type[TensorRegressor]]
    client: Client | None
    random_state: Any

    def __init_subclass__(cls, **options: Any) -> None:
        """Give the class the constructor of its local one, and `client`; scikit-learn reads parameters from there."""
        super().__init_subclass__(**options)

        def initialise(self: OnDask, *given: Any, client: Client | None = None, **parameters: Any) -> None:
            cls.local.__init__(self, *given, **parameters)
            self.client = client

        own = inspect.signature(cls.local.__init__)
        client = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)
        initialise.__signature__ = own.replace(parameters=[*own.parameters.values(), client])  # type: ignore[attr-defined]
        cls.__init__ = initialise  # type: ignore[method-assign, assignment]

    def __sklearn_clone__(self) -> Self:
        """A client is shared, not copied."""
        parameters = self.get_params(deep=False)
        client = parameters.pop("client")
        return type(self)(**{name: clone(value, safe=False) for name, value in parameters.items()}, client=client)

    def __getstate__(self) -> dict[str, Any]:
        """A client stays behind when the model goes to another process."""
        return {**super().__getstate__(), "client": None}

    def to_local(self) -> Any:
        """The fitted local estimator, which knows nothing of Dask: to save, explain, export or send."""
        check_is_fitted(self, "cpd_")
        parameters = self.get_params(deep=False)
        fitted = {name: value for name, value in self.__dict__.items() if name not in parameters}
        del parameters["client"]
        model = self.local(**parameters)
        model.__dict__.update(fitted)
        return model

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, as its local estimator, which `csid.load` then gives."""
        self.to_local().save(path)

    def predict(self, X: Any, *given: Any, **options: Any) -> Any:
        """As the local estimator predicts; of a Dask collection lazily, one of the same kind and partitions."""
        if not is_lazy(X):
            return self.local.predict(self, X, *given, **options)
        if given or any(options.values()):
            raise ValueError("of a Dask collection only the mean is predicted: map its partitions with `to_local()`.")
        check_is_fitted(self, "cpd_")
        return predicted_lazily(self.to_local(), X)

    def _begin(self, parts: Partitions, goes_on: bool = False) -> None:
        """Take note of the columns, or check them where a fit goes on."""
        validate_data(self, parts.columns.example, skip_check_array=True, reset=not goes_on)

    def _refuse(self, **wanted: bool) -> None:
        """An error for a parameter that a fit on Dask does not offer, where it is wanted."""
        for name, is_wanted in wanted.items():
            if is_wanted:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} needs rows one by one, which a fit on Dask does not see: "
                    f"leave it at its default, or fit a sample with {self.local.__name__}."
                )

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31))
