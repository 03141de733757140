// Predictions against observations, and the calibration of predictive distributions.

registerSection("calibration", {
  link: "Calibration",
  title: "Predicted and observed",
  text: "On the rows given to this report.",
  create: (report, place, data) => new CalibrationPlots(report, place, data),
});

class CalibrationPlots {
  constructor(report, place, data) {
    Object.assign(this, { report, data });
    this.cards = element("div", { class: "cards wide", id: "calibration-cards" });
    place.append(this.cards);
  }

  show(k) {
    const { points, below, rows } = this.data, { doc, lazy } = this.report, target = doc.targets[k];
    const observed = () => [
      truthDrawing(points[k], target),
      note(`${points[k].length.toLocaleString("en-US")} of ${rows.toLocaleString("en-US")} rows. On the dashed line, predictions are exact.`),
    ];
    const calibrated = () => [
      calibrationDrawing(below[k], rows, target),
      note("Fraction of rows below each predicted quantile. Gaps inside the band are consistent with chance."),
    ];
    const cards = [card("Predictions and observations", null, lazy.place("drawing tall", observed))];
    if (below) cards.push(card("Calibration", null, lazy.place("drawing tall", calibrated)));
    this.cards.replaceChildren(...cards);
  }
}

function truthDrawing(points, target) {
  const all = points.flat(), low = Math.min(...all), high = Math.max(...all);
  const [x, y] = squareScales(low, high, low, high);
  const words = `Predicted and observed ${target} of ${points.length} rows; on the line, they are equal.`;
  return drawing(
    SQUARE.width, SQUARE.height, words,
    ...squareAxes(x, y, "predicted", "observed"),
    line(x(low), y(low), x(high), y(high), "average"),
    ...points.map(([predicted, truth]) => drawn("circle", { class: "point", cx: round(x(predicted)), cy: round(y(truth)), r: 2.6 })),
  );
}

// The fraction of rows below each predicted quantile, and a band with 95 % of the fractions of a calibrated model.
function calibrationDrawing(fractions, rows, target) {
  const [x, y] = squareScales(0, 1, 0, 1);
  const quantiles = fractions.map((_, i) => (i + 1) / (fractions.length + 1));
  const width = (q) => 1.96 * Math.sqrt((q * (1 - q)) / rows);
  const edge = (side) => quantiles.map((q) => [x(q), y(Math.min(1, Math.max(0, q + side * width(q))))]);
  const worst = Math.max(...fractions.map((fraction, i) => Math.abs(fraction - quantiles[i])));
  const words = `Fraction of rows below each predicted quantile of ${target}; at most ${formatShare(worst)} from perfect calibration.`;
  return drawing(
    SQUARE.width, SQUARE.height, words,
    ...squareAxes(x, y, "predicted probability", "fraction of rows below"),
    drawn("path", { class: "band", d: `${path(edge(1))}L${path(edge(-1).reverse()).slice(1)}Z` }),
    line(x(0), y(0), x(1), y(1), "average"),
    drawn("path", { class: "curve", d: path([[x(0), y(0)], ...quantiles.map((q, i) => [x(q), y(fractions[i])]), [x(1), y(1)]]) }),
    ...quantiles.map((q, i) => dot(x(q), y(fractions[i]))),
  );
}
