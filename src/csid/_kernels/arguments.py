"""Arguments of the compiled loops over rows.

cells : the encoded cells of M rows and N predictors, a pair of
    codes : (N, M) uint8 or uint16, mode by mode the level of each cell; level `I_n` stands for "missing".
    fractions : (N, M) how far the cell lies towards the next level, float32, or uint16 in steps of 2^-16 (`positions`);
        `(N, 0)` when every cell is on a level.

Arrays that belong together are one argument, here and in the other files of this folder. A NamedTuple is free in
compiled code, but takes Numba some four microseconds in a call from Python. So `evaluate`, which is called for single
rows too, takes arrays. Numba's cache files refer to these classes by name. So do not rename or move a class that has
been released: cache files of the release before would raise AttributeError.
"""

from typing import Any, NamedTuple


class RowArrays(NamedTuple):
    """Rows with their weights and targets.

    cells : see above; roots : (M,) square roots of the sample weights `s_m`.
    targets : (M, K); bias : (K,), subtracted from them.
    """

    cells: Any
    roots: Any
    targets: Any
    bias: Any


class RowProduct(NamedTuple):
    """A product of factor rows for every row m of the data: outside[m] * prod over modes of `w_n(x_m)^T A_n`.

    outside : (M, S); or (M, 1), one number for all components; or (0, 1), which stands for 1.
    table : (sum of I_n + 1, plus 1; S) float64 or float32, the factors stacked mode under mode. After the `I_n`
        rows of a mode comes the row for a missing cell, `p_n^T A_n`; a spare row ends the table. `S` is the rank padded
        with zeros to a multiple of the SIMD width. Products and short sums of them are in its precision; long sums are
        float64.
    bases : (J,) the first row in the table of each mode in the product; modes : (J,) these modes.
    """

    outside: Any
    table: Any
    bases: Any
    modes: Any
