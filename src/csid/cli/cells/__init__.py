"""What the cells of a column mean: numbers, dates, times and truth values, however they are written."""

from csid.cli.cells.odd_cells import OddCells
from csid.cli.cells.read_column import read_cells
from csid.cli.cells.recognition import Recognised, recognise
from csid.cli.cells.texts import normalised_texts

__all__ = ["OddCells", "Recognised", "normalised_texts", "read_cells", "recognise"]
