"""The paper's regression tasks, read from a folder of its data sets.

The folder is `$CSID_DATA`, or `../shared/data` beside the repository; it holds `paper/<name>.csv.gz`.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

REPOSITORY = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Task:
    """A table and its target; strings and categoricals are categories.

    paper : mean and standard deviation of the paper's CSID over 10 splits (its Table 1).
    """

    name: str
    X: pd.DataFrame
    y: np.ndarray
    paper: tuple[float, float]


def data_folder() -> Path:
    """Where the data sets are; an error says how to name another place."""
    folder = Path(os.environ.get("CSID_DATA", REPOSITORY.parent / "shared" / "data"))
    if not (folder / "paper").is_dir():
        raise SystemExit(f"no data sets in {folder}: set CSID_DATA to a folder that holds paper/*.csv.gz")
    return folder


def _read(name: str) -> pd.DataFrame:
    return pd.read_csv(data_folder() / "paper" / f"{name}.csv.gz")


def _categories(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    return frame.astype(dict.fromkeys(columns, "category"))


def _energy(target: str) -> tuple[pd.DataFrame, pd.Series]:
    frame = _read("energy")
    return _categories(frame.drop(columns=["Y1", "Y2"]), "X6", "X8"), frame[target]


def _concrete() -> tuple[pd.DataFrame, pd.Series]:
    frame = _read("concrete")
    return frame.iloc[:, :-1], frame.iloc[:, -1]


def _skillcraft() -> tuple[pd.DataFrame, pd.Series]:
    frame = _read("skillcraft")
    return frame.drop(columns=["GameID", "LeagueIndex"]), frame["LeagueIndex"]


def _abalone() -> tuple[pd.DataFrame, pd.Series]:
    frame = _read("abalone")
    return frame.drop(columns="Rings"), frame["Rings"]


def _wine() -> tuple[pd.DataFrame, pd.Series]:
    frame = pd.concat([_read("wine_red").assign(colour="red"), _read("wine_white").assign(colour="white")])
    return frame.drop(columns="quality").reset_index(drop=True), frame["quality"]


def _parkinsons(target: str) -> tuple[pd.DataFrame, pd.Series]:
    frame = _read("parkinsons")
    return frame.drop(columns=["subject#", "motor_UPDRS", "total_UPDRS"]), frame[target]


def _ccpp() -> tuple[pd.DataFrame, pd.Series]:
    frame = _read("ccpp")
    return frame.drop(columns="PE"), frame["PE"]


def _bike(target: str) -> tuple[pd.DataFrame, pd.Series]:
    frame = _read("bike")
    predictors = frame.drop(columns=["instant", "dteday", "casual", "registered", "cnt"])
    return _categories(predictors, "season", "holiday", "weekday", "workingday", "weathersit"), frame[target]


def _protein() -> tuple[pd.DataFrame, pd.Series]:
    frame = _read("protein")
    return frame.drop(columns="RMSD"), frame["RMSD"]


_TASKS: dict[str, tuple[Callable[[], tuple[pd.DataFrame, pd.Series]], tuple[float, float]]] = {
    "energy1": (lambda: _energy("Y1"), (0.39, 0.05)),
    "energy2": (lambda: _energy("Y2"), (0.57, 0.09)),
    "concrete": (_concrete, (4.67, 0.50)),
    "skillcraft": (_skillcraft, (0.91, 0.02)),
    "abalone": (_abalone, (2.23, 0.09)),
    "wine": (_wine, (0.70, 0.02)),
    "parkinsons1": (lambda: _parkinsons("motor_UPDRS"), (1.33, 0.10)),
    "parkinsons2": (lambda: _parkinsons("total_UPDRS"), (1.79, 0.17)),
    "ccpp": (_ccpp, (3.76, 0.15)),
    "bike1": (lambda: _bike("casual"), (15.17, 0.44)),
    "bike2": (lambda: _bike("registered"), (36.93, 1.19)),
    "protein": (_protein, (4.21, 0.04)),
}
NAMES = tuple(_TASKS)


def load(name: str) -> Task:
    """One of the twelve single-output tasks."""
    read, paper = _TASKS[name]
    X, y = read()
    return Task(name, X, y.to_numpy(dtype=np.float64), paper)


def split(task: Task, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows of one random 80/20 split."""
    order = np.random.default_rng(seed).permutation(len(task.y))
    cut = int(0.8 * len(order))
    return order[:cut], order[cut:]
