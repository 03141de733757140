// Bars of what each predictor adds to a prediction.

const MOST_BARS = 14;

// Lines of a name, a cell and a value: the largest values, the others together, and what is told of missing cells.
function shapleyLines(model, cells, values, inferred) {
  const order = Array.from(values.keys()).sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]) || a - b);
  const shown = order.length > MOST_BARS + 1 ? order.slice(0, MOST_BARS) : order, others = order.slice(shown.length);
  const lines = shown.map((n) => {
    const predictor = model.predictors[n];
    return [predictor.name, ` = ${shortened(formatCell(predictor, cells[n]), 24)}`, values[n]];
  });
  if (others.length) lines.push([`${others.length} others`, "", others.reduce((sum, n) => sum + values[n], 0)]);
  if (inferred !== 0) lines.push(["Missing cells, told by the others", "", inferred]);
  return lines;
}

function showBars(list, lines) {
  const values = lines.map(([, , value]) => value), low = Math.min(0, ...values), high = Math.max(0, ...values);
  const at = (value) => (high > low ? (100 * (value - low)) / (high - low) : 0);
  list.style.setProperty("--zero", `${at(0)}%`);
  const items = lines.map(([name, cell, value]) => {
    const bar = element("span", { class: value < 0 ? "fill negative" : "fill positive" });
    bar.style.left = `${at(Math.min(value, 0))}%`;
    bar.style.width = `${at(Math.abs(value)) - at(0)}%`;
    return element(
      "li", {},
      element("span", { class: "text" }, element("span", { class: "name" }, name), cell),
      element("span", { class: "track", "aria-hidden": "true" }, bar),
      element("span", { class: "number" }, formatSigned(value)),
    );
  });
  list.replaceChildren(...items);
}
