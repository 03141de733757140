// Contributions of the predictors to a prediction, as bars.

const MOST_BARS = 14;

// Lines of a name, a cell and a value: the largest values, the sum of the others, and the effect of imputation.
function shapleyLines(model, cells, values, imputed) {
  const order = Array.from(values.keys()).sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]) || a - b);
  const shown = order.length > MOST_BARS + 1 ? order.slice(0, MOST_BARS) : order, others = order.slice(shown.length);
  const lines = shown.map((n) => {
    const predictor = model.predictors[n];
    return [predictor.name, ` = ${shortened(formatCell(predictor, cells[n]), 24)}`, values[n]];
  });
  if (others.length) lines.push([`${others.length} others`, "", others.reduce((sum, n) => sum + values[n], 0)]);
  if (imputed !== 0) lines.push(["Imputation of missing cells", "", imputed]);
  return lines;
}

function showBars(list, lines, format) {
  const values = lines.map(([, , value]) => value), low = Math.min(0, ...values), high = Math.max(0, ...values);
  const at = (value) => (high > low ? (100 * (value - low)) / (high - low) : 0);
  list.style.setProperty("--zero", `${at(0)}%`);
  const items = lines.map(([name, cell, value]) => {
    const bar = element("span", { class: value < 0 ? "fill negative" : "fill positive" });
    bar.style.left = `${at(Math.min(value, 0))}%`;
    bar.style.width = `${at(Math.abs(value)) - at(0)}%`;
    return element(
      "li", {},
      element("span", { class: "text", title: name + cell }, element("span", { class: "name" }, name), cell),
      element("span", { class: "track", "aria-hidden": "true" }, bar),
      element("span", { class: "number" }, signed(value, format)),
    );
  });
  list.replaceChildren(...items);
}
