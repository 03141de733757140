// Numbers, cells and shares as texts.

function formatNumber(x, digits = 4) {
  if (!Number.isFinite(x)) return "–";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e9 || size < 1e-4) return x.toExponential(digits - 1).replace("e+", "e").replaceAll("-", "−");
  const decimals = Math.max(0, Math.min(8, digits - 1 - Math.floor(Math.log10(size))));
  const text = size.toLocaleString("en-US", { maximumFractionDigits: decimals });
  return (x < 0 ? "−" : "") + text;
}

function formatSigned(x, digits = 4) {
  return (x > 0 ? "+" : "") + formatNumber(x, digits);
}

function formatShare(share) {
  if (share > 0 && share < 0.001) return "< 0.1 %";
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
}

function formatDate(days) {
  return new Date(Math.round(days * 86400e3)).toISOString().slice(0, 10);
}

// A cell, as in levels.js, as a text.
function formatCell(predictor, cell, digits = 5) {
  if (cell === null) return "missing";
  if (!predictor.isNumber) return cell < 0 ? "unseen category" : String(predictor.categories[cell]);
  if (predictor.words.length) return predictor.words[Math.round(cell)] ?? formatNumber(cell, digits);
  return predictor.date ? formatDate(cell) : formatNumber(cell, digits);
}

// Round values that divide a range into about `count` parts.
function niceTicks(low, high, count) {
  const step = (high - low) / Math.max(count, 1);
  if (!(step > 0) || !Number.isFinite(step)) return [low];
  const power = Math.pow(10, Math.floor(Math.log10(step)));
  const unit = [1, 2, 2.5, 5, 10].find((each) => each * power >= step) * power;
  const ticks = [];
  for (let i = Math.ceil(low / unit - 1e-9); i * unit <= high + 1e-9 * unit; i++) ticks.push(i * unit);
  return ticks;
}

function shortened(text, letters) {
  return text.length <= letters ? text : text.slice(0, Math.max(1, letters - 1)) + "…";
}
