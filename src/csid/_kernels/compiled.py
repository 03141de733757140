"""How functions are compiled: for the user's CPU, without the GIL, cached on disk.

`kernel` is for functions that Python calls. `inner` is for the pieces they are made of: those have no entry from Python
and no file of their own, which saves half of the time of a first use.
"""

from collections.abc import Callable
from typing import Any

from numba import config, njit

from csid._kernels.cache import cache_folder

inner = njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)


def kernel(function: Callable[..., Any]) -> Any:
    """A compiled function; Numba takes note of the folder of its cache here, not when it compiles."""
    folder, usual = cache_folder(), config.CACHE_DIR
    if folder is None:
        return njit(nogil=True, error_model="numpy")(function)
    config.CACHE_DIR = str(folder)
    try:
        return njit(nogil=True, cache=True, error_model="numpy")(function)
    finally:
        config.CACHE_DIR = usual
