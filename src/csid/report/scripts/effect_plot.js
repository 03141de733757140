// The effect of a predictor on the mean prediction: a curve or dots with a band, and the distribution of the predictor.

const EFFECT = { height: 260, density: 26, missing: 66, right: 10 };
const ROW = { least: 24, most: 56, bar: 30, share: 52 };
const MOST_CATEGORIES = 14;

function rangeOf(effect, mean) {
  return [Math.min(mean, ...effect.map((each) => each.lower)), Math.max(mean, ...effect.map((each) => each.upper))];
}

// The nodes of a plot of predictor n for output k; `common` is a range of values for all predictors, or null.
function effectPlot({ model, targets }, n, k, common, size) {
  const predictor = model.predictors[n], effect = model.effect(n, k), mean = model.average[k], name = model.effectName(targets[k]);
  const [low, high] = common || rangeOf(effect, mean), format = formatterOf(high - low);
  const values = effect.slice(0, predictor.known).map((each) => each.mean);
  const words = values.length
    ? `${capitalised(name)} by ${predictor.name}: from ${format(Math.min(...values))} to ${format(Math.max(...values))}` +
      (predictor.own_missing ? `; ${format(effect[predictor.known].mean)} if it is missing.` : ".")
    : `${predictor.name} was never observed.`;
  const reading = (cell, { mean: value, lower, upper }) => [
    `${shortened(predictor.name, 30)}: ${shortened(formatCell(predictor, cell, 4), 40)}`,
    format(value),
    lower < upper ? `90\u00a0% of draws: ${format(lower)} to ${format(upper)}` : "",
  ];
  const draw = predictor.isNumber && !predictor.words.length ? curvePlot : categoryPlot;
  const height = Math.min(EFFECT.height, size.height);
  return draw({ predictor, effect, mean, low, high, words, reading, width: size.width, height, value: name });
}

function curvePlot({ predictor, effect, mean, low, high, words, reading, width, height, value }) {
  const { grid, marginal, own_missing } = predictor, count = grid.length;
  const top = AXIS.above, base = height - AXIS.beside - AXIS.name, floor = base - EFFECT.density - 6;
  const y = scaleOf(low, high, floor, top + 4), ticks = valueTicks(y, floor - top);
  const left = widest(ticks.map(([, text]) => text)) + AXIS.tick;
  const edge = width - EFFECT.right, right = edge - (own_missing ? EFFECT.missing : 0);
  const x = scaleOf(grid[0], grid[count - 1], left, right);
  const curve = predictor.linear ? effect.slice(0, count).map((each, i) => [grid[i], each]) : steps(grid, effect);
  const to = (part) => curve.map(([at, each]) => [x(at), y(each[part])]);
  const spot = right + 14 + (EFFECT.missing - 14) / 2;
  const svg = drawing(
    width, height, words,
    ...axisNames(value, predictor.name, { left, right, bottom: base, width }),
    ...leftAxis(ticks, y, left, edge),
    line(left, y(mean), edge, y(mean), "average"),
    band(to("upper"), to("lower")),
    drawn("path", { class: "curve", d: path(to("mean")) }),
    ...(count === 1 ? [dot(x(grid[0]), y(effect[0].mean))] : []),
    ...densityBars(predictor, x, base),
    ...bottomAxis(fittingTicks((parts) => predictorTicks(predictor, x, parts), right - left), x, base, right + 8),
    ...(own_missing ? missingMark(effect[count], y, spot, { right, top, floor, base }, marginal[count]) : []),
  );
  const readings = () => [
    ...Array.from(grid, (at, i) => ({ x: x(at), y: y(effect[i].mean), words: reading(at, effect[i]) })),
    ...(own_missing ? [{ x: spot, y: y(effect[count].mean), words: reading(null, effect[count]) }] : []),
  ];
  return [readable(svg, readings, { along: 0 })];
}

// A curve that is constant around each level.
function steps(grid, effect) {
  const last = grid.length - 1, edge = (i) => 0.5 * grid[i] + 0.5 * grid[i + 1];
  return Array.from(grid).flatMap((_, i) => [
    [i ? edge(i - 1) : grid[0], effect[i]],
    [i < last ? edge(i) : grid[last], effect[i]],
  ]);
}

