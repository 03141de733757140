// Plots of one quantity against another.

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
