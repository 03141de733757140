"""Identify a known nonlinear system from a few thousand noisy samples of its hundreds of millions of cells.

    python examples/demo.py [--picture PATH] [--samples 4000] [--noise 0.1] [--seed 0]

Six predictors with 26 levels each span a tensor of 26^6 = 308,915,776 cells. The system is observed at a few thousand
random cells, with noise. csid, ridge regression and gradient boosting are fitted to them and compared on unseen cells.
"""

import argparse
import time
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV

import csid

LEVELS, PREDICTORS = 26, 6
NAMES = ("speed", "load", "valve", "angle", "heat", "mixture")


def system(X: np.ndarray) -> np.ndarray:
    """The true response to all six predictors: waves, products and a threshold. Levels run from 0 to 25."""
    speed, load, valve, angle, heat, mixture = (X / (LEVELS - 1)).T
    resonance = np.sin(2.0 * np.pi * speed) * np.cos(np.pi * angle) * (1.0 + load)
    saturation = np.tanh(6.0 * (heat - 0.5)) * (0.5 + mixture**2)
    leak = np.exp(-3.0 * valve) * load * np.where(mixture > 0.6, 1.5, 0.5)
    return resonance + saturation + leak


def draw(rng: np.random.Generator, rows: int) -> np.ndarray:
    return rng.integers(LEVELS, size=(rows, PREDICTORS)).astype(float)


def identify(samples: int, noise: float, seed: int) -> tuple[dict[str, object], dict[str, float], np.ndarray]:
    """Fitted models and their fit times in seconds, by name; and unseen cells."""
    rng = np.random.default_rng(seed)
    X = draw(rng, samples)
    clean = system(X)
    y = clean + noise * clean.std() * rng.standard_normal(samples)
    models = {
        "ridge": RidgeCV(np.logspace(-3, 3, 13)),
        "gradient boosting": HistGradientBoostingRegressor(max_iter=500, early_stopping=True, random_state=seed),
        "csid": csid.CSIDRegressor(random_state=seed, verbose=1),
    }
    csid.CSIDRegressor(rank=2, max_iter=1, early_stopping=False).fit(X[:50], y[:50])  # compiles on first use
    seconds = {}
    for name, model in models.items():
        started = time.perf_counter()
        model.fit(X, y)
        seconds[name] = time.perf_counter() - started
    unseen = draw(rng, 50_000)
    seen = set(map(tuple, X.astype(int).tolist()))
    return models, seconds, unseen[[tuple(row) not in seen for row in unseen.astype(int).tolist()]]


def slice_of(model_or_system: object) -> np.ndarray:
    """Values over two predictors, speed and angle, with the others fixed."""
    speed, angle = np.meshgrid(np.arange(LEVELS), np.arange(LEVELS), indexing="ij")
    cells = np.tile([0.0, 20.0, 8.0, 0.0, 6.0, 20.0], (speed.size, 1))
    cells[:, 0], cells[:, 3] = speed.ravel(), angle.ravel()
    values = model_or_system.predict(cells) if hasattr(model_or_system, "predict") else model_or_system(cells)
    return values.reshape(speed.shape)


def picture(models: dict[str, object], unseen: np.ndarray, errors: dict[str, float], path: Path) -> None:
    """Top: a slice of the true and of the identified tensors. Bottom: predictions of unseen cells against the truth."""
    truth = system(unseen)
    figure, axes = plt.subplots(2, 3, figsize=(10.5, 7), layout="constrained")
    slices = {"the true system": slice_of(system)}
    slices |= {name: slice_of(models[name]) for name in ("gradient boosting", "csid")}
    low, high = slices["the true system"].min(), slices["the true system"].max()
    for axis, (name, values) in zip(axes[0], slices.items(), strict=True):
        image = axis.imshow(values.T, origin="lower", cmap="viridis", vmin=low, vmax=high, aspect="auto")
        axis.set(title=name, xlabel="speed", ylabel="angle")
    figure.colorbar(image, ax=axes[0].tolist(), label="response", shrink=0.9)
    shown = slice(0, 3000)
    for axis, (name, model) in zip(axes[1], models.items(), strict=True):
        axis.scatter(truth[shown], model.predict(unseen[shown]), s=4, alpha=0.35, color="#24557a", linewidths=0)
        axis.axline((0, 0), slope=1, color="black", linewidth=0.8)
        axis.set(title=f"{name}: RMSE {errors[name]:.3f}", xlabel="true, unseen cells", ylabel="predicted")
        axis.set(xlim=(truth.min(), truth.max()), ylim=(truth.min(), truth.max()))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--picture", type=Path, default=Path("demo-output/identified.png"))
    parser.add_argument("--samples", type=int, default=4000)
    parser.add_argument("--noise", type=float, default=0.1, help="standard deviation, relative to that of the system")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    console = Console()
    console.print(
        f"A system of {PREDICTORS} predictors with {LEVELS} levels each: {LEVELS**PREDICTORS:,} cells.\n"
        f"Observed: {options.samples:,} random cells, with {options.noise:.0%} noise."
    )
    models, seconds, unseen = identify(options.samples, options.noise, options.seed)
    truth = system(unseen)
    table = Table(title=f"{len(unseen):,} unseen cells, compared with the noise-free truth")
    for column in ("method", "RMSE", "R²", "fit time"):
        table.add_column(column, justify="left" if column == "method" else "right")
    errors = {}
    for name, model in models.items():
        errors[name] = float(np.sqrt(np.mean((model.predict(unseen) - truth) ** 2)))
        r2 = 1.0 - errors[name] ** 2 / truth.var()
        table.add_row(name, f"{errors[name]:.4f}", f"{r2:.4f}", f"{seconds[name]:.2f} s")
    console.print(table)
    console.print(str(csid.identifiability(models["csid"])))
    importances = sorted(zip(models["csid"].feature_importances_, NAMES, strict=True), reverse=True)
    console.print("importance: " + ", ".join(f"{name} {importance:.0%}" for importance, name in importances))
    picture(models, unseen, errors, options.picture)
    console.print(f"figure: {options.picture}")


if __name__ == "__main__":
    main()
