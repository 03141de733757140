"""The HTML report of a default model: time to write it, size, and latency of the what-if panel in Chromium.

    python benchmarks/report.py [--problem bike] [--model FILE] [--moves 200] [--picture docs/images/report.png]

The model is fitted to the training rows of the first split. The report is written for the test rows, then for all
rows. `write_seconds` is for the first report of a process, `again_seconds` for the second. One what-if update
computes the prediction, its predictive interval and all Shapley values after a slider has moved, timed in the page.
`open_milliseconds` is the time from the packed model to the rendered page. Without Playwright and Chromium these
columns stay empty. With --picture, nothing is measured; a screenshot of the top of the page is saved instead. Rows go
to benchmarks/results/report.csv.
"""

import argparse
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import csid
import problems
import results

_MOVES = """(moves) => {
    const { whatIf, model } = window.csid, taken = [];
    for (let move = 0; move < moves; move++) {
        const n = move % model.predictors.length, predictor = model.predictors[n];
        const level = move % predictor.known, began = performance.now();
        whatIf.cells[n] = predictor.isNumber ? predictor.grid[level] : level;
        whatIf.rows[n] = model.row(n, whatIf.cells[n]);
        whatIf.answer();
        taken.push(performance.now() - began);
    }
    return taken;
}"""


@contextmanager
def opened(page_file: Path, width: int = 1280, height: int = 900) -> Iterator[Any]:
    """The loaded page in Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": height})
        page.goto(page_file.as_uri())
        page.wait_for_selector("main:not([aria-busy])")
        yield page
        browser.close()


def in_browser(page_file: Path, moves: int) -> dict[str, str]:
    """Times to open the page and to update the what-if panel; empty without a browser."""
    names = ("open_milliseconds", "what_if_median", "what_if_95", "what_if_slowest", "chromium")
    if shutil.which("chromium") is None:
        return dict.fromkeys(names, "")
    with opened(page_file) as page:
        taken = np.array(page.evaluate(_MOVES, moves))
        times = [f"{page.evaluate('() => window.csid.milliseconds'):.0f}"]
        times += [f"{milliseconds:.1f}" for milliseconds in (np.median(taken), np.quantile(taken, 0.95), taken.max())]
        return dict(zip(names, [*times, page.context.browser.version], strict=True))


def save_screenshot(model: Any, X: Any, y: np.ndarray, targets: tuple[str, ...], picture: Path) -> None:
    """Save a screenshot of the top of the page."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        model.report(path, X, y, title="Bike rentals by the hour", targets=targets)
        with opened(path, width=1180, height=1130) as page:
            page.screenshot(path=picture)


def measure(model: Any, X: Any, y: np.ndarray, about: dict[str, Any], moves: int) -> None:
    """Write the report twice, open it, and append a row."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        seconds = []
        for _ in range(2):
            started = time.perf_counter()
            model.report(path, X, y)
            seconds.append(time.perf_counter() - started)
        row = about | {
            "rows_given": len(y),
            "write_seconds": f"{seconds[0]:.2f}",
            "again_seconds": f"{seconds[1]:.2f}",
            "bytes": path.stat().st_size,
        }
        row |= in_browser(path, moves)
    print(row)
    results.append("report", row | results.provenance())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problem", default="bike")
    parser.add_argument("--model", type=Path, help="file of the fitted model: loaded if it exists, else written")
    parser.add_argument("--moves", type=int, default=200)
    parser.add_argument("--picture", type=Path, help="file for a screenshot of the report of the bike model")
    arguments = parser.parse_args()
    problem = problems.load(arguments.problem)
    train, test = problems.split(problem, 0)
    if arguments.model is not None and arguments.model.exists():
        model: Any = csid.load(arguments.model)
    else:
        model = csid.BayesianCSIDRegressor(random_state=0).fit(problem.X.iloc[train], problem.y[train])
        if arguments.model is not None:
            model.save(arguments.model)
    if arguments.picture is not None:
        save_screenshot(model, problem.X.iloc[test], problem.y[test], ("casual", "registered"), arguments.picture)
        return
    about = {"problem": problem.name, "predictors": problem.X.shape[1], "rank": model.cpd_.rank}
    measure(model, problem.X.iloc[test], problem.y[test], about, arguments.moves)
    measure(model, problem.X, problem.y, about, arguments.moves)


if __name__ == "__main__":
    main()
