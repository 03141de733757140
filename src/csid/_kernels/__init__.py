"""The compiled loops and small structured systems; knows NumPy and Numba only."""
