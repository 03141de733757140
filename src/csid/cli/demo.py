"""csid demo: data of a known system, then every command from the file to a report, as a user would type it."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from csid.cli import options
from csid.cli.console import Terminal

_ROWS, _NOISE = 3000, 0.3


def run(
    folder: Annotated[Path, typer.Option(help="Folder to write files to.")] = Path("csid-demo"),
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Generate data of a known system, then fit, evaluate, explain, predict and report, showing each command."""
    from csid.cli.app import app
    from csid.cli.output_path import Kind, check_output

    terminal = Terminal(json=False, quiet=quiet)
    folder.mkdir(parents=True, exist_ok=True)
    train, test, model = folder / "house.csv", folder / "house-new.csv", folder / "house.csid"
    predicted = folder / "predicted.csv"
    terminal.say(
        "A known system: the energy that heats a house for a day, in kWh,\n\n"
        "    area × (20 - outdoors) × loss(insulation) ÷ 100  +  3 × people  -  5 × sin(π/2 × sun)  +  noise\n\n"
        f"with noise of standard deviation {_NOISE} kWh. {folder}/ gets {_ROWS:,} rows to fit and {_ROWS:,} to test, "
        "with 1 % of the values missing."
    )
    for path, part in ((train, 0), (test, 1)):
        check_output(path, Kind.table, ())
        _write(path, seed + part)
    flags = ["--quiet"] if quiet else []
    for line in (
        ["fit", str(train), "--target", "kwh", *flags],
        ["evaluate", str(model), str(test), *flags],
        ["explain", str(model), "--predictor", "insulation", *flags],
        ["predict", str(model), str(test), "--interval", "0.9", "--keep", "kwh", "-o", str(predicted), *flags],
        ["report", str(model), str(test), *flags],
    ):
        terminal.say(f"\n$ csid {shlex.join(line)}")
        app(line, standalone_mode=False)


def _write(path: Path, seed: int) -> None:
    import numpy as np
    import pyarrow as pa

    from csid.cli.tables import writer

    rng = np.random.default_rng(seed)
    losses = {"poor": 1.0, "fair": 0.7, "good": 0.45}
    insulation = rng.choice(list(losses), _ROWS)
    area, outdoors = rng.uniform(40.0, 200.0, _ROWS).round(1), rng.normal(8.0, 6.0, _ROWS).round(1)
    people, sun = rng.integers(1, 6, _ROWS), rng.uniform(0.0, 1.0, _ROWS).round(2)
    loss = np.array([losses[word] for word in insulation])
    kwh = area * np.maximum(20.0 - outdoors, 0.0) * loss / 100.0 + 3.0 * people - 5.0 * np.sin(np.pi * sun / 2.0)
    columns = {
        "area": area,
        "outdoors": outdoors,
        "insulation": insulation,
        "people": people,
        "sun": sun,
        "kwh": (kwh + _NOISE * rng.standard_normal(_ROWS)).round(2),
    }
    gaps = {name: rng.random(_ROWS) < (0.0 if name == "kwh" else 0.01) for name in columns}
    with writer(str(path)) as write:
        write(pa.table({name: pa.array(values, mask=gaps[name]) for name, values in columns.items()}))
