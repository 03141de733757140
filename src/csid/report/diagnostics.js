// Whether to believe it: predictions beside the truth, calibration, and the course of the fit.

const SQUARE = { width: 400, height: 330, left: 58, right: 12, top: 10, bottom: 46 };

function squareAxes(x, y, below, beside) {
  const { width, height, left, right, top, bottom } = SQUARE;
  return [
    ...valueAxis(y, left, width - right),
    ...niceTicks(x.low, x.high, 4).map((tick) => label(x(tick), height - bottom + 17, formatNumber(tick), "middle")),
    label((left + width - right) / 2, height - 8, below, "middle", { class: "name" }),
    label(13, (top + height - bottom) / 2, beside, "middle", { class: "name", transform: `rotate(-90 13 ${(top + height - bottom) / 2})` }),
  ];
}

const squareScales = (lowX, highX, lowY, highY) => [
  scaleOf(lowX, highX, SQUARE.left, SQUARE.width - SQUARE.right),
  scaleOf(lowY, highY, SQUARE.height - SQUARE.bottom, SQUARE.top),
];

function truthDrawing(points, target) {
  const all = points.flat(), low = Math.min(...all), high = Math.max(...all);
  const [x, y] = squareScales(low, high, low, high);
  const words = `Predicted ${target} beside the truth for ${points.length} rows; the closer to the line, the better.`;
  return drawing(
    SQUARE.width, SQUARE.height, words,
    ...squareAxes(x, y, "predicted", "observed"),
    line(x(low), y(low), x(high), y(high), "average"),
    ...points.map(([predicted, truth]) => drawn("circle", { class: "point", cx: round(x(predicted)), cy: round(y(truth)), r: 2.6 })),
  );
}

// The share of rows below each predicted quantile, and where 95 % of the shares of a calibrated model would be.
function calibrationDrawing(shares, rows, target) {
  const [x, y] = squareScales(0, 1, 0, 1);
  const quantiles = shares.map((_, i) => (i + 1) / (shares.length + 1));
  const width = (q) => 1.96 * Math.sqrt((q * (1 - q)) / rows);
  const edge = (side) => quantiles.map((q) => [x(q), y(Math.min(1, Math.max(0, q + side * width(q))))]);
  const worst = Math.max(...shares.map((share, i) => Math.abs(share - quantiles[i])));
  const words = `Share of rows below predicted quantiles of ${target}; the largest gap to the ideal is ${formatShare(worst)}.`;
  return drawing(
    SQUARE.width, SQUARE.height, words,
    ...squareAxes(x, y, "predicted probability", "share of rows below"),
    drawn("path", { class: "band", d: `${path(edge(1))}L${path(edge(-1).reverse()).slice(1)}Z` }),
    line(x(0), y(0), x(1), y(1), "average"),
    drawn("path", { class: "curve", d: path([[x(0), y(0)], ...quantiles.map((q, i) => [x(q), y(shares[i])]), [x(1), y(1)]]) }),
    ...quantiles.map((q, i) => dot(x(q), y(shares[i]))),
  );
}

// A figure after every sweep, a line for each chain or start.
function courseDrawing(curves, k, what) {
  const { width, height, left, right, top, bottom } = { ...SQUARE, height: 250 };
  const lines = curves.map(({ sweeps, values }) => {
    const own = values[Math.min(k, values.length - 1)];
    return [sweeps, own.map((value) => Math.log10(Math.max(value, 1e-300)))];
  });
  const logs = lines.flatMap(([, values]) => values), last = Math.max(...lines.flatMap(([sweeps]) => sweeps));
  const x = scaleOf(1, Math.max(last, 2), left, width - right), y = scaleOf(Math.min(...logs), Math.max(...logs), height - bottom, top);
  const [low, high] = [10 ** y.low, 10 ** y.high];
  const powers = niceTicks(y.low, y.high, 4).filter(Number.isInteger).map((power) => 10 ** power);
  const ticks = high / low > 20 ? powers : niceTicks(low, high, 4).filter((tick) => tick > 0);
  return drawing(
    width, height, `${what} after every sweep, of ${curves.length} runs.`,
    ...ticks.flatMap((tick) => [
      line(left, y(Math.log10(tick)), width - right, y(Math.log10(tick)), "grid"),
      label(left - 6, y(Math.log10(tick)) + 3.5, formatNumber(tick, 3), "end"),
    ]),
    ...niceTicks(x.low, x.high, 5).map((tick) => label(x(tick), height - bottom + 17, formatNumber(tick), "middle")),
    label((left + width - right) / 2, height - 8, "sweep", "middle", { class: "name" }),
    ...lines.map(([sweeps, values]) => drawn("path", { class: "trace", d: path(sweeps.map((sweep, i) => [x(sweep), y(values[i])])) })),
  );
}
