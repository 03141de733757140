// The effect of a predictor on the mean prediction: a curve or dots with a band, and the distribution of the predictor.

const EFFECT = { width: 400, height: 236, left: 52, right: 8, top: 10, floor: 178, density: 26, missing: 46 };
const MOST_CATEGORIES = 14;

function rangeOf(effect, mean) {
  return [Math.min(mean, ...effect.map((each) => each.lower)), Math.max(mean, ...effect.map((each) => each.upper))];
}

function effectDrawing(model, n, k, target, common = null) {
  const predictor = model.predictors[n], effect = model.effect(n, k), mean = model.mean[k];
  const [low, high] = common || rangeOf(effect, mean);
  const values = effect.slice(0, predictor.known).map((each) => each.mean);
  const words = values.length
    ? `Mean ${target} by ${predictor.name}: from ${formatNumber(Math.min(...values))} to ${formatNumber(Math.max(...values))}` +
      (predictor.own_missing ? `; ${formatNumber(effect[predictor.known].mean)} if it is missing.` : ".")
    : `${predictor.name} was never observed.`;
  const draw = predictor.isNumber && !predictor.words.length ? curveDrawing : categoryDrawing;
  return draw(predictor, effect, mean, low, high, words);
}

function curveDrawing(predictor, effect, mean, low, high, words) {
  const { width, height, left, top, floor, missing } = EFFECT;
  const right = width - EFFECT.right - (predictor.own_missing ? missing : 0);
  const { grid, marginal } = predictor, count = grid.length;
  const x = scaleOf(grid[0], grid[count - 1], left, right), y = scaleOf(low, high, floor, top);
  const curve = predictor.linear ? effect.slice(0, count).map((each, i) => [grid[i], each]) : steps(grid, effect);
  const to = (part) => curve.map(([at, each]) => [x(at), y(each[part])]);
  const parts = [
    ...valueAxis(y, left, width - EFFECT.right),
    line(left, y(mean), width - EFFECT.right, y(mean), "average"),
    drawn("path", { class: "band", d: `${path(to("upper"))}L${path(to("lower").reverse()).slice(1)}Z` }),
    drawn("path", { class: "curve", d: path(to("mean")) }),
    ...(count === 1 ? [dot(x(grid[0]), y(effect[0].mean))] : []),
    ...densityBars(predictor, x),
    ...numberTicks(predictor, x, left, right),
  ];
  if (predictor.own_missing) parts.push(...missingMark(effect[predictor.known], y, right + missing / 2, marginal[count]));
  return drawing(width, height, words, ...parts);
}

// A curve that is constant around each level.
function steps(grid, effect) {
  const last = grid.length - 1, edge = (i) => 0.5 * grid[i] + 0.5 * grid[i + 1];
  return Array.from(grid).flatMap((_, i) => [
    [i ? edge(i - 1) : grid[0], effect[i]],
    [i < last ? edge(i) : grid[last], effect[i]],
  ]);
}

function numberTicks(predictor, x, left, right) {
  const { floor, density } = EFFECT, y = floor + density + 18;
  if (predictor.date) {
    return [label(left, y, formatDate(x.low)), label(right, y, formatDate(x.high), "end")];
  }
  return niceTicks(x.low, x.high, 5).map((tick) => label(x(tick), y, formatNumber(tick), "middle"));
}

// The distribution of a predictor: bars as wide as the intervals around the levels, as high as their density.
function densityBars(predictor, x) {
  const { grid, marginal } = predictor, last = grid.length - 1;
  const base = EFFECT.floor + EFFECT.density;
  const least = (x.high - x.low) / 400;
  const cells = Array.from(grid, (value, i) => {
    const from = i ? 0.5 * (grid[i - 1] + value) : value, to = i < last ? 0.5 * (value + grid[i + 1]) : value;
    const whole = (i === 0 || i === last) && last > 0 ? 2 : 1; // where half an interval is drawn
    return { from, to: Math.max(to, from + least), height: marginal[i] / (whole * Math.max(to - from, least)) };
  });
  const heights = cells.map((cell) => cell.height).sort((a, b) => a - b);
  const tallest = Math.min(heights.at(-1), 4 * heights[Math.floor(0.75 * heights.length)] || Infinity) || 1;
  return cells.map(({ from, to, height }) => {
    const tall = (EFFECT.density - 8) * Math.min(1, height / tallest);
    const place = { x: round(x(from)), width: round(Math.max(x(to) - x(from), 0.8)), y: round(base - tall), height: round(tall) };
    return drawn("rect", { class: "density", ...place });
  });
}

