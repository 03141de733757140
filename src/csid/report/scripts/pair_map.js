// The joint effect of two predictors, as a heat map with a colour bar.

const PAIR = { height: 208, bar: 10, gap: 30, right: 10 };
const CELLS = 26;
const MOST_NAMES = 12;

const isListed = (predictor) => !predictor.isNumber || predictor.words.length > 0;

// One side of a map: the cells at which it is drawn, and the edges between them on a scale from low to high.
function sideOf(predictor) {
  if (isListed(predictor)) {
    const { marginal, known } = predictor, levels = Array.from({ length: known }, (_, level) => level);
    const frequent = levels.sort((a, b) => marginal[b] - marginal[a]).slice(0, MOST_NAMES).sort((a, b) => a - b);
    const cells = frequent.map((level) => (predictor.isNumber ? predictor.grid[level] : level));
    return { predictor, cells, edges: Array.from({ length: cells.length + 1 }, (_, at) => at) };
  }
  const { grid } = predictor, low = grid[0], step = (grid.at(-1) - low) / CELLS;
  if (grid.length > CELLS) {
    const cells = Array.from({ length: CELLS }, (_, i) => low + step * (i + 0.5));
    return { predictor, cells, edges: Array.from({ length: CELLS + 1 }, (_, i) => low + step * i) };
  }
  const cells = Array.from(grid), last = cells.length - 1, between = (i) => 0.5 * (cells[i - 1] + cells[i]);
  const half = last ? [between(1) - cells[0], cells[last] - between(last)] : [0.5, 0.5];
  const inner = cells.slice(1).map((_, i) => between(i + 1));
  return { predictor, cells, edges: [cells[0] - half[0], ...inner, cells[last] + half[1]] };
}

const scaleOfSide = ({ edges }, from, to) => scaleOf(edges[0], edges.at(-1), from, to);

// Ticks of a side of at most so many parts: round numbers, or names in the middle of their cells, no wider than `room`.
function ticksOfSide({ predictor, cells, edges }, parts, room) {
  if (isListed(predictor)) return cells.map((cell, at) => [at + 0.5, fitted(formatCell(predictor, cell), room)]);
  const [low, high] = [Math.max(edges[0], predictor.grid[0]), Math.min(edges.at(-1), predictor.grid.at(-1))];
  return predictorTicks(predictor, { low, high }, parts);
}

// The interaction: a surface less the main effect of each predictor.
function interactionOf(model, surface, [i, firsts], [n, seconds], k) {
  const across = firsts.map((cell) => model.alone(i, cell, k)), up = seconds.map((cell) => model.alone(n, cell, k));
  return surface.map((row, a) => row.map((value, b) => value - across[a] - up[b] + model.mean[k]));
}

// The nodes of a map of predictors i and n; the names of a category stand at the left, where they have room.
function pairPlot({ model, targets }, i, n, k, interaction, size) {
  const { predictors } = model, target = model.valueName(targets[k]);
  if (isListed(predictors[i]) && !isListed(predictors[n])) [i, n] = [n, i];
  const [across, up] = [sideOf(predictors[i]), sideOf(predictors[n])];
  let surface = model.surface(i, n, across.cells, up.cells, k);
  if (interaction) surface = interactionOf(model, surface, [i, across.cells], [n, up.cells], k);
  let low = Infinity, high = -Infinity;
  for (const value of surface.flat()) [low, high] = [Math.min(low, value), Math.max(high, value)];
  if (interaction) [low, high] = [-Math.max(-low, high), Math.max(-low, high)];
  const format = formatterOf(high - low), share = (value) => (high > low ? (value - low) / (high - low) : 0.5);

  const { width } = size, height = Math.min(PAIR.height, size.height - 62), top = AXIS.above, bottom = top + height;
  const y = scaleOfSide(up, bottom, top);
  const beside = ticksOfSide(up, height / 27, 0.3 * width);
  const left = Math.round(widest(beside.map(([, text]) => text))) + AXIS.tick, right = width - PAIR.right;
  const x = scaleOfSide(across, left, right);
  const room = (right - left) / across.cells.length - 6; // of a name
  const below = isListed(across.predictor)
    ? ticksOfSide(across, 0, room)
    : fittingTicks((parts) => ticksOfSide(across, parts), right - left);
  const cells = surface.flatMap((row, a) =>
    row.map((value, b) => {
      const [from, to] = [Math.round(x(across.edges[a])), Math.round(x(across.edges[a + 1]))];
      const [under, over] = [Math.round(y(up.edges[b])), Math.round(y(up.edges[b + 1]))];
      const cell = drawn("rect", { class: "cell", x: from, y: over, width: to - from, height: under - over });
      cell.style.fill = heat(share(value), interaction);
      return cell;
    }),
  );
  const what = `${interaction ? "Interaction in" : "Mean"} ${target} by ${predictors[i].name} and ${predictors[n].name}`;
  const end = bottom + AXIS.beside + AXIS.name;
  const svg = drawing(
    width, end + PAIR.gap + PAIR.bar + AXIS.beside, `${what}: from ${format(low)} to ${format(high)}.`,
    ...axisNames(predictors[n].name, predictors[i].name, { left, right, bottom, width }),
    ...cells,
    ...beside.map(([at, text]) => label(left - AXIS.tick, y(at) + 4, text, "end", { class: "scale" })),
    ...bottomAxis(below, x, bottom, width),
    ...colourBar([low, high], { left, right, top: end + PAIR.gap, width }, target, interaction),
  );
  const middle = (edges, at) => 0.5 * (edges[at] + edges[at + 1]), named = ({ predictor, cells: own }, at) =>
    `${shortened(predictor.name, 30)}: ${shortened(formatCell(predictor, own[at], 4), 30)}`;
  const readings = () =>
    surface.flatMap((row, a) =>
      row.map((value, b) => ({
        x: x(middle(across.edges, a)),
        y: y(middle(up.edges, b)),
        words: [`${named(across, a)}, ${named(up, b)}`, format(value)],
      })),
    );
  return [readable(svg, readings, { rows: up.cells.length })];
}

// Colours go from low to high; those of an interaction have a neutral middle.
function heat(share, interaction) {
  if (!interaction) return `color-mix(in oklab, var(--heat-low), var(--heat-high) ${round(100 * share)}%)`;
  const [side, strength] = share < 0.5 ? ["--negative", 1 - 2 * share] : ["--positive", 2 * share - 1];
  return `color-mix(in oklab, var(--heat-middle), var(${side}) ${round(100 * strength)}%)`;
}

// The meaning of the colours: their name above, round values below.
function colourBar([low, high], { left, right, top, width }, target, interaction) {
  const name = fitted(interaction ? `interaction in ${target}` : `mean ${target}`, right - left);
  const x = scaleOf(low, high, left, right), parts = Math.min(64, Math.round(right - left));
  const at = (i) => Math.round(left + ((right - left) * i) / parts);
  const bar = Array.from({ length: parts }, (_, i) => {
    const part = drawn("rect", { class: "cell", x: at(i), y: top, width: at(i + 1) - at(i), height: PAIR.bar });
    part.style.fill = heat((i + 0.5) / parts, interaction);
    return part;
  });
  const ticks = valueTicksBelow(x, right - left);
  return [label(left, top - 7, name, "start", { class: "name" }), ...bar, ...bottomAxis(ticks, x, top + PAIR.bar - 2, width)];
}
