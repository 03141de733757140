// The what-if panel: a row that the reader changes, its prediction, and what each cell adds to it.

const MOST_BARS = 14;
const MOST_CONTROLS = 14;

class WhatIf {
  constructor(model, told, place) {
    Object.assign(this, { model, told, k: 0, coverage: 0.9, all: false });
    this.cells = [...told.typical];
    this.rows = model.rows(this.cells);
    this.controls = model.predictors.map((predictor, n) => new Control(predictor, n, (cell, from) => this.change(n, cell, from)));
    this.list = element("div", { class: "controls" }, ...this.controls.map((control) => control.node));
    place.append(element("div", { class: "panel" }, element("div", { class: "side" }, this.#choices(), this.list, this.more), this.#answer()));
    this.controls.forEach((control, n) => control.show(this.cells[n]));
  }

  #choices() {
    const { examples, targets } = this.told;
    const words = ({ number, truth }) => `Row ${number}` + (truth ? ` (${targets.map((target, k) => `${target} ${formatNumber(truth[k])}`).join(", ")})` : "");
    this.start = element(
      "select", { id: "start", on: { change: () => this.begin(this.start.value) } },
      element("option", { value: "typical" }, "Typical: medians and most frequent"),
      element("option", { value: "nothing" }, "Nothing known: all missing"),
      ...examples.map((example, at) => element("option", { value: at }, words(example))),
    );
    this.search = element("input", { type: "search", placeholder: "Find a control", "aria-label": "Find a control", on: { input: () => this.arrange() } });
    this.more = element("button", { type: "button", class: "quiet", on: { click: () => this.arrange((this.all = !this.all)) } });
    const many = this.controls.length > MOST_CONTROLS;
    return element("div", { class: "toolbar" }, element("label", { class: "choice", for: "start" }, "Start from ", this.start), many ? this.search : null);
  }

  #answer() {
    this.value = element("output", { class: "value", id: "prediction" });
    this.bounds = element("span", { id: "interval" });
    this.level = element(
      "select", { id: "coverage", "aria-label": "Probability of the interval", on: { change: () => this.answer((this.coverage = Number(this.level.value))) } },
      ...[0.5, 0.8, 0.9, 0.95, 0.99].map((c) => element("option", { value: c, selected: c === 0.9 }, `${Math.round(100 * c)} %`)),
    );
    this.target = element("span", { class: "target" });
    this.strip = element("div", { class: "strip", "aria-hidden": "true" }, ...["range", "average", "mark"].map((kind) => element("span", { class: kind })));
    this.spoken = element("p", { class: "hidden", "aria-live": "polite", id: "spoken" });
    this.sum = element("p", { class: "note" });
    this.bars = element("ol", { class: "bars", "aria-label": "What each predictor adds to the prediction: exact Shapley values" });
    this.text = element("textarea", { readonly: true, hidden: true, rows: 4, "aria-label": "The row as text" });
    const copy = (kind, name) => element("button", { type: "button", class: "quiet", on: { click: () => this.#copy(kind) } }, name);
    const interval = this.model.posterior ? element("p", { class: "interval" }, this.level, " interval ", this.bounds) : element("p", { class: "note" }, "A model by least squares has no intervals.");
    return element(
      "div", { class: "answer" },
      element("div", { class: "card headline" }, element("p", { class: "what" }, "Predicted ", this.target), this.value, interval, this.strip, this.spoken),
      element("div", { class: "card why" },
        element("h3", {}, "Why: what each predictor adds"), this.bars, this.sum,
        element("div", { class: "toolbar" }, copy("python", "Copy as Python"), copy("json", "Copy as JSON")), this.text,
      ),
    );
  }

  // Take up a row of the list.
  begin(which) {
    const { typical, examples } = this.told;
    this.cells = which === "typical" ? [...typical] : which === "nothing" ? typical.map(() => null) : [...examples[which].row];
    this.rows = this.model.rows(this.cells);
    this.controls.forEach((control, n) => control.show(this.cells[n]));
    this.answer();
  }

  change(n, cell, from) {
    this.cells[n] = cell;
    this.rows[n] = this.model.row(n, cell);
    this.controls[n].show(cell, from);
    if (!this.waiting) {
      this.waiting = requestAnimationFrame(() => {
        this.waiting = null;
        this.answer();
      });
    }
  }

  // Another output, and the controls that matter most for it first.
  choose(k) {
    this.k = k;
    const { total } = this.told.shares;
    this.order = this.controls.map((_, n) => n).sort((a, b) => total[b][k] - total[a][k] || a - b);
    this.arrange();
    this.answer();
  }

  arrange() {
    const sought = this.search.value.trim().toLowerCase(), many = this.controls.length > MOST_CONTROLS;
    const found = this.order.filter((n) => this.model.predictors[n].name.toLowerCase().includes(sought));
    const shown = many && !this.all && !sought ? found.slice(0, MOST_CONTROLS) : found;
    this.list.replaceChildren(...shown.map((n) => this.controls[n].node));
    this.more.hidden = !many || Boolean(sought);
    this.more.textContent = this.all ? "Show the strongest only" : `Show all ${this.controls.length} controls`;
  }

  answer() {
    const began = performance.now(), { model, k } = this;
    const predicted = model.predict(this.cells, this.rows)[k];
    const interval = model.posterior && model.interval(k, predicted, this.coverage);
    const values = model.shapley(this.rows)[k];
    this.result = { mean: predicted.mean, interval, shapley: Array.from(values), milliseconds: performance.now() - began };
    this.#show(predicted.mean, interval, values);
  }

  #show(mean, interval, values) {
    const { k, model } = this, target = this.told.targets[k];
    this.target.textContent = target;
    this.value.textContent = formatNumber(mean, 5);
    const bounds = interval ? interval.map((bound) => formatNumber(bound)).join(" to ") : "";
    this.bounds.textContent = bounds;
    clearTimeout(this.speaking); // to be heard once the reader has stopped moving
    this.speaking = setTimeout(() => {
      this.spoken.textContent = `Predicted ${target}: ${formatNumber(mean)}` + (interval ? `, ${Math.round(100 * this.coverage)} % interval ${bounds}` : "");
    }, 400);
    this.#showStrip(mean, interval || [mean, mean]);
    this.#showBars(mean, values, mean - model.mean[k] - values.reduce((a, b) => a + b, 0));
  }

  #showStrip(mean, [lower, upper]) {
    const average = this.model.mean[this.k], reach = 3 * this.told.deviation[this.k];
    const low = Math.min(average - reach, lower), high = Math.max(average + reach, upper);
    const at = (value) => `${high > low ? (100 * (value - low)) / (high - low) : 50}%`;
    const [range, centre, mark] = this.strip.children;
    range.style.left = at(lower);
    range.style.width = `calc(${at(upper)} - ${at(lower)})`;
    centre.style.left = at(average);
    mark.style.left = at(mean);
  }

  #showBars(mean, values, inferred) {
    const { model, k, cells } = this, order = Array.from(values.keys()).sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]) || a - b);
    const many = order.length > MOST_BARS + 1, shown = many ? order.slice(0, MOST_BARS) : order;
    const lines = shown.map((n) => [model.predictors[n].name, formatCell(model.predictors[n], cells[n]), values[n]]);
    if (many) {
      const others = order.slice(MOST_BARS);
      lines.push([`${others.length} others`, "", others.reduce((sum, n) => sum + values[n], 0)]);
    }
    const joint = model.classes && Math.abs(inferred) > 1e-9 * Math.abs(mean);
    if (joint) lines.push(["Missing cells, told by the others", "", inferred]);
    const low = Math.min(0, ...lines.map(([, , value]) => value)), high = Math.max(0, ...lines.map(([, , value]) => value));
    const at = (value) => (high > low ? (100 * (value - low)) / (high - low) : 0);
    this.bars.style.setProperty("--zero", `${at(0)}%`);
    const bars = lines.map(([name, cell, value]) => {
      const bar = element("span", { class: value < 0 ? "fill negative" : "fill positive" });
      bar.style.left = `${at(Math.min(value, 0))}%`;
      bar.style.width = `${at(Math.abs(value)) - at(0)}%`;
      const text = element("span", { class: "text" }, element("span", { class: "name" }, name), cell ? ` = ${shortened(cell, 24)}` : "");
      return element("li", {}, text, element("span", { class: "track", "aria-hidden": "true" }, bar), element("span", { class: "number" }, formatSigned(value)));
    });
    this.bars.replaceChildren(...bars);
    this.sum.textContent = `${formatNumber(model.mean[k], 5)} on average over all rows, ${formatSigned(mean - model.mean[k], 5)} for this one. Exact for predictors that vary independently.`;
  }

  #copy(kind) {
    const row = this.model.predictors.map((predictor, n) => [predictor.name, plainCell(predictor, this.cells[n])]);
    const python = (value) => (value === null ? "None" : value === true ? "True" : value === false ? "False" : JSON.stringify(value));
    const text = kind === "json" ? JSON.stringify(Object.fromEntries(row)) : `{${row.map(([name, value]) => `${JSON.stringify(name)}: ${python(value)}`).join(", ")}}`;
    this.text.value = text;
    this.text.hidden = false;
    this.text.focus();
    this.text.select();
    navigator.clipboard?.writeText(text).catch(() => {}); // the text stands there, selected
  }
}

// A cell as it stands in a table; ordered words and dates as they stand in files.
function plainCell(predictor, cell) {
  if (cell === null) return null;
  if (!predictor.isNumber) return cell < 0 ? "never seen" : predictor.categories[cell];
  if (predictor.words.length) return predictor.words[Math.round(cell)] ?? cell;
  return predictor.date ? formatDate(cell) : cell;
}
