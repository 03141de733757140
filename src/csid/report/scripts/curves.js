// How good predicted probabilities are, as curves in the unit square.

// Observed frequencies against predicted probabilities: a point for each bin of rows, and the band of a calibrated model.
function reliabilityPlot({ rows, predicted, observed, low, high }, [below, beside], size) {
  const words = `${capitalised(beside)} against ${below}, in ${counted(rows.length, "bin")} of rows.`;
  const most = Math.max(...rows), radius = (count) => round(2.2 + 4.8 * Math.sqrt(count / most));
  let readings;
  const svg = squarePlot({ size, words, names: [below, beside], x: [0, 1], y: [0, 1] }, (x, y) => {
    readings = rows.map((count, i) => ({
      x: x(predicted[i]),
      y: y(observed[i]),
      words: [
        `predicted ${formatShare(predicted[i])}`,
        `observed ${formatShare(observed[i])}`,
        `${counted(count, "row")}; by chance ${formatShare(low[i])} to ${formatShare(high[i])}`,
      ],
    }));
    return [
      line(x(0), y(0), x(1), y(1), "average"),
      ...rows.map((_, i) => line(x(predicted[i]), y(low[i]), x(predicted[i]), y(high[i]), "whisker")),
      ...readings.map(({ x: cx, y: cy }, i) => drawn("circle", { class: "dot", cx: round(cx), cy: round(cy), r: radius(rows[i]) })),
    ];
  });
  return readable(svg, () => readings, { along: 0 });
}

// A curve of pairs, with a dashed line between two points, as guessing gives.
function ratesPlot({ points }, [below, beside], guess, size) {
  const words = `${capitalised(beside)} against ${below}.`;
  let readings;
  const svg = squarePlot({ size, words, names: [below, beside], x: [0, 1], y: [0, 1] }, (x, y) => {
    readings = points.map(([a, b]) => ({ x: x(a), y: y(b), words: [`${below} ${formatShare(a)}`, `${beside} ${formatShare(b)}`] }));
    const [from, to] = guess.map(([a, b]) => [x(a), y(b)]);
    return [
      line(...from, ...to, "average"),
      drawn("path", { class: "curve", d: path(readings.map((point) => [point.x, point.y])) }),
    ];
  });
  return readable(svg, () => readings);
}
