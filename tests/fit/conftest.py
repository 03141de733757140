"""Lets the tests import `naive` and `fit.strategies` from the folder of tests, which is not a package."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
