"""The results of the paper's tables: RMSE, mean and standard deviation over 10 splits, by task and method."""

PaperResults = dict[str, dict[str, tuple[float, float]]]


def _parsed(text: str, methods: tuple[str, ...]) -> PaperResults:
    """One line per task: its name, then the mean and the standard deviation of each method."""
    found: PaperResults = {}
    for line in text.strip().splitlines():
        name, *numbers = line.split()
        pairs = zip(numbers[::2], numbers[1::2], strict=True)
        found[name] = {method: (float(m), float(d)) for method, (m, d) in zip(methods, pairs, strict=True)}
    return found


CSID = "csid als paper"
"""The paper's own method; our least-squares results are compared with it."""

_BASELINES = ("ridge", "svr rbf", "svr polynomial", "tree", "mlp 5", CSID)
TABLE1 = _parsed(
    """
energy1       2.91 0.17    2.68 0.17    4.09 0.49   0.56 0.03   0.48 0.06   0.39 0.05
energy2       3.09 0.19    3.03 0.21    4.14 0.44   1.86 0.19   0.97 0.14   0.57 0.09
concrete     10.47 0.42    9.72 0.38   11.30 0.36   6.57 0.82   4.92 0.63   4.67 0.50
skillcraft    1.68 1.61    0.99 0.03    1.22 0.05   1.03 0.04   1.00 0.03   0.91 0.02
abalone       2.25 0.10    2.19 0.08    3.90 3.43   2.35 0.08   2.09 0.09   2.23 0.09
wine          0.76 0.02    0.69 0.02    1.01 0.39   0.75 0.03   0.72 0.02   0.70 0.02
parkinsons1   7.51 0.11    6.66 0.14    7.89 0.88   2.40 0.26   3.60 0.18   1.33 0.10
parkinsons2   9.75 0.15    9.14 0.17   10.04 0.43   2.60 0.38   5.01 0.19   1.79 0.17
ccpp          5.51 0.09    4.13 0.09    8.00 0.19   3.98 0.13   4.06 0.11   3.76 0.15
bike1        36.45 0.46   32.67 0.81   34.93 0.97  18.89 0.36  14.81 0.44  15.17 0.44
bike2       122.65 2.87  113.18 1.73  117.25 2.01  42.06 2.06  38.69 1.24  36.93 1.19
protein       5.19 0.03    4.91 1.26    6.49 1.15   4.40 0.04   4.20 0.05   4.21 0.04
""",
    _BASELINES,
)
TABLE2 = _parsed(
    """
energy1       3.01 0.15    3.38 0.27    6.88 0.63   2.57 0.49   2.49 0.48   2.17 0.25
energy2       3.26 0.16    3.57 0.30    6.65 0.48   2.64 0.28   3.02 0.36   2.48 0.22
concrete     10.33 0.61   11.39 0.48   13.16 1.17   9.90 1.05  10.01 0.54   9.69 0.79
skillcraft    1.79 1.63    1.05 0.03    1.61 0.33   1.08 0.03   1.10 0.04   1.05 0.01
abalone       2.27 0.07    2.31 0.08    3.12 0.79   2.42 0.07   2.28 0.07   2.40 0.13
wine          0.76 0.02    0.73 0.02    0.93 0.21   0.78 0.02   0.76 0.03   0.78 0.02
parkinsons1   7.52 0.11    6.91 0.13    8.12 0.11   3.10 0.22   5.90 0.28   4.98 0.12
parkinsons2   9.76 0.18    9.38 0.21   10.68 0.23   3.59 0.81   7.67 0.18   6.58 0.18
ccpp          5.51 0.09    6.16 0.15   10.45 0.31   5.29 0.36   5.33 0.07   5.04 0.12
bike1        37.40 0.52   35.50 0.31   36.85 0.38  25.41 1.50  21.51 0.83  23.89 0.19
bike2       123.81 1.26  127.06 1.55  130.20 1.13  71.93 1.18  64.03 1.66  75.65 1.51
protein       5.18 0.02    7.53 0.67    7.87 0.83   5.08 0.03   4.99 0.09   4.70 0.03
""",
    _BASELINES,
)
TABLE3 = _parsed(
    """
energy        2.70 0.19    2.82 0.08    2.73 0.11   2.67 0.11   2.19 0.19   2.01 0.14
parkinsons   12.19 0.09    7.59 0.21    6.54 0.06   6.18 0.42   3.37 0.39   2.85 0.22
bike        127.75 3.32   64.12 6.49   43.60 1.95  42.25 1.22  46.21 1.20  45.29 1.47
""",
    ("ridge", "mlp 1", "mlp 3", "mlp 5", "tree", CSID),
)