// The distribution of a predictor: bars as wide as the intervals around the levels, as high as their density.
function densityBars(predictor, x, base) {
  const { grid, marginal } = predictor, last = grid.length - 1;
  const least = (x.high - x.low) / 400;
  const cells = Array.from(grid, (value, i) => {
    const from = i ? 0.5 * (grid[i - 1] + value) : value, to = i < last ? 0.5 * (value + grid[i + 1]) : value;
    const whole = (i === 0 || i === last) && last > 0 ? 2 : 1; // where half an interval is drawn
    return { from, to: Math.max(to, from + least), height: marginal[i] / (whole * Math.max(to - from, least)) };
  });
  const heights = cells.map((cell) => cell.height).sort((a, b) => a - b);
  const tallest = Math.min(heights.at(-1), 4 * heights[Math.floor(0.75 * heights.length)] || Infinity) || 1;
  return cells.map(({ from, to, height }) => {
    const tall = EFFECT.density * Math.min(1, height / tallest);
    const place = { x: round(x(from)), width: round(Math.max(x(to) - x(from), 0.8)), y: round(base - tall), height: round(tall) };
    return drawn("rect", { class: "density", ...place });
  });
}

function missingMark(level, y, x, { right, top, floor, base }, probability) {
  return [
    line(right + 14, top, right + 14, base, "divider"),
    line(x, y(level.lower), x, y(level.upper), "whisker missing"),
    dot(x, y(level.mean), "dot missing"),
    label(x, floor + EFFECT.density + 2, formatShare(probability), "middle"),
    label(x, base + AXIS.beside, "missing", "middle"),
  ];
}

// Categories one below the other: the most frequent if there are many, texts by their effect.
function categoryPlot({ predictor, effect, mean, low, high, words, reading, width, height, value }) {
  const { known, marginal, own_missing, isNumber, grid, categories } = predictor;
  const levels = Array.from({ length: known }, (_, level) => level);
  const frequent = levels.sort((a, b) => marginal[b] - marginal[a]).slice(0, MOST_CATEGORIES);
  const byEffect = !isNumber && typeof categories[0] === "string";
  const shown = frequent.sort((a, b) => (byEffect && effect[b].mean - effect[a].mean) || a - b);
  if (own_missing) shown.push(known);
  const cellOf = (level) => (level === known ? null : isNumber ? grid[level] : level);
  const room = height - AXIS.above - AXIS.beside, top = AXIS.above + 2;
  const step = Math.min(ROW.most, Math.max(ROW.least, Math.floor(room / Math.max(shown.length, 1))));
  const names = shown.map((level) => fitted(formatCell(predictor, cellOf(level)), 0.36 * width));
  const bottom = top + step * shown.length, right = width - ROW.bar - ROW.share;
  const x = scaleOf(low, high, widest(names) + 18, right - 14);
  const most = Math.max(...shown.map((level) => marginal[level]), 1e-300), middle = (at) => top + step * (at + 0.5);
  const rows = shown.flatMap((level, at) => {
    const y = middle(at), kind = level === known ? " missing" : "", { mean: centre, lower, upper } = effect[level];
    const bar = { x: right, y: y - 4, width: round(Math.max(ROW.bar * (marginal[level] / most), 0.8)), height: 8 };
    return [
      label(0, y + 4, names[at], "start", { class: "name" }),
      line(x(lower), y, x(upper), y, "whisker" + kind),
      dot(x(centre), y, "dot" + kind),
      drawn("rect", { class: "density", ...bar }),
      label(width, y + 4, formatShare(marginal[level]), "end", { class: "scale" }),
    ];
  });
  const ticks = valueTicksBelow(x, right - x(low));
  const svg = drawing(
    width, bottom + AXIS.beside + 6, words,
    label(0, AXIS.text, fitted(value, right - 8), "start", { class: "name" }),
    label(width, AXIS.text, "of the rows", "end", { class: "scale" }),
    ...ticks.map(([tick]) => line(x(tick), top, x(tick), bottom, "grid")),
    ...bottomAxis(ticks, x, bottom, width),
    line(x(mean), top, x(mean), bottom, "average"),
    ...rows,
  );
  const readings = () =>
    shown.map((level, at) => ({ x: x(effect[level].mean), y: middle(at), words: reading(cellOf(level), effect[level]) }));
  const more = known > frequent.length ? [note(`The ${frequent.length} most frequent of ${known} categories.`)] : [];
  return [readable(svg, readings, { across: 0, downwards: true }), ...more];
}
