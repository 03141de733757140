"""Fitting: encoded samples in, factors out. Knows NumPy, SciPy and Numba, and nothing of tables or scikit-learn."""
