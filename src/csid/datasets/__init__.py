"""Public data sets as regression tasks: those of the paper, student grades, and two system identification problems."""

from csid.datasets.descriptions import Description
from csid.datasets.download import DatasetError
from csid.datasets.loading import describe, load, names, oulad_assessments
from csid.datasets.tasks import Assessment, Dataset

__all__ = ["Assessment", "Dataset", "DatasetError", "Description", "describe", "load", "names", "oulad_assessments"]
