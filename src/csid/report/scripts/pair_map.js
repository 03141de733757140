// The joint effect of two predictors, as a heat map.

const PAIR = { width: 400, height: 330, left: 66, right: 10, top: 8, bottom: 78 };
const CELLS = 26;

// Cells of a predictor at which a map is drawn.
function stops(predictor) {
  if (!predictor.isNumber || predictor.words.length) {
    const levels = Array.from({ length: predictor.known }, (_, level) => level);
    const frequent = levels.sort((a, b) => predictor.marginal[b] - predictor.marginal[a]).slice(0, 12).sort((a, b) => a - b);
    return frequent.map((level) => (predictor.isNumber ? predictor.grid[level] : level));
  }
  const { grid } = predictor, low = grid[0], high = grid.at(-1);
  if (grid.length <= CELLS) return Array.from(grid);
  return Array.from({ length: CELLS }, (_, i) => low + ((high - low) * (i + 0.5)) / CELLS);
}

// The interaction: a surface less the main effect of each predictor.
function interactionOf(model, surface, [i, firsts], [n, seconds], k) {
  const across = firsts.map((cell) => model.alone(i, cell, k)), up = seconds.map((cell) => model.alone(n, cell, k));
  return surface.map((row, a) => row.map((value, b) => value - across[a] - up[b] + model.mean[k]));
}

function pairDrawing(model, i, n, k, target, interaction) {
  const { width, height, left, right, top, bottom } = PAIR;
  const [across, up] = [model.predictors[i], model.predictors[n]];
  const [firsts, seconds] = [stops(across), stops(up)];
  let surface = model.surface(i, n, firsts, seconds, k);
  if (interaction) surface = interactionOf(model, surface, [i, firsts], [n, seconds], k);
  const flat = surface.flat();
  let [low, high] = [Math.min(...flat), Math.max(...flat)];
  if (interaction) [low, high] = [-Math.max(-low, high), Math.max(-low, high)];
  const share = (value) => (high > low ? (value - low) / (high - low) : 0.5);
  const stepX = (width - left - right) / firsts.length, stepY = (height - top - bottom) / seconds.length;
  const cells = surface.flatMap((row, a) =>
    row.map((value, b) => {
      const place = { x: round(left + a * stepX), y: round(height - bottom - (b + 1) * stepY) };
      const cell = drawn("rect", { ...place, width: round(stepX + 0.4), height: round(stepY + 0.4) });
      cell.style.fill = heat(share(value), interaction);
      const [one, other] = [formatCell(across, firsts[a]), formatCell(up, seconds[b])];
      return titled(cell, `${across.name} ${one}, ${up.name} ${other}: ${formatNumber(value)}`);
    }),
  );
  const middle = top + (height - top - bottom) / 2;
  const parts = [
    ...cells,
    ...someNames(across, firsts, 6).map(([text, a]) => label(left + (a + 0.5) * stepX, height - bottom + 15, text, "middle")),
    ...someNames(up, seconds, 8).map(([text, b]) => label(left - 6, height - bottom - (b + 0.5) * stepY + 4, text, "end")),
    label((left + width - right) / 2, height - bottom + 33, shortened(across.name, 44), "middle", { class: "name" }),
    label(12, middle, shortened(up.name, 36), "middle", { class: "name", transform: `rotate(-90 12 ${middle})` }),
    ...legend(low, high, interaction),
  ];
  const what = `${interaction ? "Interaction in" : "Mean"} ${target} by ${across.name} and ${up.name}`;
  const words = `${what}: from ${formatNumber(low)} to ${formatNumber(high)}.`;
  return drawing(width, height, words, ...parts);
}

// Names of at most so many cells, evenly spaced, and their positions.
function someNames(predictor, cells, most) {
  const names = cells.map((cell, at) => [shortened(formatCell(predictor, cell, 3), 9), at]);
  return names.filter(([, at]) => at % Math.ceil(cells.length / most) === 0);
}

// Colours go from low to high; those of an interaction have a neutral middle.
function heat(share, interaction) {
  if (!interaction) return `color-mix(in oklab, var(--heat-low), var(--heat-high) ${round(100 * share)}%)`;
  const [side, strength] = share < 0.5 ? ["--negative", 1 - 2 * share] : ["--positive", 2 * share - 1];
  return `color-mix(in oklab, var(--heat-middle), var(${side}) ${round(100 * strength)}%)`;
}

function legend(low, high, interaction) {
  const { width, height, left, right } = PAIR, count = 24, y = height - 22, step = (width - left - right - 130) / count;
  const from = left + 65;
  const bars = Array.from({ length: count }, (_, i) => {
    const bar = drawn("rect", { x: round(from + i * step), y, width: round(step + 0.4), height: 9 });
    bar.style.fill = heat(i / (count - 1), interaction);
    return bar;
  });
  return [...bars, label(from - 8, y + 9, formatNumber(low), "end"), label(width - right - 57, y + 9, formatNumber(high))];
}
