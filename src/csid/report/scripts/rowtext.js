// A row as text to copy.

const asPython = (value) => ({ null: "None", true: "True", false: "False" })[JSON.stringify(value)] ?? JSON.stringify(value);

// A cell as in a table; ordered words and dates as in files.
function plainCell(predictor, cell) {
  if (cell === null) return null;
  if (!predictor.isNumber) return cell < 0 ? "unseen category" : predictor.categories[cell];
  if (predictor.words.length) return predictor.words[Math.round(cell)] ?? cell;
  return predictor.date ? formatCell(predictor, cell) : cell;
}

const ROW_TEXTS = {
  Python: (row) => `{${row.map(([name, value]) => `${JSON.stringify(name)}: ${asPython(value)}`).join(", ")}}`,
  JSON: (row) => JSON.stringify(Object.fromEntries(row)),
};

// Buttons that show the row as selected text, and copy it if the browser allows. `row` returns names and cells.
function rowTexts(row) {
  const area = element("textarea", { readonly: true, hidden: true, rows: 4, "aria-label": "The row as text" });
  const show = (kind) => {
    area.value = ROW_TEXTS[kind](row());
    area.hidden = false;
    area.focus();
    area.select();
    navigator.clipboard?.writeText(area.value).catch(() => {});
  };
  const buttons = Object.keys(ROW_TEXTS).map((kind) =>
    element("button", { type: "button", class: "quiet", on: { click: () => show(kind) } }, `Copy as ${kind}`),
  );
  return [element("div", { class: "toolbar" }, ...buttons), area];
}
