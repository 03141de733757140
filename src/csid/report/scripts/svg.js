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

const round = (x) => Math.round(100 * x) / 100;

const path = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${round(x)} ${round(y)}`).join("");

// A band between an upper and a lower edge.
const band = (upper, lower) => drawn("path", { class: "band", d: `${path(upper)}L${path(lower.reverse()).slice(1)}Z` });

// A plot with its description for screen readers.
function drawing(width, height, words, ...children) {
  const size = { viewBox: `0 0 ${round(width)} ${round(height)}`, width: round(width) };
  return drawn("svg", { ...size, role: "img", "aria-label": words }, ...children);
}
