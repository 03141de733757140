"""Rows in memory, on disk (`out_of_core`) and on a Dask cluster (`cluster`): all are `Samples` that a fit sums over."""
