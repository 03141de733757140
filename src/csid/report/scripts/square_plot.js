// Plots of one quantity against another.

// A plot with both axes of some ranges, or ticks of its own; `draw` returns its marks from its two scales.
function squarePlot({ size: { width, height }, words, names: [below, beside], x: [lowX, highX], y: [lowY, highY], ticks = null }, draw) {
  const top = AXIS.above, bottom = height - AXIS.beside - AXIS.name;
  const y = scaleOf(lowY, highY, bottom, top + 4), values = ticks || valueTicks(y, bottom - top);
  const left = widest(values.map(([, text]) => text)) + AXIS.tick, right = width - 10;
  const x = scaleOf(lowX, highX, left, right);
  return drawing(
    width, height, words,
    ...axisNames(beside, below, { left, right, bottom, width }),
    ...leftAxis(values, y, left, right),
    ...bottomAxis(valueTicksBelow(x, right - left), x, bottom, width),
    ...draw(x, y),
  );
}
