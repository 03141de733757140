// Scales and axes of plots: round ticks as pairs of a value and its text, and names of what the axes show.

const MOST_DIGITS = 7; // of a tick with an exponent
const AXIS = { text: 12, tick: 8, beside: 20, name: 22, above: 28 }; // pixels

const ruler = document.createElement("canvas").getContext("2d");
ruler.font = `${AXIS.text}px ${getComputedStyle(document.body).fontFamily}`;

const textWidth = (text) => ruler.measureText(text).width;

const widest = (texts) => Math.max(0, ...texts.map(textWidth));

// A text that is no wider than so many pixels.
function fitted(text, pixels) {
  if (textWidth(text) <= pixels) return text;
  let letters = Math.min([...text].length - 1, Math.ceil(pixels / 3)); // which are wider than 3 pixels
  while (letters > 2 && textWidth(shortened(text, letters)) > pixels) letters--;
  return shortened(text, letters);
}

// A linear scale from values to pixels; an empty range is widened.
function scaleOf(low, high, from, to) {
  if (!(high > low)) [low, high] = [low - (Math.abs(low) || 1) * 0.5, high + (Math.abs(high) || 1) * 0.5];
  const at = (value) => from + ((value - low) / (high - low)) * (to - from);
  return Object.assign(at, { low, high });
}

// Multiples of 1, 2 or 5 times a power of ten that divide a range into at most `parts` parts, where they can.
function niceTicks(low, high, parts, least = 0) {
  const step = Math.max((high - low) / Math.max(parts, 1), least), size = Math.max(Math.abs(low), Math.abs(high));
  if (!(step > 1e-10 * size) || !Number.isFinite(step)) return [[low, formatNumber(low)]]; // no room for their digits
  const power = Math.floor(Math.log10(step) + 1e-9);
  const unit = [1, 2, 5, 10].find((each) => each * 10 ** power >= step * (1 - 1e-9)) * 10 ** power;
  const ticks = [];
  for (let i = Math.ceil(low / unit - 1e-9); i * unit <= high + 1e-9 * unit; i++) ticks.push(i * unit);
  const largest = Math.max(...ticks.map(Math.abs)), decimals = Math.max(0, -Math.floor(Math.log10(unit) + 1e-9));
  if (largest < LARGEST && unit >= SMALLEST) return ticks.map((tick) => [tick, withDecimals(tick, decimals, decimals)]);
  const digits = 1 + Math.ceil(Math.log10(largest / unit));
  if (digits > MOST_DIGITS) return [[low, formatNumber(low)]];
  return ticks.map((tick) => [tick, tick ? withExponent(tick, digits) : "0"]);
}

// Powers of ten on a logarithmic scale, with 2 and 5 times them between if there is room; low and high are powers.
function powerTicks(low, high, parts) {
  const step = Math.max(1, Math.ceil((high - low) / parts)), factors = 3 * (high - low) <= parts ? [1, 2, 5] : [1];
  const ticks = [];
  for (let power = Math.floor(low / step) * step; power <= high; power += step) {
    ticks.push(...factors.map((each) => [each * 10 ** power, formatNumber(each * 10 ** power, 2)]));
  }
  const on = (found) => found.map(([tick, text]) => [Math.log10(tick), text]).filter(([at]) => at >= low && at <= high);
  return on(ticks).length > 2 ? on(ticks) : on(niceTicks(10 ** low, 10 ** high, parts));
}

// First days of months and years, or days or hours, between two dates.
function dateTicks(low, high, parts) {
  const first = (months) => Date.UTC(0, months) / DAY; // from January 1900
  if (high - low < 60) return hourTicks(low, high, parts);
  const step = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600].find((months) => high - low <= 30.4 * months * parts) ?? 1200;
  const from = new Date(low * DAY), months = 12 * (from.getUTCFullYear() - 1900) + from.getUTCMonth();
  const ticks = [];
  for (let at = Math.ceil(months / step) * step; first(at) <= high; at += step) {
    if (first(at) >= low) ticks.push([first(at), formatDate(first(at)).slice(0, step % 12 ? 7 : 4)]);
  }
  return ticks;
}

// As many ticks as there is room for below a plot; `ticksFor` returns those of at most so many parts.
function fittingTicks(ticksFor, pixels) {
  for (let parts = Math.max(1, Math.min(6, Math.floor(pixels / 24))); ; parts--) {
    const ticks = ticksFor(parts);
    if (parts === 1 || ticks.length * (widest(ticks.map(([, text]) => text)) + 14) <= pixels) return ticks;
  }
}

const valueTicks = ({ low, high }, pixels) => niceTicks(low, high, Math.max(2, Math.floor(pixels / 27)));

const valueTicksBelow = ({ low, high }, pixels) => fittingTicks((parts) => niceTicks(low, high, parts), pixels);

function hourTicks(low, high, parts) {
  const step = [1, 2, 3, 6, 12, 24, 48, 120].find((hours) => 24 * (high - low) <= hours * parts) ?? 240, ticks = [];
  for (let at = Math.ceil((24 * low) / step) * step; at <= 24 * high; at += step) {
    ticks.push([at / 24, step < 24 ? formatDate(at / 24, true).slice(5) : formatDate(at / 24)]);
  }
  return ticks;
}

// Ticks of at most so many parts of a predictor that is a number.
const predictorTicks = ({ date, grid }, { low, high }, parts) =>
  date ? dateTicks(low, high, parts) : niceTicks(low, high, parts, grid.every(Number.isInteger) ? 1 : 0);

// Grid lines across a plot, and their values at the left.
function leftAxis(ticks, y, left, right) {
  return ticks.flatMap(([tick, text]) => [
    line(left, y(tick), right, y(tick), "grid"),
    label(left - AXIS.tick, y(tick) + 4, text, "end", { class: "scale" }),
  ]);
}

// Values below a plot, inside the drawing.
function bottomAxis(ticks, x, top, width) {
  return ticks.map(([tick, text]) => {
    const half = textWidth(text) / 2, at = Math.min(Math.max(x(tick), half), width - half);
    return label(at, top + AXIS.beside, text, "middle", { class: "scale" });
  });
}

// What the axes show: the vertical one above the plot, the horizontal one below its ticks.
function axisNames(beside, below, { left, right, bottom, width }) {
  const middle = (left + right) / 2, room = 2 * Math.min(middle, width - middle), y = bottom + AXIS.beside + AXIS.name - 2;
  return [
    label(0, AXIS.text, fitted(beside, width), "start", { class: "name" }),
    label(middle, y, fitted(below, room), "middle", { class: "name" }),
  ];
}
