"""The public functions: list the data sets, describe one, load one."""

from csid.datasets import tasks
from csid.datasets.catalogue import CATALOGUE
from csid.datasets.descriptions import Description
from csid.datasets.store import read_tables
from csid.datasets.tables import Library, installed_library
from csid.datasets.tasks import Assessment, Dataset


def names() -> tuple[str, ...]:
    """The names of the data sets.

    Examples
    --------
    >>> from csid import datasets
    >>> datasets.names()[:3]
    ('energy', 'concrete', 'skillcraft')
    """
    return tuple(CATALOGUE)


def describe(name: str) -> Description:
    """The task, licence, citation and origin of a data set. Nothing is read or downloaded.

    Examples
    --------
    >>> from csid import datasets
    >>> print(datasets.describe("abalone"))
    abalone: Abalone
      task: Number of shell rings (a proxy for age) of 4177 abalone, from physical measurements.
      target: Rings
      categorical: Sex
      groups: none
      licence: CC BY 4.0
      citation: W. Nash, T. Sellers, S. Talbot, A. Cawthorn and W. Ford (1994), The population biology of abalone in \
Tasmania, Sea Fisheries Division Technical Report 48. doi:10.24432/C55C7W
      page: https://archive.ics.uci.edu/dataset/1
    """
    if name not in CATALOGUE:
        raise ValueError(f"unknown data set {name!r}: choose one of {', '.join(CATALOGUE)}.")
    return CATALOGUE[name]


def load(
    name: str,
    *,
    target: str | None = None,
    lags: int | tuple[int, int] | None = None,
    library: Library | None = None,
) -> Dataset:
    """Load a data set as a regression task.

    On first use the data set is downloaded from its public origin and kept in the user's cache folder; after that no
    network is needed. Its values are verified by their sha256 every time. If the environment variable `CSID_DATA` names
    a folder of tables, such as `paper/concrete.csv.gz`, they are read from it, and nothing is downloaded or cached.

    The original of "college_grades" is an R file: preparing it needs the package rdata.

    Parameters
    ----------
    name : str
        One of `names()`.
    target : str, optional
        Select one of several targets; the default is all of them. For "oulad", the name of an assessment, by default
        the one with the most students; `oulad_assessments()` lists them.
    lags : int or (int, int), optional
        For "cascaded_tanks" and "silverbox" only: the number of past inputs and past outputs among the predictors,
        4 by default. The current input is always a predictor.
    library : {"pandas", "polars", "pyarrow"}, optional
        Library of the data frame; the default is the first of these that is installed. pyarrow always is.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from csid import datasets
    >>> energy = datasets.load("energy", target="Y1")  # doctest: +SKIP
    >>> energy.X.shape, energy.y.shape  # doctest: +SKIP
    ((768, 8), (768,))
    """
    description = describe(name)
    if name != "oulad" and target is not None and target not in description.target:
        known = " and ".join(map(repr, description.target))
        raise ValueError(f"target is {target!r}, but {name} has {known}: choose one, or leave target out.")
    if lags is not None and description.lags is None:
        raise ValueError(f"lags is {lags!r}, but {name} is not a time series: leave lags out.")
    library = installed_library(library)
    tables = read_tables(description)
    if description.lags is not None:
        return tasks.dynamic_task(description, tables, description.lags if lags is None else lags, library)
    build = tasks.oulad_task if name == "oulad" else tasks.table_task
    return build(description, tables, target, library)


def oulad_assessments() -> list[Assessment]:
    """The assessments of OULAD that can be the target, in descending order of their number of students.

    Examples
    --------
    >>> from csid import datasets
    >>> one = datasets.oulad_assessments()[0]  # doctest: +SKIP
    >>> one.module, one.presentation, one.students  # doctest: +SKIP
    ('CCC', '2014J', 1917)
    >>> task = datasets.load("oulad", target=one.name)  # doctest: +SKIP
    """
    return tasks.oulad_assessments(read_tables(CATALOGUE["oulad"]))
