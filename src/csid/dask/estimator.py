"""The base of the Dask estimators: client, rows in collections, lazy predictions, conversion to a local estimator."""

import inspect
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

from distributed import Client
from sklearn.base import clone

from csid.dask.prediction import predicted_lazily
from csid.data.cluster.cluster import Cluster
from csid.data.cluster.partitions import PartitionColumns, Partitions, in_whole_rows, is_lazy, pieces
from csid.data.cluster.table import ClusterTable, WantedTable
from csid.estimators.base import OpenedTable, OpenOptions, TensorEstimator, TrainingData
from csid.fitted.columns import Columns
from csid.fitted.unseen import UnseenCounter, UnseenValues


class OnDask(TensorEstimator):
    """An estimator for Dask collections, with the parameters of a local estimator and `client`."""

    local: ClassVar[type[TensorEstimator]]
    client: Client | None
    random_state: Any

    def __init_subclass__(cls, **options: Any) -> None:
        """Give the class the constructor of its local class, plus `client`. scikit-learn reads its parameters there."""
        super().__init_subclass__(**options)
        if not hasattr(cls, "local"):  # a base of several estimators
            return

        def initialise(self: OnDask, *given: Any, client: Client | None = None, **parameters: Any) -> None:
            cls.local.__init__(self, *given, **parameters)
            self.client = client

        own = inspect.signature(cls.local.__init__)
        client = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)
        initialise.__signature__ = own.replace(parameters=[*own.parameters.values(), client])  # type: ignore[attr-defined]
        cls.__init__ = initialise  # type: ignore[method-assign, assignment]

    def __sklearn_clone__(self) -> Self:
        """Clone, sharing the client."""
        parameters = self.get_params(deep=False)
        client = parameters.pop("client")
        return type(self)(**{name: clone(value, safe=False) for name, value in parameters.items()}, client=client)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without the client."""
        return {**super().__getstate__(), "client": None}

    def to_local(self) -> Any:
        """The fitted local estimator, independent of Dask, to save, explain, export or pickle."""
        fitted, parameters = self._fitted(), self.get_params(deep=False)
        own = {name: value for name, value in vars(self).items() if name not in parameters}
        del parameters["client"]
        model = self.local(**parameters)
        columns = replace(fitted.columns, estimator=self.local.__name__)
        model.__dict__.update({**own, "fitted_": replace(fitted, columns=columns)})
        return model

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file, as its local estimator, which `csid.load` returns."""
        self.to_local().save(path)

    def predict(self, X: Any, *given: Any, **options: Any) -> Any:
        """Predict as the local estimator. For a Dask collection, a lazy collection with the same partitions."""
        if not is_lazy(X):
            return self.local.predict(self, X, *given, **options)
        if given or any(value is not None and value is not False for value in options.values()):
            raise ValueError(
                "for a Dask collection, only the mean is predicted: for other predictions, map its partitions with the "
                "estimator from `to_local()`."
            )
        return predicted_lazily(self.to_local(), X, "predict")

    def unseen_values(self, X: Any) -> tuple[UnseenValues, ...]:
        """As the local estimator. The partitions of a Dask collection come to this process, one at a time."""
        if not is_lazy(X):
            return super().unseen_values(X)
        fitted = self._fitted()
        counter = UnseenCounter(fitted.encoding)
        with Cluster(self.client) as cluster:
            for piece in pieces(in_whole_rows(X)):
                counter.update(*fitted.columns.checked(cluster.compute(piece), min_rows=0))
        return counter.found()

    @contextmanager
    def _open_table(self, given: TrainingData, options: OpenOptions) -> Iterator[OpenedTable]:
        """Open the rows of Dask collections, which stay on the workers, or other rows like the local estimator."""
        if not is_lazy(given.X):
            with super()._open_table(given, options) as found:
                yield found
            return
        self._check_lazy()
        if given.exposure is not None:
            self._check_takes_exposure(self.likelihood)
        partitions = Partitions.of(*given)
        columns = self._columns_of(partitions.columns, options)
        with Cluster(self.client) as cluster:
            partitions = partitions.weighted(cluster, self.weights)
            reader = self._target_reader(options.reader, partial(partitions.class_counts, cluster))
            partitions = replace(partitions, columns=partitions.columns.read_by(reader))
            merged = not self._likelihood(reader).augmented
            units = options.units_for(partitions.columns.outputs)
            wanted = WantedTable(columns.labels, self._flags(columns), merged, units)
            table = ClusterTable.of(cluster, partitions, wanted, options.rng, options.hold_out)
            yield OpenedTable(table, columns, reader)

    def _columns_of(self, found: PartitionColumns, options: OpenOptions) -> Columns:
        if options.columns is None:
            return Columns.of(found.example, type(self).__name__, found.targets)
        options.columns.checked(found.example, min_rows=0)
        return options.columns

    def _check_lazy(self) -> None:
        """Reject parameters that are not supported for Dask collections."""
        raise NotImplementedError

    def _refuse(self, **wanted: bool) -> None:
        """Raise an error for a parameter value that needs individual rows."""
        for name, is_wanted in wanted.items():
            if is_wanted:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} needs individual rows, which is not supported for Dask "
                    f"collections: leave it at its default, or fit {self.local.__name__} to a sample of the rows."
                )