function missingMark(level, y, x, probability) {
  const below = EFFECT.floor + EFFECT.density + 18;
  return [
    line(x - EFFECT.missing / 2 + 4, EFFECT.top, x - EFFECT.missing / 2 + 4, EFFECT.floor, "divider"),
    line(x, y(level.lower), x, y(level.upper), "whisker missing"),
    dot(x, y(level.mean), "dot missing"),
    label(x, EFFECT.floor + EFFECT.density - 2, formatShare(probability), "middle"),
    label(x, below, "missing", "middle"),
  ];
}

// Categories one below the other: the most frequent if there are many.
function categoryDrawing(predictor, effect, mean, low, high, words) {
  const { width, right } = EFFECT, step = 22, top = 8, percentages = 58;
  const known = Array.from({ length: predictor.known }, (_, level) => level);
  const frequent = [...known].sort((a, b) => predictor.marginal[b] - predictor.marginal[a]).slice(0, MOST_CATEGORIES);
  const shown = frequent.sort((a, b) => a - b);
  if (predictor.own_missing) shown.push(predictor.known);
  const cellOf = (level) => (level === predictor.known ? null : predictor.isNumber ? predictor.grid[level] : level);
  const names = shown.map((level) => formatCell(predictor, cellOf(level)));
  const letters = Math.min(18, Math.max(4, ...names.map((name) => name.length)));
  const left = 16 + 6.4 * letters, bottom = top + step * shown.length;
  const x = scaleOf(low, high, left, width - right - percentages - 14);
  const most = Math.max(...shown.map((level) => predictor.marginal[level]), 1e-300);
  const rows = shown.flatMap((level, at) => {
    const y = top + step * (at + 0.5), kind = level === predictor.known ? " missing" : "";
    const { mean: value, lower, upper } = effect[level];
    const wide = 26 * (predictor.marginal[level] / most), from = width - right - percentages;
    return [
      label(left - 10, y + 4, shortened(names[at], letters), "end", { class: "name" }),
      line(x(lower), y, x(upper), y, "whisker" + kind),
      titled(dot(x(value), y, "dot" + kind), `${names[at]}: ${formatNumber(value)}`),
      drawn("rect", { class: "density", x: from, y: y - 4, width: round(Math.max(wide, 0.8)), height: 8 }),
      label(width - right, y + 4, formatShare(predictor.marginal[level]), "end"),
    ];
  });
  const ticks = niceTicks(x.low, x.high, 3).flatMap((tick) => [
    line(x(tick), top, x(tick), bottom, "grid"),
    label(x(tick), bottom + 16, formatNumber(tick), "middle"),
  ]);
  const more = predictor.known - frequent.length;
  const note = more > 0 ? [label(width - right, bottom + 34, `and ${more} rarer categories`, "end")] : [];
  const height = bottom + (more > 0 ? 42 : 24);
  return drawing(width, height, words, ...ticks, line(x(mean), top, x(mean), bottom, "average"), ...rows, ...note);
}

// The treatment of a missing cell, in words.
function missingWords(model, n, k) {
  const predictor = model.predictors[n];
  if (predictor.own_missing) return `If missing: ${formatNumber(model.effect(n, k)[predictor.known].mean)}, from a level of its own.`;
  if (model.classes?.conditional) return `If missing: imputed from the other cells; ${formatNumber(model.mean[k])} if all are missing.`;
  return `If missing: averaged over, with mean prediction ${formatNumber(model.mean[k])}.`;
}
