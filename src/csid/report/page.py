"""A report as one HTML page that needs no server and no network."""

from collections.abc import Callable
from html import escape
from itertools import pairwise
from typing import Any

from csid.report.summary import Effect, Summary

_LABELS = {"rmse": "RMSE", "mae": "MAE", "r2": "R²", "coverage": "covered by 90 % intervals", "crps": "CRPS"}
_WIDTH, _HEIGHT, _MARGIN, _DENSITY = 460, 200, 44, 34
_SHADE, _MOST_BARS = 14, 24

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2330; --paper: #fff; --soft: #5d6778; --line: #d9dee7; --accent: #2f5fb3; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ef; --paper: #14181f; --soft: #9aa4b5; --line: #333b48; --accent: #7fa8f0; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
body { margin: 0 auto; max-width: 66rem; padding: 2rem 1.2rem; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; }
h3 { font-size: 1rem; margin: 0; }
p, figcaption, th { color: var(--soft); }
p { max-width: 46rem; }
table { border-collapse: collapse; }
td, th { padding: .2rem 1.2rem .2rem 0; text-align: left; font-weight: normal; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.effects { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); gap: 1.4rem; }
figure { margin: 0; }
svg { width: 100%; height: auto; display: block; }
svg text { fill: var(--soft); font-size: 11px; }
.curve { fill: none; stroke: var(--accent); stroke-width: 2; }
.mark, .share { fill: var(--accent); }
.density { fill: var(--accent); opacity: .22; }
.axis { stroke: var(--line); stroke-width: 1; }
.gap { stroke-dasharray: 4 4; }
@media print { body { max-width: none; padding: 0; } figure { break-inside: avoid; } }
"""


def page(summary: Summary) -> str:
    """The page; the same summary gives the same bytes."""
    parts = [
        f"<h1>{escape(summary.title)}</h1>",
        f"<p>How {escape(', '.join(summary.targets))} depends on {len(summary.effects)} predictors, as a low-rank "
        "tensor with one smooth curve per predictor and component.</p>",
        _facts(summary.facts),
        *([] if summary.figures is None else [_figures(summary.figures)]),
        _sizes(summary.effects),
        *(_effects(summary, target) for target in summary.targets),
        *([f"<h2>Uniqueness</h2><p>{escape(summary.uniqueness)}</p>"] if summary.uniqueness else []),
    ]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(summary.title)}</title><style>{_STYLE}</style></head>\n<body><main>\n"
        + "\n".join(parts)
        + "\n</main></body></html>\n"
    )


def _facts(facts: list[tuple[str, str]]) -> str:
    rows = "".join(f'<tr><th scope="row">{escape(name)}</th><td>{escape(text)}</td></tr>' for name, text in facts)
    return f"<h2>The model</h2><table>{rows}</table>"


def _figures(figures: dict[str, dict[str, Any]]) -> str:
    rows = []
    for target, found in figures.items():
        for name, figure in found.items():
            if isinstance(figure, dict):
                bounds = f"{figure['low']:.4g} to {figure['high']:.4g}"
                cells = f'<td class="number">{figure["value"]:.4g}</td><td class="number">{bounds}</td>'
                rows.append(f'<tr><td>{escape(target)}</td><th scope="row">{_LABELS[name]}</th>{cells}</tr>')
    head = "<tr><th>target</th><th>figure</th><th>value</th><th>95 % confidence</th></tr>"
    number = next(iter(figures.values()))["rows"]
    return (
        f"<h2>How good it is</h2><p>On {number:,} rows given for this report.</p><table>{head}{''.join(rows)}</table>"
    )


def _sizes(effects: list[Effect]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(effect.name)}</th><td class="number">{effect.size:.2f}</td>'
        f'<td><svg viewBox="0 0 200 10" style="width:12rem" aria-hidden="true">'
        f'<rect class="share" width="{200 * effect.size:.1f}" height="10"/></svg></td></tr>'
        for effect in effects
    )
    return (
        "<h2>Predictors by what they do</h2>"
        "<p>By how much the mean prediction moves with each alone, beside the strongest.</p>"
        f"<table>{rows}</table>"
    )


def _effects(summary: Summary, target: str) -> str:
    title = "Effects" if len(summary.targets) == 1 else f"Effects on {target}"
    drawn = "".join(_effect(effect, target, summary.mean[target]) for effect in summary.effects)
    return (
        f"<h2>{escape(title)}</h2><p>The mean prediction as one predictor varies and the others follow their "
        "distribution. The dashed line is the mean over all rows; the shades below show how often values occur.</p>"
        f'<div class="effects">{drawn}</div>'
    )


def _effect(effect: Effect, target: str, mean: float) -> str:
    values = effect.values[target]
    low, high = min([*values, mean]), max([*values, mean])
    span = (high - low) or 1.0
    floor = _HEIGHT - _DENSITY

    def y(value: float) -> float:
        return floor - 8 - (floor - 24) * (value - low) / span

    body = _curve(effect, values, y, floor) if effect.ordered else _marks(effect, values, y, floor)
    missing = ""
    if effect.levels and effect.levels[-1] is None:
        missing = f" When it is missing: {values[-1]:.4g}."
    words = f"{target} from {min(values):.4g} to {max(values):.4g}"
    return (
        f"<figure><h3>{escape(effect.name)}</h3>"
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(effect.name)}: {escape(words)}">'
        f'<line class="axis gap" x1="{_MARGIN}" x2="{_WIDTH}" y1="{y(mean):.1f}" y2="{y(mean):.1f}"/>'
        f'<text x="{_MARGIN - 4}" y="{y(high) + 4:.1f}" text-anchor="end">{high:.4g}</text>'
        f'<text x="{_MARGIN - 4}" y="{y(low) + 4:.1f}" text-anchor="end">{low:.4g}</text>{body}</svg>'
        f"<figcaption>{escape(words)}.{missing}</figcaption></figure>"
    )


def _curve(effect: Effect, values: list[float], y: Callable[[float], float], floor: int) -> str:
    grid, p = effect.levels[: effect.ordered], effect.marginal[: effect.ordered]
    width = (grid[-1] - grid[0]) or 1.0

    def x(level: float) -> float:
        return float(_MARGIN + (_WIDTH - _MARGIN - 6) * (level - grid[0]) / width)

    points = " ".join(f"{x(level):.1f},{y(value):.1f}" for level, value in zip(grid, values, strict=False))
    edges = list(pairwise([grid[0], *(0.5 * (a + b) for a, b in pairwise(grid)), grid[-1]]))
    ends = (0, len(grid) - 1)  # where half a cell is drawn
    wide = [(2.0 if at in ends else 1.0) * max(b - a, 1e-3 * width) for at, (a, b) in enumerate(edges)]
    heights = [mass / each for mass, each in zip(p, wide, strict=True)]
    unit = _SHADE / (max(heights) or 1.0)
    bars = "".join(
        _bar(x(a), max(x(b) - x(a), 0.3), floor, unit * height) for height, (a, b) in zip(heights, edges, strict=True)
    )
    dot = f'<circle class="mark" cx="{x(grid[0]):.1f}" cy="{y(values[0]):.1f}" r="3"/>' if len(grid) == 1 else ""
    return (
        f'<polyline class="curve" points="{points}"/>{dot}{bars}'
        f'<text x="{_MARGIN}" y="{_HEIGHT - 2}">{grid[0]:.4g}</text>'
        f'<text x="{_WIDTH - 2}" y="{_HEIGHT - 2}" text-anchor="end">{grid[-1]:.4g}</text>'
    )


def _bar(x: float, width: float, floor: int, height: float) -> str:
    """How often a level occurs."""
    place = f'x="{x:.1f}" width="{width:.1f}" y="{floor + _SHADE + 4 - height:.1f}" height="{height:.1f}"'
    return f'<rect class="density" {place}/>'


def _marks(effect: Effect, values: list[float], y: Callable[[float], float], floor: int) -> str:
    """A dot for each category, the most frequent ones where there are many."""
    known = [at for at, level in enumerate(effect.levels) if level is not None]
    shown = sorted(sorted(known, key=lambda at: -effect.marginal[at])[:_MOST_BARS])
    step = (_WIDTH - _MARGIN) / max(len(shown), 1)
    tallest = max((effect.marginal[at] for at in shown), default=1.0) or 1.0
    letters = max(2, int(step / 6))
    parts = []
    for place, at in enumerate(shown):
        centre = _MARGIN + step * (place + 0.5)
        name = str(effect.levels[at])
        label = name if len(name) <= letters else name[: letters - 1] + "…"
        parts.append(
            f"<g><title>{escape(name)}: {values[at]:.4g}</title>"
            f'<circle class="mark" cx="{centre:.1f}" cy="{y(values[at]):.1f}" r="4"/>'
            + _bar(centre - step / 3, step / 1.5, floor, _SHADE * effect.marginal[at] / tallest)
            + f'<text x="{centre:.1f}" y="{_HEIGHT - 2}" text-anchor="middle">{escape(label)}</text></g>'
        )
    return "".join(parts)
