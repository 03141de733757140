// The what-if panel: a row that the reader changes, and the answer of the model.

const MOST_CONTROLS = 14;

registerSection("what_if", {
  link: "What if",
  title: "What if",
  text: ({ doc }) =>
    doc.classes
      ? "Change a predictor: the page computes the probability of each class and the Shapley values again."
      : "Change a predictor: the page computes the prediction, its predictive interval and the Shapley values again.",
  create: (report, place, data) => new WhatIf(report, place, data),
});

class WhatIf {
  constructor({ model, doc }, place, data) {
    Object.assign(this, { model, doc, data, k: 0, all: false, order: model.predictors.map((_, n) => n) });
    this.controls = model.predictors.map(
      (predictor, n) => new Control(predictor, n, (cell, from) => this.change(n, cell, from)),
    );
    this.many = this.controls.length > MOST_CONTROLS;
    this.list = element("div", { class: "controls" });
    this.shown = new (doc.classes ? ClassAnswer : Answer)({ model, doc, ...data }, () => this.answer());
    this.shown.why.node.append(...rowTexts(() => model.predictors.map((one, n) => [one.name, plainCell(one, this.cells[n])])));
    const side = element("div", { class: "side" }, this.#choices(), this.list, this.more);
    place.append(element("div", { class: "panel" }, side, this.shown.node));
    this.#take(data.typical);
  }

  #choices() {
    const words = ({ number, truth }) => {
      const { targets, classes } = this.doc, numbers = () => targets.map((target, k) => `${target} ${formatNumber(truth[k])}`);
      return `Row ${number}` + (truth ? ` (${classes ? targets[truth.indexOf(1)] : numbers().join(", ")})` : "");
    };
    const start = element(
      "select", { id: "start", on: { change: () => this.begin(start.value) } },
      element("option", { value: "typical" }, "Typical row: medians and most frequent categories"),
      element("option", { value: "missing" }, "All cells missing"),
      ...this.data.examples.map((example, at) => element("option", { value: at }, words(example))),
    );
    this.search = searchBox("Find a control", () => this.arrange());
    const more = () => this.arrange((this.all = !this.all));
    this.more = element("button", { type: "button", class: "quiet more", on: { click: more } });
    const label = element("label", { class: "choice", for: "start" }, "Start from ", start);
    return element("div", { class: "toolbar" }, label, this.many ? this.search : null);
  }

  // Start from a row of the list.
  begin(which) {
    const { typical, examples } = this.data;
    this.#take(which === "typical" ? typical : which === "missing" ? typical.map(() => null) : examples[which].row);
    this.answer();
  }

  #take(cells) {
    this.cells = [...cells];
    this.rows = this.model.rows(this.cells);
    this.controls.forEach((control, n) => control.show(this.cells[n]));
  }

  // Change a cell; the answer follows with the next frame.
  change(n, cell, from) {
    this.cells[n] = cell;
    this.rows[n] = this.model.row(n, cell);
    this.controls[n].show(cell, from);
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = null;
      this.answer();
    });
  }

  // Show output k, with the controls that matter most for it first.
  show(k) {
    this.k = k;
    this.order = byImportance(this.doc, k);
    this.arrange();
    this.answer();
  }

  // The controls that match the search; without one, the first or all.
  arrange() {
    const sought = this.search.value.trim().toLowerCase();
    const found = this.order.filter((n) => this.model.predictors[n].name.toLowerCase().includes(sought));
    const few = this.many && !this.all && !sought;
    this.list.replaceChildren(...(few ? found.slice(0, MOST_CONTROLS) : found).map((n) => this.controls[n].node));
    this.more.hidden = !this.many || Boolean(sought);
    this.more.textContent = this.all ? "Show the most important only" : `Show all ${this.controls.length} controls`;
  }

  answer() {
    const { model, k } = this, shapley = Array.from(model.shapley(this.rows)[k]);
    this.result = this.shown.compute(k, model.predict(this.cells, this.rows), shapley);
    this.shown.show(k, this.cells, this.result);
  }
}
