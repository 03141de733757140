// Elements of the page and of plots. Texts are set as texts, never as markup.

function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function drawn(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

const label = (x, y, text, anchor = "start", more = {}) =>
  drawn("text", { x: round(x), y: round(y), "text-anchor": anchor, ...more }, text);

const line = (x1, y1, x2, y2, kind) =>
  drawn("line", { x1: round(x1), y1: round(y1), x2: round(x2), y2: round(y2), class: kind });

const dot = (x, y, kind = "dot") => drawn("circle", { class: kind, cx: round(x), cy: round(y), r: 4 });

// A tooltip on a mark.
function titled(mark, words) {
  mark.append(drawn("title", {}, words));
  return mark;
}

const round = (x) => Math.round(100 * x) / 100;

const path = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${round(x)} ${round(y)}`).join("");

// A plot with its description for screen readers.
function drawing(width, height, words, ...children) {
  return drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words }, ...children);
}

// A linear scale from values to pixels; an empty range is widened.
function scaleOf(low, high, from, to) {
  if (!(high > low)) [low, high] = [low - (Math.abs(low) || 1) * 0.5, high + (Math.abs(high) || 1) * 0.5];
  const at = (value) => from + ((value - low) / (high - low)) * (to - from);
  return Object.assign(at, { low, high });
}

// Horizontal grid lines with their values.
function valueAxis(y, left, right, count = 5) {
  return niceTicks(y.low, y.high, count).flatMap((tick) => [
    line(left, y(tick), right, y(tick), "grid"),
    label(left - 6, y(tick) + 3.5, formatNumber(tick), "end"),
  ]);
}
