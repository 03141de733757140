"""`load` and what goes with it: the names of the data sets, and what is known of each."""

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
    """What is known of a data set: its task, licence, citation and origin. Nothing is read or downloaded.

    Examples
    --------
    >>> from csid import datasets
    >>> print(datasets.describe("abalone"))
    abalone: Abalone
      task: Rings in the shell of 4177 abalone, which tell their age, from measurements.
      target: Rings
      categorical: Sex
      groups: none
      licence: CC BY 4.0
      citation: W. Nash, T. Sellers, S. Talbot, A. Cawthorn and W. Ford (1994), The population biology of abalone in \
Tasmania, Sea Fisheries Division Technical Report 48. doi:10.24432/C55C7W
      page: https://archive.ics.uci.edu/dataset/1
    """
    if name not in CATALOGUE:
        raise ValueError(f"there is no data set {name!r}: choose one of {', '.join(CATALOGUE)}.")
    return CATALOGUE[name]


def load(
    name: str,
    *,
    target: str | None = None,
    lags: int | tuple[int, int] | None = None,
    library: Library | None = None,
) -> Dataset:
    """A data set as a task.

    The first time, the set is downloaded from its public origin and kept in the user's cache folder; later no network
    is needed. Its values are compared with a checksum every time. The environment variable `CSID_DATA` can name a
    folder that holds the tables, such as `paper/concrete.csv.gz`; then nothing is downloaded or cached.

    Parameters
    ----------
    name : str
        One of `names()`.
    target : str, optional
        Which of several targets, by default all of them. For "oulad" the name of an assessment, by default that of most
        students; `oulad_assessments()` lists them.
    lags : int or (int, int), optional
        For "cascaded_tanks" and "silverbox" only, default 4: how many samples the inputs and outputs among the
        predictors reach back. The input at the time of the output is always one of them.
    library : {"pandas", "polars", "pyarrow"}, optional
        What makes the data frame; by default the first of these that is installed, as pyarrow always is.

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
        there = " and ".join(map(repr, description.target))
        raise ValueError(f"target is {target!r}, but {name} has {there}: choose one, or leave target out.")
    if lags is not None and description.lags is None:
        raise ValueError(f"lags is {lags!r}, but {name} is no record over time: leave lags out.")
    library = installed_library(library)
    tables = read_tables(description)
    if description.lags is not None:
        return tasks.dynamic_task(description, tables, description.lags if lags is None else lags, library)
    build = tasks.oulad_task if name == "oulad" else tasks.table_task
    return build(description, tables, target, library)


def oulad_assessments() -> list[Assessment]:
    """The assessments of OULAD that can be a target, those of the most students first.

    Examples
    --------
    >>> from csid import datasets
    >>> one = datasets.oulad_assessments()[0]  # doctest: +SKIP
    >>> one.module, one.presentation, one.students  # doctest: +SKIP
    ('CCC', '2014J', 1917)
    >>> task = datasets.load("oulad", target=one.name)  # doctest: +SKIP
    """
    return tasks.oulad_assessments(read_tables(CATALOGUE["oulad"]))
