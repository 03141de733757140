"""How functions are compiled: for the user's CPU, without the GIL, cached on disk.

`kernel` is for functions that Python calls. `inner` is for the pieces they are made of: those have no entry from Python
and no file of their own, which saves half of the time of a first use.
"""

from numba import njit

kernel = njit(nogil=True, cache=True, error_model="numpy")
inner = njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
