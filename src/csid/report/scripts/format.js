// Numbers, cells and shares as texts.

const LARGEST = 1e7, SMALLEST = 1e-4; // beyond these, numbers have an exponent

function formatNumber(x, digits = 4) {
  if (!Number.isFinite(x)) return "–";
  const size = Math.abs(x);
  if (size !== 0 && (size >= LARGEST || size < SMALLEST)) return withExponent(x, digits);
  return withDecimals(x, 0, Math.max(0, Math.min(8, digits - 1 - (size && Math.floor(Math.log10(size))))));
}

function withExponent(x, digits) {
  const [mantissa, power] = x.toExponential(digits - 1).split("e");
  return `${Number(mantissa)}e${Number(power)}`.replaceAll("-", "−");
}

function withDecimals(x, least, most) {
  const size = Math.abs(x);
  const text = size.toLocaleString("en-US", {
    minimumFractionDigits: least, maximumFractionDigits: most, useGrouping: size >= 1e4,
  });
  return (x < 0 && Number(text.replaceAll(",", "")) !== 0 ? "−" : "") + text;
}

// A format for values that are compared: with the same decimals, which tell apart thousandths of a scale.
function formatterOf(scale) {
  if (!(scale >= SMALLEST && scale < LARGEST)) return (x) => formatNumber(x);
  const decimals = Math.max(0, 3 - Math.floor(Math.log10(scale)));
  return (x) => (Number.isFinite(x) ? withDecimals(x, decimals, decimals) : "–");
}

const signed = (x, format) => (format(x).startsWith("−") ? "" : "+") + format(x);

function formatShare(share, decimals = share < 0.0995 ? 1 : 0) {
  if (share > 0 && share < 0.001) return "<\u00a00.1\u00a0%";
  return `${(100 * share).toFixed(decimals)}\u00a0%`;
}

const percent = (x) => `${formatNumber(100 * x, 2)}\u00a0%`;

const DAY = 86400e3; // in milliseconds

// A date, or a date and a time to the minute.
function formatDate(days, timed = false) {
  const text = new Date(Math.round(days * DAY)).toISOString();
  return timed ? `${text.slice(0, 10)} ${text.slice(11, 16)}` : text.slice(0, 10);
}

// Whether the time of day matters in a column of dates: it does within two weeks.
const isTimed = ({ date, grid }) => date && grid.at(-1) - grid[0] < 15 && !grid.every(Number.isInteger);

// A cell, as in levels.js, as a text.
function formatCell(predictor, cell, digits = 5) {
  if (cell === null) return "missing";
  if (!predictor.isNumber) return cell < 0 ? "unseen category" : String(predictor.categories[cell]);
  if (predictor.words.length) return predictor.words[Math.round(cell)] ?? formatNumber(cell, digits);
  return predictor.date ? formatDate(cell, isTimed(predictor)) : formatNumber(cell, digits);
}

const counted = (number, one, many = `${one}s`) => `${number.toLocaleString("en-US")} ${number === 1 ? one : many}`;

const capitalised = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// A text of at most so many letters; the middle gives way, since names often differ at their ends.
function shortened(text, letters) {
  const all = [...text], kept = Math.max(1, letters - 1), end = Math.floor(kept / 3);
  return all.length <= letters ? text : `${all.slice(0, kept - end).join("")}…${all.slice(all.length - end).join("")}`;
}
