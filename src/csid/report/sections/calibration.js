// Predictions against observations, and the calibration of predictive distributions.

const FEW_POINTS = 50;

registerSection("calibration", {
  link: "Calibration",
  title: "Predicted and observed",
  text: ({ doc }) => `On the ${counted(doc.sections.calibration.rows, "row")} given to this report.`,
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
    const part = points[k].length < rows ? `${counted(points[k].length, "row")}, chosen at random. ` : "";
    const observed = (size) => [
      observedPlot(points[k], target, size),
      note(`${part}On the dashed line, predictions are exact.`),
    ];
    const calibrated = (size) => [
      calibrationPlot(below[k], rows, target, size),
      note(
        "Fraction of rows below each predicted quantile. On the dashed line, calibration is perfect; within the band, " +
        "deviations are consistent with chance.",
      ),
    ];
    const cards = [card("Predictions and observations", null, lazy.place("drawing tall", observed))];
    if (below) cards.push(card("Calibration of predictive intervals", null, lazy.place("drawing tall", calibrated)));
    this.cards.replaceChildren(...cards);
  }
}

function observedPlot(points, target, size) {
  const all = points.flat(), range = [Math.min(...all), Math.max(...all)], format = formatterOf(range[1] - range[0]);
  const words = `Predicted and observed ${target} of ${counted(points.length, "row")}; on the line, they are equal.`;
  const kind = points.length < FEW_POINTS ? "point few" : "point";
  let readings;
  const names = [`predicted ${target}`, `observed ${target}`];
  const svg = squarePlot({ size, words, names, x: range, y: range }, (x, y) => {
    const sorted = [...points].sort(([one], [other]) => one - other);
    readings = sorted.map(([predicted, truth]) => {
      return { x: x(predicted), y: y(truth), words: ["observed", format(truth), `predicted ${format(predicted)}`] };
    });
    return [
      line(x(x.low), y(x.low), x(x.high), y(x.high), "average"),
      ...readings.map((point) => drawn("circle", { class: kind, cx: round(point.x), cy: round(point.y), r: 2.8 })),
    ];
  });
  return readable(svg, () => readings);
}

// The fraction of rows below each predicted quantile, and a band with 95 % of the fractions of a calibrated model.
function calibrationPlot(fractions, rows, target, size) {
  const quantiles = fractions.map((_, i) => (i + 1) / (fractions.length + 1));
  const around = (q) => 1.96 * Math.sqrt((q * (1 - q)) / rows), share = (q) => `${Math.round(100 * q)} %`;
  const worst = Math.max(...fractions.map((fraction, i) => Math.abs(fraction - quantiles[i])));
  const words = `Fraction of rows below each predicted quantile of ${target}; at most ${formatShare(worst)} from perfect calibration.`;
  let readings;
  const names = ["predicted probability", "fraction of rows below"];
  const svg = squarePlot({ size, words, names, x: [0, 1], y: [0, 1] }, (x, y) => {
    const edge = (side) => quantiles.map((q) => [x(q), y(Math.min(1, Math.max(0, q + side * around(q))))]);
    readings = quantiles.map((q, i) => {
      return { x: x(q), y: y(fractions[i]), words: [`below the ${share(q)} quantile`, formatShare(fractions[i]), "of the rows"] };
    });
    return [
      band(edge(1), edge(-1)),
      line(x(0), y(0), x(1), y(1), "average"),
      drawn("path", { class: "curve", d: path([[x(0), y(0)], ...readings.map((point) => [point.x, point.y]), [x(1), y(1)]]) }),
      ...readings.map((point) => dot(point.x, point.y)),
    ];
  });
  return readable(svg, () => readings, { along: 0 });
}
